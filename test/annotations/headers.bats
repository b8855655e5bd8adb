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

@test "connection-proxy-header is close or keep-alive" {
  ingress close one.example / red connection-proxy-header=close
  ingress hop two.example / red connection-proxy-header=X-Real-IP
  serve
  assert_equal 'close null' "$(pod_gets '.header.Connection[0]' one.example /) $(pod_gets '.header.Connection[0]' two.example /)"
  assert_equal 'AnnotationRefused: e2e/hop: the annotation connection-proxy-header is "X-Real-IP"; allowed: close, keep-alive' "$(problems)"
}
