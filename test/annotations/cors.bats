# enable-cors, cors-*: which web pages may use what a path answers.
load words

# Prints all headers about CORS, sorted, with spaces for line ends.
cors() { # HOST PATH [CURL_OPTION...]
  ask "$@" -o /dev/null -D - | tr -d '\r' | sed -nE 's/^(access-control-[a-z-]*|vary): /\1: /Ip' | sort | xargs -d '\n'
}

defaults='Access-Control-Allow-Credentials: true Access-Control-Allow-Headers: DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization Access-Control-Allow-Methods: GET, PUT, POST, DELETE, PATCH, OPTIONS Access-Control-Allow-Origin: * Access-Control-Max-Age: 1728000'

# bats test_tags=cluster
@test "enable-cors lets all pages in, cors-* say otherwise, and preflight requests are answered" {
  ingress off off.example / red enable-cors=false cors-allow-origin=https://a.test
  ingress plain plain.example / red enable-cors=true
  ingress own own.example / red enable-cors=true cors-allow-origin='https://a.test:8443, http://b.test' cors-allow-methods='POST, GET' \
    cors-allow-headers='DNT, X_Y-Z' cors-expose-headers='*, X-Mine' cors-allow-credentials=false cors-max-age=0
  ingress blank blank.example / red enable-cors=true cors-allow-origin='   '
  ingress star star.example / red enable-cors=true cors-allow-origin='https://a.test, *'
  serve
  assert_equal '' "$(cors off.example / -H 'Origin: https://a.test')"
  assert_equal 200 "$(status off.example / -X OPTIONS -H 'Origin: https://a.test')"
  local host
  for host in plain blank star; do
    assert_equal "$defaults" "$(cors "$host.example" /)"
    assert_equal "$defaults" "$(cors "$host.example" / -H 'Origin: https://x.test' -X OPTIONS)"
    assert_equal '204 200' "$(status "$host.example" / -X OPTIONS) $(status "$host.example" /)"
  done
  local own='Access-Control-Allow-Headers: DNT, X_Y-Z Access-Control-Allow-Methods: POST, GET Access-Control-Allow-Origin: https://a.test:8443 Access-Control-Expose-Headers: *, X-Mine Access-Control-Max-Age: 0 Vary: Origin'
  assert_equal "$own" "$(cors own.example / -H 'Origin: https://a.test:8443')"
  assert_equal "$own" "$(cors own.example / -H 'Origin: https://a.test:8443' -X OPTIONS)"
  assert_equal 204 "$(status own.example / -H 'Origin: https://a.test:8443' -X OPTIONS)"
  assert_equal 'AnnotationRefused: e2e/off: cors-allow-origin has no effect without enable-cors' "$(problems)"
}

# bats test_tags=cluster
@test "an origin that is not listed gets no header; a wildcard is one label, and no other name passes for it" {
  ingress listed one.example / red enable-cors=true cors-allow-origin='https://a.test:8443, http://b.test,,tauri://localhost, null, plain.test:80,'
  ingress below two.example / red enable-cors=true cors-allow-origin='http://*.sub.test, https://*.sub.test:8443'
  ingress wrong three.example / red enable-cors=true cors-allow-origin='https://a.test, "; } x'
  ingress nobody four.example / red enable-cors=true cors-allow-origin=a.test
  ingress others five.example / red enable-cors=maybe
  ingress defaults six.example / red enable-cors=true cors-allow-methods='GET;' cors-allow-headers='X"' cors-expose-headers='$pid' \
    cors-max-age=-2 cors-allow-credentials=perhaps
  serve
  origin() { header Access-Control-Allow-Origin "$1" / -H "Origin: $2"; }
  local allowed
  for allowed in https://a.test:8443 http://b.test tauri://localhost null HTTP://B.test; do assert_equal "$allowed" "$(origin one.example "$allowed")"; done
  for allowed in http://x.sub.test http://x-1.sub.test https://X.sub.test:8443; do assert_equal "$allowed" "$(origin two.example "$allowed")"; done
  local host other
  for other in https://a.test http://b.test:80 http://a.test:8443 xhttp://b.test http://b.testx http://b.test.evil.test plain.test:80 '' 'http://b.test, x' "http://b.test/"; do
    assert_equal 'Vary: Origin' "$(cors one.example / -H "Origin: $other")"
    assert_equal 'Vary: Origin 200' "$(cors one.example / -H "Origin: $other" -X OPTIONS) $(status one.example / -H "Origin: $other" -X OPTIONS)" # the pod is asked
  done
  for other in http://sub.test http://.sub.test 'http://*.sub.test' http://a.b.sub.test http://x.sub.test:8443 https://x.sub.test http://x.sub.test.evil.test http://evil-sub.test http://x.subxtest 'http://x/.sub.test'; do
    assert_equal 'Vary: Origin' "$(cors two.example / -H "Origin: $other")"
  done
  for host in three four; do
    for other in https://a.test a.test nobody 'https://a.test, "; } x'; do assert_equal 'Vary: Origin' "$(cors "$host.example" / -H "Origin: $other")"; done
  done
  assert_equal '' "$(cors five.example / -H 'Origin: https://a.test')"
  assert_equal "$defaults" "$(cors six.example /)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/wrong: the annotation cors-allow-origin is '
  assert_equal 5 "$(problems | grep -c 'AnnotationRefused: e2e/defaults: ')"
}

@test "with CORS, a pod's own words about it are not heard, but without they are; what nginx adds to all answers stays, nginx's errors have the headers, and who is not let in gets none" {
  ingress one one.example / red enable-cors=true cors-allow-origin=https://a.test
  ingress shut two.example / red enable-cors=true denylist-source-range=0.0.0.0/0,::/0
  ingress missing three.example / no-such-service enable-cors=true cors-allow-origin=https://a.test
  ingress without four.example / red
  configmap headers X-Mine=1
  ingress headers five.example / red custom-headers=headers
  ingress both six.example / red custom-headers=headers enable-cors=true cors-allow-origin=https://a.test
  serve
  spoken='/?header=Access-Control-Allow-Origin:*&header=Access-Control-Allow-Credentials:true&header=Access-Control-Max-Age:5&header=Vary:Accept'
  assert_equal 'https://a.test' "$(header Access-Control-Allow-Origin one.example "$spoken" -H 'Origin: https://a.test')"
  assert_equal 1728000 "$(header Access-Control-Max-Age one.example "$spoken" -H 'Origin: https://a.test')"
  for host in four five; do
    assert_equal 'Access-Control-Allow-Credentials: true Access-Control-Allow-Origin: * Access-Control-Max-Age: 5 Vary: Accept' "$(cors "$host.example" "$spoken" -H 'Origin: https://a.test')"
  done
  assert_equal 'https://a.test 1' "$(header Access-Control-Allow-Origin six.example "$spoken" -H 'Origin: https://a.test') $(header X-Mine six.example /)"
  assert_equal 'Vary: Accept Vary: Origin' "$(cors one.example "$spoken" -H 'Origin: https://b.test')"
  assert_equal bash-ingress "$(header Server one.example /anonymous -H 'Origin: https://a.test')" # as with HSTS, the http block says it
  assert_equal '502 https://a.test' "$(status one.example /drop) $(header Access-Control-Allow-Origin one.example /drop -H 'Origin: https://a.test')"
  assert_equal '503 https://a.test' "$(status three.example /) $(header Access-Control-Allow-Origin three.example / -H 'Origin: https://a.test')" # a page may read why
  assert_equal '204 503 Vary: Origin' "$(status three.example / -X OPTIONS -H 'Origin: https://a.test') $(status three.example / -H 'Origin: https://b.test') $(cors three.example / -H 'Origin: https://b.test')"
  assert_equal '403 403 ' "$(status two.example /) $(status two.example / -X OPTIONS) $(cors two.example /)"
}
