# What real nginx answers with the routes of the fixture "rules".
load helpers
setup() { common_setup; }
teardown() { common_teardown; }

# Each row: HOST PATH POD, or a status code. Lines that begin with # are comments.
assert_answers() {
  local host path expected actual
  while read -r host path expected; do
    [[ -n $host && $host != '#'* ]] || continue
    actual=$(ask "$host" "$path" -w '%{http_code}')
    if [[ $expected != [0-9]* ]]; then actual=${actual%%-*}; else actual=${actual: -3}; fi
    [[ $actual == "$expected" ]] || { printf '%s%s: expected %s, got %s\n' "$host" "$path" "$expected" "$actual" >&2 && return 1; }
  done
}

@test "Prefix matches by path element, and a trailing slash means nothing" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    fruit.example /apple          apple
    fruit.example /apple/         apple
    fruit.example /apple/x/y      apple
    fruit.example /apple?a=b      apple
    fruit.example /apples         404
    fruit.example /%61pple        apple
    fruit.example //apple         apple
    fruit.example /x/../apple     apple
    fruit.example /apple/../x     404
    fruit.example /app            404
    fruit.example /APPLE          404
    fruit.example /banana         banana
    fruit.example /banana/        banana
    fruit.example /banana/x       banana
    fruit.example /bananas        404
ROWS
}

@test "Exact matches the path and nothing else" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    fruit.example /exact          apple
    fruit.example /exact?a=b      apple
    fruit.example /exact/         404
    fruit.example /exact/x        404
    fruit.example /Exact          404
    # not even a redirect to /slash/
    fruit.example /slash          404
    fruit.example /slash/         banana
    fruit.example /slash/x        404
ROWS
}

@test "the longest path decides, and Exact before Prefix" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    fruit.example /apple/core     banana
    fruit.example /apple/core/    apple
    fruit.example /apple/core/x   apple
    some.host     /hello          apple
    some.host     /               banana
    some.host     /x              404
ROWS
}

@test "an exact host comes before a wildcard, a wildcard before any host" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    fruit.example       /apple      apple
    FRUIT.Example       /apple      apple
    fruit.example:8080  /apple      apple
    my.fruit.example    /apple      cherry
    a.b.fruit.example   /apple      404
    a.b.fruit.example   /hello      apple
    10.0.0.1            /hello      apple
    # what no path of a host matches is not given to the rules without a host
    fruit.example       /hello      404
    my.fruit.example    /hello      cherry
ROWS
}

@test "several Ingresses share a host, and the oldest has a path that two claim" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    fruit.example /cherry         cherry
    fruit.example /cherry/x       cherry
    fruit.example /apple          apple
ROWS
}

@test "the default backend takes what no path of its Ingress's hosts matches" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    default.example /apple        apple
    default.example /other        cherry
    # the older of two that give a default has it
    default.example /later        apple
    two.example     /other        404
    fruit.example   /other        404
    unknown.example /other        404
ROWS
}

@test "a default backend without rules takes every host that no rule names" {
  start_pods
  serve rules '.ingresses.items += [{metadata: {namespace: "demo", name: "all"},
    spec: {ingressClassName: "bash", defaultBackend: {service: {name: "cherry", port: {number: 80}}}}}]'
  assert_answers <<'ROWS'
    unknown.example /other        cherry
    unknown.example /hello        apple
    fruit.example   /other        404
ROWS
}

@test "Services of the same name in two namespaces are two Services" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    shop.example  /               shop
    fruit.example /apple          apple
ROWS
}

@test "Ingresses of another class or without a class get no traffic" {
  start_pods
  serve rules
  assert_answers <<'ROWS'
    other.example     /           banana
    other.example     /x          404
    classless.example /x          404
ROWS
}

@test "an Ingress without a class is served if ours is the default class" {
  start_pods
  serve rules '.ingressClasses.items[0].metadata.annotations["ingressclass.kubernetes.io/is-default-class"] = "true"'
  assert_answers <<'ROWS'
    classless.example /x          apple
    other.example     /x          404
ROWS
}

@test "all ready pods of all slices answer, and none that is not ready" {
  start_pods
  serve rules
  answers=$(for _ in {1..20}; do ask fruit.example /apple; done | cut -d' ' -f1 | sort -u)
  assert_equal $'apple-1\napple-2' "$answers"
  answers=$(for _ in {1..20}; do ask fruit.example /banana; done | cut -d' ' -f1 | sort -u)
  assert_equal $'banana-1\nbanana-2' "$answers"
}

@test "method, path, query and body arrive as the client sent them" {
  start_pods
  serve rules
  assert_equal 'shop-apple-1 PATCH /a//b/%2e%2E/c/%20%C3%A4?x=%2F&y' \
    "$(ask shop.example '/a//b/%2e%2E/c/%20%C3%A4?x=%2F&y' -X PATCH --data body)"
}

@test "the pod is told who asked, for what and how; what the client claims of that is dropped" {
  start_pods
  serve rules
  answer=$(ask shop.example:8000 /headers -H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Proto: https' -H 'X-Real-IP: 6.6.6.6')
  assert_contains "$answer" 'Host: shop.example:8000'
  assert_contains "$answer" $'X-Forwarded-For: 127.0.0.1\n'
  assert_contains "$answer" 'X-Forwarded-Host: shop.example:8000'
  assert_contains "$answer" 'X-Forwarded-Port: 8000'
  assert_contains "$answer" $'X-Forwarded-Proto: http\n'
  assert_contains "$answer" $'X-Real-IP: 127.0.0.1\n'
  assert_contains "$answer" 'Protocol: HTTP/1.1'
}

@test "a request keeps its X-Request-ID, and gets one if it has none" {
  start_pods
  serve rules
  assert_contains "$(ask shop.example /headers -H 'X-Request-ID: mine')" $'X-Request-ID: mine\n'
  [[ $(ask shop.example /headers) =~ X-Request-ID:\ [0-9a-f]{32} ]]
}

@test "an upgrade to WebSocket goes on to the pod, one to HTTP/2 does not" {
  start_pods
  serve rules
  answer=$(ask shop.example /headers -H 'Connection: Upgrade' -H 'Upgrade: websocket')
  assert_contains "$answer" 'Connection: upgrade'
  assert_contains "$answer" 'Upgrade: websocket'
  answer=$(ask shop.example /headers -H 'Connection: Upgrade, HTTP2-Settings' -H 'Upgrade: h2c')
  assert_contains "$answer" $'Upgrade: \n'
}

@test "a pod that refuses connections is passed over" {
  start_pods
  serve rules '.endpointSlices.items[0].endpoints[2].conditions.ready = true' # 127.77.0.99: nobody
  for _ in {1..12}; do
    assert_contains "$(ask fruit.example /apple)" apple-
    assert_contains "$(ask fruit.example /apple -X POST --data body)" 'POST /apple'
  done
}

@test "the default of an Ingress with a host and without is for both" {
  start_pods
  serve rules '(.ingresses.items[] | select(.metadata.name == "two-rules").spec) |= (.rules += [{}]
    | .defaultBackend = {service: {name: "cherry", port: {number: 80}}})'
  assert_answers <<'ROWS'
    two.example     /other        cherry
    unknown.example /other        cherry
ROWS
}

@test "requests over IPv6 are answered" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  start_pods
  serve rules
  assert_contains "$(curl -s -H 'Host: fruit.example' "http://[::1]:$HTTP_PORT/apple")" apple-
}

@test "each request leaves a line in the log, as JSON if that is wanted" {
  start_pods
  start_api rules
  start_controller ACCESS_LOG=json
  ask shop.example '/a"b' >/dev/null
  wait_for 5 grep -q request_time "$dir/controller.log"
  line=$(grep request_time "$dir/controller.log")
  assert_equal '["GET","shop.example",200,"shop/same-names","shop.apple.80","127.77.0.5:8080"]' \
    "$(jq -c '[.method, .host, .status, .ingress, .upstream, .upstream_addr]' <<<"$line")"
}

@test "a 404 names host and path and says that no rule matched" {
  start_pods
  serve rules
  assert_equal 'No rule of an Ingress matches host fruit.example and path /nowhere.' "$(ask fruit.example '/nowhere?x')"
  assert_equal 'text/plain' "$(ask fruit.example /nowhere -o /dev/null -w '%{content_type}')"
}

@test "an answer of our own is plain text, whatever the path looks like" {
  serve rules
  assert_equal text/plain "$(ask fruit.example '/%3Cscript%3E.html' -o /dev/null -w '%{content_type}')"
}

@test "a request line that names a host decides over the Host header, for the pod too" {
  start_pods
  serve rules
  assert_contains "$(curl -s -x "http://127.0.0.1:$HTTP_PORT" -H 'Host: fruit.example' http://shop.example/headers)" 'Host: shop.example'
}

@test "a pod cannot give nginx orders by its response headers" {
  start_pods
  serve rules
  assert_contains "$(ask shop.example /redirecting)" 'my own answer'
}

@test "a response header of 9 kB is passed on" {
  start_pods
  serve rules
  assert_equal 200 "$(ask shop.example /large-header -o /dev/null -w '%{http_code}')"
}

@test "a 503 names the Service and says what it lacks" {
  start_pods
  serve broken
  assert_equal 'Service demo/missing does not exist: path /missing of Ingress demo/broken.' "$(ask broken.example /missing)"
  assert_equal 'Service demo/apple has no port 81: path /no-port of Ingress demo/broken.' "$(ask broken.example /no-port/x)"
  assert_equal 'Service demo/apple has no port web: path /no-port-name of Ingress demo/broken.' "$(ask broken.example /no-port-name)"
  assert_equal 'Service demo/empty has no ready endpoint for port 80: path /empty of Ingress demo/broken.' "$(ask broken.example /empty)"
  assert_contains "$(ask broken.example /external)" 'Service demo/external is an ExternalName'
  assert_answers <<'ROWS'
    broken.example /missing       503
    broken.example /no-port       503
    broken.example /no-port-name  503
    broken.example /empty         503
    broken.example /external      503
    broken.example /udp           503
    broken.example /resource      501
ROWS
}

@test "what is wrong in an Ingress harms neither its other paths nor other Ingresses" {
  start_pods
  serve broken
  assert_answers <<'ROWS'
    broken.example /good          apple
    good.example   /              apple
    fine.example   /              apple
ROWS
}
