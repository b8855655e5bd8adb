# What holds for every row of annotations.json, whatever it is for.
load helpers

setup() {
  common_setup
  export features_in_use='' # all
}
teardown() { common_teardown; }

# Sets $dir/model.json and $dir/nginx.conf: of an Ingress for each row and each value on standard input (JSON strings).
route_values() { # all|typed
  cat >"$dir/values"
  snapshot_of values --arg which "$1" --slurpfile table "$bin/lib/annotations/annotations.json" --slurpfile values "$dir/values" |
    "$bin/route" >"$dir/model.json"
  "$bin/render" <"$dir/model.json" >"$dir/nginx.conf"
}

@test "a payload in any annotation is refused: nothing of it reaches nginx.conf, and nginx takes the rest" {
  route_values all <<'PAYLOADS'
"pwned\"; return 200 \"pwned"
"pwned;} location /pwned { return 200; }"
"/pwned\n  return 200;"
"pwned\u0000"
"$pwned_variable"
"${pwned_variable}"
"pwned'"
"\\pwned"
"pwned\\"
"http://pwned.example/\r\nX-Pwned: 1"
"https://pwned.example/;}"
"/pwned{"
"pwned #"
"~^pwned("
"(?<pwned>.*)"
"pwned|pwned) ("
PAYLOADS
  assert_json '.claimants | length > 2000' true <"$dir/model.json"
  assert_equal '' "$(sed -E 's/return 503 "[^"]*"//g' "$dir/nginx.conf" | grep -i pwned | head -n 3)"
  "$bin/apply" test <"$dir/nginx.conf"
  assert_json '[.servers[] | select(.host == "plain.example").locations[].status] | unique' '[null]' <"$dir/model.json"
}

@test "what is looked for in a summary of Ingresses are the annotations that name a Secret or a ConfigMap" {
  # shellcheck disable=SC2154 # fetch sets these
  assert_equal "$(jq -r '[to_entries[] | select(.value.names)] | group_by(.value.names) | map(map(.key) | sort | join("|")) as [$config_maps, $secrets]
    | "\"(secretName|\($secrets))\":\" \"(\($config_maps))\":\""' "$bin/lib/annotations/annotations.json")" \
    "$(source "$bin/fetch" && echo "$names_secret $names_config_map")"
}

@test "a value that no annotation takes closes the Ingress if it protects or redirects, and is a problem else" {
  route_values typed <<<'"no value at all: {;}\"\u0007"'
  jq -r 'to_entries[] | select(.value.type and .value.alias == null) | "\(.key) \(.value.if_wrong // .value.class)"' "$bin/lib/annotations/annotations.json" >"$dir/rows"
  (($(wc -l <"$dir/rows") >= 9))
  while read -r name class; do
    local reason=AnnotationRefused status=null
    [[ $class != @(protective|switch|close) ]] || reason=ProtectionNotAvailable status=503
    assert_row "[\"$reason\"]" "$(jq -c --arg name "Ingress demo/$name-0" '[.problems[] | select(.of == $name).reason]' "$dir/model.json")" "$name"
    assert_row "[$status]" "$(jq -c --arg name "Ingress demo/$name-0" '[.servers[].locations[] | select(.of == $name and .path == "/").status] | unique' "$dir/model.json")" "$name"
  done <"$dir/rows"
}

# Rows: ANNOTATIONS of an Ingress, and the PROBLEMS with a slash between, or "-" for none.
assert_effects() {
  rows | awk -F '\t' -v OFS='\t' '{ print NR, $0 }' >"$dir/rows"
  snapshot_of annotations --rawfile rows "$dir/rows" | "$bin/route" >"$dir/model.json"
  while IFS=$'\t' read -r number annotations expected; do
    assert_row "$expected" "$(jq -r --arg of "Ingress demo/annotated-row-$number" '[.problems[] | select(.of == $of).message | ltrimstr("the annotation ")] | join(" / ") | if . == "" then "-" else . end' "$dir/model.json")" "$annotations"
  done <"$dir/rows"
}

@test "an annotation that another one switches off, or that lacks another, is a problem; a default is none" {
  DEFAULT_ANNOTATIONS=$'proxy-request-buffering: on\nload-balance: ewma\nproxy-ssl-protocols: TLSv1.3' assert_effects <<'ROWS'
    -                                                                                            -
    permanent-redirect=/a; temporal-redirect=/b                                                  permanent-redirect has no effect beside temporal-redirect
    permanent-redirect-code=308; temporal-redirect-code=307                                      permanent-redirect-code has no effect without permanent-redirect / temporal-redirect-code has no effect without temporal-redirect
    affinity=cookie; service-upstream=true; upstream-hash-by=$uri; load-balance=ewma             load-balance: ewma has no effect beside affinity and upstream-hash-by / service-upstream, upstream-hash-by have no effect beside affinity
    affinity=cookie; service-upstream=false; load-balance=round_robin                            -
    upstream-hash-by=$uri; load-balance=ewma                                                     load-balance: ewma has no effect beside upstream-hash-by
    upstream-hash-by-subset=true; upstream-hash-by-subset-size=2                                 upstream-hash-by-subset has no effect without upstream-hash-by
    upstream-hash-by=$uri; upstream-hash-by-subset=true; upstream-hash-by-subset-size=2          -
    proxy-next-upstream=off; proxy-next-upstream-tries=2; proxy-next-upstream-timeout=5          proxy-next-upstream-timeout, proxy-next-upstream-tries have no effect beside proxy-next-upstream: off
    proxy-next-upstream=error; proxy-next-upstream-tries=2                                       -
    session-cookie-name=a; session-cookie-secure=true; session-cookie-path=/                     session-cookie-name, session-cookie-path, session-cookie-secure have no effect without affinity
    affinity=cookie; session-cookie-name=a; session-cookie-samesite=None; session-cookie-conditional-samesite-none=true   -
    affinity=cookie; session-cookie-samesite=Lax; session-cookie-conditional-samesite-none=true  session-cookie-conditional-samesite-none has no effect without session-cookie-samesite: None
    affinity=cookie; affinity-mode=balanced; session-cookie-change-on-failure=true               affinity-mode: balanced has no effect beside session-cookie-change-on-failure
    affinity=cookie; session-cookie-expires=9; auth-url=http://apple.demo.svc/                   session-cookie-expires has no effect on Expires beside auth-url
    limit-rate=5; proxy-buffering=off                                                            proxy-buffering: off has no effect beside limit-rate
    limit-rate=0; proxy-buffering=off                                                            -
    limit-rate-after=5; limit-burst-multiplier=2; limit-whitelist=::1; limit-rps=0               limit-burst-multiplier has no effect without limit-rps or limit-rpm / limit-rate-after has no effect without limit-rate / limit-whitelist has no effect without limit-rps or limit-rpm or limit-connections
    limit-rpm=5; limit-burst-multiplier=2; limit-whitelist=::1; limit-req-status-code=429        -
    backend-protocol=GRPC; proxy-cookie-path=/a /b; proxy-buffering=on; proxy-request-buffering=on   proxy-buffering, proxy-cookie-path, proxy-request-buffering have no effect beside backend-protocol: GRPC
    backend-protocol=grpcs; proxy-buffering=off; proxy-read-timeout=9; proxy-ssl-name=a          -
    proxy-ssl-name=a; proxy-ssl-protocols=TLSv1.2                                                proxy-ssl-name, proxy-ssl-protocols have no effect without backend-protocol: HTTPS or AUTO_HTTP or GRPCS
    backend-protocol=https; proxy-ssl-name=a; proxy-ssl-server-name=off                          -
    ssl-redirect=false; force-ssl-redirect=true                                                  ssl-redirect: false has no effect beside force-ssl-redirect
    ssl-redirect=true; force-ssl-redirect=true                                                   -
    use-regex=false; rewrite-target=/                                                            use-regex: false has no effect beside rewrite-target
    cors-allow-origin=*; enable-cors=false                                                       cors-allow-origin has no effect without enable-cors
    cors-allow-origin=*; enable-cors=true                                                        -
    canary-weight=5; canary-by-header-pattern=a                                                  canary-by-header-pattern has no effect without canary-by-header / canary-weight has no effect without canary
    proxy-redirect-from=/a                                                                       proxy-redirect-from has no effect without proxy-redirect-to
    proxy-redirect-from=/a; proxy-redirect-to=/b                                                 -
    proxy-redirect-from=default; proxy-redirect-to=/b                                            proxy-redirect-to has no effect beside proxy-redirect-from: default
    mirror-host=a.example; auth-cache-duration=5m; auth-url=http://apple.demo.svc/               auth-cache-duration has no effect without auth-cache-key / mirror-host has no effect without mirror-target
    proxy-request-buffering=off; proxy-http-version=1.0                                          proxy-request-buffering: off has no effect: a body is held until all of it is there, because of proxy-http-version: 1.0
    proxy-request-buffering=off; mirror-target=http://apple.demo.svc                             proxy-request-buffering: off has no effect: a body is held until all of it is there, because of mirror-target
    proxy-request-buffering=off; mirror-target=http://apple.demo.svc; mirror-request-body=off    -
    proxy-body-size=100m                                                                         -
    proxy-body-size=64m; proxy-request-buffering=on                                              -
    proxy-body-size=65m; proxy-request-buffering=on                                              proxy-request-buffering: on has no effect: proxy-body-size is 0, or so large that 2 such bodies come to more than 134217728 bytes, the limit namespace_body_bytes
    proxy-body-size=0; proxy-request-buffering=on; proxy-http-version=1.0                        proxy-request-buffering: on and proxy-http-version: 1.0 have no effect: proxy-body-size is 0, or so large that 2 such bodies come to more than 134217728 bytes, the limit namespace_body_bytes
ROWS
}

@test "what has no effect closes nothing, whatever ANNOTATION_POLICY is" {
  ANNOTATION_POLICY=strict assert_effects <<'ROWS'
    ssl-redirect=false; force-ssl-redirect=true   ssl-redirect: false has no effect beside force-ssl-redirect
ROWS
}

@test "an Ingress without annotations is rendered as if no other had any" {
  local values number=0
  for values in '' '"true" "1" "/" "10.0.0.1" "a"'; do
    route_values all <<<"$values"
    number=$((number + 1))
    sed -n '/server_name "plain.example"/,/^  }/p' "$dir/nginx.conf" >"$dir/server-$number"
  done
  assert_contains "$(<"$dir/server-1")" proxy_pass
  cmp "$dir/server-1" "$dir/server-2"
}

@test "only the features in use are loaded, and one that is used but not loaded is an error, never an open path" {
  route_values all <<<'"10.0.0.1"'
  snapshot_of values --arg which typed --slurpfile table "$bin/lib/annotations/annotations.json" --slurpfile values "$dir/values" >"$dir/snapshot"
  snapshot rules >"$dir/plain"
  features_in_use=$dir/in-use
  source "$bin/lib/annotations/features.bash"
  choose_features "$dir/plain"
  refute_contains "$(<"$features_in_use/annotations/features.jq")" 'access::'
  "$bin/route" <"$dir/plain" | "$bin/render" >/dev/null
  run "$bin/route" <"$dir/snapshot"
  assert_equal 1 "$status"
  assert_contains "$output" 'these features are not loaded: access'
  run "$bin/render" <"$dir/model.json"
  assert_equal 1 "$status"
  choose_features "$dir/snapshot"
  assert_contains "$(<"$features_in_use/annotations/features.jq")" 'access::'
  cmp <("$bin/route" <"$dir/snapshot") <(features_in_use='' "$bin/route" <"$dir/snapshot")
}

@test "the table of the features has a row for each file, with its hooks" {
  cd "$bin/lib/annotations"
  assert_equal "$(jq -r '[(.[] | .feature // if .directive then "directives" else empty end), "configmap"] | unique[]' annotations.json)" "$(jq -r 'keys[]' features.json)"
  assert_equal "$(find features -name '*.jq' | sed -E 's|.*/(.*)[.]jq|\1|' | grep -xFf <(jq -r keys[] features.json) | sort)" "$(jq -r 'keys[]' features.json)"
  assert_equal "$(grep -rE '^def (claims|upstreams|location|model)\b' features | sed -E 's/.*\/(.*)[.]jq:def ([a-z]+).*/\1 \2/' | sort)" \
    "$(jq -r 'to_entries[] | .key + " " + (.value | del(.why) | keys[])' features.json | sort)"
  assert_json '[.[] | to_entries[] | select(.key != "why") | .key |= sub("upstreams"; "claims")] | length == (unique | length)' true <features.json
}

@test "while no pod is ready, no annotation keeps nginx from taking the configuration" {
  snapshot_of examples --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" | grep -v '"slice":' >"$dir/snapshot"
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_json '.upstreams == [] and (.claimants | length > 80)' true <"$dir/model.json"
  "$bin/render" <"$dir/model.json" | "$bin/apply" test
}

# (Half of them load only the features in use, as the loop does: so none needs a variable that another's lines make.)
@test "random combinations of annotations, with and without ready pods, come to configurations that nginx takes" {
  local number=${FIRST_COMBINATION:-1} count=${COMBINATIONS:-10} with_annotations=0
  source "$bin/lib/annotations/features.bash"
  while IFS= read -r lists; do
    "$fixtures/snapshot" <<<"$lists" >"$dir/snapshot"
    features_in_use=''
    if ((number % 2 == 0)); then
      features_in_use=$dir/in-use
      choose_features "$dir/snapshot"
    fi
    "$bin/route" <"$dir/snapshot" >"$dir/model.json"
    "$bin/render" <"$dir/model.json" | "$bin/apply" test || { echo "in cluster $number: FIRST_COMBINATION=$number COMBINATIONS=1" && return 1; }
    if jq -e '.features != []' "$dir/model.json" >/dev/null; then with_annotations=$((with_annotations + 1)); fi
    number=$((number + 1))
  done < <(jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson first "$number" --argjson count "$count" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" \
    --argjson classes "$(jq -c .ingressClasses "$fixtures/rules/lists.json")" -f "$BATS_TEST_DIRNAME/tables/combinations.jq")
  assert_equal "$((${FIRST_COMBINATION:-1} + count))" "$number"
  ((with_annotations * 10 >= count * 9))
}

# Asks each NAME.example of a file for /PATH, all with one curl; fails and shows the names for which that does not print EXPECTED.
assert_each() { # EXPECTED FILE CURL_FORMAT http|https PATH [CURL_OPTION...]
  mkdir -p "$dir/answers"
  sed "s|.*|url = \"$4://&.example/$5\"\noutput = \"$dir/answers/&\"|" "$dir/$2" |
    curl -sk --max-time 10 --connect-to ":80:127.0.0.1:$HTTP_PORT" --connect-to ":443:127.0.0.1:$HTTPS_PORT" -w "$3\n" "${@:6}" -K - >"$dir/printed"
  assert_equal '' "$(paste "$dir/$2" "$dir/printed" | grep -v $'\t'"$1\$")"
}

# examples.json has a value for each row, with which the pod answers; null if that takes Secrets or another Ingress.
@test "no annotation takes away what holds everywhere: dropped headers, the loop guard, denied addresses, HSTS" {
  backend=$(go_program backend)
  "$backend" 127.77.0.1:8080 127.77.0.2:8080 3>&- &
  backend_pid=$!
  disown # so that bash does not report its end
  wait_for 30 curl -s 127.77.0.2:8080/counts
  mkdir "$dir/templates"
  cp "$templates"/* "$dir/templates"
  edit "$dir/templates/clients.conf.template" 's|^  server_tokens off;|&\n  deny 127.0.0.9;|'
  jq -r 'to_entries[] | select(.value.type and .value.alias == null).key' "$bin/lib/annotations/annotations.json" | diff - <(jq -r 'keys[]' "$BATS_TEST_DIRNAME/tables/examples.json")
  snapshot_of examples --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" | TEMPLATES_DIR=$dir/templates HSTS='max-age=5' serve_snapshot
  assert_equal '' "$(problems)"
  jq -r 'to_entries[] | select(.value).key' "$BATS_TEST_DIRNAME/tables/examples.json" >"$dir/names"
  grep -vE '^((permanent|temporal)-redirect.*|relative-redirects)$' "$dir/names" >"$dir/answering" # a redirect comes before that
  assert_each 200 answering '%{http_code}' http x -H 'X-Original-URL: /evil' -H 'Client-Cert: evil' -H 'X-Forwarded-For: 6.6.6.6'
  assert_equal "$(wc -l <"$dir/answering") [\"127.0.0.1\"]" "$(jq -c '.header | [.["X-Original-Url", "Client-Cert", "X-Forwarded-For"] | values[]]' "$dir"/answers/* | sort | uniq -c | sed 's/^ *//')"
  assert_each 403 answering '%{http_code}' http x --interface 127.0.0.9
  assert_each 400 names '%{http_code}' http '' -H 'CDN-Loop: bash-ingress, bash-ingress, bash-ingress, bash-ingress, bash-ingress'
  assert_each max-age=5 names '%header{strict-transport-security}' https ''
  kill -KILL "$backend_pid"
}

# (The sets of annotations are numbered: one that comes first moves the numbers of all others.)
@test "whatever annotations the others have, the log names the Ingress that is new, and no other" {
  local new='.ingresses.items += [.ingresses.items[0] * {metadata: {name: "new", annotations: {"nginx.ingress.kubernetes.io/app-root": "/new"}}, spec: {rules: [{host: "new.example"}]}}]'
  for edit in . "$new"; do
    "$fixtures/snapshot" "$(<"$BATS_TEST_DIRNAME/tables/examples.jq") | $edit" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" <"$fixtures/rules/lists.json" |
      "$bin/route" >"$dir/model.json"
    "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json" >/dev/null 2>"$dir/log"
  done
  assert_equal 'new configuration: added Ingress demo/new (change 2)' "$(sed 's/^.* apply: //' "$dir/log")"
}
