# Headers that the pods get: other ones.
load words

# bats test_tags=cluster
@test "upstream-vhost, x-forwarded-prefix and connection-proxy-header say what the pod gets; nothing else changes" {
  ingress vhost one.example / red upstream-vhost=inside.example
  ingress prefix two.example / red x-forwarded-prefix=/app
  ingress connection three.example / red connection-proxy-header=keep-alive
  ingress plain four.example / red
  ingress wrong five.example / red 'x-forwarded-prefix=/"x' 'connection-proxy-header=a;b'
  ingress closed six.example / red 'upstream-vhost=a b'
  serve
  assert_equal 'inside.example one.example' "$(pod_gets '"\(.host) \(.header["X-Forwarded-Host"][0])"' one.example /)"
  assert_equal '/app two.example' "$(pod_gets '"\(.header["X-Forwarded-Prefix"] | join(" ")) \(.host)"' two.example / -H 'X-Forwarded-Prefix: /evil')"
  assert_equal keep-alive "$(pod_gets '.header.Connection[0]' three.example /)"
  assert_equal 'null null four.example' "$(pod_gets '"\(.header["X-Forwarded-Prefix"]) \(.header.Connection) \(.host)"' four.example / -H 'X-Forwarded-Prefix: /evil' -H 'Connection: close')"
  assert_equal five.example "$(pod_gets .host five.example /)"
  assert_equal 503 "$(status six.example /)" # a pod may have other pages for another host
  assert_equal 2 "$(problems | grep -c ^AnnotationRefused)"
}

@test "x-forwarded-prefix is the only one that pods get, even if a trusted proxy says another, and names the groups of a path" {
  [[ ${TIER-} != e2e ]] || skip 'a setting of the controller'
  ingress own one.example / red x-forwarded-prefix=/app
  ingress none two.example / red
  ingress groups three.example '/(v[0-9])(/|$)(.*)' red 'x-forwarded-prefix=/api/$1' 'rewrite-target=/$3'
  ingress no-groups four.example / red 'x-forwarded-prefix=/api$1'
  TRUSTED_PROXIES=127.0.0.1 serve
  prefix() { pod_gets '.header["X-Forwarded-Prefix"] | tojson' "$@" -H 'X-Forwarded-Prefix: /proxy'; }
  assert_equal '["/app"] ["/proxy"] ["/api/v1"] ["/api"]' "$(prefix one.example /) $(prefix two.example /) $(prefix three.example /v1/x) $(prefix four.example /v1)"
  assert_equal '["/proxy"] ' "$(prefix three.example '/v1/x%0d%0aX-Real-IP:%206.6.6.6') $(pod_gets '.header["X-Real-Ip"] | select(. != ["127.0.0.1"])' three.example '/v1/x%0d%0aX-Real-IP:%206.6.6.6')"
  assert_equal '' "$(problems)"
}

@test "pods get X-Scheme and X-Forwarded-Scheme as ingress-nginx sends them, and never the client's" {
  ingress plain one.example / red
  serve
  scheme() { jq -r '.header | "\(.["X-Scheme"][0]) \(.["X-Forwarded-Scheme"][0]) \(.["X-Forwarded-Proto"][0])"'; }
  assert_equal 'http http http' "$(ask one.example / -H 'X-Scheme: https' -H 'X-Forwarded-Scheme: https' | scheme)"
  assert_equal 'https https https' "$(ask_tls one.example / -H 'X-Scheme: http' | scheme)"
}

@test "upstream-vhost may have the names of the Service, its namespace and port, the Ingress and the host, and no other variable" {
  ingress mine one.example / red 'upstream-vhost=${service_name}.$namespace.svc.cluster.local:${service_port}'
  ingress other two.example / red:443 'upstream-vhost=${host}-$host$ingress_name' backend-protocol=HTTPS
  ingress wrong three.example / red 'upstream-vhost=$http_x_evil'
  ingress longer four.example / red 'upstream-vhost=$hostname'
  serve
  assert_equal 'red.e2e.svc.cluster.local:80 two.example-two.exampleother' \
    "$(for host in one two; do pod_gets .host $host.example / -H 'X-Evil: evil'; done | xargs)"
  assert_equal '503 503 2' "$(statuses {three,four}.example/) $(problems | grep -c ^ProtectionNotAvailable)"
}

# Prints what is answered to a request of HTTP/1.0 that names no host, over TLS if there is a name in the handshake.
answer_without_host() { # PATH [HANDSHAKE]
  if (($# > 1)); then
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" | openssl s_client -connect "$(https_address)" -servername "$2" -quiet 2>/dev/null
  else
    curl -s -i --http1.0 -H Host: "http://$(http_address)$1"
  fi | tr -d '\r'
}

@test "a pod that is asked by HTTP/1.0 without a host gets the name in the handshake, or one that is nobody's, and so do redirects" {
  ingress hostless '' / red
  ingress secure '' /secure red force-ssl-redirect=true
  ingress vhost '' /vhost red 'upstream-vhost=$host'
  ingress asks '' /asks red auth-url=http://auth.e2e.svc/
  ingress two two.example / red
  ingress wild '*.wild.example' / red
  for file in "$BATS_TEST_TMPDIR"/objects/*-two.json; do # hosts with the same rules are one server
    jq -c '.spec.rules += [.spec.rules[0] | .host = "three.example"]' "$file" >"$dir/edited"
    cp "$dir/edited" "$file"
  done
  serve
  host_and_forwarded() { tail -n 1 | jq -r '"\(.host) \(.header["X-Forwarded-Host"][0])"'; }
  assert_equal 'no-host.invalid no-host.invalid' "$(answer_without_host / | host_and_forwarded)"
  assert_equal 'no-host.invalid no-host.invalid' "$(answer_without_host /asks | host_and_forwarded)"
  assert_equal no-host.invalid "$(answer_without_host /vhost | tail -n 1 | jq -r .host)"
  assert_equal 'Location: https://no-host.invalid/secure' "$(answer_without_host /secure | grep Location)"
  local name
  for name in three.example two.example a.wild.example other.example; do
    assert_equal "$name $name" "$(answer_without_host / "$name" | host_and_forwarded)"
  done
  assert_equal no-host.invalid "$(answer_without_host / "$(printf 'a\r\nX-Evil: b')" | tail -n 1 | jq -r '.host + .header["X-Evil"][0]')"
}

# How many connections nginx keeps to the pod of Service red.
kept_connections() {
  ss -Hnt state established "( dport = :8080 )" dst 127.77.0.1 | wc -l
}

@test "with connection-proxy-header=close, no request has a connection that another client of the Service has used" {
  [[ ${TIER-} != e2e ]] || skip 'nginx has a namespace of its own there'
  ingress kept one.example / red
  ingress close two.example / red connection-proxy-header=close
  ingress hash three.example / red connection-proxy-header=close 'upstream-hash-by=$request_uri' upstream-hash-by-subset=true
  ingress sticky four.example / red connection-proxy-header=close affinity=cookie
  ingress main five.example / red connection-proxy-header=close
  ingress canary five.example / blue canary=true canary-weight=50
  ingress keeping six.example / red connection-proxy-header=keep-alive
  WORKER_PROCESSES=1 serve
  assert_equal '0 red 1' "$(kept_connections) $(who_answers one.example /) $(kept_connections)"
  local host
  for host in two three four five; do
    assert_row '200 1' "$(status "$host.example" /) $(kept_connections)" "$host"
  done
  assert_equal '200 1' "$(status six.example /) $(kept_connections)"
  # also if the pod would keep it
  assert_equal '5 5' "$(grep -c '^  upstream .*[.]not_kept' "$STATE_DIR/live/nginx.conf") $(grep -c 'keepalive_requests 1;' "$STATE_DIR/live/nginx.conf")"
}

@test "connection-proxy-header is close or keep-alive" {
  ingress close one.example / red connection-proxy-header=close
  ingress hop two.example / red connection-proxy-header=X-Real-IP
  serve
  assert_equal 'close null' "$(pod_gets '.header.Connection[0]' one.example /) $(pod_gets '.header.Connection[0]' two.example /)"
  assert_equal 'AnnotationRefused: e2e/hop: the annotation connection-proxy-header is "X-Real-IP"; allowed: close, keep-alive' "$(problems)"
}
