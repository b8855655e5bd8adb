# Who is believed about the client: nobody, or the load balancers that TRUSTED_PROXIES names.
load helpers

setup_file() {
  backend=$(go_program backend)
  export backend
}

setup() {
  common_setup
  "$backend" 127.77.0.1:8080 127.77.0.2:8080 3>&- &
  backend_pid=$!
  disown # so that bash does not report its end
  wait_for 30 curl -s 127.77.0.2:8080/counts
}

teardown() {
  common_teardown
  kill -KILL "$backend_pid" 2>/dev/null || true
}

serve_apple() { # [EDIT]
  serve rules ".ingresses.items[0].spec.rules[0].http.paths = [{path: \"/\", pathType: \"Prefix\",
    backend: {service: {name: \"apple\", port: {number: 80}}}}] | ${1-.}"
}

# Prints the headers that the pod gets, as JSON with one value for each.
pod_gets() { # [CURL_OPTION...]
  ask fruit.example / "$@" | jq -S '.header | map_values(join(" | "))'
}

# All that a proxy could say, each header with the value 6.6.6.6.
proxy_headers() {
  sed -nE 's/^ *proxy_set_header ([^ ]+) "".*/\1: 6.6.6.6/p' "$templates/proxy-headers.conf"
}

@test "nobody is believed: what a client says in a proxy's name does not reach the pod" {
  serve_apple
  (($(proxy_headers | wc -l) > 60))
  for name in Forwarded X-Forwarded-Uri X-Forwarded-Ssl X-Original-URL X-Rewrite-URL X-Original-Forwarded-For True-Client-IP; do
    proxy_headers | grep -qx "$name: 6.6.6.6"
  done
  proxy_headers >"$dir/said"
  printf 'X-Forwarded-For: 6.6.6.6\nX-Forwarded-Prefix: 6.6.6.6\nX-Scheme: 6.6.6.6\nX-Forwarded-Scheme: 6.6.6.6\nX-Forwarded-Proto: https\nX-Forwarded-Host: 6.6.6.6\nX-Forwarded-Port: 6666\nX-Real-IP: 6.6.6.6\n' >>"$dir/said"
  run pod_gets -H "@$dir/said" -H 'Authorization: mine' -H 'X-HTTP-Method-Override: PUT'
  refute_contains "$output" 6.6.6.6
  assert_json 'del(.["User-Agent", "Accept", "X-Request-Id"])' '{"Authorization":"mine","Cdn-Loop":"bash-ingress","X-Forwarded-For":"127.0.0.1",'"$(
  )"'"X-Forwarded-Host":"fruit.example","X-Forwarded-Port":"80","X-Forwarded-Proto":"http","X-Forwarded-Scheme":"http","X-Http-Method-Override":"PUT","X-Real-Ip":"127.0.0.1","X-Scheme":"http"}' <<<"$output"
}

@test "PROXY_SET_HEADERS replaces what a client says, or what would be dropped; without a value there is none" {
  PROXY_SET_HEADERS=$'X-Team: "blue"' run "$bin/render" <<<'{}'
  assert_equal 2 "$status"
  PROXY_SET_HEADERS=$'X-Team: blue; red\nx-original-forwarded-for:$http_x_forwarded_for\nX-Gone:  \n' TRUSTED_PROXIES=127.0.0.9 serve_apple
  run pod_gets -H 'X-Team: red' -H 'X-Gone: here' -H 'X-Original-Forwarded-For: 1.1.1.1' -H 'X-Forwarded-For: 6.6.6.6'
  assert_json '[.["X-Team", "X-Original-Forwarded-For", "X-Gone", "X-Forwarded-For"]]' '["blue; red","6.6.6.6",null,"127.0.0.1"]' <<<"$output"
}

@test "a trusted proxy is believed: the pod gets what it says, and its address is added to the way" {
  TRUSTED_PROXIES=127.0.0.1/32,127.0.0.2,2001:db8::/32 serve_apple
  proxy_headers >"$dir/said"
  run pod_gets -H "@$dir/said" -H 'X-Forwarded-For: 6.6.6.6, 1.2.3.4, 127.0.0.2' -H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Host: shop.example'
  assert_json '[.["X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"]]' \
    '["6.6.6.6, 1.2.3.4, 127.0.0.2, 127.0.0.1","1.2.3.4","https","shop.example","443"]' <<<"$output"
  assert_json '[.[] | select(. == "6.6.6.6")] | length' "$(proxy_headers | wc -l)" <<<"$output"
  run pod_gets -H 'X-Forwarded-Host: evil"><script>' -H 'X-Forwarded-Proto: gopher' -H 'X-Forwarded-Port: x'
  assert_json '[.["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port"]]' '["127.0.0.1","http","fruit.example","80"]' <<<"$output"
}

@test "another client beside a trusted proxy is not believed" {
  TRUSTED_PROXIES=127.0.0.8 serve_apple
  proxy_headers >"$dir/said"
  run pod_gets -H "@$dir/said" -H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Host: shop.example'
  refute_contains "$output" 6.6.6.6
  assert_json '[.["X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Host"]]' '["127.0.0.1","127.0.0.1","http","fruit.example"]' <<<"$output"
}

status_of() { # CURL_OPTION...
  ask fruit.example / -o /dev/null -w '%{http_code}' "$@"
}

logged_address() { # ADDRESS
  grep -q " access: $1 " "$dir/access.log"
}

@test "source ranges and the log go by the client's address that a trusted proxy says, and by nobody else's word" {
  only_office='.ingresses.items[0].metadata.annotations = {"nginx.ingress.kubernetes.io/whitelist-source-range": "203.0.113.0/24"}'
  TRUSTED_PROXIES=127.0.0.1 serve_apple "$only_office"
  assert_equal 200 "$(status_of -H 'X-Forwarded-For: 203.0.113.9')"
  assert_equal 403 "$(status_of -H 'X-Forwarded-For: 203.0.113.9, 6.6.6.6')"
  assert_equal 403 "$(status_of)"
  assert_equal 403 "$(status_of -H 'X-Forwarded-For: 203.0.113.9' --interface 127.0.0.9)"
  wait_for 15 logged_address 203.0.113.9
  wait_for 15 logged_address 6.6.6.6
  serve_apple "$only_office"
  assert_equal 403 "$(status_of -H 'X-Forwarded-For: 203.0.113.9')"
}

@test "a client of which a trusted proxy says that it came by HTTPS is not sent there; nobody else is believed" {
  to_https='.ingresses.items[0].metadata.annotations = {"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}'
  serve_apple "$to_https"
  assert_equal 308 "$(status_of)"
  assert_equal 308 "$(status_of -H 'X-Forwarded-Proto: https')"
  TRUSTED_PROXIES=127.0.0.1 serve_apple "$to_https"
  assert_equal 308 "$(status_of)"
  assert_equal 200 "$(status_of -H 'X-Forwarded-Proto: https')"
  assert_equal 308 "$(status_of -H 'X-Forwarded-Proto: https' --interface 127.0.0.9)"
}

hsts() {                                                                                  # CURL_OPTION...
  ask fruit.example / -o /dev/null -D - "$@" | grep -ci strict-transport-security || true # it prints 0 then
}

@test "Strict-Transport-Security is for clients of which a trusted proxy says that they came by HTTPS, and for no others" {
  HSTS=max-age=60 TRUSTED_PROXIES=127.0.0.1 serve_apple
  assert_equal 1 "$(hsts -H 'X-Forwarded-Proto: https')"
  assert_equal 0 "$(hsts)"
  assert_equal 0 "$(hsts -H 'X-Forwarded-Proto: https' --interface 127.0.0.9)"
  HSTS=max-age=60 serve_apple
  assert_equal 0 "$(hsts -H 'X-Forwarded-Proto: https')"
}

# Sends a request behind the line of a load balancer that speaks the PROXY protocol, and prints what the pod gets.
pod_gets_by_proxy_protocol() { # LINE
  exec 5<>"/dev/tcp/127.0.0.1/$HTTP_PORT"
  printf '%s\r\nGET / HTTP/1.1\r\nHost: fruit.example\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n' "$1" >&5
  timeout 10 cat <&5 | tail -n 1 | jq -c '[.header["X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Proto"][0]]'
  exec 5>&-
}

@test "with the PROXY protocol, a trusted load balancer says the client's address, and the headers are the client's own" {
  PROXY_PROTOCOL=on TRUSTED_PROXIES=127.0.0.1 serve_apple
  assert_equal '["203.0.113.9","203.0.113.9","http"]' "$(pod_gets_by_proxy_protocol 'PROXY TCP4 203.0.113.9 10.0.0.1 1234 80')"
  assert_equal '["2001:db8::9","2001:db8::9","http"]' "$(pod_gets_by_proxy_protocol 'PROXY TCP6 2001:db8::9 2001:db8::1 1234 80')"
  wait_for 15 logged_address 203.0.113.9
  run curl -s --max-time 5 "http://127.0.0.1:$HTTP_PORT/" -H 'Host: fruit.example' # who speaks no PROXY protocol
  assert_equal 52 "$status"
  assert_equal 200 "$(curl -sk --haproxy-protocol --resolve "fruit.example:$HTTPS_PORT:127.0.0.1" "https://fruit.example:$HTTPS_PORT/" -o /dev/null -w '%{http_code}')"
  assert_equal alive "$(curl -s "127.0.0.1:$ADMIN_PORT/healthz")" # the kubelet does not speak it
  PROXY_PROTOCOL=on TRUSTED_PROXIES=10.0.0.0/8 serve_apple
  assert_equal '["127.0.0.1","127.0.0.1","http"]' "$(pod_gets_by_proxy_protocol 'PROXY TCP4 203.0.113.9 10.0.0.1 1234 80')"
}

# Prints the status of a request behind a header of version 2 that has so many bytes, with TLVs of a kind that nobody knows.
status_behind_header() { # BYTES
  local rest=$(($1 - 16)) tlv=$(($1 - 31))
  exec 5<>"/dev/tcp/127.0.0.1/$HTTP_PORT"
  {
    printf '\r\n\r\n\0\r\nQUIT\n\x21\x11'
    printf '%b' "$(printf '\\x%02x\\x%02x' $((rest / 256)) $((rest % 256)))"
    printf '\xcb\x00\x71\x09\x0a\x00\x00\x01\x04\xd2\x00\x50\xe0' # 203.0.113.9:1234 to 10.0.0.1:80
    printf '%b' "$(printf '\\x%02x\\x%02x' $((tlv / 256)) $((tlv % 256)))"
    head -c "$tlv" /dev/zero
  } >"$dir/header"
  { cat "$dir/header" && printf 'GET / HTTP/1.1\r\nHost: fruit.example\r\nConnection: close\r\n\r\n'; } >"$dir/request"
  dd if="$dir/request" bs=64k status=none >&5 # in one piece, as a load balancer sends it
  timeout 10 cat <&5 | awk 'NR == 1 { print $2 }'
  exec 5>&-
}

@test "a header of the PROXY protocol may have 4 KiB on the port for HTTP, too, as a load balancer may add much to it" {
  PROXY_PROTOCOL=on TRUSTED_PROXIES=127.0.0.1 serve_apple
  assert_equal '200 200 200' "$(for bytes in 100 1100 4096; do status_behind_header "$bytes"; done | xargs)"
  wait_for 15 logged_address 203.0.113.9
  assert_equal '' "$(status_behind_header 5000)"
}

@test "PROXY_PROTOCOL without TRUSTED_PROXIES is refused, and so is what is no network" {
  PROXY_PROTOCOL=on run "$bin/settings"
  assert_equal 2 "$status"
  assert_contains "$output" 'PROXY_PROTOCOL=on needs TRUSTED_PROXIES'
  for wrong in 10.0.0.0/33 256.0.0.1 10.0.0 lb.example '10.0.0.1, 10.0.0.2' '10.0.0.1;' ::/129 ::g '10.0.0.1,' ',' 1:2:3:4:5:6:7:8:9 1:2:3:4::5:6:7:8 1::2::3/64 ::192.0.2.256 ::192.0.2.0/129; do
    TRUSTED_PROXIES=$wrong run "$bin/settings"
    assert_equal 2 "$status" || { echo "$wrong" && false; }
  done
  for right in 10.0.0.0/8 0.0.0.0/0,::/0 10.1.2.3 fd00::/8,::1 2001:db8:1:2:3:4:5:6/128 64:ff9b::192.0.2.0/120,1:2:3:4:5:6:7::/112,1:2:3:4:5:6:7::,1::8/64; do
    TRUSTED_PROXIES=$right run "$bin/settings"
    assert_equal 0 "$status" || { echo "$right" && false; }
    TRUSTED_PROXIES=$right serve_apple
  done
}
