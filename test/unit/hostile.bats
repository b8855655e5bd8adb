# Nobody in: whatever Ingresses and the objects around them hold, it comes into
# the configuration as harmless text or not at all, and harms no other object.
#
# What is sent by clients, and not by way of the API server, is in requests.bats.
load helpers

setup() { common_setup; }
teardown() { common_teardown; }

# Prints what the cluster decides of the configuration of the model.
routes() {
  "$bin/render" <"$dir/model.json" | sed -n '/^  # --- routes$/,$p' | sed 1d
}

# Fails unless all that is in quotes is harmless text, and all that is not is ours.
assert_only_our_own() {
  routes >"$dir/routes"
  [[ -s $dir/routes ]]
  run env LC_ALL=C grep -n '[^ -~]' "$dir/routes"
  assert_equal '' "$output"
  # what ends an answer, and what begins and ends the expression for a wildcard host, is ours
  run grep -oE '"[^"]*"' < <(sed -E 's/\\n"/"/; s/\$host|\$uri|"~\^|\$"/"/g' "$dir/routes")
  refute_contains "$output" "\\"
  refute_contains "$output" '$'
  run comm -13 <(printf '%s\n' "${our_directives[@]}" | sort) <(directives)
  assert_equal '' "$output"
}

our_directives=('""' default grpc_pass grpc_ssl_name if keepalive keepalive_timeout listen location map proxy_pass
  proxy_ssl_name return server server_name set ssl_certificate ssl_certificate_key upstream)

# Prints the first word of each directive, without what is in quotes.
directives() {
  sed -E 's/"([^"\\]|\\.)*"/""/g' "$dir/routes" | tr '{};' '\n' | awk 'NF { print $1 }' | sort -u
}

assert_nginx_takes_it() {
  mkdir -p "$STATE_DIR/live"
  "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json" >"$dir/apply.log" 2>&1 || { tail -n 3 "$dir/apply.log" && return 1; }
}

# Asks for PATH of many hosts in one go, and prints the status codes.
statuses() { # PATH   <HOSTS
  sed "s|.*|url = \"http://&$1\"\noutput = /dev/null|" |
    curl -s --connect-to "::127.0.0.1:$HTTP_PORT" -w '%{http_code}\n' -K -
}

# --- characters

@test "a character that has no business in a configuration gets there by no field, and the log names it in one line of plain text" {
  start_pods
  jq -f "$BATS_TEST_DIRNAME/tables/hostile.jq" "$fixtures/rules/lists.json" >"$dir/snapshot.json"
  serve_lists <"$dir/snapshot.json"
  (($(jq '.cases | length' "$dir/snapshot.json") > 2000))
  jq -c --slurpfile snapshot "$dir/snapshot.json" -f "$BATS_TEST_DIRNAME/tables/verdict.jq" "$dir/model.json" >"$dir/verdict"
  assert_equal '' "$(<"$dir/verdict")"
  assert_only_our_own
  rm "$STATE_DIR/live/model.json" # so that all of it is news
  apply_with diff_lines=100000 "$dir/model.json" <"$STATE_DIR/live/nginx.conf" >"$dir/apply.log" 2>&1
  run env LC_ALL=C grep -n '[^ -~]' "$dir/apply.log"
  assert_equal '' "$output"
  assert_equal "$(jq '.problems | length' "$dir/model.json")" "$(grep -cE '^[0-9:]{8} apply: Ingress demo/.* \([A-Z][A-Za-z]+\)$' "$dir/apply.log")"
  # the good path of each, unless its class is not ours or what it asks for closes it
  jq -r '.cases[].answer' "$dir/snapshot.json" >"$dir/expected"
  jq -r '.cases[].host' "$dir/snapshot.json" | statuses /good >"$dir/statuses"
  diff "$dir/expected" "$dir/statuses"
  assert_equal apple "$(who_answers fruit.example /apple)"
}

@test "an Ingress whose own name is none is not served, and the others are" {
  model rules '.ingresses.items += [.ingresses.items[0] | .metadata.name = ("a\"b", "a$b", "a\nb") | .spec.rules[0].host = "bad.example"]
    + [.ingresses.items[0] | .metadata.namespace = ("a\"b", "a$b") | .spec.rules[0].host = "bad.example"]' >"$dir/model.json"
  assert_only_our_own
  assert_nginx_takes_it
  refute_contains "$(routes)" bad.example
  assert_equal 5 "$(problems | grep -c NameRefused)"
  assert_contains "$(problems)" 'the Ingress with namespace "demo" and name "a\nb" is not served'
}

@test "a host that is none is let in neither alone nor among others, with which it could be read as two" {
  run jq -n -c -L "$bin/lib" 'include "allow";
    ["a.example", "*.b.example", "", "\n", "a\nb", "a\n", "\nb", "A.example", "a..b", "-a", "a;", "*", "*.", "a.*", ("a" * 254), 7, null] as $hosts
    | [$hosts[] as $one | [$one], ["first.example", $one], [$one, "last.example"], ["first.example", $one, "last.example"] | only_hosts - ["first.example", "last.example"]] | unique'
  assert_equal '[[],["*.b.example"],["a.example"]]' "$output"
}

@test "the marks that render fills in can be part of a path" {
  start_pods
  serve rules '.ingresses.items[0].spec.rules[0].http.paths[0].path = "/@ROUTES@/@HASH@"'
  assert_equal apple "$(who_answers fruit.example /@ROUTES@/@HASH@)"
}

@test "random Ingresses come to the blocks that they must come to, and to no others" {
  for ((batch = 0; batch * 1000 < ${RANDOM_INGRESSES:-1000}; batch++)); do
    jq -n --argjson seed 1 --argjson count 1000 --argjson batch "$batch" -f "$BATS_TEST_DIRNAME/tables/fuzz.jq" >"$dir/snapshot.json"
    digest_lists <"$dir/snapshot.json" | "$bin/route" >"$dir/model.json"
    assert_only_our_own
    assert_nginx_takes_it
    assert_equal "$(jq .expected "$dir/snapshot.json")" "$(grep -cE '^ *location ' "$dir/routes")"
  done
}

# --- what others have had

@test "what was published against ingress-nginx gets nobody the file that he is after" {
  start_pods
  canary=$dir/canary
  echo 'the canary' >"$canary"
  jq --arg file "$canary" -f "$BATS_TEST_DIRNAME/tables/cves.jq" "$fixtures/rules/lists.json" >"$dir/snapshot.json"
  serve_lists <"$dir/snapshot.json"
  our_directives+=(error_page proxy_intercept_errors) # of custom-http-errors without default-backend, with codes alone
  assert_only_our_own
  assert_equal "$(jq -r '.cves[] | "\(.ingress) \(.reason)"' "$dir/snapshot.json" | grep -v null | sort -u)" \
    "$(jq -r '.problems[] | select(.of // "" | startswith("Ingress demo/cve-")) | "\(.of | ltrimstr("Ingress ")) \(.reason)"' "$dir/model.json" | sort -u)"
  jq -r '.cves[].host' "$dir/snapshot.json" >"$dir/hosts"
  (($(wc -l <"$dir/hosts") >= 25))
  assert_equal "$(jq -r '.cves[] | if .reason == "ProtectionNotAvailable" then 503 else 200 end' "$dir/snapshot.json")" "$(statuses /good <"$dir/hosts")"
  for path in /canary /canary/ /x "$canary" "/good/..$canary" "/good/%2e%2e$canary"; do
    refute_contains "$(answers "$path" <"$dir/hosts")" 'the canary'
  done
  # and this test would see it
  edit "$STATE_DIR/live/nginx.conf" "s|server_name \"cve-0.example\";|& location /canary { alias $canary; }|"
  kill -HUP "$(<"$STATE_DIR/run/nginx.pid")"
  wait_for 30 somebody_gets_the_canary
}

somebody_gets_the_canary() {
  [[ $(answers /canary <"$dir/hosts") == *"the canary"* ]]
}

answers() { # PATH   <HOSTS
  sed "s|.*|url = \"http://&$1\"|" | curl -s --path-as-is --connect-to "::127.0.0.1:$HTTP_PORT" -K -
}

@test "nobody answers to an admission review, which is how CVE-2025-1974 and CVE-2026-24514 began" {
  serve rules
  review='{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "1"}}'
  for url in "http://127.0.0.1:$HTTP_PORT" "https://127.0.0.1:$HTTPS_PORT" "http://127.0.0.1:$ADMIN_PORT"; do
    assert_equal 404 "$(curl -sk -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d "$review" "$url/networking/v1/ingresses")"
  done
}

# --- neighbours

@test "an Ingress cannot name a Service or a Secret of another namespace" {
  start_pods
  names=(../shop/apple shop/apple apple.shop apple.shop.svc shop.apple /apple .. . 'apple/../../shop/apple' shop%2fapple)
  snapshot rules '.certificates = [{secret: "shop/apple", algorithm: "RSA", file: "default.pem", notAfter: "9999", names: []}]
    | .services.items |= map(select(.metadata.namespace == "shop"))
    | .ingresses.items += [$names | split(" ") | to_entries[] | .value as $name | "thief-\(.key)" as $thief
        | {metadata: {namespace: "demo", name: $thief, creationTimestamp: "2027"}, spec: {ingressClassName: "bash",
            tls: [{hosts: ["\($thief).example"], secretName: $name}],
            rules: [{host: "\($thief).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: $name, port: {number: 80}}}}]}}]}}]' \
    --arg names "${names[*]}" | "$bin/route" >"$dir/model.json"
  assert_equal '[]' "$(jq -c .certificates "$dir/model.json")"
  for i in "${!names[@]}"; do
    assert_equal '[503]' "$(jq -c --arg host "thief-$i.example" '[.servers[] | select(.host == $host).locations[].status]' "$dir/model.json")"
    [[ $(problems) =~ (Secret|Service)(Refused|NotFound):\ demo/thief-$i: ]]
  done
}

@test "names that would run together stay apart, as in CVE-2020-8553" {
  start_pods
  model rules '
    def ingress($namespace; $service): {metadata: {namespace: $namespace, name: "i", creationTimestamp: "2027"}, spec: {ingressClassName: "bash",
      rules: [{host: "\($namespace).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: $service, port: {number: 80}}}}]}}]}};
    def service($namespace; $name): {metadata: {namespace: $namespace, name: $name}, spec: {ports: [{port: 80}]}};
    .ingresses.items = [ingress("a"; "b-c"), ingress("a-b"; "c")]
    | .services.items = [service("a"; "b-c"), service("a-b"; "c")]
    | .endpointSlices.items |= [.[0] | .metadata.namespace = "a" | .metadata.labels["kubernetes.io/service-name"] = "b-c"]' |
    assert_json '[.upstreams[].name, (.servers[] | [.host, .locations[].reason])]' '["b-c.a.80",["",null],["a-b.example","NoReadyEndpoints"],["a.example",null]]'
}

@test "a newer Ingress takes neither a path nor a certificate from an older one, whatever it is called and however it writes them" {
  start_pods
  serve rules '.ingresses.items += [{metadata: {namespace: "aaa", name: "aaa", creationTimestamp: "2027-01-01T00:00:00Z"}, spec: {ingressClassName: "bash",
      tls: [{hosts: ["fruit.example"], secretName: "x"}],
      rules: [{host: "fruit.example", http: {paths: [("/apple", "/apple/", "/banana", "/exact") as $path | ("Exact", "Prefix", "ImplementationSpecific") as $type
        | {path: $path, pathType: $type, backend: {service: {name: "evil", port: {number: 80}}}}]}}]}}]
    | .services.items += [{metadata: {namespace: "aaa", name: "evil"}, spec: {ports: [{port: 80}]}}]
    | .certificates = [{secret: "aaa/x", algorithm: "RSA", file: "default.pem", notAfter: "9999", names: ["fruit.example"]}]'
  assert_equal apple "$(who_answers fruit.example /apple/x)"
  assert_equal banana "$(who_answers fruit.example /banana/x)"
  assert_equal apple "$(who_answers fruit.example /exact)"
  assert_contains "$(problems)" 'HostTaken: aaa/aaa: host fruit.example belongs to namespace demo, whose Ingress demo/fruit is the oldest with a rule for it (2026-01-01'
  assert_contains "$(problems)" 'HostTaken: aaa/aaa: host fruit.example belongs to namespace demo, so a Secret of namespace aaa cannot be its certificate'
  assert_equal '[]' "$(jq -c .certificates "$dir/model.json")"
}

# --- a controller among the pods

# The EndpointSlice of shop/apple, made by hand: PORT of this nginx.
serve_itself() { # PORT [PROTOCOL]
  serve rules ".endpointSlices.items[4] |= (.ports[0].port = $1 | .endpoints[0].addresses = [\"127.0.0.1\"])
    | (.ingresses.items[] | select(.metadata.namespace == \"shop\").metadata.annotations) = {\"nginx.ingress.kubernetes.io/backend-protocol\": \"${2:-HTTP}\"}"
}

@test "an Ingress leads to no admin port of a controller" {
  serve_itself "$ADMIN_PORT"
  for path in /metrics /healthz /readyz /config-hash / /x; do
    assert_equal 403 "$(who_answers shop.example "$path")"
    assert_equal 403 "$(who_answers shop.example "$path" -H 'CDN-Loop: x' -H 'Connection: CDN-Loop')"
  done
  assert_equal alive "$(curl -s "127.0.0.1:$ADMIN_PORT/healthz")"
}

@test "a request that goes round in circles ends with 400" {
  serve_itself "$HTTP_PORT"
  assert_contains "$(ask shop.example /x)" 'This request goes round in circles, perhaps because an EndpointSlice has the address of a controller.'
  assert_equal 400 "$(who_answers shop.example /x)"
  wait_for 15 logged_requests 12 # six for each
  assert_equal 2 "$(grep -c '" 400, .* by nginx itself' "$dir/access.log")"
  serve_itself "$HTTPS_PORT" HTTPS
  assert_equal 400 "$(who_answers shop.example /x)"
  assert_equal 404 "$(who_answers fruit.example /nowhere)"
}

# Each of nginx's workers writes its lines a moment later.
logged_requests() { # NUMBER
  (($(grep -c 'GET shop.example/x' "$dir/access.log") == $1))
}

@test "a gRPC call that goes round in circles ends as well" {
  nginx_knows_http2 || skip 'this nginx is older than 1.25.1, and has no HTTP/2 here'
  serve_itself "$HTTP_PORT" GRPC
  assert_equal 400 "$(who_answers shop.example /x)"
  serve_itself "$ADMIN_PORT" GRPC
  assert_equal 403 "$(who_answers shop.example /metrics)"
}

nginx_knows_http2() {
  printf 'pid %s; events {} http { access_log off; http2 on; }' "$dir/http2.pid" >"$dir/http2.conf"
  nginx -e /dev/null -t -q -c "$dir/http2.conf" 2>/dev/null
}

@test "one controller can serve another one's pods, and the pods see whom the request has passed" {
  start_pods
  serve rules
  assert_equal shop "$(who_answers shop.example / -H 'CDN-Loop: bash-ingress')"
  assert_equal shop "$(who_answers shop.example / -H 'CDN-Loop: another; v="bash", and-another')"
  assert_equal shop "$(who_answers shop.example / -H 'CDN-Loop: bash-ingress, bash-ingress, bash-ingress, bash-ingress')"
  assert_equal 400 "$(who_answers shop.example / -H 'CDN-Loop: bash-ingress, bash-ingress, bash-ingress, bash-ingress, bash-ingress')"
  assert_contains "$(ask shop.example /headers)" $'CDN-Loop: bash-ingress\n'
  assert_contains "$(ask shop.example /headers -H 'CDN-Loop: another')" $'CDN-Loop: another, bash-ingress\n'
}

@test "the admin port shows three things, and changes nothing" {
  serve rules
  mkdir -p "$STATE_DIR/admin"
  printf 'polls 1\n' | tee "$STATE_DIR/admin/metrics" >"$STATE_DIR/admin/other"
  admin() { curl -s --path-as-is -o /dev/null -w '%{http_code}' "127.0.0.1:$ADMIN_PORT$1" "${@:2}"; }
  for path in /other /metrics/ /metrics.new /ready /../live/nginx.conf /metrics/../../keys/default.pem /%2e%2e/keys/default.pem //other /metrics%00 /metrics/../other; do
    [[ $(admin "$path") == 40[04] ]]
  done
  for method in PUT DELETE POST PATCH MKCOL MOVE COPY PROPFIND; do
    [[ $(admin /metrics -X "$method" -d x) == 405 ]]
    [[ $(admin /other -X "$method" -d x) == 40[45] ]]
  done
  assert_equal 'polls 1' "$(curl -s "127.0.0.1:$ADMIN_PORT/metrics?<!--%23%20include%20file=/other%20-->")"
  assert_equal "$(printf '%s\n' metrics other)" "$(ls "$STATE_DIR/admin")"
}

# --- large objects, and many

# Writes the model and the configuration of a snapshot, each within a minute, and lets nginx judge it.
routed_in_time() { # JQ_PROGRAM
  timeout 60 "$fixtures/snapshot" "$large $1" -n >"$dir/snapshot"
  timeout 60 "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  timeout 60 "$bin/render" <"$dir/model.json" >"$dir/nginx.conf"
  mkdir -p "$STATE_DIR"/{live,run,scratch/nginx}
  edit "$dir/nginx.conf" -E 's/^ *(keepalive_min_timeout|ssl_certificate_cache|http2|add_header_inherit) .*//' # as apply does
  nginx -e stderr -t -q -c "$dir/nginx.conf"
}

# How many lines of what was routed match PATTERN.
routes_written() { # PATTERN
  sed '1,/^  # --- routes$/d' "$dir/nginx.conf" | grep -c "$1"
}

# shellcheck disable=SC2016 # the dollar signs are jq's
large='
  def backend($port): {service: {name: "s", port: {number: $port}}};
  def path($path; $type): {path: $path, pathType: $type, backend: backend(80)};
  def ingress($rules): {metadata: {namespace: "a", name: "i", creationTimestamp: "2026"}, spec: {ingressClassName: "bash", rules: $rules}};
  def slice($name; $ports): {metadata: {namespace: "a", name: $name, labels: {"kubernetes.io/service-name": "s"}}, addressType: "IPv4",
    ports: $ports, endpoints: [{addresses: ["10.0.0.1"]}]};
  def snapshot($ingresses; $ports; $slices): {ingresses: {items: $ingresses}, ingressClasses: {items: []},
    services: {items: [{metadata: {namespace: "a", name: "s"}, spec: {ports: $ports}}]}, endpointSlices: {items: $slices}};
  def one_host($paths): snapshot([ingress([{host: "h.example", http: {paths: $paths}}])]; [{port: 80}]; [slice("s"; [{name: "", port: 8080}])]);
  def hosts($hosts): snapshot([ingress([$hosts[] | {host: ., http: {paths: [path("/"; "Prefix")]}}])]; [{port: 80}]; [slice("s"; [{name: "", port: 8080}])]);
  def long($n): "\($n)h." + ("a" * 62 + ".") * 4 | .[:252] + "b";
'

@test "one Ingress of a megabyte is routed in time, whatever its limits: 9,000 paths, 4,000 ports, 60 elements in each path, 4,000 paths that are refused" {
  export LIMITS='ingress_paths=9000 namespace_paths=9000'
  routed_in_time 'one_host([range(9000) | path("/p\(.)/"; "Exact")])'
  assert_equal 18002 "$(routes_written '^ *location ')"
  routed_in_time '[range(4000) | {port: (. + 1), name: "p\(.)"}] as $ports
    | snapshot([ingress([{host: "h.example", http: {paths: [range(4000) | path("/\(.)"; "Exact") | .backend = backend(1 + (.path[1:] | tonumber))]}}])]; $ports;
        [range(40) as $n | slice("s\($n)"; [$ports[$n * 100:$n * 100 + 100][] | .port = 8080])])'
  assert_equal 4000 "$(jq '.upstreams | length' "$dir/model.json")"
  routed_in_time 'one_host([range(900) | path("/\(.)\("/a" * 60)\("b" * 800)/"; "Exact")])'
  assert_equal 1802 "$(routes_written '^ *location ')"
  routed_in_time 'one_host([range(4000) | path("/\(.)\"\("x" * 200)"; "Exact")] + [path("/\("\"" * 500000)"; "Exact"), path("/\("a" * 500000)"; "Prefix")])'
  problems >"$dir/problems"
  assert_equal 11 "$(wc -l <"$dir/problems")"
  assert_contains "$(<"$dir/problems")" 'MoreProblems: a/i: and 3992 more problems'
  (($(wc -L <"$dir/problems") < 250))
}

@test "a few objects cannot come to millions of lines: a namespace has 20,000 endpoints at most, for all Services and ports together" {
  routed_in_time '[range(100) | {port: (. + 1), name: "p\(.)"}] as $ports
    | snapshot([ingress([{host: "h.example", http: {paths: [$ports[] | path("/\(.name)"; "Exact") + {backend: backend(.port)}]}}])]; $ports;
        [slice("s"; [$ports[] | .port = 8080]) | .endpoints = [range(1000) as $n | {addresses: [range(100) | "10.\($n % 250).\($n / 250 | floor).\(.)"]}]])'
  assert_equal 20000 "$(routes_written '^ *server "10[.]')"
  assert_equal 10 "$(problems | grep -c 'TooManyEndpoints: a/i: Service a/s has too many endpoints: for port .*, only the first 200 are served')"
}

@test "annotations do not multiply a namespace's 20,000 endpoints: what they ask of the pods counts, and a hash five times" {
  routed_in_time 'def asking($n; $annotations): ingress([{host: "h\($n).example", http: {paths: [path("/"; "Prefix")]}}])
      | .metadata += {name: "i\($n)", annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))};
    snapshot([(range(10) | asking(.; {"backend-protocol": "HTTPS", "proxy-ssl-name": "n\(.)"})), (range(10; 12) | asking(.; {"upstream-hash-by": "n\(.)$request_uri"}))]; [{port: 80}];
      [slice("s"; [{name: "", port: 8080}]) | .endpoints = [range(2000) | {addresses: ["10.0.\(. / 250 | floor).\(. % 250)"]}]])'
  assert_equal "$((12 * 1000))" "$(routes_written '^ *server "10[.]')"
  assert_contains "$(problems)" 'TooManyEndpoints: a/i11: Service a/s has too many endpoints: for port 80, only the first 1000 are served'
}

@test "locations that annotations ask for count as paths" {
  export LIMITS=namespace_paths=18
  routed_in_time 'def asking($name): ingress([{host: "\($name).example", http: {paths: [path("/"; "Prefix")]}}]) | .metadata.name = $name;
    snapshot([(asking("a") | .metadata.annotations = ({"auth-url": "http://s.a.svc", "mirror-target": "http://s.a.svc", "default-backend": "s", "custom-http-errors": "401,403,404,503"} | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))
        | .spec.rules += [.spec.rules[] | .host = "more.example"]), (range(6) | asking("b\(.)"))]; [{port: 80}]; [slice("s"; [{name: "", port: 8080}])])'
  # 2 paths, 2 x 2 locations for whom nginx asks and for copies, 2 x 3 for errors
  assert_equal 'LimitExceeded: a/b5: it is not served: with it, the Ingresses of its namespace would have 18 paths, and the limit is 17' "$(with_settings LIMITS=namespace_paths=17 <"$dir/snapshot" | "$bin/route" | jq -r '.problems[] | select(.reason == "LimitExceeded") | "\(.reason): \(.of | ltrimstr("Ingress ")): \(.message)"')"
}

@test "thousands of hosts of 253 characters fit, exact, with wildcards and with certificates, and nginx does not even warn" {
  export LIMITS='ingress_hosts=3000 namespace_wildcards=3000'
  run routed_in_time 'hosts([range(3000) | long(.)]) | .ingresses.items[0].spec.tls = [{hosts: [range(2000) | long(.)], secretName: "t"}]
    | .certificates = [{secret: "a/t", algorithm: "RSA", file: "default.pem", notAfter: "9999", names: [range(2000) | long(.)]}]'
  assert_equal '' "$output"
  assert_equal 2000 "$(jq '.certificates | length' "$dir/model.json")"
  run routed_in_time 'hosts([range(3000) | "*." + long(.)[:251]])'
  assert_equal '' "$output"
  assert_equal 3001 "$(jq '.servers | length' "$dir/model.json")"
}

@test "5,000 Ingresses, each with a Service of its own, are routed in time" {
  run routed_in_time 'def named($n): .metadata.name = "s\($n)"; snapshot([range(5000) as $n | ingress([{host: "h\($n).example", http: {paths: [path("/"; "Prefix")
      | .backend.service.name = "s\($n)"]}}]) | named($n)]; []; [range(5000) as $n | slice("s\($n)"; [{name: "", port: 8080}]) | .metadata.labels["kubernetes.io/service-name"] = "s\($n)"])
    | .services.items = [range(5000) | {metadata: {namespace: "a", name: "s\(.)"}, spec: {ports: [{port: 80}]}}]'
  assert_equal '' "$output"
  assert_equal 5000 "$(jq '.upstreams | length' "$dir/model.json")"
}

# --- limits

# Prints an Ingress NAMESPACE/NAME made in YEAR, of which the jq expression EDIT changes the spec.
limits_of='
  def ingress($name; $year; edit): ($name | split("/")) as $key
    | {metadata: {namespace: $key[0], name: $key[1], creationTimestamp: $year}, spec: ({ingressClassName: "bash", rules: []} | edit)};
  def rules($hosts): .rules = [$hosts[] | {host: ., http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}];
  def neighbour: ingress("shop/neighbour"; "2029"; rules(["neighbour.example"]));'

limited() { # INGRESSES LIMITS
  LIMITS=$2 model rules "$limits_of"' .ingresses.items = ['"$1"', neighbour]' >"$dir/model.json"
  jq -e '[.servers[].host] | index("neighbour.example")' "$dir/model.json"
}

@test "an Ingress with too many hosts or paths gets the first ones, and says so; the others lose nothing" {
  limited 'ingress("demo/many"; "2028"; rules([range(7) | "h\(.).example"]))' 'ingress_hosts=5'
  jq '[.servers[].host | select(startswith("h"))]' "$dir/model.json" | assert_json . '["h0.example","h1.example","h2.example","h3.example","h4.example"]'
  assert_contains "$(problems)" 'LimitExceeded: demo/many: it has 7 hosts, 7 paths and 0 entries in spec.tls; of one Ingress, only the first 5 hosts, 5000 paths'
  limited 'ingress("demo/many"; "2028"; rules(["a.example", "b.example", "c.example"]) | .rules[].http.paths[0].path = ("/1", "/2"))' 'ingress_paths=2'
  limited 'ingress("demo/many"; "2028"; rules(["a.example", "b.example"]) | .rules[].http.paths |= [range(3) as $i | .[0] | .path = "/\($i)"])' 'ingress_paths=4'
  jq '[.servers[] | .host as $host | .locations[] | select(.upstream and $host != "neighbour.example") | $host[:1] + .path]' "$dir/model.json" |
    assert_json . '["a/0","a/1","a/2","b/0"]'
  limited 'ingress("demo/many"; "2028"; rules(["a.example"]))' 'ingress_hosts=1 ingress_paths=1'
  assert_equal '' "$(problems | grep Limit)"
}

@test "of a value that is longer than it may be, nothing is read beyond that: networks, namespaces, names of annotations, hashes" {
  allowing() { # LIST, as a jq expression
    model rules ".ingresses.items[0].metadata.annotations = {\"nginx.ingress.kubernetes.io/allowlist-source-range\": ($1)}" >"$dir/model.json"
    problems | grep -o 'ProtectionNotAvailable: demo/fruit:.*' || true
  }
  assert_equal '' "$(allowing '"1.1.1.1" + " " * 93')"
  assert_contains "$(allowing '"1.1.1.1" + " " * 94')" 'ProtectionNotAvailable'
  assert_equal '' "$(allowing '"::1," * 999 + "::1"')"
  assert_contains "$(allowing '"::1," * 1000 + "::1"')" 'allowed: up to 1,000 addresses and networks'
  for commas in 99 100; do
    limited 'ingress("demo/a"; "2027"; rules(["a.example"])) | .metadata.annotations["bash-ingress.local/share-host-with"] = "," * '"$commas"' + "park", ingress("park/guest"; "2028"; rules(["a.example"]))' '' >/dev/null
    problems | grep -c HostTaken || true
  done >"$dir/taken"
  assert_equal '0 1' "$(xargs <"$dir/taken")"
  snapshot rules '.ingresses.items[0].metadata.annotations = ([range(11) | {"nginx.ingress.kubernetes.io/auth-\(.)": "x"}] | add)' | tee "$dir/snapshot" | "$bin/route" >"$dir/model.json"
  assert_equal 5 "$(problems | grep -o 'ProtectionNotAvailable: demo/fruit: .*; and more' | grep -o 'is not supported' | wc -l)"
  jq 'select(.of == "Ingress demo/fruit").options.protections | length' "$dir/snapshot" | assert_json . 10
  jq -n -c -L "$bin/lib" 'include "secrets/passwords"; [267, 268] | map("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" + " " * . | {data: {alice: @base64}} | passwords("auth-map").reason)' |
    assert_json . '[null,"PasswordsRefused"]'
}

@test "white space at the ends of an annotation does not count, and in its middle it does" {
  jq -n -c -L "$bin/lib" --arg policy compatible 'include "annotations"; [" x ", "\t\nx", "x  x ", "x" + " " * 4094 + "x ", "", "  "] | map(trimmed | length)' |
    assert_json . '[1,1,4,4096,0,0]'
}

@test "many networks, guests of a shared wildcard and moved addresses, within the limits, are routed in time" {
  limited '[range(12) as $n | ingress("demo/n\($n)"; "2028"; rules(["n\($n).example"])) | .metadata.annotations = {"nginx.ingress.kubernetes.io/allowlist-source-range": ([range(900) | "10.\($n).\(. % 250).\(. / 250 | floor)"] | join(","))}][]' ''
  assert_contains "$(problems)" 'LimitExceeded: demo/n5: it is not served: with it, the Ingresses of its namespace would have 5400 networks and other entries in lists of annotations, and the limit is 5000'
  # a wildcard that is shared with many, with many paths, beside many hosts of others
  jq -c -n '{ingressClasses: {items: []}, services: {items: []}, endpointSlices: {items: []},
    certificates: [{secret: "evil/t", algorithm: "RSA", file: "1-1.pem", notAfter: "9999", names: []}],
    ingresses: {items: ([{metadata: {namespace: "evil", name: "w", creationTimestamp: "2028", annotations: {"bash-ingress.local/share-host-with": ([range(90) | "n\(.)"] | join(","))}},
      spec: {ingressClassName: "bash", tls: [{hosts: ["*.example.com"], secretName: "t"}], rules: [{host: "*.example.com", http: {paths: [range(4000) | {path: "/\(.)", pathType: "Exact", backend: {service: {name: "s", port: {number: 80}}}}]}}]}}]
      + [range(200) | {metadata: {namespace: "shop", name: "i\(.)", creationTimestamp: "2027"}, spec: {ingressClassName: "bash", rules: [{host: "h\(.).example.com"}]}}])}}' >"$dir/lists"
  digest_lists <"$dir/lists" | timeout "$((10 * ${SLOWER:-1}))" "$bin/route" | assert_json '[.certificates[] | select(.files == ["default.pem"])] | length' 200
  # the same, with many Ingresses for the wildcard, and hosts of its own below
  jq -c -n '{ingressClasses: {items: []}, services: {items: []}, endpointSlices: {items: []},
    ingresses: {items: [
      (range(490) | {metadata: {namespace: "evil", name: "w\(.)", creationTimestamp: "2028", annotations: {"bash-ingress.local/share-host-with": ([range(100) | "n\(.)"] | join(","))}},
        spec: {ingressClassName: "bash", rules: [{host: "*.example.com", http: {paths: [{path: "/\(.)", pathType: "Exact", backend: {service: {name: "s", port: {number: 80}}}}]}}]}}),
      {metadata: {namespace: "evil", name: "hosts", creationTimestamp: "2029", annotations: {"nginx.ingress.kubernetes.io/use-regex": "true", "nginx.ingress.kubernetes.io/app-root": "/ui"}},
        spec: {ingressClassName: "bash", rules: [range(400) | {host: "h\(.).example.com"}]}}]}}' >"$dir/lists"
  digest_lists <"$dir/lists" | with_settings HOST_OWNERSHIP=strict | timeout "$((10 * ${SLOWER:-1}))" "$bin/route" | assert_json '.servers | length' 402
  # 20,000 addresses that all move
  model() { jq -c -n --arg net "$1" '{claimants: [], upstreams: [{service: "a/s", port: 80, endpoints: [range(20000) | "10.\($net).\(. / 250 | floor).\(. % 250):80"]}]}'; }
  timeout "$((10 * ${SLOWER:-1}))" jq -r -f "$bin/lib/apply/changes.jq" --argjson most 3 <(model 1) <(model 2) >"$dir/changes"
  assert_contains "$(<"$dir/changes")" 'changed a/s:80 gained pod'
  # pods of ten Services
  model() { jq -c -n --arg net "$1" '{claimants: [], upstreams: [range(10) | {service: "a/s\(.)", port: 80, endpoints: ["10.\($net).0.1:80"]}]}'; }
  jq -r -f "$bin/lib/apply/changes.jq" --argjson most 3 <(model 1) <(model 2) >"$dir/changes"
  assert_contains "$(<"$dir/changes")" 'and pods of 2 more Services'
}

@test "a host stays its owner's while its Ingress is quarantined, and an error answers for it" {
  snapshot rules '(.ingresses.items[] | select(.metadata.name == "fruit") | .spec.tls) = []
    | .ingresses.items += [{metadata: {namespace: "aaa", name: "squat", creationTimestamp: "2027"}, spec: {ingressClassName: "bash",
        rules: [{host: "fruit.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "s", port: {number: 80}}}}]}}]}}]' >"$dir/snapshot"
  jq -c 'select(.of == "Ingress demo/fruit" or .of == "Ingress demo/added-later") | {(.of): {summary: tojson, message: "no"}}' "$dir/snapshot" | jq -s add >"$dir/quarantine"
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$dir/model.json"
  jq -c '.servers[] | select(.host == "fruit.example").locations | map([.of, .status])' "$dir/model.json" | assert_json . '[["Ingress demo/fruit",503]]'
  assert_contains "$(problems)" 'HostTaken: aaa/squat: host fruit.example belongs to namespace demo'
  assert_contains "$(problems)" 'RejectedByNginx: demo/fruit'
}

@test "while an Ingress that protects a path is quarantined, no other of its namespace answers for that path" {
  snapshot rules 'def ingress($name; $path; $annotations):
      {metadata: {namespace: "demo", $name, creationTimestamp: "2027", $annotations}, spec: {ingressClassName: "bash",
        rules: [{host: "shut.example", http: {paths: [{$path, pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}};
    .ingresses.items += [ingress("admin"; "/admin/users"; {"nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8"}),
      ({root: "/", above: "/admin", below: "/admin/users/public", beside: "/adm"} | to_entries[] | ingress(.key; .value; {}))]' >"$dir/snapshot"
  jq -c 'select(.of == "Ingress demo/admin") | {(.of): {summary: tojson, message: "no"}}' "$dir/snapshot" >"$dir/quarantine"
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$dir/model.json"
  jq -r '.servers[] | select(.host == "shut.example").locations[] | "\(.path) \(.status)"' "$dir/model.json" >"$dir/statuses"
  assert_equal '/admin/users/public null,/admin 503,/adm null,/ 503' "$(paste -sd , "$dir/statuses")"
  assert_contains "$(problems)" 'ProtectionNotAvailable: demo/root: closed while Ingress demo/admin is quarantined, which protects /admin/users'
}

@test "what annotations cost nginx counts: a list of networks once for all that have it, and cookies and TLS as paths" {
  local allow='.metadata.annotations = {"nginx.ingress.kubernetes.io/allowlist-source-range": "10.0.0.0/8,::1"}'
  limited 'range(3) as $n | ingress("demo/n\($n)"; "2028"; rules(["n\($n).example"])) | '"$allow" 'namespace_networks=2'
  assert_equal '' "$(problems | grep Limit)"
  limited 'range(2) as $n | ingress("demo/n\($n)"; "2028"; rules(["n\($n).example"])) | '"$allow"' | .metadata.annotations[] += ",10.0.0.\($n)"' 'namespace_networks=5'
  assert_contains "$(problems)" 'LimitExceeded: demo/n1: it is not served: with it, the Ingresses of its namespace would have 6 networks and other entries in lists of annotations, and the limit is 5'
  local heavy='.metadata.annotations = ({affinity: "cookie", "session-cookie-expires": "5", "backend-protocol": "HTTPS", "denylist-source-range": "::1"} | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))'
  # 2 paths of 3 each, and 1 for the date of both
  limited 'range(2) as $n | ingress("demo/n\($n)"; "2028"; rules(["n\($n).example"])) | '"$heavy" 'namespace_paths=7'
  assert_equal '' "$(problems | grep Limit)"
  limited 'range(2) as $n | ingress("demo/n\($n)"; "2028"; rules(["n\($n).example"])) | '"$heavy" 'namespace_paths=6'
  assert_contains "$(problems)" 'LimitExceeded: demo/n1: it is not served: with it, the Ingresses of its namespace would have 7 paths, and the limit is 6'
}

# Prints what answers at each path of a host: its status, or "served".
answers_at() { # HOST
  jq -r --arg host "$1" '[.servers[] | select(.host == $host or any(.others[]?; . == $host)).locations[] | "\(.path) \(.status // if .upstream then "served" else 404 end)"] | join(", ")' "$dir/model.json"
}

@test "what is beyond a limit and protects stays shut: at the aliases of others, with many aliases of its own, and on hosts too many" {
  local allow='.metadata.annotations["nginx.ingress.kubernetes.io/allowlist-source-range"] = "10.0.0.0/8"' alias='.metadata.annotations["nginx.ingress.kubernetes.io/server-alias"]'
  limited 'ingress("demo/a"; "2027"; rules(["a.example"])) | '"$alias = \"alias.example\""', (ingress("demo/b"; "2028"; rules(["a.example"])) | .spec.rules[].http.paths[0].path = "/admin" | '"$allow)" namespace_ingresses=1
  assert_equal '/ 503; / 503' "$(answers_at a.example); $(answers_at alias.example)"
  # 300 paths with 40 aliases are too many to be shut one by one
  limited 'ingress("demo/a"; "2027"; rules(["a.example"])) | .spec.rules[].http.paths[0].path = "/300", (ingress("demo/b"; "2028"; rules(["a.example"])) | .spec.rules[].http.paths |= [range(301) as $n | .[0] | .path = "/\($n)/admin"] | '"$allow | $alias = ([range(40) | \"\\(.).example\"] | join(\",\")))" namespace_ingresses=1
  assert_equal '/300 503, / 404' "$(answers_at a.example)"
  # 12 x 900 hosts are, too: then all of the namespace is shut
  limited 'ingress("demo/a"; "2027"; rules(["a.example", "*.example"])), (range(12) as $n | ingress("demo/b\($n)"; "2028"; rules([range(900) | "\($n)-\(.).example"])) | '"$allow)" namespace_ingresses=1
  assert_equal '/ 503; / 503' "$(answers_at a.example); $(answers_at '*.example')"
  # so are its paths on a host that it shares: they do not go to its guest
  limited 'ingress("demo/a"; "2027"; rules(["a.example"])) | .spec.rules[].http.paths[0].path = "/api" | .metadata.annotations["bash-ingress.local/share-host-with"] = "*", ingress("park/guest"; "2028"; rules(["a.example"])), (range(12) as $n | ingress("demo/b\($n)"; "2028"; rules([range(900) | "\($n)-\(.).example"])) | '"$allow)" namespace_ingresses=1
  assert_equal '/api 503' "$(answers_at a.example | grep -o '/api [^,]*')"
  # of an Ingress with too many hosts
  limited 'ingress("demo/a"; "2027"; rules(["c.example", "*.example"])), (ingress("demo/b"; "2028"; rules(["a.example", "b.example", "c.example", "d.example"])) | .spec.rules[].http.paths[0].path = "/admin" | '"$allow)" ingress_hosts=2
  assert_equal '/admin served, / 404; / 503; / 503' "$(answers_at b.example); $(answers_at c.example); $(answers_at d.example)"
}

@test "beside an Ingress that protects and is left out in part or as a whole, challenges of others are open, but not where it has some itself" {
  local allow='.metadata.annotations["nginx.ingress.kubernetes.io/allowlist-source-range"] = "10.0.0.0/8"'
  local tls='.metadata.annotations["nginx.ingress.kubernetes.io/auth-tls-secret"] = "demo/ca"'
  local solver='(ingress("demo/solver"; "2029"; rules(["a.example"])) | .spec.rules[].http.paths |= [.[0] | .path = "/.well-known/acme-challenge/token", .path = "/x"])'
  answers() { # GUARD [LIMIT]
    limited "$solver | .metadata.creationTimestamp = \"2001\", (ingress(\"demo/guard\"; \"2027\"; rules([\"a.example\", \"b.example\"])) | $1)" "$2" >/dev/null
    answers_at a.example | grep -oE "/(token|x) [^,]*" | xargs
  }
  local left_out='.spec.rules[].http.paths |= [.[0] | .path = ("/1", "/2", "/3")]' challenge='.spec.rules[0].http.paths += [.spec.rules[0].http.paths[-1] | .path = "/.well-known/acme-challenge/own"]'
  # paths that are too many
  assert_equal '/token served /x 503' "$(answers "$left_out | $allow" ingress_paths=2)"
  assert_equal '/token 503 /x 503' "$(answers "$left_out | $challenge | $allow" ingress_paths=2)"
  # Ingresses that are too many: of the first, only its own paths are shut; the second is for the whole host
  assert_equal '/token served /x served' "$(answers "$allow" namespace_ingresses=1)"
  assert_equal '/token served /x 503' "$(answers "$tls" namespace_ingresses=1)"
  assert_equal '/token served /x 503' "$(answers ".spec.rules[0].http.paths[0].path = \"/.well-known/acme-challenge\" | $tls" namespace_ingresses=1)"
  # so many paths that they are shut as one
  local many='.spec.rules |= [.[0] | .http.paths |= [range(900) as $n | .[0] | .path = "/\($n)" + "/a" * 60]]'
  assert_equal '/token served /x 503' "$(answers "$many | $allow" namespace_ingresses=1)"
  assert_equal '/token 503 /x 503' "$(answers "$many | $challenge | $allow" namespace_ingresses=1)"
}

@test "HTTP clients are sent to HTTPS if the Ingress that names their host in spec.tls is beyond a limit" {
  limited 'ingress("demo/a"; "2027"; rules(["a.example"])) | .metadata.annotations["nginx.ingress.kubernetes.io/ssl-redirect"] = "true", ingress("demo/b"; "2028"; rules(["a.example"]) | .tls = [{hosts: ["a.example"], secretName: "s"}])' namespace_ingresses=1
  jq '[.servers[] | select(.host == "a.example").locations[] | select(.upstream).redirect]' "$dir/model.json" | assert_json . '[true]'
}

@test "what exceeds the limits of a namespace is not served, the oldest Ingress comes first, and another namespace loses nothing" {
  limited 'ingress("demo/c"; "2024"; rules(["c.example"])), ingress("demo/a"; "2022"; rules(["a1.example", "a2.example"])), ingress("demo/b"; "2023"; rules(["b1.example", "b2.example"]))' namespace_hosts=3
  jq '[.servers[].host]' "$dir/model.json" | assert_json . '["","a1.example","a2.example","c.example","neighbour.example"]'
  assert_contains "$(problems)" 'LimitExceeded: demo/b: it is not served: with it, the Ingresses of its namespace would have 4 hosts, and the limit is 3'
  limited 'ingress("demo/a"; "2022"; rules(["*.a.example", "*.b.example"])), ingress("demo/b"; "2023"; rules(["*.c.example"]))' namespace_wildcards=2
  assert_contains "$(problems)" 'LimitExceeded: demo/b: it is not served: with it, the Ingresses of its namespace would have 3 wildcards, and the limit is 2'
  limited 'ingress("demo/a"; "2022"; rules(["a.example"])), ingress("demo/b"; "2023"; rules(["b.example", "c.example"]))' namespace_paths=2
  assert_contains "$(problems)" 'LimitExceeded: demo/b: it is not served: with it, the Ingresses of its namespace would have 3 paths, and the limit is 2'
  limited 'ingress("demo/a"; "2022"; rules(["a.example", "b.example"]) | .tls = [{secretName: "s"}]), ingress("demo/b"; "2023"; .tls = [{hosts: ["x.example"], secretName: "s"}])' namespace_tls_hosts=2
  assert_contains "$(problems)" 'LimitExceeded: demo/b: it is not served: with it, the Ingresses of its namespace would have 3 hosts in spec.tls, and the limit is 2'
  limited 'ingress("demo/a"; "2022"; rules(["a.example"]) | .tls = [{secretName: "s"}, {secretName: "t"}, {secretName: "u"}])' namespace_tls_hosts=2 # each entry without hosts is for all
  assert_contains "$(problems)" 'demo/a: it is not served: with it, the Ingresses of its namespace would have 3 hosts in spec.tls'
  limited 'ingress("demo/a"; "2022"; .tls = [{secretName: "s"}, {secretName: "t"}, {secretName: "u"}])' namespace_tls_hosts=2 # each entry counts, even if it has no host
  assert_contains "$(problems)" 'demo/a: it is not served: with it, the Ingresses of its namespace would have 3 hosts in spec.tls'
  limited 'ingress("demo/a"; "2022"; rules(["a.example", "b.example", "c.example"]))' namespace_tls_hosts=2
  assert_equal '' "$(problems | grep Limit)"
}

@test "an Ingress with 5,000 mistakes says ten of them; why it is closed comes first; others' problems stay in the log" {
  limited 'ingress("demo/many"; "2028"; rules(["a.example"]) | .rules[0].http.paths |= [range(5000) as $i | .[0] | .path = "\($i)"])
    | .metadata.annotations = {"nginx.ingress.kubernetes.io/auth-url": "x"},
    ingress("zoo/one"; "2028"; rules(["zoo.example"]) | .rules[0].http.paths[0].path = "x")' ''
  assert_equal 11 "$(problems | grep -c demo/many)"
  assert_contains "$(problems | grep demo/many)" 'ProtectionNotAvailable'
  assert_contains "$(problems | grep demo/many)" 'MoreProblems: demo/many: and 4991 more problems'
  jq -r -f "$bin/lib/apply/changes.jq" --argjson most 3 <(echo '{}') "$dir/model.json" >"$dir/changes"
  assert_contains "$(<"$dir/changes")" 'problem Ingress zoo/one'
}

@test "many objects that cannot be read do not hide what is said of Ingresses" {
  snapshot rules >"$dir/snapshot.good"
  {
    head -n 1 "$dir/snapshot.good"
    for number in {1..50}; do echo "{\"problem\":{\"namespace\":\"a\",\"reason\":\"ObjectUnreadable\",\"message\":\"Service a/$number is left out\"}}"; done
    tail -n +2 "$dir/snapshot.good"
  } | "$bin/route" >"$dir/model.json"
  assert_equal 10 "$(problems | grep -c 'ObjectUnreadable')"
  assert_contains "$(problems)" 'MoreProblems: null: and 40 more problems in namespace a'
}

@test "annotations with much text for each of many paths are beyond a limit, as nginx.conf would have no end" {
  model rules '(.ingresses.items[0] | .metadata.annotations = {"nginx.ingress.kubernetes.io/permanent-redirect": "https://a.example/\("a" * 990)"} | .metadata.namespace = "evil"
      | .spec.rules |= [.[0] | .host = "evil.example" | .http.paths |= [.[0] | .path = "/\(range(4900))"]]) as $large
    | .ingresses.items += [$large | .metadata.name = "large", (.metadata.name = "small" | .spec.rules[0].http.paths |= .[:50])]' >"$dir/model.json"
  assert_contains "$(problems)" 'LimitExceeded: evil/large: it is not served: with it, the Ingresses of its namespace would have 11555120 characters of paths and annotations in nginx.conf, and the limit is 10000000'
  refute_contains "$(problems)" 'LimitExceeded: evil/small'
}
