# What nginx does with a request besides choosing who serves it (for that: rules.bats
# and endpoints.bats): what it passes on, what it says itself, what it writes in its log.
load helpers

# One nginx serves the fixture "rules" to most tests. Those that need another begin with common_setup.
setup_file() {
  common_setup "$BATS_FILE_TMPDIR"
  start_pods
  serve rules
}

setup() {
  dir=$BATS_FILE_TMPDIR
  fixtures=$BATS_TEST_DIRNAME/../fixtures bin=$BATS_TEST_DIRNAME/../../bin
}

teardown() {
  if [[ $dir == "$BATS_FILE_TMPDIR" ]]; then show_logs; else common_teardown; fi
}

teardown_file() {
  dir=$BATS_FILE_TMPDIR
  end_servers
}

@test "method, path, query and body arrive as the client sent them" {
  assert_equal 'shop-apple-1 PATCH /a//b/%2Ec%2F/%20%C3%A4?x=/../%2F&y' \
    "$(ask shop.example '/a//b/%2Ec%2F/%20%C3%A4?x=/../%2F&y' -X PATCH --data body)"
}

@test "the answer arrives as the pod gave it: status, headers and body" {
  answer=$(ask shop.example '/moved?to=http://apple.shop.80/here' -i)
  assert_contains "$answer" '302 Moved Temporarily'
  assert_contains "$answer" $'\nLocation: http://apple.shop.80/here\r\n' # to nginx, that is the address of a pod
  answer=$(ask shop.example /x -i)
  assert_contains "$answer" $'\nServer: nginx/' # the pods' nginx says its version, ours does not
  assert_contains "$answer" $'\nDate: '
  assert_contains "$answer" $'\nContent-Type: text/plain\r\n'
  assert_contains "$answer" $'\nContent-Length: 20\r\n'
}

@test "the pod is told who asked, for what and how; what the client claims of that is dropped" {
  answer=$(ask shop.example:8000 /headers -A 'my client/1.0' -H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Proto: https' -H 'X-Real-IP: 6.6.6.6')
  assert_contains "$answer" 'Host: shop.example:8000'
  assert_contains "$answer" $'X-Forwarded-For: 127.0.0.1\n'
  assert_contains "$answer" 'X-Forwarded-Host: shop.example:8000'
  assert_contains "$answer" 'X-Forwarded-Port: 8000'
  assert_contains "$(ask shop.example /headers -H 'X-Forwarded-Port: :9999|http')" $'X-Forwarded-Port: 80\n'
  assert_contains "$answer" $'X-Forwarded-Proto: http\n'
  assert_contains "$answer" $'X-Real-IP: 127.0.0.1\n'
  assert_contains "$answer" $'User-Agent: my client/1.0\n'
  assert_contains "$answer" 'Protocol: HTTP/1.1'
}

@test "a request keeps its X-Request-ID, and gets one of its own if it has none" {
  assert_contains "$(ask shop.example /headers -H 'X-Request-ID: mine')" $'X-Request-ID: mine\n'
  local ids
  ids=$(for _ in 1 2 3; do ask shop.example /headers; done | sed -nE 's/^X-Request-ID: ([0-9a-f]{32})$/\1/p' | sort -u | wc -l)
  assert_equal 3 "$ids"
}

@test "an upgrade to WebSocket goes on to the pod, one to HTTP/2 does not" {
  answer=$(ask shop.example /headers -H 'Connection: Upgrade' -H 'Upgrade: websocket')
  assert_contains "$answer" 'Connection: upgrade'
  assert_contains "$answer" 'Upgrade: websocket'
  answer=$(ask shop.example /headers -H 'Connection: Upgrade, HTTP2-Settings' -H 'Upgrade: h2c')
  assert_contains "$answer" $'Upgrade: \n'
}

@test "a pod that refuses connections is passed over" {
  common_setup
  serve rules '.endpointSlices.items[0].endpoints[2].conditions.ready = true' # 127.77.0.99: nobody
  for _ in {1..12}; do
    assert_contains "$(ask fruit.example /apple)" apple-
    assert_contains "$(ask fruit.example /apple -X POST --data body)" 'POST /apple'
  done
}

@test "requests over IPv6 are answered" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  assert_contains "$(curl -s -H 'Host: fruit.example' "http://[::1]:$HTTP_PORT/apple")" apple-
}

@test "each request leaves a line in the log, as JSON if that is wanted" {
  common_setup
  start_api rules
  start_controller ACCESS_LOG=json
  ask shop.example '/a"b' >/dev/null
  wait_for 15 grep -q request_time "$dir/controller.log"
  line=$(grep request_time "$dir/controller.log")
  assert_equal '["GET","shop.example",200,"shop/same-names","apple.shop.80","127.77.0.5:8080"]' \
    "$(jq -c '[.method, .host, .status, .ingress, .upstream, .upstream_addr]' <<<"$line")"
}

@test "a 404 names host and path and says that no rule matched" {
  assert_equal 'No rule of an Ingress matches host fruit.example and path /nowhere.' "$(ask fruit.example '/nowhere?x')"
  assert_equal 'text/plain' "$(ask fruit.example /nowhere -o /dev/null -w '%{content_type}')"
}

@test "an answer of our own is plain text, whatever the path looks like" {
  assert_equal text/plain "$(ask fruit.example '/%3Cscript%3E.html' -o /dev/null -w '%{content_type}')"
}

@test "a request line that names a host decides over the Host header, for the pod too" {
  assert_contains "$(curl -s -x "http://127.0.0.1:$HTTP_PORT" -H 'Host: fruit.example' http://shop.example/headers)" 'Host: shop.example'
}

@test "a pod cannot give nginx orders by its response headers" {
  assert_contains "$(ask shop.example /redirecting)" 'my own answer'
}

@test "a response header of 9 kB is passed on" {
  assert_equal 200 "$(ask shop.example /large-header -o /dev/null -w '%{http_code}')"
}

@test "a 503 names the Service and says what it lacks" {
  common_setup
  serve broken
  assert_equal 'Service demo/missing does not exist: path /missing of Ingress demo/broken.' "$(ask broken.example /missing)"
  assert_equal 'Service demo/apple has no port 81: path /no-port of Ingress demo/broken.' "$(ask broken.example /no-port/x)"
  assert_equal 'Service demo/apple has no port web: path /no-port-name of Ingress demo/broken.' "$(ask broken.example /no-port-name)"
  assert_equal 'Service demo/empty has no ready endpoint for port 80: path /empty of Ingress demo/broken.' "$(ask broken.example /empty)"
  assert_contains "$(ask broken.example /external)" 'Service demo/external is an ExternalName'
  assert_equal 503 "$(who_answers broken.example /udp)"
  assert_equal 501 "$(who_answers broken.example /resource)"
}

@test "what is wrong in an Ingress harms neither its other paths nor other Ingresses" {
  common_setup
  serve broken
  assert_equal apple "$(who_answers broken.example /good)"
  assert_equal apple "$(who_answers good.example /)"
  assert_equal apple "$(who_answers fine.example /)"
}
