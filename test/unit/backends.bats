# Whom nginx asks beside the pods of Ingresses: the default backend; what pods speak, by the appProtocol of a Service's
# port; and names outside of the cluster (ExternalName).
load helpers

setup() {
  common_setup
}
teardown() { common_teardown; }

# --- DEFAULT_BACKEND

no_rule_for_any_host='.ingresses.items |= map(select(.metadata.name != "anyhost"))'

@test "the default backend answers whatever no rule is for: hosts, and paths of hosts, over HTTP and HTTPS" {
  start_pods
  DEFAULT_BACKEND=demo/cherry:http snapshot rules "$no_rule_for_any_host" | serve_snapshot
  assert_equal 'cherry cherry apple cherry' "$(for at in 'nobody.example /' 'fruit.example /nothing' 'fruit.example /apple' '1.2.3.4 /'; do who_answers ${at}; done | xargs)"
  assert_equal 'cherry-1 GET /a%20b?c' "$(ask nobody.example '/a%20b?c')" # as it came
  assert_contains "$(ask nobody.example /headers -H 'X-Code: 7')" 'Host: nobody.example'
  assert_contains "$(curl -sk --connect-to "::127.0.0.1:$HTTPS_PORT" https://nobody.example/)" cherry-1
  assert_equal '' "$(problems | grep -E 'DEFAULT_BACKEND|NoBackend')"
}

@test "what the default backend is not for: an own defaultBackend, what is refused, and what must stay shut" {
  start_pods
  DEFAULT_BACKEND=shop/apple:80 snapshot rules "$no_rule_for_any_host"' | (.ingresses.items[] | select(.metadata.name == "fruit")) |= (
      .metadata.annotations = {"nginx.ingress.kubernetes.io/auth-type": "digest"})' | serve_snapshot
  assert_equal 'cherry 503 shop 400' "$(for at in 'default.example /x' 'fruit.example /apple' 'nobody.example /' 'nobody.example /a/../b'; do who_answers ${at}; done | xargs)"
}

@test "a default backend that does not exist, or has no pod, is a problem, and nginx answers 404 as without one" {
  local row setting problem
  while IFS=$'\t' read -r setting problem; do
    DEFAULT_BACKEND=$setting snapshot broken | "$bin/route" >"$dir/model.json"
    assert_row "$problem" "$(problems | grep DEFAULT_BACKEND)" "$setting"
    assert_json '[.servers[].locations[] | select(.of == null) | has("upstream")] | unique' '[false]' <"$dir/model.json"
  done < <(
    rows <<'ROWS'
    demo/nowhere:80      ServiceNotFound: null: DEFAULT_BACKEND: Service demo/nowhere does not exist
    demo/apple:81        ServicePortNotFound: null: DEFAULT_BACKEND: Service demo/apple has no port 81
    demo/apple:web       ServicePortNotFound: null: DEFAULT_BACKEND: Service demo/apple has no port web
    demo/empty:80        NoReadyEndpoints: null: DEFAULT_BACKEND: Service demo/empty has no ready endpoint for port 80
    demo/external:80     ExternalNameNotServed: null: DEFAULT_BACKEND: Service demo/external is an ExternalName, which is not served: it could point anywhere
ROWS
  )
}

@test "a default backend that accepts no connection is named, and no Ingress" {
  DEFAULT_BACKEND=demo/apple:80 snapshot rules "$no_rule_for_any_host"' | .endpointSlices.items |= map(.endpoints[].addresses = ["127.77.0.99"])' | serve_snapshot
  assert_equal 'Service demo/apple accepts no connection: Ingress (DEFAULT_BACKEND).' "$(ask nobody.example /)"
}

@test "without the setting, snapshot, model and nginx.conf are what they were; a namespace to watch must have the default backend" {
  snapshot rules | head -n 1 >"$dir/first"
  refute_contains "$(<"$dir/first")" DEFAULT_BACKEND
  WATCH_NAMESPACE=demo DEFAULT_BACKEND=shop/apple:80 run "$bin/settings"
  assert_equal 2 "$status"
  assert_contains "$output" 'DEFAULT_BACKEND=shop/apple:80 must be in the only namespace that is read'
  for wrong in apple demo/apple demo/apple:0 demo/apple:-a 'demo/apple:80 ' a/b/c:80; do
    DEFAULT_BACKEND=$wrong run "$bin/settings"
    assert_row 2 "$status" "$wrong"
  done
}

# --- appProtocol

# Prints the snapshot in which port 80 of Service shop/apple has this appProtocol and its Ingress these annotations.
with_app_protocol() { # APP_PROTOCOL [ANNOTATIONS]
  snapshot rules '(.services.items[] | select(.metadata.namespace == "shop").spec.ports[0].appProtocol) = $app
    | (.ingresses.items[] | select(.metadata.name == "same-names").metadata.annotations) += ($annotations | fromjson)' --arg app "$1" --arg annotations "${2-null}"
}

@test "appProtocol says what pods speak, where no annotation says otherwise" {
  local app annotation passes
  while IFS=$'\t' read -r app annotation passes; do
    [[ $annotation != none ]] || annotation=''
    with_app_protocol "$app" "$(jq -n --arg it "$annotation" 'if $it == "" then {} else {"nginx.ingress.kubernetes.io/backend-protocol": $it} end')" |
      "$bin/route" | "$bin/render" >"$dir/nginx.conf"
    assert_row "$passes" "$(sed -nE 's/.*"shop\/same-names"; .*(proxy|grpc)_pass "(.*)"; .*/\1 \2/p' "$dir/nginx.conf" | sort -u)" "$app" "$annotation"
  done < <(
    rows <<'ROWS'
    https                none     proxy https://apple.shop.80.https
    kubernetes.io/wss    none     proxy https://apple.shop.80.https
    kubernetes.io/h2c    none     grpc grpc://apple.shop.80.grpc
    kubernetes.io/ws     none     proxy http://apple.shop.80
    http                 none     proxy http://apple.shop.80
    HTTPS                none     proxy http://apple.shop.80
    example.com/https    none     proxy http://apple.shop.80
    https                HTTP     proxy http://apple.shop.80
    kubernetes.io/h2c    HTTP     proxy http://apple.shop.80
    kubernetes.io/h2c    HTTPS    proxy https://apple.shop.80.https
    kubernetes.io/ws     GRPCS    grpc grpcs://apple.shop.80.grpcs
    https                SPDY     proxy https://apple.shop.80.https
ROWS
  )
}

@test "pods that speak HTTP/2 without TLS, or TLS, answer any client" {
  mkdir -p "$dir/h2c"
  cat >"$dir/h2c.conf" <<CONF
pid $dir/h2c.pid;
error_log $dir/h2c.log;
events {}
http {
  access_log off;
$(temp_paths "$dir/h2c")
  server { listen 127.77.0.5:8080 http2; location / { return 200 "\$server_protocol \$request_method \$request_uri\n"; } }
}
CONF
  nginx -e stderr -c "$dir/h2c.conf" 2>/dev/null
  with_app_protocol kubernetes.io/h2c | serve_snapshot
  assert_equal 'HTTP/2.0 GET /x?y' "$(ask shop.example '/x?y')"
  assert_equal 'HTTP/2.0 POST /' "$(ask shop.example / -d body)"
  with_app_protocol http | serve_snapshot
  refute_contains "$(ask shop.example /)" 'HTTP/2.0'
  kill -QUIT "$(<"$dir/h2c.pid")"
  wait_for 15 test ! -e "$dir/h2c.pid"
  use_known_keys
  edit "$dir/h2c.conf" "s|127.77.0.5:8080 http2;|127.77.0.5:8080 ssl; ssl_certificate $STATE_DIR/keys/default.pem; ssl_certificate_key $STATE_DIR/keys/default.pem;|; s|server_protocol |scheme \$ssl_server_name |"
  nginx -e stderr -c "$dir/h2c.conf" 2>/dev/null
  with_app_protocol https | serve_snapshot
  assert_equal 'https apple.shop.svc GET /x' "$(ask shop.example /x)"
}

@test "a path to pods that speak TLS counts among the namespace's paths as one with backend-protocol does" {
  local paths='{metadata: {namespace: "shop", name: "many", creationTimestamp: "2026-02-01T00:00:00Z"}, spec: {ingressClassName: "bash", rules: [{host: "many.example", http: {paths: [
    range(5) | {path: "/\(.)", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}}'
  for app in http https; do
    snapshot rules '(.services.items[] | select(.metadata.namespace == "shop").spec.ports[0].appProtocol) = $app | .ingresses.items = ['"$paths"']' --arg app "$app" |
      with_settings LIMITS=namespace_paths=8 | "$bin/route" >"$dir/model.json"
    problems | sed 's/:.*//' >"$dir/$app"
  done
  assert_equal ' LimitExceeded' "$(<"$dir/http") $(<"$dir/https")"
}
