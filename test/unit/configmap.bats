# What the keys of a ConfigMap come to, without a cluster: the summary, and nginx's test of what it makes.
load helpers

setup() {
  common_setup
  export CONFIGMAP=ing/keys
}

# Prints the summary of a ConfigMap with this data, an object of JSON; the last good values are those of the summary BEFORE.
summary_of() { # DATA [BEFORE]
  jq -n -c '{metadata: {name: "keys", namespace: "ing"}, data: $ARGS.named.data}' --argjson data "$1" | summarise_items "${2-}"
}

summarise_items() { # [BEFORE] <ITEMS
  # shellcheck source=bin/settings
  (source "$bin/settings" && jq -n -R -c -L "$bin/lib" -f "$bin/lib/annotations/configmap/configmap.jq" --arg name ing/keys --arg before "${1-}" \
    --rawfile add_headers "${ADD_HEADERS:-/dev/null}" --rawfile proxy_set_headers "${PROXY_HEADERS_FILE:-/dev/null}")
}

# What nginx is to be told with this data beside the fixture rules.
configuration_with() { # DATA
  local summary
  summary=$(summary_of "$1")
  { head -n 1 "$fixtures/rules/snapshot" && printf '%s\n' "$summary" && tail -n +2 "$fixtures/rules/snapshot"; } |
    "$bin/route" | "$bin/render"
}

@test "each key of ingress-nginx 1.15.1 has a row, and each row says what it does, or why nothing" {
  jq -e '[.[] | .about] | all' "$bin/lib/annotations/configmap/keys.json"
  assert_equal '' "$(jq -r 'to_entries[] | select([.value | .annotation, .setting, .directive, .part, .missing, .no_effect | values] | length != 1).key' "$bin/lib/annotations/configmap/keys.json")"
  assert_equal '' "$(jq -r '. as $rows | inputs | select($rows[.] == null)' "$bin/lib/annotations/configmap/keys.json" <(jq -R . "$BATS_TEST_DIRNAME/tables/configmap.keys"))"
  (($(wc -l <"$BATS_TEST_DIRNAME/tables/configmap.keys") > 200))
}

@test "the page of the keys is made of their rows" {
  cd "$BATS_TEST_DIRNAME/../.."
  diff <(jq -r --slurpfile annotations bin/lib/annotations/annotations.json -f test/fixtures/configmap.jq bin/lib/annotations/configmap/keys.json) manifests/configmap.md
}

# In each row: a key, its value, and what that comes to: of a setting, an annotation, a directive or a part.
@test "values of each type: what they come to, and what is wrong" {
  # shellcheck source=bin/settings
  (source "$bin/settings" && jq -R -r -L "$bin/lib" 'include "annotations/configmap/keys"; include "annotations/configmap/parts";
    include "annotations/configmap/headers"; include "annotations/configmap/log"; include "annotations/configmap/blocks"; include "annotations"; include "networks"; include "allow";
    (index("|")) as $first | (rindex("|")) as $last | {key: .[:$first], value: .[$first + 1:$last]}
    | (({(.key): .value} | summary("ing/keys"; {}; []; []; {}; {})) as $it
       | [ ($it | .settings, .annotations, .directives, .parts | to_entries[]
            | "\(.key)=\(if .key == "access_log" then "*" elif .value | type == "string" then .value else .value | tojson end)"),
           (if $it.problems != [] then "wrong" else empty end), (if $it.closed then "closed" else empty end) ] | join(" ")) as $actual
    | "\(.key)|\(.value)|\($actual)"' "$BATS_TEST_DIRNAME/tables/configmap.values") | diff "$BATS_TEST_DIRNAME/tables/configmap.values" -
}

@test "a number with a leading zero, a hexadecimal one, a sign, a unit and what is out of range are wrong; an empty one is 0" {
  for value in 010 0x20 -5 +5 60s 1e3 ' 60' 86401 '6 0' 60.0 ٣; do
    summary=$(summary_of "$(jq -n -c --arg value "$value" '{"keep-alive": $value}')")
    assert_equal "$value ConfigMapValueRefused {}" "$value $(jq -r '"\(.problems[0].reason) \(.directives)"' <<<"$summary")"
  done
  assert_equal 'keepalive_timeout 0s;' "$(summary_of '{"keep-alive": ""}' | jq -r .directives.keepalive_timeout)"
}

@test "true and false are what Go takes for them; empty is false" {
  for value in 1 t T TRUE true True; do
    assert_equal true "$(summary_of "{\"force-ssl-redirect\": \"$value\"}" | jq -r '.annotations["force-ssl-redirect"]')"
  done
  for value in 0 f F FALSE false False ''; do
    assert_equal false "$(summary_of "{\"force-ssl-redirect\": \"$value\"}" | jq -r '.annotations["force-ssl-redirect"]')"
  done
  for value in yes on tRUE ' true' 2; do
    assert_contains "$(summary_of "{\"force-ssl-redirect\": \"$value\"}" | jq -r .closed)" 'force-ssl-redirect is'
  done
}

@test "a wrong key that protects has its last good value, again and again; one that is taken out has none" {
  first=$(summary_of '{"block-cidrs": "10.0.0.0/8", "keep-alive": "5"}')
  second=$(summary_of '{"block-cidrs": "all", "keep-alive": "6"}' "$first")
  third=$(summary_of '{"block-cidrs": "10.0.0.0/8, all"}' "$second")
  for summary in "$second" "$third"; do
    assert_equal '["10.0.0.0/8"] null' "$(jq -r '"\(.parts.blocked_networks) \(.closed)"' <<<"$summary")"
    assert_contains "$(jq -r '.problems[0].message' <<<"$summary")" 'Its last good value holds: "10.0.0.0/8"'
  done
  assert_equal 'keepalive_timeout 6s;' "$(jq -r .directives.keepalive_timeout <<<"$second")"
  gone=$(summarise_items "$third" </dev/null)
  assert_equal '["10.0.0.0/8"] null ConfigMapNotFound' "$(jq -r '"\(.parts.blocked_networks) \(.closed) \(.problems[0].reason)"' <<<"$gone")"
  closed=$(summary_of '{"block-cidrs": "all"}')
  assert_contains "$(summarise_items "$closed" </dev/null | jq -r .closed)" 'its last version closed all'
  assert_equal null "$(summary_of '{}' "$gone" | jq .parts.blocked_networks)"
  assert_contains "$(summarise_items </dev/null | jq -r .closed)" 'it does not exist'
}

@test "what closes all closes the ports of TCP and UDP services, too" {
  for data in '{}' '{"stream-snippet": "deny all;"}'; do
    {
      head -n 1 "$fixtures/rules/snapshot" | jq -c '.settings.TCP_SERVICES = "ing/tcp"'
      summary_of "$data"
      tail -n +2 "$fixtures/rules/snapshot" | sed '$d'
      echo '{"streams":"TCP","configMap":"ing/tcp","entries":[{"port":9000,"service":"demo/apple","servicePort":80}],"refused":[]}'
      echo '{"whole":true}'
    } | "$bin/route" | jq -c '.streams // [] | length'
  done >"$dir/streams"
  assert_equal '1 0' "$(paste -sd' ' "$dir/streams")"
}

@test "what closes all closes regular expressions and lone canaries, too" {
  local option
  for option in use-regex canary; do
    snapshot rules '.ingresses.items |= [.[] | .metadata.annotations["nginx.ingress.kubernetes.io/'"$option"'"] = "true"]' >"$dir/snapshot"
    { head -n 1 "$dir/snapshot" && CONFIGMAP=ing/keys summary_of '{"stream-snippet": "deny all;"}' && tail -n +2 "$dir/snapshot"; } | "$bin/route" >"$dir/model.json"
    assert_json '[.servers[].locations[] | select(.of).reason] | unique' '["ProtectionNotAvailable"]' <"$dir/model.json"
    "$bin/render" <"$dir/model.json" >"$dir/nginx.conf"
  done
}

@test "a list that has another object than that ConfigMap is none" {
  run summarise_items <<<'{"metadata": {"name": "other", "namespace": "ing"}, "data": {}}'
  ((status > 0))
  run summarise_items <<<'{"metadata": {"name": "keys", "namespace": "ing"}, "da'
  ((status > 0))
}

@test "without a ConfigMap, nothing is different, and no line says so" {
  CONFIGMAP='' "$bin/render" <"$fixtures/rules/model.json" >"$dir/without"
  "$bin/render" <"$fixtures/rules/model.json" | diff "$dir/without" -
}

@test "while changes of a namespace are held back, a ConfigMap still counts, and its changes go live at once" {
  # shellcheck source=bin/hold-back
  source "$bin/hold-back"
  mkdir -p "$STATE_DIR/live"
  with_line() { head -n 1 "$fixtures/rules/snapshot" && summary_of "$1" && tail -n +2 "$fixtures/rules/snapshot"; }
  with_line '{"block-cidrs": "10.0.0.0/8"}' >"$STATE_DIR/live/snapshot"
  echo '{"demo": {"paid": 1190, "changed": 999, "held": 900}}' >"$dir/accounts"
  with_line '{"block-cidrs": "10.0.0.0/16"}' | sed '/"slice":"demo/s/"ready":\["/"ready":["127.77.0.9","/' >"$dir/snapshot"
  hold_back "$dir/accounts" 1000 <"$dir/snapshot" >"$dir/held"
  assert_contains "$(<"$dir/held")" ChangesHeldBack
  assert_contains "$(sed -n 2p "$dir/held")" '"blocked_networks":["10.0.0.0/16"]'
  assert_contains "$("$bin/route" <"$dir/held" | jq -c .configured.parts)" '10.0.0.0/16'
}

# The values are those of the table; wrong ones among them have to be left out.
@test "nginx takes what random keys with random values come to (CONFIGMAP_ROUNDS for more)" {
  mkdir -p "$STATE_DIR"/{live,admin,run,scratch/nginx}
  use_known_keys
  for round in $(seq "${CONFIGMAP_ROUNDS:-3}"); do
    data=$(shuf -n 40 --random-source=<(yes "$round") "$BATS_TEST_DIRNAME/tables/configmap.values" |
      jq -R -s -c '[split("\n")[] | select(. != "") | split("|") | {(.[0]): .[1]}] | add')
    configuration_with "$data" >"$dir/nginx.conf"
    "$bin/apply" test <"$dir/nginx.conf" 2>"$dir/apply.log" || { printf '%s\n' "$data" && cat "$dir/apply.log" && false; }
  done
}
