load helpers
setup() { common_setup; }

golden() { # FIXTURE
  diff -u "$fixtures/$1/model.json" <(model "$1")
}

@test "the models of the fixtures are as expected" {
  golden rules
  golden broken
  golden nothing
}

@test "an empty path is a Prefix /, whatever other paths and hosts the Ingress has" {
  model rules '.ingresses.items |= [.[0] | .spec.rules[0].http.paths[0] as $path
    | .spec.rules = [{host: "app", http: {paths: [$path | del(.path)]}}, {host: "appnull", http: {paths: [$path | .path = "/"]}},
                     {host: "other", http: {paths: [$path | .path = ("", "/")]}}]]' |
    assert_json '[.servers[] | select(.host != "").locations[] | [.path, .pathType]] | unique' '[["/","Prefix"]]'
}

@test "the order of the objects in the snapshot does not change the model" {
  reversed=$(model rules '(.ingresses, .services, .endpointSlices).items |= reverse')
  assert_equal "$(model rules)" "$reversed"
}

@test "one bad Ingress changes nothing for the others, whatever it holds" {
  others='[.servers[] | select(.host != "bad.example")], .upstreams'
  model rules '[{}, {rules: null}, {rules: []}, {rules: [{}]}, {rules: [{host: "bad.example"}]},
      {rules: [{host: "bad.example", http: {paths: null}}]},
      {rules: [{host: "bad.example", http: {paths: [{}]}}]},
      {rules: [{host: "bad.example", http: {paths: [{path: "/", backend: {service: {name: "a\nb"}}}]}}]},
      {rules: [{host: "bad.example", http: {paths: [{path: "/", backend: {service: {name: "apple", port: {number: 99999}}}}]}}]}] as $bad
    | .ingresses.items += [range($bad | length) | {metadata: {namespace: "demo", name: "bad-\(.)", creationTimestamp: "2027"}, spec: ($bad[.] + {ingressClassName: "bash"})}]' >"$dir/model.json"
  assert_json '[.claimants[] | select(startswith("Ingress demo/bad-"))] | length' 9 <"$dir/model.json"
  assert_equal "$(model rules | jq -c "$others")" "$(jq -c "$others" "$dir/model.json")"
}

@test "a Service port is found by number and by name, as the same upstream" {
  model rules | assert_json '[.servers[].locations[].upstream | select(. != null and startswith("banana.demo"))] | unique' '["banana.demo.8000"]'
}

@test "an IPv6 endpoint is put in brackets" {
  model rules '.endpointSlices.items[3] |= (.addressType = "IPv6" | .endpoints[0].addresses = ["fd00::1"])' |
    assert_json '.upstreams[] | select(.name == "cherry.demo.80").endpoints' '["[fd00::1]:8080"]'
}

@test "of several addresses of one endpoint, the first counts, as for kube-proxy" {
  model rules '.endpointSlices.items[3].endpoints[0].addresses = ["1.2.3.4", "1.2.3.5"]' |
    assert_json '.upstreams[] | select(.name == "cherry.demo.80").endpoints' '["1.2.3.4:8080"]'
}

@test "an address that is none is left out" {
  model rules '.endpointSlices.items[3].endpoints |= [.[0] as $endpoint | $endpoint + {addresses: (("1.2.3.4; evil", "300.1.1.1", "name.example", "1.2.3.4") | [.])}]' |
    assert_json '.upstreams[] | select(.name == "cherry.demo.80").endpoints' '["1.2.3.4:8080"]'
  model rules '.endpointSlices.items[3] |= (.addressType = "IPv6"
    | .endpoints |= [.[0] as $endpoint | $endpoint + {addresses: ((":::::", ":", "::1::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "fe80::1%eth0", "::", "1:2:3:4:5:6:7:8") | [.])}])' |
    assert_json '.upstreams[] | select(.name == "cherry.demo.80").endpoints' '["[1:2:3:4:5:6:7:8]:8080","[::]:8080"]'
}

@test "INGRESS_CLASS names the class that is ours while no IngressClass has this name" {
  hosts='[.servers[].host] | contains(["other.example"])'
  INGRESS_CLASS=other model rules | assert_json "$hosts" false
  INGRESS_CLASS=other model rules 'del(.ingressClasses.items[1])' | assert_json "$hosts" true
}

@test "a problem's message has no character that a terminal would obey" {
  model broken '.ingresses.items[0].spec.rules[0].http.paths[0].path = "/\u001b[31mred\u0000\u202e"' |
    assert_json '[.problems[].message | explode[] | select(. < 32 or . > 126)] | length' 0
}

@test "no input at all is an error for route, render and apply, and changes nothing" {
  for step in route render apply; do
    run "$bin/$step" </dev/null
    assert_equal 1 "$status"
    refute_contains "$output" '{'
  done
}

@test "4,000 paths of one Ingress, refused or not, are routed in time" {
  for path in '/p\(.)/' '/bad \(.)'; do
    snapshot rules ".ingresses.items[0].spec.rules[0].http.paths = [range(4000) | {path: \"$path\", pathType: \"Exact\",
      backend: {service: {name: \"apple\", port: {number: 80}}}}]" >"$dir/snapshot"
    timeout "$((20 * ${SLOWER:-1}))" "$bin/route" <"$dir/snapshot" >"$dir/model.json"
    timeout "$((20 * ${SLOWER:-1}))" "$bin/render" <"$dir/model.json" >"$dir/nginx.conf"
    timeout "$((20 * ${SLOWER:-1}))" jq -r -f "$bin/lib/apply/changes.jq" --argjson most 5 <(echo '{}') "$dir/model.json" >"$dir/changes"
  done
  assert_equal 'problem and 7 problems more' "$(tail -n 1 "$dir/changes")"
}

@test "annotations of ingress-nginx that have no effect here are a problem, and no others" {
  model rules '.ingresses.items[0].metadata.annotations = {"nginx.ingress.kubernetes.io/http2-push-preload": "true", "nginx.ingress.kubernetes.io/enable-rewrite-log": "true",
    "nginx.ingress.kubernetes.io/ssl-redirect": "false", "example.com/other": "x"}' |
    assert_json '[.problems[] | select(.reason | startswith("Annotation"))] | map([.reason, .message])' \
      '[["AnnotationNotSupported","these annotations have no effect here: \"enable-rewrite-log\", \"http2-push-preload\""]]'
}
