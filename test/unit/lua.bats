# Lua for each request, by templates of one's own (manifests/examples/openresty-style).
load helpers

setup() {
  common_setup
  cp -r "$templates" "$dir/templates"
  patch --quiet -d "$dir/templates" <"$BATS_TEST_DIRNAME/../../manifests/examples/openresty-style/lua.patch"
  export TEMPLATES_DIR=$dir/templates
}
teardown() { common_teardown; }

# The fixture rules, in which Service demo/apple-beta has the pods of cherry.
with_betas() {
  snapshot rules '.services.items += [.services.items[] | select(.metadata.namespace == "demo" and .metadata.name == "cherry") | .metadata.name = "apple-beta"]
    | .endpointSlices.items += [(.endpointSlices.items[] | select(.metadata.labels["kubernetes.io/service-name"] == "cherry" and .metadata.namespace == "demo")
        | .metadata |= (.name = "apple-beta-1" | .labels["kubernetes.io/service-name"] = "apple-beta"))]
    | .ingresses.items += [.ingresses.items[0] | .metadata.name = "beta" | .spec.rules = [{host: "beta.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple-beta", port: {number: 80}}}}]}}]]'
}

@test "the example's patch fits the templates, and each location lets Lua choose its upstream" {
  with_betas | "$bin/route" | "$bin/render" >"$dir/nginx.conf"
  assert_equal 1 "$(grep -c '"apple.demo.80" "apple-beta.demo.80";' "$dir/nginx.conf")"
  grep -qF 'set $chosen "apple.demo.80"; proxy_pass "http://$chosen";' "$dir/nginx.conf"
  grep -qF 'proxy_pass "http://apple' "$dir/nginx.conf" && return 1
  echo '{}' | "$bin/render" | grep -c rewrite_by_lua_block
}

@test "Lua gives each request a header, and chooses another Service by a cookie" {
  [[ -e /usr/lib/nginx/modules/ngx_http_lua_module.so ]] || skip 'there is no libnginx-mod-http-lua'
  start_pods
  with_betas | serve_snapshot
  assert_equal 'apple cherry apple banana' "$(echo "$(who_answers fruit.example /apple)" "$(who_answers fruit.example /apple -H 'Cookie: beta=yes')" \
    "$(who_answers fruit.example /apple -H 'Cookie: beta=no')" "$(who_answers fruit.example /apple/core -H 'Cookie: beta=yes')")"
  assert_contains "$(ask fruit.example /apple -o /dev/null -D - -H 'Cookie: beta=yes')" 'X-Chosen: apple-beta.demo.80'
}
