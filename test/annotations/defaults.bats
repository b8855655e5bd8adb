# DEFAULT_ANNOTATIONS: what counts for each Ingress that does not say otherwise.
load words

@test "a default annotation counts for each Ingress, unless it says otherwise, by either of two names; a wrong value does not take its place" {
  export DEFAULT_ANNOTATIONS=$'proxy-body-size: 10\nallowlist-source-range: 10.0.0.0/8\n'
  ingress plain plain.example / red
  ingress open open.example / red whitelist-source-range=0.0.0.0/0
  ingress large large.example / red allowlist-source-range=0.0.0.0/0 proxy-body-size=20
  ingress wrong wrong.example / red whitelist-source-range=0.0.0.0/0 proxy-next-upstream-tries=many
  ingress shut shut.example / red whitelist-source-range=everybody
  ingress many many.example / red whitelist-source-range=0.0.0.0/0 proxy-body-size=many
  serve
  assert_equal '403 200 200 200 503' "$(statuses {plain,open,large,wrong,shut}.example/)"
  assert_equal '200 413' "$(status open.example / -d 0123456789 | tr '\n' ' ')$(status open.example / -d 0123456789a)"
  assert_equal '200 413' "$(status large.example / -d 0123456789a | tr '\n' ' ')$(status large.example / -d 0123456789abcdefghijk)"
  assert_equal '413 413' "$(status wrong.example / -d 0123456789a | tr '\n' ' ')$(status many.example / -d 0123456789a)"
}

@test "authentication may be the default: an Ingress has it with enable-global-auth, and has none without" {
  export DEFAULT_ANNOTATIONS=$'auth-url: http://auth.e2e.svc.cluster.local/?status=401\nauth-response-headers: X-User'
  ingress plain plain.example / red
  ingress wants wants.example / red enable-global-auth=true
  ingress own own.example / red auth-url=http://auth.e2e.svc.cluster.local/
  ingress open open.example / red enable-global-auth=false
  ingress canary open.example / blue canary=true canary-by-header=X-Canary
  ingress without without.example / nowhere enable-global-auth=true default-backend=blue
  ingress moved moved.example / nowhere enable-global-auth=true permanent-redirect=https://www.example
  serve
  assert_equal '401 401 200 200' "$(statuses {plain,wants,own,open}.example/)"
  assert_equal blue "$(who_answers open.example / -H 'X-Canary: always')"
  DEFAULT_ANNOTATIONS=''
  serve
  assert_equal '200 503 200 200 503 503' "$(statuses {plain,wants,own,open,without,moved}.example/)"
  assert_contains "$(problems)" 'e2e/wants: closed, because its protection is not available here: enable-global-auth needs auth-url'
}
