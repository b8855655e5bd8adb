# How ConfigMaps that annotations name are read: as Secrets are, by their names, beside the passes.
load helpers

setup() {
  common_setup
  start_pods
  start_api rules
  be_the_proxy
}
teardown() { common_teardown; }

# The cluster is the fixture "rules" and an Ingress NAME.example for each line: NAMESPACE/NAME, and its annotations.
ingresses_are() {
  local name annotations edit='.'
  while read -r name annotations; do
    edit+=" | .ingresses.items += [{metadata: {namespace: \"${name%/*}\", name: \"${name#*/}\", creationTimestamp: \"2027\",
      annotations: ($annotations | with_entries(.key |= \"nginx.ingress.kubernetes.io/\" + .))},
      spec: {ingressClassName: \"bash\", rules: [{host: \"${name#*/}.example\", http: {paths: [{path: \"/\", pathType: \"Prefix\", backend: {service: {name: \"apple\", port: {number: 80}}}}]}}]}}]"
  done
  cluster_is rules "$edit"
}

add_config_map() { # NAMESPACE/NAME DATA
  jq -n -c --arg namespace "${1%/*}" --arg name "${1#*/}" --arg version "$RANDOM" "{kind: \"ConfigMap\", apiVersion: \"v1\", metadata: {\$name, \$namespace, uid: \"1-1\", resourceVersion: \$version}, data: $2}" >"$api/new"
  mv "$api/new" "$api/configmap-${1/\//-}"
}

add_passwords() { # NAMESPACE/NAME
  jq -n -c --arg namespace "${1%/*}" --arg name "${1#*/}" '{kind: "Secret", apiVersion: "v1", type: "Opaque", metadata: {$name, $namespace, uid: "2-2", resourceVersion: "1"}, data: {auth: ("alice:$apr1$x$" + "a" * 22 | @base64)}}' >"$api/secret-${1/\//-}"
}

# What the passes of some seconds fetch: one that looks at once and waits for it.
fetch_all() {
  bash -c 'source "$1/fetch" && program=fetch look_seconds=0 times_as_long=0 && is_waited_for() { true; } && patience() { echo 200; } && fetch "$2"' _ "$bin" "$dir/lists-read"
}

later() {
  set_times 0 # as if all had been asked for long ago
}

# What is known of a ConfigMap: the end of its line in the snapshot.
known_of() { # NAME
  grep -F "/configmaps/$1\"" "$dir/snapshot" | jq -c 'del(.certificate, .use)'
}

@test "a ConfigMap is asked for by its name, at each look, and seldom if it is missing; no list of ConfigMaps or Secrets is read for it" {
  add_config_map demo/there '{"X-A": "1"}'
  ingresses_are <<'ROWS'
demo/one {"custom-headers": "there"}
demo/two {"custom-headers": "demo/missing"}
ROWS
  for _ in 1 2 3; do
    fetch_all >"$dir/snapshot"
    set_times "$(cut -d. -f1 /proc/uptime)" # as if that had been just now
  done
  assert_equal '{"headers":{"X-A":"1"}}' "$(known_of there)"
  assert_equal "\
3 GET /api/v1/namespaces/demo/configmaps/there
1 GET /api/v1/namespaces/demo/configmaps/missing" "$(grep -oE 'GET [^ ]*(secrets|configmaps)[^ ]*' "$dir/api.access" | sort | uniq -c | sort -rn | sed 's/^ *//')"
  add_config_map demo/there '{"X-A": "2"}'
  fetch_all >"$dir/snapshot"
  assert_equal '{"headers":{"X-A":"2"}}' "$(known_of there)"
}

@test "a ConfigMap that is of no use is a problem of the Ingress that names it, and no other; a Secret of the same name is another object" {
  add_config_map demo/same '{"X-A": "1"}'
  add_passwords demo/same
  : >"$api/forbidden-secret"
  add_config_map demo/large '{"X-A": ("a" * 300000)}'
  add_config_map demo/larger '{"X-A": ("a" * 3000), "X-B": ("a" * 3000), "X-C": ("a" * 3000)}'
  add_config_map demo/bytes '{"X-A": "1"}, "binaryData": {"X-B": "AA=="}'
  ingresses_are <<'ROWS'
demo/both {"custom-headers": "same", "auth-secret": "same", "auth-type": "basic"}
demo/forbidden {"custom-headers": "secret"}
demo/large {"custom-headers": "large"}
demo/larger {"custom-headers": "larger"}
demo/bytes {"custom-headers": "bytes"}
demo/missing {"custom-headers": "missing"}
demo/foreign {"custom-headers": "shop/headers"}
ROWS
  add_config_map shop/headers '{"X-Private": "1"}'
  SHARED_NAMESPACES=shop fetch_all >"$dir/snapshot"
  serve_snapshot <"$dir/snapshot"
  assert_equal 401 "$(who_answers both.example /)"
  assert_contains "$(ask both.example / -i)" 'X-A: 1'
  refute_contains "$(<"$dir/snapshot")" Private
  refute_contains "$(<"$dir/api.access")" shop/configmaps
  assert_equal '503 503 503 503 503 503' "$(for name in forbidden large larger bytes missing foreign; do who_answers "$name.example" /; done | xargs)"
  said=$(problems)
  assert_contains "$said" 'demo/forbidden: closed, because its protection is not available here: ConfigMap demo/secret: the controller may not read it: it lacks the right to get ConfigMaps'
  assert_contains "$said" 'demo/large: closed, because its protection is not available here: ConfigMap demo/large: it is larger than 256 KiB'
  assert_contains "$said" 'demo/larger: closed, because its protection is not available here: ConfigMap demo/larger: its values have more than 8000 characters'
  assert_contains "$said" 'demo/bytes: closed, because its protection is not available here: ConfigMap demo/bytes: it has binaryData'
  assert_contains "$said" 'demo/missing: closed, because its protection is not available here: ConfigMap demo/missing does not exist'
  assert_contains "$said" 'demo/foreign: closed, because its protection is not available here: ConfigMap shop/headers is not of namespace demo'
}

@test "while a ConfigMap cannot be read, what was known of it stays" {
  add_config_map demo/there '{"X-A": "1"}'
  ingresses_are <<<'demo/one {"custom-headers": "there"}'
  fetch_all >"$dir/first"
  cp "$api/configmap-demo-there" "$dir/whole"
  for answer in '' '<html>' "$(jq -c '.kind = "Secret"' "$dir/whole")" "$(jq -c '.metadata.name = "other"' "$dir/whole")" "$(jq -c '.metadata.namespace = "shop"' "$dir/whole")" "$(head -c 99 "$dir/whole")"; do
    echo "$answer" >"$api/configmap-demo-there"
    later
    run --separate-stderr fetch_all
    assert_equal 1 "$status"
    assert_equal '' "$output"
    assert_contains "$stderr" 'cannot use secrets: '
  done
  cp "$dir/whole" "$api/configmap-demo-there"
  cmp "$dir/first" <(fetch_all)
}

@test "what a look found out, and was ended before it told, is told by the next one" {
  add_config_map demo/there '{"X-A": "1"}'
  ingresses_are <<<'demo/one {"custom-headers": "there"}'
  fetch_all >"$dir/snapshot"
  touch -d '1 minute ago' "$STATE_DIR/keys/edition" # as it is if the look ends after it has written keys/found
  before=$(<"$STATE_DIR/keys/edition")
  later
  fetch_all >"$dir/snapshot"
  [[ $(<"$STATE_DIR/keys/edition") != "$before" ]]
  before=$(<"$STATE_DIR/keys/edition")
  later
  fetch_all >"$dir/snapshot"
  assert_equal "$before" "$(<"$STATE_DIR/keys/edition")" # nothing is new
}

@test "of one namespace, 50 are asked for, ConfigMaps and Secrets together; another namespace's are read all the same" {
  for name in {1..52}; do printf 'demo/n%s {"custom-headers": "missing-%s"}\n' "$name" "$name"; done >"$dir/rows"
  printf '%s\n' 'demo/z {"auth-secret": "z", "auth-type": "basic"}' 'shop/few {"custom-headers": "few"}' >>"$dir/rows"
  add_config_map shop/few '{"X-A": "1"}'
  ingresses_are <"$dir/rows"
  fetch_all >"$dir/snapshot"
  assert_equal 50 "$(grep -oE 'demo/(secrets|configmaps)/[a-z0-9-]*' "$dir/api.access" | sort -u | wc -l)"
  assert_equal 3 "$(grep -c 'its namespace names more than 50 Secrets that are missing, or not of type kubernetes.io/tls, and ConfigMaps' "$dir/snapshot")"
  assert_equal '{"headers":{"X-A":"1"}}' "$(known_of few)"
}

@test "the loop follows a ConfigMap without a ring from outside, and closes the path while it is gone" {
  add_config_map demo/there '{"X-A": "1"}'
  ingresses_are <<<'demo/one {"custom-headers": "there"}'
  look_often
  start_controller DOORBELL=off
  be_the_proxy
  wait_for 30 answers_with 'X-A: 1'
  add_config_map demo/there '{"X-A": "2"}'
  wait_for 30 answers_with 'X-A: 2'
  rm "$api/configmap-demo-there"
  wait_for 30 answers_with '503'
  add_config_map demo/there '{"X-A": "3"}'
  wait_for 60 answers_with 'X-A: 3'
}

answers_with() { # TEXT
  [[ $(ask one.example / -i) == *"$1"* ]]
}

# Each row: what it is for, a name, a value as JSON, and what is wrong ("-" for nothing).
@test "the names and values that are let in" {
  export ALLOWED_RESPONSE_HEADERS=any
  cat >"$dir/check.jq" <<'JQ'
include "secrets/config-maps"; include "annotations/header-values"; include "quoting";
split("  +"; "") as [$use, $name, $value, $wrong]
| {data: {($name): ($value | fromjson)}} | headers($use)
| if .headers then .headers[] | header_value($use) else .message end
JQ
  local name value expected
  while IFS=$'\t' read -r use name value expected; do
    assert_row "$expected" "$(printf '%s  %s  %s' "$use" "$name" "$value" | jq -R -r -L "$bin/lib" -f "$dir/check.jq")" "$use" "$name" "$value"
  done < <(
    rows <<'ROWS'
    answer-headers    X-A                   "1"                        "1"
    answer-headers    x_a-9                 "a b"                      "a b"
    answer-headers    X-A                   "$host ${host} $"          "${dollar}host ${dollar}{host} ${dollar}"
    answer-headers    X-A                   "\"\\;{}'#"                "\"\\;{}'#"
    question-headers  X-A                   "$host ${host}x$request_uri-$scheme"   "${plain_host} ${plain_host}x${request_uri}-${client_scheme}"
    question-headers  Cookie                "a=b"                      "a=b"
    question-headers  X-Forwarded-Uri       "$request_uri"             "${request_uri}"
    answer-headers    Cache-Control         "no-store"                 "no-store"
    answer-headers    X.A                   "1"                        its key "X.A" is not the name of a header: possible are up to 46 letters, digits, - and _
    answer-headers    X-A                   ""                         the value of its key "X-A" is empty, or not one line of printable ASCII
    answer-headers    X-A                   "a\n"                      the value of its key "X-A" is empty, or not one line of printable ASCII
    answer-headers    X-A                   "a\u0000"                  the value of its key "X-A" is empty, or not one line of printable ASCII
    answer-headers    X-A                   "\u00e9"                   the value of its key "X-A" is empty, or not one line of printable ASCII
    answer-headers    content_length        "1"                        its key "content_length" is a header that is not for Ingresses to say
    answer-headers    ACCESS-CONTROL-X      "1"                        its key "ACCESS-CONTROL-X" is a header that is not for Ingresses to say
    question-headers  Remote_User           "root"                     its key "Remote_User" is a header that is not for Ingresses to say
    question-headers  X-Original-URI        "/"                        its key "X-Original-URI" is a header that is not for Ingresses to say
    question-headers  X-A                   "$escaped_request_uri"     the value of its key "X-A" has a $ that is none of $best_http_host, $forwarded_host, $host, $http_host, $pass_access_scheme, $remote_addr, $request_method, $request_uri, $scheme
    question-headers  X-A                   "$host1 $HOST"             the value of its key "X-A" has a $ that is none of $best_http_host, $forwarded_host, $host, $http_host, $pass_access_scheme, $remote_addr, $request_method, $request_uri, $scheme
ROWS
  )
}
