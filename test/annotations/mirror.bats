# mirror-target, mirror-host: a Service gets a copy of each request.
load words

# Prints what the pod of Service auth was asked lately for a path, by a jq filter. (In the unit tier, all pods are one process.)
copies() { # PATH FILTER
  ask copies.example /last | jq -r --arg path "$1" "[.[]? | select(.uri == \$path and (.pod == \"auth\" or (.address | startswith(\"127.77.0.3:\"))))] | $2"
}

has_copy() { # PATH
  [[ $(copies "$1" length) -gt 0 ]]
}

# bats test_tags=cluster
@test "mirror-target gets each request as it is, and the client gets the answer of the pod" {
  ingress copies copies.example / auth
  ingress all one.example / red 'mirror-target=http://auth.e2e.svc.cluster.local$request_uri'
  ingress below two.example / red 'mirror-target=http://auth.e2e.svc:80/below/$request_uri' mirror-request-body=off
  ingress fixed three.example / red mirror-target=https://auth.e2e.svc/fixed
  ingress short four.example / red 'mirror-target=http://auth.e2e/short$request_uri'
  ingress address five.example / red "mirror-target=http://$(cluster_address auth):80/address\$request_uri"
  serve
  path="/$RANDOM$RANDOM/%2f?a=b&c"
  assert_equal red "$(who_answers one.example "$path" -X PUT --data-binary 'the body' -H 'X-Original-URL: /evil' -H 'X-Own: 1')"
  wait_for 10 has_copy "$path"
  assert_equal 'PUT auth.e2e.svc.cluster.local the body null 1 one.example' "$(copies "$path" '.[0] | "\(.method) \(.host) \(.body) \(.header["X-Original-Url"]) \(.header["X-Own"][0]) \(.header["X-Forwarded-Host"][0])"')"
  assert_equal 1 "$(copies "$path" length)"
  assert_equal red "$(who_answers two.example "$path" --data-binary 'the body')"
  wait_for 10 has_copy "/below$path"
  assert_equal 'POST ' "$(copies "/below$path" '.[0] | "\(.method) \(.body)"')"
  assert_equal 'the body' "$(pod_gets .body two.example "$path" --data-binary 'the body')"
  assert_equal red "$(who_answers three.example "$path")"
  wait_for 10 has_copy '/fixed?a=b&c'
  assert_equal true "$(copies '/fixed?a=b&c' '.[0].tls')"
  assert_equal 'red red' "$(who_answers four.example "$path") $(who_answers five.example "$path")"
  wait_for 10 has_copy "/short$path"
  wait_for 10 has_copy "/address$path"
  assert_equal "auth.e2e $(cluster_address auth)" "$(copies "/short$path" '.[0].host') $(copies "/address$path" '.[0].host')"
  assert_equal '' "$(problems)"
}

@test "a mirror that does not answer, or is not there, harms no request, and no path of a client leads there" {
  ingress slow one.example / red 'mirror-target=http://auth.e2e.svc/slow?seconds=9'
  ingress slow-2 two.example / red mirror-target=http://auth.e2e.svc/drop
  ingress absent three.example / red 'mirror-target=http://absent.e2e.svc$request_uri'
  ingress port four.example / red 'mirror-target=http://auth.e2e.svc:99$request_uri'
  serve
  for host in one two three four; do assert_equal 'red red' "$({ who_answers $host.example / && who_answers $host.example / --data-binary x; } | xargs)"; done
  assert_equal 'red 400' "$({ who_answers two.example /nginx-copies/1 && who_answers two.example / --request-target nginx-copies/1; } | xargs)"
  problems=$(problems)
  assert_contains "$problems" 'ServiceNotFound: e2e/absent: requests are not mirrored: Service e2e/absent does not exist'
  assert_contains "$problems" 'ServicePortNotFound: e2e/port: requests are not mirrored: Service e2e/auth has no port 99'
}

@test "only Services of the same namespace are mirrored to, and no value becomes a directive" {
  ingress copies copies.example / auth
  ingress 'other/foreign' zero.example / red 'mirror-target=http://auth.e2e.svc$request_uri'
  local id=0
  for value in http://localhost/mirror https://test.env.com/\$request_uri 'http://127.0.0.1$request_uri' 'http://auth.e2e.svc.evil.example$request_uri' 'http://red.other.svc$request_uri' \
    'http://auth.e2e.svc$request_uri;' 'http://auth.e2e.svc/"; } location /x { return 200 hacked; }' $'http://auth.e2e.svc/\nx' 'http://auth.e2e.svc/$uri' '{' '$request_uri'; do
    id=$((id + 1))
    ingress "mirror-$id" "mirror-$id.example" / red "mirror-target=$value"
  done
  ingress body body.example / red 'mirror-target=http://auth.e2e.svc/body' $'mirror-request-body=off;\n}'
  serve
  problems=$(problems)
  for name in mirror-{1..11} body; do
    assert_contains "$problems" "AnnotationRefused: e2e/$name: "
    assert_equal '200 200' "$(statuses "$name.example"/{,x})"
  done
  path=/$RANDOM$RANDOM
  assert_equal other/red "$(who_answers zero.example "$path")"
  assert_equal red "$(who_answers body.example "$path" --data-binary 'the body')"
  wait_for 10 has_copy /body
  assert_equal 'the body' "$(copies /body '.[0].body')"
  assert_equal 0 "$(copies "$path" length)"
}

@test "copies have the Host of mirror-host, or of the target, and ask for no WebSocket; the request keeps its own" {
  ingress copies copies.example / auth
  ingress named one.example / red 'mirror-target=http://auth.e2e.svc:80$request_uri' mirror-host=test.env.example:8080 upstream-vhost=inner.example
  ingress target two.example / red 'mirror-target=http://auth.e2e.svc:80$request_uri' $'mirror-host=a;\n}'
  ingress free three.example / red
  serve
  path=/$RANDOM$RANDOM
  for _ in {1..5}; do
    assert_equal 'inner.example websocket' "$(pod_gets '"\(.host) \(.header.Upgrade[0])"' one.example "$path/1" -H 'Connection: Upgrade' -H 'Upgrade: websocket')"
    assert_equal two.example "$(pod_gets .host two.example "$path/2" -d body)"
    assert_equal 'three.example websocket' "$(pod_gets '"\(.host) \(.header.Upgrade[0])"' three.example / -H 'Connection: Upgrade' -H 'Upgrade: websocket')"
  done
  wait_for 10 has_copy "$path/1"
  wait_for 10 has_copy "$path/2"
  assert_equal 'test.env.example:8080 null' "$(copies "$path/1" '.[0] | "\(.host) \(.header.Upgrade)"')"
  assert_equal 'auth.e2e.svc' "$(copies "$path/2" '.[0].host')"
  assert_equal 1 "$(problems | grep -c 'AnnotationRefused: e2e/target: the annotation mirror-host is ')"
}

@test "a mirror and a canary without ready pods are named" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  ingress copied one.example / red 'mirror-target=http://auth.e2e.svc$request_uri'
  ingress main two.example / red
  ingress new two.example / auth canary=true canary-weight=100
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '(.endpointSlices.items[] | select(.metadata.name == "auth-1")).endpoints = []' | serve_lists
  assert_equal 'red red' "$(who_answers one.example /) $(who_answers two.example /)"
  assert_equal "$(printf '%s\n' 'NoReadyEndpoints: e2e/copied: requests are not mirrored: Service e2e/auth has no ready endpoint for port 80' \
    'NoReadyEndpoints: e2e/new: the canary gets no requests: Service e2e/auth has no ready endpoint for port 80')" "$(problems)"
}

@test "what is denied is not mirrored" {
  ingress copies copies.example / auth
  ingress denied one.example / red 'mirror-target=http://auth.e2e.svc$request_uri' denylist-source-range=0.0.0.0/0,::/0
  ingress open two.example / red 'mirror-target=http://auth.e2e.svc$request_uri'
  serve
  path=/$RANDOM$RANDOM
  assert_equal 403 "$(status one.example "$path")"
  assert_equal 200 "$(status two.example "$path/open")"
  wait_for 10 has_copy "$path/open"
  assert_equal 0 "$(copies "$path" length)"
}

@test "nobody can fill the memory with bodies that are copied: they are as large as proxy-body-size says, up to 8 MiB" {
  ingress copied one.example / red 'mirror-target=http://auth.e2e.svc$request_uri'
  ingress small two.example / red 'mirror-target=http://auth.e2e.svc$request_uri' proxy-body-size=1k
  ingress large three.example / red 'mirror-target=http://auth.e2e.svc$request_uri' proxy-body-size=9m
  ingress none four.example / red 'mirror-target=http://auth.e2e.svc$request_uri' mirror-request-body=off
  ingress refused five.example / red 'mirror-target=http://elsewhere.example$request_uri'
  ingress copies copies.example / auth
  serve
  head -c 2000000 /dev/zero >"$dir/large"
  local large=(--data-binary "@$dir/large" -H Expect:)
  assert_equal '413 413 200 200 200' "$(statuses {one,two,three,four,five}.example/ -- "${large[@]}")"
  assert_equal 200 "$(status one.example / -d x)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/large: requests are mirrored without their bodies: proxy-body-size is 0 or more than 8m'
  who_answers three.example /copied -d x
  wait_for 10 has_copy /copied
  assert_equal '' "$(copies /copied '.[0].body')"
}
