# Headers that the pods get: other ones.
load words

# bats test_tags=cluster
@test "upstream-vhost, x-forwarded-prefix and connection-proxy-header say what the pod gets; nothing else changes" {
  ingress vhost one.example / red upstream-vhost=inside.example
  ingress prefix two.example / red x-forwarded-prefix=/app
  ingress connection three.example / red connection-proxy-header=keep-alive
  ingress plain four.example / red
  ingress wrong five.example / red 'upstream-vhost=a b' 'x-forwarded-prefix=/"x' 'connection-proxy-header=a;b'
  serve
  assert_equal 'inside.example one.example' "$(pod_gets '"\(.host) \(.header["X-Forwarded-Host"][0])"' one.example /)"
  assert_equal '/app two.example' "$(pod_gets '"\(.header["X-Forwarded-Prefix"] | join(" ")) \(.host)"' two.example / -H 'X-Forwarded-Prefix: /evil')"
  assert_equal keep-alive "$(pod_gets '.header.Connection[0]' three.example /)"
  assert_equal 'null null four.example' "$(pod_gets '"\(.header["X-Forwarded-Prefix"]) \(.header.Connection) \(.host)"' four.example / -H 'X-Forwarded-Prefix: /evil' -H 'Connection: close')"
  assert_equal five.example "$(pod_gets .host five.example /)"
  assert_equal 3 "$(problems | grep -c ^AnnotationRefused)"
}
