# Annotations that are one directive of nginx each.
load words

@test "proxy-body-size bounds the body of a request; 0 is any size; a wrong size is a problem, and the path is served" {
  ingress small one.example / red proxy-body-size=1k
  ingress any two.example / red proxy-body-size=0
  ingress wrong three.example / red proxy-body-size=1x
  serve
  head -c 1500 /dev/zero >"$dir/body"
  assert_equal '413 200 200' "$(statuses {one,two,three}.example/ -- --data-binary "@$dir/body")"
  assert_equal 200 "$(status one.example / --data-binary small)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/wrong: the annotation proxy-body-size is "1x", and possible are sizes such as 8k or 1m, up to 1024g'
}

@test "proxy-read-timeout, proxy-send-timeout and proxy-connect-timeout are seconds: a slower pod gets a 504" {
  ingress quick one.example / red proxy-read-timeout=1 proxy-send-timeout=9 proxy-connect-timeout=3
  ingress slow two.example / red proxy-read-timeout=5
  serve
  assert_equal 504 "$(status one.example '/slow?seconds=2')"
  assert_equal 200 "$(status two.example '/slow?seconds=2')"
}
