load helpers
setup() { common_setup; }

# The golden files are made with the default settings.
golden() { # FIXTURE
  diff -u "$fixtures/$1/nginx.conf" <(env -u HTTP_PORT -u HTTPS_PORT -u ADMIN_PORT -u STATE_DIR "$bin/render" <"$fixtures/$1/model.json")
}

@test "the configurations of the fixtures are as expected" {
  golden rules
  golden broken
  golden nothing
}

@test "the steps give the same with this machine's jq, which may be older than the image's" {
  export PATH=${PATH_TO_OWN_JQ:-$PATH} SUMMARIES=''
  for fixture in rules broken; do # the second with all features, which takes jq 1.6 some seconds
    [[ $fixture == rules ]] || features_in_use=''
    "$fixtures/snapshot" <"$fixtures/$fixture/lists.json" | cmp - <(golden_snapshot "$fixture")
    "$bin/route" <"$fixtures/$fixture/snapshot" | cmp - "$fixtures/$fixture/model.json"
    golden "$fixture"
  done
}

@test "another model gives another hash in the first line" {
  read -r _ _ one _ < <(model rules | "$bin/render")
  read -r _ _ other _ < <(model broken | "$bin/render")
  [[ $one =~ ^[0-9a-f]{12}$ && $one != "$other" ]]
}

@test "an empty model gives a configuration that serves the admin port only" {
  conf=$("$bin/render" <<<'{}')
  assert_contains "$conf" "listen $ADMIN_PORT;"
  refute_contains "$conf" "listen $HTTP_PORT"
}

@test "settings reach the configuration" {
  conf=$(model rules | WORKER_PROCESSES=7 PROXY_READ_TIMEOUT=77 ACCESS_LOG=json "$bin/render")
  assert_contains "$conf" 'worker_processes 7;'
  assert_contains "$conf" 'proxy_read_timeout 77s;'
  assert_contains "$conf" 'access_log /dev/stdout json buffer=4k flush=100ms;'
  assert_contains "$(ACCESS_LOG=off "$bin/render" <<<'{}')" 'access_log off;'
}

@test "nothing in a model can end a string or a directive, even if route had let it through" {
  evil='x"; } evil on; \ $host ' conf=$(jq -n --arg evil "$evil"$'\n' '{
    upstreams: [{name: $evil, endpoints: [$evil]}],
    servers: [{host: ("*." + $evil), locations: []}, {host: $evil, locations: [{path: ("/" + $evil), pathType: "Exact", of: "Ingress \($evil)", upstream: $evil},
      {path: ("/" + $evil), pathType: "Prefix", of: "Ingress \($evil)", status: 503, message: $evil}]}]}' | "$bin/render")
  routes=${conf#*--- routes}
  # no string holds what nginx could interpret, and without the strings only our own directives are left
  routes=${routes//'\n"'/'"'} # the end of each answer
  routes=${routes//'$"'/'"'}  # and of the expression for a wildcard host
  run grep -oE '"[^"]*"' <<<"$routes"
  refute_contains "$output" '$'
  refute_contains "$output" '\'
  refute_contains "$(sed -E 's/"[^"]*"//g' <<<"$routes")" evil
}

@test "hosts that one Ingress gives the same paths share a server; any difference gives them one of their own" {
  model rules '.ingresses.items += [{metadata: {namespace: "demo", name: "wide", creationTimestamp: "2028", annotations: {"nginx.ingress.kubernetes.io/proxy-read-timeout": "7"}}, spec: {ingressClassName: "bash",
      rules: [("c.example", "a.example", "*.example", "b.example", "apart.example", "fruit.example") as $host | {host: $host, http: {paths: [
        {path: (if $host == "apart.example" then "/x" else "/wide" end), pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}}]' | "$bin/render" >"$dir/nginx.conf"
  sed -n '/^    server_name/,/;$/p' "$dir/nginx.conf" >"$dir/names"
  assert_contains "$(<"$dir/names")" $'    server_name "a.example"\n      "b.example"\n      "c.example";\n'
  for name in '"apart.example"' '"fruit.example"' '"~^[^.]+[.]example$"' _; do
    grep -qFx "    server_name $name;" "$dir/names"
  done
  assert_equal 1 "$(grep -A 10 '"c.example";' "$dir/nginx.conf" | grep -c 'location "/wide/".* proxy_read_timeout 7s')"
}

@test "backend-protocol chooses how nginx speaks to the pods, and each protocol has upstreams of its own" {
  conf_with() { # PROTOCOL
    model rules "(.ingresses.items[] | select(.metadata.name == \"same-names\").metadata.annotations) = {\"nginx.ingress.kubernetes.io/backend-protocol\": \"$1\"}" | "$bin/render"
  }
  assert_contains "$(conf_with HTTP)" '{ set $ingress "shop/same-names"; proxy_pass "http://apple.shop.80"; }'
  assert_contains "$(conf_with HTTPS)" '{ set $ingress "shop/same-names"; proxy_ssl_name "apple.shop.svc"; proxy_pass "https://apple.shop.80.https"; }'
  assert_contains "$(conf_with grpc)" '{ set $ingress "shop/same-names"; grpc_pass "grpc://apple.shop.80.grpc"; }'
  assert_contains "$(conf_with GRPCS)" '{ set $ingress "shop/same-names"; grpc_ssl_name "apple.shop.svc"; grpc_pass "grpcs://apple.shop.80.grpcs"; }'
  assert_contains "$(conf_with GRPCS)" 'upstream "apple.shop.80.grpcs" {'
  assert_contains "$(conf_with SPDY)" '{ set $ingress "shop/same-names"; proxy_pass "http://apple.shop.80"; }'
  refute_contains "$(conf_with FCGI)" 'apple.shop.80"; }'
}

@test "nginx takes every configuration without a warning, also with gRPC, source ranges, limits, CORS, error backends and trusted proxies" {
  mkdir -p "$STATE_DIR"
  for trusted in '' 10.0.0.0/8,fd00::/8; do
    model rules '(.ingresses.items[] | select(.metadata.name == "same-names").metadata.annotations) = {"nginx.ingress.kubernetes.io/backend-protocol": "GRPC",
      "nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8", "nginx.ingress.kubernetes.io/limit-allowlist": "10.0.0.0/8",
      "nginx.ingress.kubernetes.io/limit-rps": "5", "nginx.ingress.kubernetes.io/enable-cors": "true", "nginx.ingress.kubernetes.io/cors-allow-origin": "https://*.a.example",
      "nginx.ingress.kubernetes.io/default-backend": "apple", "nginx.ingress.kubernetes.io/custom-http-errors": "403,404"}' | TRUSTED_PROXIES=$trusted "$bin/render" >"$dir/nginx.conf"
    assert_contains "$(<"$dir/nginx.conf")" grpc_pass
    use_known_keys
    "$bin/apply" test <"$dir/nginx.conf"
    (source "$bin/settings" && source "$bin/lib/apply/nginx.bash" && program='test' leave_out_what_is_not_here "$dir/nginx.conf") 2>/dev/null
    assert_contains "$(nginx -e stderr -t -c "$dir/nginx.conf" 2>&1)" 'test is successful'
    refute_contains "$(nginx -e stderr -t -c "$dir/nginx.conf" 2>&1)" warn
  done
}

@test "a template of one's own stands where nginx.conf.template names it" {
  cp -r "$templates" "$dir/templates"
  echo '  # my own: ${HTTP_PORT}' >"$dir/templates/mine.conf.template"
  edit "$dir/templates/nginx.conf.template" 's/^@log.conf.template@$/&\n@mine.conf.template@/'
  assert_contains "$(TEMPLATES_DIR=$dir/templates "$bin/render" <<<'{}')" "# my own: $HTTP_PORT"
}

@test "custom-http-errors repeats the error pages of the http block, which its own would replace" {
  assert_equal "$(tr '\n' ' ' <"$templates/answers.conf.template" | grep -oE ' error_page [0-9 ]+[/$][^;]*;' | grep -oE '\b[0-9]{3}\b' | sort -u | xargs)" \
    "$(jq -n -r -L "$bin/lib" 'import "annotations/features/errors" as errors; [errors::said_by_nginx | tostring] | join(" ")')"
}

@test "a broken template of one's own ends the controller at its start, with nginx's line, before anything is live" {
  cp -r "$templates" "$dir/templates"
  echo '  log_formatt mine "";' >>"$dir/templates/log.conf.template"
  TEMPLATES_DIR=$dir/templates DOORBELL=off run timeout 60 "$bin/ingress-controller"
  assert_equal 1 "$status"
  assert_contains "$output" 'unknown directive "log_formatt"'
  assert_contains "$output" 'or a template of your own, may be why'
  [[ ! -e $STATE_DIR/admin/ready && ! -s $STATE_DIR/live/nginx.conf && ! -e $STATE_DIR/run/nginx.pid ]]
}
