# How Secrets are read beside the passes, and what becomes of the private keys and passwords in them, with real nginx.
load tls

# --- beside the passes

# Lets openssl wait in front of key pairs until the file "go" is there.
hold_openssl() {
  watch_openssl "if [[ \$1 == x509 && \$* != *-subject* ]]; then until [[ -e $dir/go ]]; do sleep 0.1; done; fi"
}

@test "while a new key pair is examined, passes go on without it, and a problem says so" {
  add_pair demo/one a.example
  ingresses_are <<<''
  go_live
  hold_openssl
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  began=$(date +%s%N)
  "$bin/fetch" "$dir/lists-read" >"$dir/snapshot"
  (($(date +%s%N) - began < 4000000000)) # and not the 10 s after which openssl would be ended
  assert_contains "$(<"$dir/snapshot")" '{"certificate":"demo/one","reason":"SecretNotReady","message":"it has not been read yet"}'
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_contains "$(problems)" 'SecretNotReady: Secret demo/one: it has not been read yet; its hosts have the default certificate'
  touch "$dir/go"
  wait_for 15 knows_certificate demo/one
}

# A pass that looks at no Secrets: as if the last look had taken so much time that the next is not due.
pass_without_look() {
  echo 1000000 >"$STATE_DIR/keys/took"
  "$bin/fetch" "$dir/lists-read"
}

# Whether such a pass knows how to serve this one.
knows_certificate() { # NAMESPACE/NAME
  pass_without_look | grep -q "{\"certificate\":\"$1\",.*\"file\":"
}

# The line of the snapshot that is about a Secret, from such a pass.
line_of() { # NAMESPACE/NAME
  pass_without_look | grep "{\"certificate\":\"$1\""
}

@test "while the next key pair of a Secret is examined, its hosts keep the one that they have" {
  add_pair demo/one a.example
  add_pair demo/two b.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}, {hosts: ["b.example"], secretName: "two"}]}'
  go_live
  one=$(line_of demo/one) two=$(line_of demo/two)
  add_pair demo/one a.example
  add_pair demo/two b.example
  watch_openssl "if [[ \$1 == x509 && -e $dir/held ]]; then until [[ -e $dir/go ]]; do sleep 0.1; done; fi; touch $dir/held; sleep 1"
  bash -c 'source "$1/certificates" && program=certificates round_seconds=1 && main "$2"' _ "$bin" "$dir/lists-read/last/ingresses.summary" 3>&- &
  wait_for 15 has_other_line demo/one "$one" # a round that lasts for one pair has ended
  assert_equal "$two" "$(line_of demo/two)"
  touch "$dir/go"
  wait_for 15 has_other_line demo/two "$two"
  wait "$!"
}

@test "if openssl is killed while it examines the next key pair of a Secret, its hosts keep the one that they have" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  go_live
  one=$(line_of demo/one)
  assert_contains "$one" '"file":'
  add_pair demo/one a.example
  watch_openssl "if [[ \$1 == x509 && ! -e $dir/go ]]; then kill -KILL \$\$; fi"
  go_live
  assert_equal "$one" "$(line_of demo/one)"
  touch "$dir/go"
  fetch_all >/dev/null
  has_other_line demo/one "$one"
}

has_other_line() { # NAMESPACE/NAME LINE
  [[ $(line_of "$1") == *'"file":'* && $(line_of "$1") != "$2" ]]
}

@test "the first new key pair of each namespace is examined before the second of any" {
  for i in {1..4}; do add_pair "demo/many-$i" a.example; done
  add_pair shop/only b.example
  {
    for i in {1..4}; do echo "demo/many-$i {tls: [{hosts: [\"a.example\"], secretName: \"many-$i\"}]}"; done
    echo 'shop/only {tls: [{hosts: ["b.example"], secretName: "only"}]}'
  } >"$dir/rows"
  ingresses_are <"$dir/rows"
  id=$(jq -r '.items[] | select(.metadata.name == "only") | "\(.metadata.uid)-\(.metadata.resourceVersion)"' "$api/secrets")
  watch_openssl
  fetch_all >/dev/null
  assert_contains "$(grep '^x509' "$dir/openssl.calls" | sed -n 2p)" "$id"
}

@test "the list of Secrets has those for TLS only; others are asked for by the names that Ingresses have, at each look, and seldom if they are missing" {
  add_pair demo/listed a.example
  add_pair demo/opaque b.example
  make_opaque demo/opaque
  ingresses_are <<<'demo/one {tls: [{secretName: "listed"}, {secretName: "opaque"}, {secretName: "missing"}, {secretName: "../../x"}]}'
  for _ in 1 2 3; do
    fetch_all >"$dir/snapshot"
    set_times "$(cut -d. -f1 /proc/uptime)" # as if that had been just now
  done
  assert_equal 2 "$(grep -c '"file":' "$dir/snapshot")"
  grep -oE 'GET [^ ]*secrets[^ ]*' "$dir/api.access" | sort | uniq -c | sed 's/^ *//' >"$dir/asked"
  assert_equal "\
1 GET /api/v1/namespaces/demo/secrets/missing
3 GET /api/v1/namespaces/demo/secrets/opaque
3 GET /api/v1/secrets?fieldSelector=type=kubernetes.io/tls" "$(<"$dir/asked")"
  local when
  for when in 0 999999999; do
    set_times "$when" # as if that had been long ago; or before the machine started again
    : >"$dir/api.access"
    fetch_all >/dev/null
    assert_contains "$(<"$dir/api.access")" 'GET /api/v1/namespaces/demo/secrets/missing'
  done
  add_pair demo/missing c.example
  make_opaque demo/missing
  set_times 0
  fetch_all >"$dir/snapshot"
  assert_equal 3 "$(grep -c '"file":' "$dir/snapshot")"
}

# --- at once

# Says that the watch has heard of these Secrets, and prints what a pass of the loop then fetches that waits for them.
fetch_changed() { # NAMESPACE/NAME...
  local name
  for name; do : >"$STATE_DIR/keys/changed/${name/\//_}"; done
  : >"$dir/api.access"
  bash -c 'source "$1/fetch" && program=fetch times_as_long=0 && is_heard() { true; } && is_waited_for() { true; } && patience() { echo 200; } && fetch "$2"' \
    _ "$bin" "$dir/lists-read"
}

# Prints which Secrets were asked for since, each once.
asked_for() {
  grep -oE 'GET [^ ]*(secrets|configmaps)[^ ]*' "$dir/api.access" | sed 's/^GET //' | sort -u | tr '\n' ' '
}

@test "a Secret that the watch has heard of, and one that is named for the first time, are asked for by name, at once and alone" {
  add_pair demo/one a.example
  add_pair demo/two b.example
  ingresses_are <<<'demo/x {tls: [{hosts: ["a.example"], secretName: "one"}, {hosts: ["b.example"], secretName: "two"}]}'
  go_live
  one=$(line_of demo/one) two=$(line_of demo/two)
  echo 0 >"$STATE_DIR/keys/took"
  add_pair demo/one a.example
  add_pair demo/two b.example
  fetch_changed demo/one >"$dir/snapshot"
  assert_equal '/api/v1/namespaces/demo/secrets/one ' "$(asked_for)"
  refute_contains "$(<"$dir/snapshot")" "$one"
  assert_contains "$(<"$dir/snapshot")" "$two" # what nobody has heard of stays as it was
  assert_equal '' "$(ls "$STATE_DIR/keys/changed")"
  assert_equal $'demo/one\ndemo/two' "$(tail -n +2 "$STATE_DIR/keys/wanted" | sort)"
  add_pair shop/three c.example
  ingresses_are <<'ROWS'
    demo/x {tls: [{hosts: ["a.example"], secretName: "one"}, {hosts: ["b.example"], secretName: "two"}]}
    shop/y {tls: [{hosts: ["c.example"], secretName: "three"}]}
ROWS
  fetch_changed >"$dir/snapshot"
  assert_equal '/api/v1/namespaces/shop/secrets/three ' "$(asked_for)"
  assert_equal 3 "$(grep -c '"certificate":.*"file":' "$dir/snapshot")"
  fetch_changed >/dev/null
  assert_equal '' "$(asked_for)"
}

@test "a Secret that goes and comes back is followed by name; meanwhile no other certificate takes its place" {
  add_pair demo/one a.example
  add_pair demo/two b.example
  ingresses_are <<<'demo/x {tls: [{hosts: ["a.example"], secretName: "one"}, {hosts: ["b.example"], secretName: "two"}]}'
  go_live
  mv "$api/secret-demo-one" "$dir/one"
  fetch_changed demo/one >"$dir/gone"
  assert_equal demo/two "$(sed -nE 's/^\{"certificate":"([^"]*)".*/\1/p' "$dir/gone")"
  mv "$dir/one" "$api/secret-demo-one"
  fetch_changed demo/one >"$dir/back"
  cmp "$dir/snapshot" "$dir/back"
  echo '{"kind":"Status","reason":"ServiceUnavailable"}' >"$api/secret-demo-one" # a doubtful answer
  run fetch_changed demo/one
  assert_equal 1 "$status"
  cp "$dir/one" "$api/secret-demo-one" 2>/dev/null || add_pair demo/one a.example
  fetch_changed >"$dir/mended" # what has failed looks at everything
  assert_contains "$(asked_for)" 'secrets?fieldSelector=type=kubernetes.io/tls'
  assert_equal 2 "$(grep -c '"certificate":.*"file":' "$dir/mended")"
}

@test "more Secrets than are read faster one by one, or than the bound of a namespace, are looked at in the list" {
  ingresses_are <<'ROWS'
    demo/few {tls: [range(3) | {secretName: "few-\(.)"}]}
    demo/many {tls: [range(52) | {secretName: "missing-\(.)"}]}
ROWS
  fetch_all >"$dir/snapshot"
  exceeded=$(grep -c LimitExceeded "$dir/snapshot")
  assert_equal 5 "$exceeded"
  name=$(sed -nE '/LimitExceeded/ { s/^\{"certificate":"([^"]*)".*/\1/p; q }' "$dir/snapshot")
  add_passwords "$name" first
  fetch_changed "$name" >"$dir/again" # which is not asked for, although it has changed: it is beyond the bound
  assert_equal "$exceeded" "$(grep -c LimitExceeded "$dir/again")"
  refute_contains "$(asked_for)" "secrets/${name#*/} "
}

@test "while the doorbell hears when Secrets change, all are looked at every minute only; ConfigMaps as often as before" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  go_live
  mkdir -p "$STATE_DIR/run"
  looked() { # SECONDS_AGO   prints how a pass looks
    read -r now _ </proc/uptime
    bash -c 'source "$1/fetch"; use_folder "$2"; take_time; unread=0 names_are_new=""; echo "$((now - $3))" >"$folder/looked"; echo 0 >"$keys/took"; rm -f "$folder/look-again"; choose_look; echo "${how:-not}"' \
      _ "$bin" "$dir/lists-read" "$1"
  }
  assert_equal 'all' "$(looked 6)"
  echo "$$" >"$STATE_DIR/run/secrets-watch"
  assert_equal 'not not all' "$(looked 6) $(looked 58) $(looked 61)"
  touch "$STATE_DIR/keys/unfinished" # openssl was killed
  assert_equal all "$(looked 6)"
  rm "$STATE_DIR/keys/unfinished"
  echo ConfigMaps >"$dir/lists-read/wanted-secrets"
  assert_equal changed "$(looked 6)"
  : >"$dir/lists-read/wanted-secrets"
  echo 0 >"$STATE_DIR/run/secrets-watch" # one that has ended
  assert_equal all "$(looked 6)"
}

@test "a Secret that changes all the time is looked at one look after the other, with a rest between" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  go_live
  run -0 bash -c '
    source "$1/fetch"
    is_heard() { true; }
    run_certificates() { echo 50 >"$keys/took-by-name" && rest_from_look changed; }
    ring() { echo rings >"$folder/rung"; }
    pass() { take_time; names_are_new="" unread=0; choose_look; echo "${how:-not}"; if [[ -n $how ]]; then look; fi; }
    use_folder "$2"
    : >"$keys/changed/demo_one"
    pass && sleep 0.2 && pass && sleep 2 && cat "$folder/rung" && pass' _ "$bin" "$dir/lists-read"
  assert_equal 'changed not rings changed' "${output//$'\n'/ }"
}

@test "a Secret that the controller may not read is a problem of the Ingress that names it, and of no other" {
  add_pair demo/good b.example
  : >"$api/forbidden-opaque"
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "opaque"}]}
    demo/two {tls: [{hosts: ["b.example"], secretName: "good"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  default
    b.example  demo-good
ROWS
  assert_contains "$(problems)" 'SecretForbidden: Secret demo/opaque: the controller may not read it'
}

@test "the more CPU time it takes to read the Secrets, the more rarely they are read" {
  add_pair demo/good b.example
  ingresses_are <<<'demo/two {tls: [{hosts: ["b.example"], secretName: "good"}]}'
  fetch_all "$dir/known" >/dev/null
  looks() { grep -c '/secrets?' "$dir/api.access"; }
  before=$(looks)
  read -r now _ </proc/uptime
  echo "$((${now%.*} - 9))" >"$dir/known/looked" # in the past, as if 9 s had gone by
  echo 200 >"$STATE_DIR/keys/took"               # and it had taken 2 s of CPU time: it is due after 12 s
  "$bin/fetch" "$dir/known" >/dev/null
  assert_equal "$((${now%.*} - 9))" "$(<"$dir/known/looked")" # or it would be now
  assert_equal "$before" "$(looks)"
  echo 100 >"$STATE_DIR/keys/took"
  "$bin/fetch" "$dir/known" >/dev/null
  wait_for 10 has_looked "$((before + 1))"
  printf '#!/bin/sh\nsleep 1\nexec %s "$@"\n' "$(command -v jq)" >"$dir/jq" # where CPUs are short, it takes long
  chmod +x "$dir/jq"
  PATH=$dir:$PATH "$bin/certificates" "$dir/known/last/ingresses.summary"
  (($(<"$STATE_DIR/keys/took") < 200)) # jq has started twice
}

has_looked() { # TIMES
  (($(grep -c '/secrets?' "$dir/api.access") == $1))
}

@test "many Secrets that are missing are asked for by and by, but not more than 50 of a namespace" {
  ingresses_are <<'ROWS'
    demo/many {tls: [range(55) | {secretName: "missing-\(.)"}]}
    shop/few {tls: [range(3) | {secretName: "missing-\(.)"}]}
ROWS
  fetch_all >"$dir/snapshot"
  missing() { grep -o "$1/secrets/missing-[0-9]*" "$dir/api.access" | sort -u | wc -l; }
  assert_equal 50 "$(missing demo)"
  assert_equal 3 "$(missing shop)"
  assert_equal 2 "$(grep -c '/secrets?' "$dir/api.access")"        # rounds, of 50 at most
  assert_equal 53 "$(grep -c /secrets/missing- "$dir/api.access")" # with a kubectl to say that it is missing, it would be twice as many
  assert_equal 5 "$(grep -c 'its namespace names more than 50 Secrets that are missing, or not of type kubernetes.io/tls' "$dir/snapshot")"
}

@test "if a namespace names more than 50, those of the oldest Ingresses count, whatever their names are" {
  add_pair demo/old old.example
  make_opaque demo/old
  ingresses_are <<'ROWS'
    demo/z-old {created: "2026", tls: [{hosts: ["old.example"], secretName: "old"}]}
    demo/a-young {tls: [range(55) | {secretName: "a-\(.)"}]}
ROWS
  fetch_all >"$dir/snapshot"
  assert_equal 1 "$(grep '"certificate":"demo/old"' "$dir/snapshot" | grep -c '"names":\["old.example"\]')"
  assert_equal 6 "$(grep -c 'its namespace names more than 50' "$dir/snapshot")"
}

@test "Secrets that are late hold up one pass and no other, until all have been read" {
  run -0 bash -c '
    source "$1/fetch"
    run_certificates() { sleep 1; }
    patience() { echo 0.1; }
    pass() { if is_waited_for; then echo waits; else echo goes on; fi; look; }
    use_folder "$2"
    now=0
    unread=1 && pass && pass && unread=0 && pass && unread=1 && pass' _ "$bin" "$dir/lists-read"
  assert_equal 'waits goes on goes on waits' "${output//$'\n'/ }"
}

@test "an answer for one Secret that is not that Secret is an error, and changes nothing" {
  add_pair demo/opaque a.example
  make_opaque demo/opaque
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "opaque"}]}'
  "$bin/fetch" "$dir/known" >"$dir/first"
  cp "$api/secret-demo-opaque" "$dir/whole"
  for answer in '' '<html>' "$(jq -c '.kind = "List"' "$dir/whole")" "$(jq -c '.metadata.name = "other"' "$dir/whole")" "$(head -c 300 "$dir/whole")"; do
    echo "$answer" >"$api/secret-demo-opaque"
    set_times 0 # as if it had been asked long ago
    run --separate-stderr fetch_all "$dir/known"
    assert_equal 1 "$status"
    assert_equal '' "$output"
    assert_contains "$stderr" 'cannot use secrets: '
  done
  cp "$dir/whole" "$api/secret-demo-opaque"
  cmp "$dir/first" <(fetch_all "$dir/known")
}

@test "the loop follows a new key pair without a ring from outside, and is ready with the certificates of its hosts" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  watch_openssl 'if [[ $1 == x509 && $* != *-subject* ]]; then sleep 2; fi'
  start_controller DOORBELL=off POLL_SECONDS=3
  be_the_proxy
  assert_equal demo-one "$(certificate_for a.example)"
  make_pair "$dir/next" a.example ecdsa
  add_secret demo/one "$dir/next.crt" "$dir/next.key"
  wait_for 20 shows_certificate next a.example
}

@test "the keys of a Secret that serves nothing are pruned, too, without any reload" {
  add_pair demo/one a.example
  add_pair shop/two a.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}
    shop/two {tls: [{hosts: ["a.example"], secretName: "two"}]}
ROWS
  look_often
  start_controller CLIENT_HEADER_TIMEOUT=1
  wait_for 15 has_keys 2
  wait_for 15 nothing_to_prune
  reloads=$(metric reloads_total)
  for _ in 1 2; do
    before=$(echo "$STATE_DIR"/keys/*-*.pem)
    add_pair shop/two a.example
    wait_for 20 has_other_keys "$before"
  done
  wait_for 20 has_keys 2
  assert_equal "$reloads" "$(metric reloads_total)"
}

nothing_to_prune() {
  [[ -e $STATE_DIR/keys/unused && ! -s $STATE_DIR/keys/unused ]]
}

has_keys() { # NUMBER
  local keys=("$STATE_DIR"/keys/*-*.pem)
  ((${#keys[@]} == $1))
}

has_other_keys() { # FILES
  [[ $(echo "$STATE_DIR"/keys/*-*.pem) != "$1" ]]
}

has_other_edition() { # EDITION
  [[ $(<"$STATE_DIR/keys/edition") != "$1" ]]
}

@test "while the lists cannot be read, the keys that were found meanwhile are not pruned" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  look_often
  watch_openssl "if [[ \$1 == x509 && \$* != *-subject* && -e $dir/hold ]]; then touch $dir/held && while [[ -e $dir/hold ]]; do sleep 0.1; done; fi"
  start_controller CLIENT_HEADER_TIMEOUT=1
  wait_for 15 has_keys 1
  wait_for 15 nothing_to_prune
  edition=$(<"$STATE_DIR/keys/edition")
  touch "$dir/hold"
  add_pair demo/one a.example
  wait_for 15 test -e "$dir/held"
  mv "$api/services" "$dir/services"
  rm "$dir/hold"
  wait_for 20 has_other_edition "$edition"
  fails=$(metric failed_polls_total)
  wait_for 20 has_failed_since "$((fails + 6))" # time enough to prune
  has_keys 2
}

has_failed_since() { # TIMES
  (($(metric failed_polls_total) >= $1))
}

@test "while passes fail, the keys that the next one wants are not pruned" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  look_often
  start_controller CLIENT_HEADER_TIMEOUT=1
  wait_for 15 has_keys 1
  wait_for 15 nothing_to_prune
  ln -sf /dev/full "$STATE_DIR/scratch/apply/model.json"
  before=$(echo "$STATE_DIR"/keys/*-*.pem)
  edition=$(<"$STATE_DIR/keys/edition")
  add_pair demo/one a.example
  wait_for 20 has_keys 2
  wait_for 20 has_other_edition "$edition"
  edition=$(<"$STATE_DIR/keys/edition")
  reads=$(grep -c 'GET /api/v1/secrets' "$dir/api.access")
  wait_for 20 was_read_since "$((reads + 4))" # time enough to prune
  assert_equal "$edition" "$(<"$STATE_DIR/keys/edition")"
  rm "$STATE_DIR/scratch/apply/model.json"
  wait_for 20 has_keys 1
  refute_contains "$before" "$(echo "$STATE_DIR"/keys/*-*.pem)"
}

was_read_since() { # TIMES
  (($(grep -c 'GET /api/v1/secrets' "$dir/api.access") >= $1))
}

# --- private keys

# Whether a word of the private key is in the file; its lines are base64.
holds_key() { # KEY_FILE FILE...
  grep -qF "$(sed -n 2p "$1")" "${@:2}"
}

@test "a private key is in a file for its owner only, and in nothing that people are shown" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  go_live
  holds_key "$dir/demo-tls.key" "$STATE_DIR"/keys/*.pem
  assert_equal 600 "$(stat -c %a "$STATE_DIR"/keys/*.pem | sort -u)"
  assert_equal 700 "$(stat -c %a "$STATE_DIR/keys")"
  run holds_key "$dir/demo-tls.key" "$dir/snapshot" "$dir/model.json" "$dir"/*.log "$STATE_DIR"/live/*
  assert_equal 1 "$status"
  run grep -rlF "$(base64 -w 0 "$dir/demo-tls.key" | head -c 100)" "$dir/snapshot" "$STATE_DIR" "$dir/model.json"
  assert_equal 1 "$status" # nor as the Secret has it
}

@test "Secrets are read only if an Ingress has TLS, and keys kept only of those that ours name" {
  go_live
  run grep -c /secrets "$dir/api.access"
  assert_equal 0 "$output"
  add_pair demo/ours a.example
  add_pair demo/not-ours b.example
  add_pair demo/unnamed c.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "ours"}]}
    demo/two {ingressClassName: "other", tls: [{hosts: ["b.example"], secretName: "not-ours"}]}
ROWS
  go_live
  holds_key "$dir/demo-ours.key" "$STATE_DIR"/keys/*.pem
  for name in demo-not-ours demo-unnamed; do
    run grep -rF "$(sed -n 2p "$dir/$name.key")" "$STATE_DIR"
    assert_equal 1 "$status"
  done
}

@test "a rotated key pair is live with the next pass, and the old key is gone after two calls of prune-keys" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  go_live
  cp "$dir/demo-tls.key" "$dir/old.key"
  make_pair "$dir/new" a.example ecdsa
  add_secret demo/tls "$dir/new.crt" "$dir/new.key"
  go_live
  assert_equal new "$(certificate_for a.example)"
  "$bin/prune-keys"
  holds_key "$dir/old.key" "$STATE_DIR"/keys/*.pem # a client in the handshake may need it
  "$bin/prune-keys"
  run holds_key "$dir/old.key" "$STATE_DIR"/keys/*.pem
  assert_equal 1 "$status"
  assert_equal new "$(certificate_for a.example)"
}

@test "a fetch that is run alone says nothing when it ends before the Secrets have been looked at" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  go_live
  said=$("$bin/fetch" 2>&1 >"$dir/alone") # until what it started has ended, too
  assert_equal '' "$said"
  assert_equal '{"whole":true}' "$(tail -n 1 "$dir/alone")"
}

@test "a doubtful list of Secrets changes nothing" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  cp "$api/secrets" "$dir/secrets"
  for answer in '' '{}' '<html>' '{"kind":"SecretList","apiVersion":"v1","items":[]}' '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}' \
    "$(jq -c . "$api/secrets" | head -c 400)"; do
    echo "$answer" >"$api/secrets"
    run --separate-stderr "$bin/fetch" "$dir/lists-read"
    assert_equal 1 "$status"
    assert_equal '' "$output"
    assert_contains "$stderr" 'cannot '
  done
  cp "$dir/secrets" "$api/secrets"
  assert_contains "$("$bin/fetch" "$dir/lists-read")" '{"certificate":"demo/tls","algorithm":'
}

# --- Secrets that annotations name

# Adds an Opaque Secret with the passwords of user alice, or replaces it.
add_passwords() { # NAMESPACE/NAME PASSWORD
  jq -n -c --arg name "$1" --arg version "$((RANDOM * 32768 + RANDOM))" --arg auth "alice:$(openssl passwd -apr1 "$2")" '($name | split("/")) as [$namespace, $name]
    | {kind: "Secret", apiVersion: "v1", metadata: {name: $name, namespace: $namespace, uid: "00000000-0001", resourceVersion: $version}, type: "Opaque", data: {auth: ($auth | @base64)}}' >"$api/new"
  mv "$api/new" "$api/secret-${1/\//-}"
}

# The rows of ingresses_are, for Ingresses NAMESPACE/NAME with the host NAME.example that name a Secret for passwords.
protected_by() { # SECRET NAMESPACE/NAME...
  local name
  for name in "${@:2}"; do
    printf '%s {annotations: {"nginx.ingress.kubernetes.io/auth-type": "basic", "nginx.ingress.kubernetes.io/auth-secret": "%s"},
      rules: [{host: "%s.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}\n' "$name" "$1" "${name#*/}" | tr '\n' ' '
    echo
  done
}

status_with() { # PASSWORD HOST
  ask "$2" / -o /dev/null -w '%{http_code}' -u "alice:$1"
}

has_status() { # STATUS PASSWORD HOST
  [[ $(status_with "$2" "$3") == "$1" ]]
}

@test "the loop follows a changed password; once the Secret is deleted or forbidden, the path is closed, and again after a restart" {
  add_passwords demo/users first
  ingresses_are < <(protected_by users demo/one)
  look_often
  start_controller
  assert_equal '200 401' "$(status_with first one.example) $(status_with second one.example)"
  add_passwords demo/users second
  wait_for 25 has_status 200 second one.example
  assert_equal 401 "$(status_with first one.example)"
  mv "$api/secret-demo-users" "$dir/users"
  wait_for 25 has_status 503 second one.example
  mv "$dir/users" "$api/secret-demo-users"
  wait_for 25 has_status 200 second one.example
  : >"$api/forbidden-users"
  wait_for 25 has_status 503 second one.example
  wait_for 10 polled_since "$(($(metric polls_total) + 2))" # one that is stopped before it has proved what it reloaded goes back to what was
  stop_controller
  start_controller # with what is in STATE_DIR, as in a container that was restarted
  assert_equal 503 "$(status_with second one.example)"
  rm "$api/forbidden-users"
  wait_for 25 has_status 200 second one.example
  stop_controller
  rm -r "$STATE_DIR"
  be_the_proxy
  : >"$api/forbidden-users"
  start_controller # with nothing
  assert_equal 503 "$(status_with second one.example)"
}

@test "passwords are in a file for its owner only, in nothing that people are shown, and gone two calls of prune-keys after the Secret" {
  add_passwords demo/users first
  hash=$(jq -r '.data.auth | @base64d' "$api/secret-demo-users")
  ingresses_are < <(protected_by users demo/one)
  go_live
  assert_equal 200 "$(status_with first one.example)"
  grep -rlF "$hash" "$STATE_DIR" "$dir/snapshot" "$dir/model.json" "$dir/lists-read" >"$dir/files"
  assert_equal 1 "$(grep -cE '/keys/00000000-0001-[0-9]+\.file\.htpasswd$' "$dir/files")"
  assert_equal 1 "$(wc -l <"$dir/files")"
  assert_equal 600 "$(stat -c %a "$STATE_DIR"/keys/*.htpasswd)"
  for _ in 1 2; do "$bin/prune-keys"; done
  assert_equal 200 "$(status_with first one.example)"
  ingresses_are <<<''
  go_live
  for _ in 1 2; do "$bin/prune-keys"; done
  run grep -rlF "$hash" "$STATE_DIR" --exclude-dir=lists
  assert_equal 1 "$status"
}

@test "a Secret of another namespace is read and counts only if SHARED_NAMESPACES lists that" {
  add_passwords shop/users first
  ingresses_are < <(protected_by shop/users demo/one shop/theirs)
  go_live
  assert_equal '503 200' "$(status_with first one.example) $(status_with first theirs.example)"
  assert_contains "$(problems)" 'Secret shop/users is not of namespace demo, and SHARED_NAMESPACES does not list its namespace'
  ingresses_are < <(protected_by shop/users demo/one)
  export SHARED_NAMESPACES=test
  rm -r "$dir/lists-read" "$STATE_DIR/keys"
  : >"$dir/api.access"
  go_live
  assert_equal 503 "$(status_with first one.example)"
  run grep -c /secrets/ "$dir/api.access"
  assert_equal 0 "$output"
  export SHARED_NAMESPACES=test,shop
  go_live
  assert_equal 200 "$(status_with first one.example)"
}

@test "one Secret can be a certificate, an authority and passwords; each use is read when an Ingress first asks for it" {
  add_pair demo/all a.example
  make_revocations "$dir/crl" "$dir/demo-all" 20991231000000Z
  jq -c --rawfile crl "$dir/crl" '.items |= map(.data += {"ca.crt": .data["tls.crt"], "ca.crl": ($crl | @base64), auth: ("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" | @base64)})' "$api/secrets" >"$api/new"
  mv "$api/new" "$api/secrets"
  make_opaque demo/all
  ingresses_are <<<'demo/tls {tls: [{hosts: ["a.example"], secretName: "all"}]}'
  go_live
  assert_equal 1 "$(grep -c '"certificate":' "$dir/snapshot")"
  ingresses_are < <(echo 'demo/tls {tls: [{hosts: ["a.example"], secretName: "all"}], annotations: {"nginx.ingress.kubernetes.io/proxy-ssl-secret": "all"}}' && protected_by all demo/one)
  go_live
  jq -c 'select(.certificate) | [.use, .reason, (.file | sub(".*[0-9][.]"; ""))]' "$dir/snapshot" >"$dir/uses"
  assert_equal $'["auth-file",null,"file.htpasswd"]\n["ca",null,"crl.ca.pem"]\n[null,null,"pem"]' "$(<"$dir/uses")"
  for _ in 1 2; do "$bin/prune-keys"; done
  assert_equal 3 "$(find "$STATE_DIR/keys" -name '*-*.*' | wc -l)"
  assert_equal '200 401' "$(status_with secret one.example) $(status_with wrong one.example)"
  assert_equal demo-all "$(certificate_for a.example)"
}

@test "the Secrets that serve are asked for at each look, by one kubectl if they are many; more than 50 of a namespace are not read" {
  for i in {10..70}; do add_passwords "demo/users-$i" "first-$i"; done
  ingresses_are < <(for i in {10..70}; do protected_by "users-$i" "demo/one-$i"; done)
  go_live
  assert_equal '200 503' "$(status_with first-10 one-10.example) $(status_with first-70 one-70.example)"
  assert_equal 50 "$(grep -c '"file":' "$dir/snapshot")"
  : >"$dir/api.access"
  add_passwords demo/users-59 second
  go_live
  assert_equal '401 200' "$(status_with first-59 one-59.example) $(status_with second one-59.example)"
  assert_equal 50 "$(grep -c '/secrets/users' "$dir/api.access")"
}

# Adds an Opaque Secret with an authority, or replaces it; the authority's key pair stays in FILE.crt and FILE.key.
add_authority() { # NAMESPACE/NAME FILE
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=authority -keyout "$2.key" -out "$2.crt" 2>/dev/null
  jq -n -c --arg name "$1" --arg version "$((RANDOM * 32768 + RANDOM))" --rawfile crt "$2.crt" '($name | split("/")) as [$namespace, $name]
    | {kind: "Secret", apiVersion: "v1", metadata: {name: $name, namespace: $namespace, uid: "00000000-0002", resourceVersion: $version}, type: "Opaque", data: {"ca.crt": ($crt | @base64)}}' >"$api/new"
  mv "$api/new" "$api/secret-${1/\//-}"
}

# Prints the status of a request on a connection of its own, which resumes the session in the file, if it is there.
status_on() { # HANDSHAKE HOST VERSION [S_CLIENT_OPTION...]
  local session=()
  [[ ! -e $dir/session$3 ]] || session=(-sess_in "$dir/session$3")
  { printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" && sleep 0.3; } |
    connect -servername "$1" -ign_eof "$3" "${session[@]}" "${@:4}" 2>/dev/null | tr -d '\r' | sed -n 's/^HTTP[^ ]* \([0-9]*\) .*/\1/p'
}

@test "a client whose certificate was checked gets no TLS session to resume, for whatever host; when another authority of the same name replaces its own, it is refused" {
  add_authority demo/ca "$dir/ca"
  add_authority demo/other "$dir/other"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=client -keyout "$dir/client.key" -out "$dir/client.csr" 2>/dev/null
  openssl x509 -req -in "$dir/client.csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -days 1 -out "$dir/client.crt" 2>/dev/null
  verified='rules: [{host: "%s.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}], annotations: {"nginx.ingress.kubernetes.io/auth-tls-secret": "%s"}'
  # shellcheck disable=SC2059 # that is a format
  printf "demo/x {$verified}\ndemo/y {$verified}\n" x ca y other >"$dir/rows"
  ingresses_are <"$dir/rows"
  go_live
  for version in -tls1_2 -tls1_3; do
    assert_equal 200 "$(status_on x.example x.example "$version" -cert "$dir/client.crt" -key "$dir/client.key" -sess_out "$dir/session$version")"
    assert_equal 421 "$(status_on x.example y.example "$version")"
    [[ ! -e $dir/session$version ]]
    for host in x y; do
      [[ $(status_on y.example "$host.example" "$version") == 4[0-9][0-9] ]]
    done
  done
  add_authority demo/ca "$dir/next"
  go_live
  for version in -tls1_2 -tls1_3; do
    wait_for 10 has_status_on 400 x.example x.example "$version" # an old worker may still take it
  done
}

has_status_on() { # STATUS HANDSHAKE HOST VERSION
  [[ $(status_on "${@:2}") == "$1" ]]
}
