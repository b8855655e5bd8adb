# What became live has a number, and `changes` tells what it was, why, and how long each step took.
load helpers

setup() {
  common_setup
}
teardown() { common_teardown; }

# Runs the loop on FIXTURE until its first configuration is live.
run_loop() { # FIXTURE
  start_api "$1"
  start_controller
  wait_for 15 is_kept 1
}

is_kept() { # NUMBER
  [[ -e $STATE_DIR/changes/$1/settings.json ]]
}

# These have one run of the loop: to start it takes longer than all else.
@test "each configuration that became live has a number, which the log has, too, with its time, the steps' milliseconds and why; passes without a change keep nothing; /metrics has a histogram of each step's durations, and the problems by their reason; and after a restart, the numbers go on" {
  run_loop rules
  polls=$(metric polls_total)
  wait_for 15 polled_since $((polls + 3))
  assert_equal "$STATE_DIR/changes/1" "$(echo "$STATE_DIR"/changes/[0-9]*)"
  assert_equal "$(stat -c %i "$STATE_DIR/live/nginx.conf")" "$(stat -c %i "$STATE_DIR/changes/1/nginx.conf")" # another name, and no copy
  assert_histograms
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  wait_for 15 is_kept 2
  assert_two_changes
  stop_controller
  start_controller PROXY_READ_TIMEOUT=77
  wait_for 15 is_kept 3
  run "$bin/changes" 3
  assert_contains "${lines[0]}" 'settings or templates changed'
  assert_contains "$output" '+  proxy_read_timeout 77s;'
  assert_contains "$("$bin/changes" 3 --bundle | head -n 1)" '"PROXY_READ_TIMEOUT":"77"'
  stop_controller
  start_controller PROXY_READ_TIMEOUT=77
  polls=$(metric polls_total)
  wait_for 15 polled_since $((polls + 2))
  [[ ! -e $STATE_DIR/changes/4 ]]
}

assert_two_changes() {
  run "$bin/changes"
  assert_equal 0 "$status"
  assert_equal 2 "${#lines[@]}"
  [[ ${lines[0]} =~ ^\ *1\ \ 20[0-9-]{8}\ [0-9:]{8}\ \ fetch\ [0-9]+,\ route\ [0-9]+,\ render\ [0-9]+,\ test\ [0-9]+,\ reload\ [0-9]+,\ apply\ [0-9]+\ ms\ \ added\ Ingress\ demo/added-later, ]] || { echo "${lines[0]}" && false; }
  assert_contains "${lines[1]}" ' ms  changed '
  logged 'apply: new configuration: added Ingress demo/added-later.* [(]change 1[)]$'
  logged 'apply: new configuration: changed .*Ingress demo/fruit [(]change 2[)]$'
  run "$bin/changes" 2
  assert_contains "$output" $'\n+    server_name "new.example";\n'
  refute_contains "$output" 'config-hash'
  run "$bin/changes" 1 --bundle
  cmp <("$bin/changes" --replay <<<"$output" 2>&1 | tail -n +2) <(tail -n +2 <("$bin/render" <"$STATE_DIR/changes/1/model.json"))
}

assert_histograms() {
  metrics=$(admin_page /metrics)
  for step in fetch route render apply test reload; do
    mapfile -t counts < <(sed -nE "s/^bash_ingress_step_duration_seconds_bucket[{]step=\"$step\",le=\"[0-9.+Inf]+\"[}] //p" <<<"$metrics")
    assert_equal 12 "${#counts[@]}"
    assert_equal "$(printf '%s\n' "${counts[@]}" | sort -n)" "$(printf '%s\n' "${counts[@]}")"
    ((counts[11] >= 1))
    assert_contains "$metrics" "bash_ingress_step_duration_seconds_count{step=\"$step\"} ${counts[11]}"
    grep -Eq "^bash_ingress_step_duration_seconds_sum[{]step=\"$step\"[}] [0-9]+[.][0-9]{6}" <<<"$metrics"
  done
  assert_contains "$metrics" $'\nbash_ingress_problems_by_reason{reason="PathTaken"} '"$(jq '[.problems[] | select(.reason == "PathTaken")] | length' "$STATE_DIR/live/model.json")"
}

# Makes the folder of a change, as the loop does, of the snapshot on standard input.
keep() { # NUMBER
  mkdir -p "$STATE_DIR/scratch/loop" "$STATE_DIR/live" "$STATE_DIR/changes"
  cat >"$STATE_DIR/live/snapshot"
  "$bin/route" <"$STATE_DIR/live/snapshot" >"$STATE_DIR/live/model.json"
  "$bin/render" <"$STATE_DIR/live/model.json" >"$STATE_DIR/live/nginx.conf"
  read -r _ _ hash _ <"$STATE_DIR/live/nginx.conf"
  printf 'number %s\nhash %s\ntime %s\ncause %s\n' "$1" "$hash" 1600000000 "added Ingress demo/$1" >"$STATE_DIR/live/change"
  (source "$bin/loop" && record_change && wait)
  rm "$STATE_DIR/live"/*
}

@test "only the last changes are kept, in number and in bytes, and always the last one" {
  copy_programs
  edit "$bin/lib/loop/changes/record.bash" 's/most_changes=30/most_changes=2/'
  for number in 9 10 11; do snapshot nothing | keep "$number"; done
  assert_equal '10 11' "$("$bin/changes" | awk '{ print $1 }' | paste -sd ' ')"
  edit "$bin/lib/loop/changes/record.bash" 's/most_bytes=[^ ]* [*] 1024 [*] 1024))/most_bytes=1000/'
  snapshot nothing | keep 12
  assert_equal 12 "$("$bin/changes" | awk '{ print $1 }')"
}

@test "a question that is none, and a change that is not kept, get a sentence and status 2" {
  for arguments in 7 '7 --bundle' 'seven' '7 --all' '--bundle' '1 2'; do
    # shellcheck disable=SC2086 # each word is an argument
    run "$bin/changes" $arguments
    assert_equal 2 "$status" || { echo "$arguments" && false; }
    assert_equal 1 "${#lines[@]}"
  done
  assert_contains "$("$bin/changes" 7 2>&1)" 'there is no change 7 here'
  run "$bin/changes"
  assert_equal 0 "$status"
  run "$bin/changes" --replay <<<'{}'
  assert_contains "$output" 'standard input is no bundle'
}

# --- bundles

@test "no private key and no hash of a password is in what is kept, nor in a bundle" {
  make_pair "$dir/pair" fruit.example ecdsa
  start_api rules '.ingresses.items[0] |= (.spec.tls = [{hosts: ["fruit.example"], secretName: "pair"}]
    | .metadata.annotations = {"nginx.ingress.kubernetes.io/auth-type": "basic", "nginx.ingress.kubernetes.io/auth-secret": "users"})'
  jq -n -c --rawfile crt "$dir/pair.crt" --rawfile key "$dir/pair.key" '{kind: "SecretList", apiVersion: "v1", metadata: {resourceVersion: "1"}, items: [
    {metadata: {namespace: "demo", name: "pair", uid: "00000000-0000-4000-8000-000000000001", resourceVersion: "5"}, type: "kubernetes.io/tls", data: ({"tls.crt": $crt, "tls.key": $key} | map_values(@base64))}]}' >"$api/secrets"
  jq -n -c '{kind: "Secret", apiVersion: "v1", metadata: {namespace: "demo", name: "users", uid: "00000000-0000-4000-8000-000000000002", resourceVersion: "6"}, type: "Opaque", data: {auth: ("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" | @base64)}}' >"$api/secret-demo-users"
  start_controller
  wait_for 20 grep -q 'auth_basic_user_file.*htpasswd' "$STATE_DIR/live/nginx.conf"
  wait_for 20 grep -q '"names":."fruit.example"' "$STATE_DIR/live/snapshot"
  last=$(sed -n 's/^number //p' "$STATE_DIR/live/change")
  wait_for 15 is_kept "$last"
  secrets=("$(sed -n 2p "$dir/pair.key")" 5en6G6MezRroT3XKqkdPOmY)
  for secret in "${secrets[@]}"; do
    grep -rqF "$secret" "$STATE_DIR/keys"
    run ! grep -rlF -e "$secret" -e "$(base64 -w 0 <<<"$secret")" "$STATE_DIR/changes" "$STATE_DIR/admin"
    refute_contains "$("$bin/changes" "$last" --bundle)" "$secret"
  done
  assert_equal 700 "$(stat -c %a "$STATE_DIR/changes")"
}

@test "a bundle renders the same bytes elsewhere, with its settings, its quarantine and templates of a user's own" {
  copy_programs
  mkdir "$dir/own"
  cp "$templates"/* "$dir/own"
  edit "$dir/own/clients.conf.template" 's/server_tokens off/server_tokens build/'
  snapshot rules >"$dir/snapshot"
  mkdir -p "$STATE_DIR/scratch/loop"
  grep '"Ingress demo/fruit"' "$dir/snapshot" | jq -c '{(.of): {summary: tojson, message: "it is too much"}}' >"$STATE_DIR/scratch/loop/quarantine"
  export TEMPLATES_DIR=$dir/own HSTS='max-age=7' PROXY_SET_HEADERS=$'X-Team: blue\nX-Side: left'
  golden_snapshot rules >"$dir/snapshot"
  keep 1 <"$dir/snapshot"
  "$bin/route" "$STATE_DIR/scratch/loop/quarantine" <"$dir/snapshot" | "$bin/render" >"$dir/nginx.conf"
  edit "$STATE_DIR/changes/1/change" "s/^hash .*/hash $(cut -d ' ' -f 3 <(head -n 1 "$dir/nginx.conf"))/"
  "$bin/changes" 1 --bundle >"$dir/bundle"
  unset TEMPLATES_DIR HSTS PROXY_SET_HEADERS HTTP_PORT HTTPS_PORT ADMIN_PORT
  STATE_DIR=$dir/elsewhere features_in_use='' "$bin/changes" --replay <"$dir/bundle" >"$dir/replayed"
  cmp "$dir/nginx.conf" "$dir/replayed"
  assert_contains "$(head -n 1 "$dir/bundle")" 'The files of TEMPLATES_DIR are in it, whole.'
  assert_contains "$(STATE_DIR=$STATE_DIR "$bin/changes" 1 --bundle --redact | head -n 1)" 'The files of TEMPLATES_DIR are in it as they are.'
  refute_contains "$(<"$dir/replayed")" 'fruit.example"; proxy_pass'
  assert_contains "$(<"$dir/replayed")" 'server_tokens build'
  jq -c 'if .change then .change.hash = "0" else . end' "$dir/bundle" >"$dir/other"
  STATE_DIR=$dir/elsewhere run "$bin/changes" --replay <"$dir/other"
  assert_equal 1 "$status"
  assert_contains "$output" 'this is not what became live'
}

@test "the first line of a bundle says what is in it" {
  snapshot rules | keep 1
  "$bin/changes" 1 --bundle >"$dir/bundle"
  assert_contains "$(head -n 1 "$dir/bundle" | jq -r .bundle)" 'It has the values of annotations and of headers, so read it before you show it. It has no private keys and no passwords.'
  assert_equal '{"bundle":' "$(head -c 10 "$dir/bundle")"
  refute_contains "$(head -n 1 "$dir/bundle")" 'files of TEMPLATES_DIR'
  assert_contains "$("$bin/changes" 1 --bundle --redact | head -n 1 | jq -r .bundle)" 'Other words stand in the place of the values'
}

# Prints random clusters.
combinations() { # FIRST COUNT
  jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson first "$1" --argjson count "$2" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" \
    --argjson classes "$(jq -c .ingressClasses "$fixtures/rules/lists.json")" -f "$BATS_TEST_DIRNAME/tables/combinations.jq"
}

@test "whatever annotations meet, a bundle renders the same bytes; redacted, it differs in values only, and has none of them" {
  local number=${FIRST_COMBINATION:-1} count=${COMBINATIONS:-4} redacted=0
  features_in_use=''
  while IFS= read -r lists; do
    mapfile -t settings < <(jq -r '{CONFIGMAP: "", DEFAULT_BACKEND: ""} + .settings | to_entries[] | "\(.key)=\(.value)"' <<<"$lists")
    export "${settings[@]}"
    "$fixtures/snapshot" <<<"$lists" >"$dir/snapshot"
    "$bin/route" <"$dir/snapshot" | "$bin/render" >"$dir/nginx.conf"
    bundle_of "$dir/snapshot" >"$dir/bundle"
    jq -n -c -L "$bin/lib" -f "$bin/lib/loop/changes/redact.jq" <"$dir/bundle" >"$dir/redacted"
    "$bin/changes" --replay <"$dir/bundle" | cmp - "$dir/nginx.conf"
    "$bin/changes" --replay <"$dir/redacted" >"$dir/replayed"
    run jq -n -r --rawfile before "$dir/nginx.conf" --rawfile after "$dir/replayed" -f "$BATS_TEST_DIRNAME/tables/redacted.jq"
    assert_equal 0 "$status"
    assert_equal '' "$output" || { echo "in cluster $number: FIRST_COMBINATION=$number COMBINATIONS=1" && false; }
    if ! cmp -s "$dir/nginx.conf" "$dir/replayed"; then redacted=$((redacted + 1)); fi
    number=$((number + 1))
  done < <(combinations "$number" "$count")
  assert_equal "$((${FIRST_COMBINATION:-1} + count))" "$number"
  ((redacted > 0 || count < 4))
}

# Prints the bundle of a snapshot, without a loop.
bundle_of() { # SNAPSHOT
  jq -n -c -f "$bin/lib/loop/changes/bundle.jq" --arg number 1 --arg time 0 --arg hash "$(head -n 1 "$dir/nginx.conf" | cut -d ' ' -f 3)" --arg cause x --slurpfile quarantine /dev/null \
    --argjson settings "[{\"version\": \"1\", \"settings\": {\"HTTP_PORT\": \"$HTTP_PORT\", \"STATE_DIR\": \"$STATE_DIR\", \"PROXY_SET_HEADERS\": \"\", \"CONFIGMAP\": \"$CONFIGMAP\"}}]" "$1"
}

@test "the page shows what is passed on, TCP and UDP as what is served, and of the ConfigMap of CONFIGMAP the names of its keys" {
  jq -n '{servers: [{host: "a.example", locations: [{of: "Ingress demo/a", path: "/", pathType: "Prefix", status: 421, message: "x", passed: {service: "demo/vault", port: 443, upstream: "vault"}}]}],
    upstreams: [{name: "vault", endpoints: ["10.0.0.1:8443"]}], streams: [{protocol: "UDP", port: 53, service: "demo/dns", servicePort: 53, endpoints: ["10.0.0.2:53"]}],
    problems: [{of: null, reason: "ConfigMapValueRefused", message: "ConfigMap ing/keys: block-cidrs is \"S3CRET\"; allowed: x. Its last good value holds: \"S3CRET\""}, {of: null, reason: "ConfigMapValueRefused", message: "ConfigMap ing/keys: keep-alive is \"S3CRET\". Its default holds"}]}' >"$dir/model.json"
  jq -c -L "$bin/lib" -f "$bin/lib/loop/changes/page.jq" --arg change $'number 1\ntime 1\nhash x\ncause x' --arg took '' --arg nginx '' \
    --arg objects $'1a2\n> {"configmap":"ing/keys","keys":["block-cidrs"],"good":{"block-cidrs":"S3CRET"},"settings":{},"problems":[]}\n> {"streams":"TCP","configMap":"ing/tcp","entries":[{"port":9000,"service":"demo/redis","servicePort":6379}]}' "$dir/model.json" | tail -n 1 >"$dir/page.json"
  assert_json '[.hosts[] | .host, (.paths[] | .type, .service, .port, .status, .pods[])]' '["a.example","TLS passed on","demo/vault",443,null,"10.0.0.1:8443","UDP port 53","","demo/dns",53,null,"10.0.0.2:53"]' <"$dir/page.json"
  assert_json .objects '["+ ConfigMap ing/keys: key block-cidrs","+ ConfigMap ing/tcp: TCP port 9000 → demo/redis:6379"]' <"$dir/page.json"
  refute_contains "$(<"$dir/page.json")" S3CRET
}

@test "no value that may be a secret is left in a redacted bundle: of headers, URLs' queries, texts, networks, and sentences about wrong values" {
  local secret='.ingresses.items[0].metadata.annotations = {"nginx.ingress.kubernetes.io/auth-realm": "S3CRET realm", "nginx.ingress.kubernetes.io/auth-url": "http://apple.demo.svc/in?token=S3CRET",
    "nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.77/32", "nginx.ingress.kubernetes.io/canary-by-header-value": "S3CRET",
    "nginx.ingress.kubernetes.io/x-forwarded-prefix": "/S3CRET", "nginx.ingress.kubernetes.io/custom-headers": "headers"}
    | .ingresses.items[1].metadata.annotations = {"nginx.ingress.kubernetes.io/limit-rps": "S3CRET; allowed: S3CRET"}'
  export PROXY_SET_HEADERS='X-Key: S3CRET' DEFAULT_ANNOTATIONS='auth-realm: S3CRET' CONFIGMAP=ing/keys
  secret+=' | .configmap.items = [{metadata: {namespace: "ing", name: "keys"}, data: {"block-user-agents": "~*S3CRET", "block-referers": "S3CRET", "block-cidrs": "192.0.2.77",
    "global-auth-url": "http://apple.demo.svc/?token=S3CRET", "auth-realm": "S3CRET", "keep-alive": "S3CRET", "denylist-source-range": "192.0.2.77, S3CRET", "skip-access-log-urls": "/S3CRET", "log-format-upstream": "S3CRET"}}]'
  snapshot rules "$secret | .certificates = [{secret: \"demo/configmaps/headers\", use: \"answer-headers\", headers: {\"X-A\": \"S3CRET\"}}]" >"$dir/snapshot"
  keep 1 <"$dir/snapshot"
  assert_contains "$("$bin/changes" 1 --bundle)" S3CRET
  run "$bin/changes" 1 --bundle --redact
  assert_equal 0 "$status"
  refute_contains "$output" S3CRET
  refute_contains "$output" 192.0.2.77
  assert_contains "$output" '"X-A":"redacted'
  assert_contains "$output" '?token=redacted'
}
