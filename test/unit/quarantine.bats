# What if something that nginx rejects got past the allow-lists? The programs here are
# copies without the check of a path's length. And what if good Ingresses are too much together?
load helpers

setup() {
  common_setup
  copy_programs
  mkdir -p "$dir/test/fixtures"
  cp -r "$fixtures"/* "$dir/test/fixtures"
  fixtures=$dir/test/fixtures
  edit "$bin/lib/allow.jq" 's/if length > 1024 then/if false then/'
  edit "$bin/quarantine" 's/seconds_for_suspects=[0-9]*/seconds_for_suspects=30/' # for a busy machine
}
teardown() { common_teardown; }

# A jq filter: adds Ingresses to the fixture "rules", each with such a path.
with_long_paths() { # NAME...
  jq -n -r --args '[$ARGS.positional[] | ".ingresses.items += [.ingresses.items[0] * {metadata: {name: \"\(.)\", uid: \"\(.)\", resourceVersion: \"100\"},
    spec: {rules: [{host: \"\(.).example\", http: {paths: [.ingresses.items[0].spec.rules[0].http.paths[0] + {path: (\"/\" + \"x\" * 5000)}]}}]}}]"] | join("|")' "$@"
}

@test "quarantine names the Ingresses that nginx rejects, with nginx's words" {
  snapshot rules "$(with_long_paths long longer)" >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
  assert_json 'keys' '["Ingress demo/long","Ingress demo/longer"]' <"$dir/quarantine"
  assert_json '.["Ingress demo/long"].summary | fromjson | .of' '"Ingress demo/long"' <"$dir/quarantine"
  assert_contains "$(<"$dir/quarantine")" 'too long parameter'
}

@test "of two Ingresses that nginx takes alone but not together, quarantine names the newer" {
  mkdir "$dir/path"
  cat >"$dir/path/nginx" <<NGINX
#!/bin/bash
file=\${*: -1}
if [[ " \$* " == *' -t '* ]] && grep -q one.example "\$file" && grep -q other.example "\$file"; then
  echo "nginx: [emerg] they clash in \$file:7" >&2
  echo "nginx: configuration file \$file test failed" >&2
  exit 1
fi
exec $(command -v nginx) "\$@"
NGINX
  chmod +x "$dir/path/nginx"
  two='.ingresses.items += [("other", "one") as $name | .ingresses.items[0] * {metadata: {$name, uid: $name, resourceVersion: "100"},
    spec: {rules: [{host: "\($name).example"}]}}]'
  mkdir -p "$STATE_DIR/live"
  snapshot rules "$two | del(.ingresses.items[-1])" >"$STATE_DIR/live/snapshot"
  PATH=$dir/path:$PATH "$bin/quarantine" < <(snapshot rules "$two") | assert_json 'map_values(.message)' '{"Ingress demo/one":"they clash"}'
}

@test "quarantine names nobody when nginx takes the configuration" {
  assert_equal '{}' "$(snapshot rules | "$bin/quarantine" | jq -c .)"
}

@test "quarantine blames no Ingress when nginx rejects what the templates or the settings say" {
  edit "$dir/templates/clients.conf.template" 's/^  server_tokens off/  nonsense on/'
  run "$bin/quarantine" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx rejects even a configuration without Ingresses'
}

@test "quarantine blames no Ingress when nginx fails because it has no memory" {
  nginx_fails_for events 'echo "nginx: [emerg] malloc(16384) failed (12: Cannot allocate memory)" >&2; exit 1'
  run "$bin/quarantine" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx rejects even a configuration without Ingresses'
  assert_contains "$output" 'Cannot allocate memory'
}

@test "quarantine blames no Ingress when a program that renders is killed" {
  mkdir "$dir/path"
  printf '#!/bin/bash\n[[ ! -e %q ]] || kill -KILL $$\n: >%q\nexec %q "$@"\n' "$dir/second" "$dir/second" "$(command -v envsubst)" >"$dir/path/envsubst"
  chmod +x "$dir/path/envsubst"
  PATH=$dir/path:$PATH run "$bin/quarantine" < <(snapshot rules)
  refute_contains "$output" demo/
}

# From here on, `nginx -t` does this if the configuration has TEXT.
nginx_fails_for() { # TEXT COMMANDS
  mkdir -p "$dir/path"
  cat >"$dir/path/nginx" <<NGINX
#!/bin/bash
file=\${*: -1}
if [[ " \$* " == *' -t '* ]] && grep -q '$1' "\$file"; then
  $2
fi
exec $(PATH=${PATH#"$dir/path:"} command -v nginx) "\$@"
NGINX
  chmod +x "$dir/path/nginx"
  PATH=$dir/path:${PATH#"$dir/path:"}
}

# jq functions. Host names of one hash value: "an" and "c0" have the same (ngx_hash in nginx's source). They fill a
# bucket of 64 KiB, and 250 of the longest names are enough for that. `adding` adds an Ingress, with a part of its spec.
functions='
  def one_hash($from; $to; $suffix): [range($from; $to) as $n | [range(10) | if $n / pow(2; .) | floor % 2 == 0 then "an" else "c0" end] | add + "x" * 210 + $suffix];
  def rules: {rules: map({host: ., http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}})};
  def adding($namespace; $name; $created; spec):
    .ingresses.items += [{metadata: {$namespace, $name, uid: $name, resourceVersion: "100", creationTimestamp: $created}, spec: ({ingressClassName: "bash"} + spec)}];
'

# Rows: ADDED as a jq filter, the Ingresses that must be in QUARANTINE, and a part of nginx's WORDS. In each, the fixture
# "rules" is live, and a good neighbour is new, too: older than the guilty ones in one row, and younger in the next.
assert_quarantine() {
  local added expected words created=2028
  mkdir -p "$STATE_DIR/live"
  snapshot rules >"$STATE_DIR/live/snapshot"
  while IFS=$'\t' read -r added expected words; do
    created=$((created == 2028 ? 2020 : 2028))
    snapshot rules "$functions $added | adding(\"shop\"; \"neighbour\"; \"$created\"; [\"neighbour.example\"] | rules)" >"$dir/snapshot"
    "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
    assert_row "$expected" "$(jq -r 'keys | map(ltrimstr("Ingress ")) | join(" ")' "$dir/quarantine")" "$added"
    assert_contains "$(jq -r '.[].message' "$dir/quarantine")" "$words"
    "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$dir/model.json"
    assert_json '[.servers[].host | select(. == "neighbour.example" or . == "fruit.example")]' '["fruit.example","neighbour.example"]' <"$dir/model.json"
    assert_row "$expected" "$(jq -r '[.problems[] | select(.reason == "RejectedByNginx").of | ltrimstr("Ingress ")] | join(" ")' "$dir/model.json")" "$added"
    "$bin/render" <"$dir/model.json" | "$bin/apply" test
  done < <(rows)
}

@test "whatever nginx rejects, the newest Ingresses that are the reason are named with its words, and a new one of a neighbour is served" {
  assert_quarantine <<'ROWS'
    # added                                                                                       quarantined      nginx's words
    adding("demo"; "hosts"; "2027"; one_hash(0; 300; ".example") | rules)                          demo/hosts       could not build server_names_hash, you should increase server_names_hash_max_size
    adding("demo"; "short"; "2027"; [one_hash(0; 300; ".example")[:249][]] | rules) | adding("demo"; "more"; "2028"; one_hash(300; 400; ".example") | rules)   demo/more   could not build server_names_hash
    adding("demo"; "b"; "2027"; one_hash(0; 200; ".example") | rules) | adding("other"; "a"; "2028"; one_hash(200; 400; ".example") | rules)   other/a   could not build server_names_hash
    adding("demo"; "b"; "2027"; one_hash(0; 200; ".example") | rules) | adding("other"; "a"; "2026"; one_hash(200; 400; ".example") | rules)   demo/b    could not build server_names_hash
    adding("demo"; "one"; "2027"; one_hash(0; 300; ".one") | rules) | adding("demo"; "two"; "2027"; one_hash(0; 300; ".two") | rules) | adding("demo"; "good"; "2027"; ["good.example"] | rules)   demo/one demo/two   could not build
    .certificates = [{secret: "demo/pair", file: "pair.pem", algorithm: "ecdsa", names: ["*.example"]}] | adding("demo"; "tls"; "2027"; {tls: [{hosts: one_hash(0; 300; ".example"), secretName: "pair"}]})   demo/tls   could not build map_hash
ROWS
}

@test "an Ingress with which nginx's test has no end, or is killed, is named like any other that nginx rejects" {
  edit "$bin/lib/apply/nginx.bash" 's/^test_seconds=30 /test_seconds=1 /'
  local end added='adding("demo"; "guilty"; "2027"; ["guilty.example"] | rules)  demo/guilty'
  while IFS='|' read -r end words; do
    nginx_fails_for guilty.example "$end"
    assert_quarantine <<<"$added  $words"
  done <<'ROWS'
exec sleep 60|nginx's test took longer than 1 s
kill -KILL $$|nginx's test was killed, perhaps because there is not enough memory
kill -SEGV $$|nginx's test ended with status 139
echo 'nginx: [emerg] it is too much' >&2; exit 1|it is too much
exit 1|nginx does not say why
ROWS
}

# Many Ingresses that nginx rejects each for itself, in one namespace, and a neighbour that is younger; nothing is live yet.
many_guilty='. + reduce range(5) as $i (.; adding("demo"; "guilty-\($i)"; "2027"; ["guilty.example", "guilty-\($i).example"] | rules)) | adding("shop"; "neighbour"; "2028"; ["neighbour.example"] | rules)'

@test "if nginx rejects even the error for a host that is left out, that is left out, too" {
  nginx_fails_for guilty 'echo "nginx: [emerg] no" >&2; exit 1'
  snapshot rules "$functions"'adding("demo"; "bad"; "2020"; ["guilty.example"] | rules)' >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine" 2>"$dir/quarantine.log"
  assert_contains "$(<"$dir/quarantine.log")" 'nginx rejects even the hosts of what is left out: no'
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" | tee "$dir/model.json" | "$bin/render" | "$bin/apply" test
  assert_json 'any(.servers[]; .host == "guilty.example")' false <"$dir/model.json"
}

@test "an Ingress does not wait for the search among those of a namespace that has a guilty one" {
  nginx_fails_for guilty- 'echo "nginx: [emerg] no" >&2; exit 1'
  edit "$bin/quarantine" 's/seconds_for_suspects=[0-9]*/seconds_for_suspects=0/'
  snapshot rules "$functions $many_guilty" >"$dir/snapshot"
  run --separate-stderr "$bin/quarantine" <"$dir/snapshot"
  assert_json '[keys[] | select(startswith("Ingress demo/") | not)]' '[]' <<<"$output"
  assert_json '.["Ingress demo/guilty-0"].message' '"no"' <<<"$output"
  assert_json '.["Ingress demo/guilty-4"].message' '"this one, or another that is new: there was no time to find out which"' <<<"$output"
  assert_contains "$stderr" 'the search for what nginx rejects took too long: 4 Ingresses that are new or changed are left out untested'
}

@test "when the search takes too long, what is live as it is now stays, and the log says that the rest is left out" {
  mkdir -p "$STATE_DIR/live"
  snapshot rules >"$STATE_DIR/live/snapshot"
  nginx_fails_for guilty- 'echo "nginx: [emerg] no" >&2; exit 1'
  edit "$bin/quarantine" 's/seconds_for_all=[0-9]*/seconds_for_all=0/'
  snapshot rules "$functions $many_guilty" >"$dir/snapshot"
  run --separate-stderr "$bin/quarantine" <"$dir/snapshot"
  assert_json 'keys | map(ltrimstr("Ingress "))' '["demo/guilty-0","demo/guilty-1","demo/guilty-2","demo/guilty-3","demo/guilty-4","shop/neighbour"]' <<<"$output"
  assert_contains "$stderr" 'took too long: 6 Ingresses that are new or changed are left out untested'
}

@test "an Ingress that is left out already is not tested again, nor taken for live because it is in the live snapshot" {
  nginx_fails_for guilty.example 'echo tested >>"$0.log"; printf "nginx: [emerg] no\nnginx: configuration file x test failed\n" >&2; exit 1'
  snapshot rules "$functions"'adding("demo"; "guilty"; "2020"; ["guilty.example"] | rules)' >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
  (($(wc -l <"$dir/path/nginx.log") > 0))
  rm "$dir/path/nginx.log"
  "$bin/quarantine" "$dir/quarantine" <"$dir/snapshot" | cmp - "$dir/quarantine"
  [[ ! -e $dir/path/nginx.log ]]
  mkdir -p "$STATE_DIR/live"
  cp "$dir/snapshot" "$STATE_DIR/live"
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$STATE_DIR/live/model.json"
  "$bin/quarantine" <"$dir/snapshot" | cmp - "$dir/quarantine"
  assert_equal 1 "$(wc -l <"$dir/path/nginx.log")" # the last of all, once
}

# Whether the route of the Ingress "long", which nginx rejected, is there after the EDIT.
is_routed() { # EDIT
  snapshot rules "$edit | .ingresses.items[-1] |= ($1)" | "$bin/route" "$dir/quarantine" | jq "$is_served"
}

is_served='any(.servers[] | select(.host == "long.example").locations[]; .upstream)'

@test "a quarantined Ingress gets another chance when what it asks for has changed, and not when only its status has" {
  edit="$(with_long_paths long) | .ingresses.items[-1].metadata |= . + {uid: \"u\", generation: 1, annotations: {}}"
  snapshot rules "$edit" | "$bin/quarantine" >"$dir/quarantine"
  assert_equal false "$(is_routed .)"
  assert_equal false "$(is_routed '.metadata.resourceVersion = "999" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}]')"
  assert_equal true "$(is_routed '.spec.rules[0].http.paths += [.spec.rules[0].http.paths[0] | .path = "/a"]')"
  assert_equal true "$(is_routed '.metadata.annotations["nginx.ingress.kubernetes.io/backend-protocol"] = "GRPC"')"
}

@test "route leaves out a quarantined Ingress until its digest is another" {
  edit=$(with_long_paths long)
  snapshot rules "$edit" >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$dir/model"
  assert_json '[.problems[] | select(.of == "Ingress demo/long").reason]' '["RejectedByNginx"]' <"$dir/model"
  assert_json "$is_served" false <"$dir/model"
  snapshot rules "$edit | .ingresses.items[-1].spec.tls = [{hosts: [\"long.example\"]}]" | "$bin/route" "$dir/quarantine" |
    assert_json "$is_served" true
}

has_quarantined() { # INGRESSES
  (($(metric quarantined_ingresses) == $1))
}

has_failed_to_reload() { # TIMES
  (($(metric failed_reloads_total) >= $1))
}

@test "an Ingress that nginx rejects does not hold up the others, is named, and returns when it is mended" {
  start_pods
  start_api rules
  start_controller
  cluster_is rules "$(with_long_paths long) | .ingresses.items[0].spec.rules[0].host = \"new.example\" | .ingresses.items[0].metadata.resourceVersion = \"200\""
  wait_for 30 served new.example /apple apple-
  wait_for 30 logged 'Ingress demo/long: it is quarantined: nothing of it is served, because nginx rejects it: too long parameter'
  wait_for 15 has_quarantined 1
  cluster_is rules "$(with_long_paths long) | .ingresses.items[-1].spec.rules[0].http.paths[0].path = \"/short\" | .ingresses.items[-1].metadata.resourceVersion = \"101\""
  wait_for 30 served long.example /short apple-
  wait_for 15 has_quarantined 0
  wait_for 30 logged 'solved: Ingress demo/long: it is quarantined'
}

@test "while an Ingress is quarantined, other changes go live without a new search" {
  start_pods
  start_api rules
  start_controller
  guilty="$functions"'adding("demo"; "guilty"; "2020"; one_hash(0; 300; ".example") | rules)'
  cluster_is rules "$guilty | adding(\"demo\"; \"first\"; \"2028\"; [\"first.example\"] | rules)"
  wait_for 30 served first.example / apple-
  wait_for 30 logged 'Ingress demo/guilty: it is quarantined: .* because nginx rejects it: could not build server_names_hash'
  wait_for 15 has_failed_to_reload 1 # the metrics are written at the end of a pass
  searches=$(metric failed_reloads_total)
  for host in second third; do
    cluster_is rules "$guilty | adding(\"demo\"; \"$host\"; \"2028\"; [\"$host.example\"] | rules)"
    wait_for 30 served "$host.example" / apple-
  done
  wait_for 30 polled_since "$(($(metric polls_total) + 2))"
  assert_equal "$searches" "$(metric failed_reloads_total)"
}

@test "whoever changes an Ingress that nginx rejects again and again does not hold up the others" {
  nginx_fails_for guilty- 'echo "nginx: [emerg] no" >&2; exit 1'
  start_pods
  start_api rules
  mv "$bin/quarantine" "$bin/search"
  cat >"$bin/quarantine" <<PROGRAM
#!/bin/bash
"$bin/search" "\$@"
echo searched >>"$dir/searches"
source "$BATS_TEST_DIRNAME/../helpers.bash"
edit "$api/ingresses" "s/guilty-[0-9]*[.]/guilty-\$RANDOM./"
PROGRAM
  chmod +x "$bin/quarantine"
  start_controller PATH="$PATH"
  cluster_is rules "$functions"'adding("demo"; "bad"; "2020"; ["guilty-1.example"] | rules) | adding("demo"; "first"; "2028"; ["first.example"] | rules)'
  wait_for 30 served first.example / apple-
  (($(wc -l <"$dir/searches") >= 1))
  assert_equal '' "$(grep 'the configuration stays as it is' "$dir/controller.log")"
}

@test "while nginx takes no configuration, the last one serves, and the new one is live as soon as it does" {
  start_pods
  start_api rules
  mkdir "$dir/path" # an nginx that has no memory as soon as there is the file
  printf '#!/bin/sh\ncase " $* " in *" -t "*) if [ -e %s ]; then echo "nginx: [emerg] no memory" >&2; exit 1; fi ;; esac\nexec %s "$@"\n' \
    "$dir/no-memory" "$(command -v nginx)" >"$dir/path/nginx"
  chmod +x "$dir/path/nginx"
  start_controller PATH="$dir/path:$PATH"
  touch "$dir/no-memory"
  cluster_is nothing
  wait_for 30 has_failed_to_reload 2
  served fruit.example /apple apple-
  rm "$dir/no-memory"
  wait_for 30 served fruit.example /apple 'No rule'
}

@test "what nginx could not do is tried less and less often, but a failed read at once" {
  source "$bin/loop"
  mkdir -p "$next"
  pauses=()
  for name in apply apply quarantine apply apply apply apply fetch route route apply; do
    echo "$name" >"$next/step"
    echo "$name has failed" >"$next/log"
    tell_failure 2>/dev/null
    pauses+=("$rest")
  done
  assert_equal '1 2 4 8 16 30 30 0 1 2 4' "${pauses[*]}"
}
