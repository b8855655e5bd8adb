# ssl-passthrough: the TLS of a host goes to its pods as it comes, over the wire, with real nginx.
load helpers

setup() {
  common_setup
  start_pods
  start_tls_pods
}
teardown() { common_teardown; }

# Pods that end TLS: each says its name, and whom it sees.
start_tls_pods() {
  [[ -e $BATS_FILE_TMPDIR/pod.crt ]] || make_pair "$BATS_FILE_TMPDIR/pod" pod.example ecdsa
  cat >"$dir/tls-pods.conf" <<CONF
pid $dir/tls-pods.pid;
error_log $dir/tls-pods.log;
events {}
http {
  access_log off;
$(temp_paths "$dir/tls-pods")
  ssl_certificate $BATS_FILE_TMPDIR/pod.crt;
  ssl_certificate_key $BATS_FILE_TMPDIR/pod.key;
  map \$server_addr \$pod { 127.77.0.4 vault-1; 127.77.0.5 vault-2; }
  server { listen 127.77.0.4:8443 ssl; listen 127.77.0.5:8443 ssl; return 200 "\$pod for \$host\$request_uri\n"; }
}
CONF
  nginx -e stderr -c "$dir/tls-pods.conf"
}

# shellcheck disable=SC2016 # the dollar signs are jq's
with_vault='
  def slice($name; $port; $addresses): {
    metadata: {namespace: "demo", name: "\($name)-a", labels: {"kubernetes.io/service-name": $name}},
    addressType: "IPv4", ports: [{name: "", port: $port}], endpoints: [$addresses[] | {addresses: [.], conditions: {ready: true}}]};
  .services.items += [("vault", "other", "empty") | {metadata: {namespace: "demo", name: .}, spec: {ports: [{port: 443}]}}]
  | .endpointSlices.items += [slice("vault"; 8443; ["127.77.0.4"]), slice("other"; 8443; ["127.77.0.5"]), slice("empty"; 8443; [])]'

# Serves these Ingresses, the oldest first: "NAME HOST PATH SERVICE [ANNOTATION=VALUE...]". Each Service of demo has its
# pods: vault and other end TLS, empty has none, apple speaks HTTP.
serve_ingresses() { # INGRESS...
  ingresses_snapshot "$@" | serve_snapshot
}

ingresses_snapshot() { # INGRESS...
  snapshot rules "$with_vault"'
    | .ingresses.items = [$ingresses | split("\n") | to_entries[] | .key as $n | .value | split(" ") as [$name, $host, $path, $service]
      | {metadata: {namespace: "demo", $name, creationTimestamp: (946684800 + $n | todate),
          annotations: ([split(" ")[4:][] | capture("(?<key>[^=]*)=(?<value>.*)") | .key |= "nginx.ingress.kubernetes.io/" + .] | from_entries)},
         spec: {ingressClassName: "bash", rules: [{$host, http: {paths: [{$path, pathType: "Prefix",
           backend: {service: {name: $service, port: {number: (if $service == "apple" then 80 else 443 end)}}}}]}}]}}]
    ' --arg ingresses "$(printf '%s\n' "$@")"
}

# Asks over TLS: what comes back, and the name in the certificate that was shown.
tls() { # HOST PATH [CURL_OPTION...]
  curl -sk --max-time 10 -v --resolve "$1:$HTTPS_PORT:127.0.0.1" "${@:3}" "https://$1:$HTTPS_PORT$2" -w '%{http_code}\n' 2>"$dir/curl.log" | tr '\n' ' '
  sed -n 's/^.*subject: CN=//p' "$dir/curl.log" | head -n 1
}

@test "the pods of such a host end its TLS, with their certificate; other hosts and ports are as before" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true' 'fruit fruit.example / apple'
  assert_equal 'vault-1 for vault.example/x 200 pod' "$(tls vault.example /x)"
  assert_equal 'vault-1 for vault.example/x 200 pod' "$(tls VAULT.example /x | sed s/VAULT/vault/)"
  assert_contains "$(tls fruit.example /y)" 'apple-1 GET /y 200 bash-ingress default certificate'
  assert_equal apple "$(who_answers fruit.example /)"
  assert_equal '' "$(problems)"
  wait_for 10 grep -q "127.0.0.1 TLS passed on, .* status 200, by demo/vault:443, pod 127.77.0.4:8443" "$dir/access.log"
}

@test "other hosts see the client's address, whoever passes it on within nginx" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true' 'fruit fruit.example / apple'
  assert_contains "$(tls fruit.example /headers --interface 127.0.0.9)" 'X-Real-IP: 127.0.0.9'
}

@test "with the PROXY protocol, it is the client that the load balancer names" {
  TRUSTED_PROXIES=127.0.0.1 PROXY_PROTOCOL=on serve_ingresses "vault vault.example / vault ssl-passthrough=true" 'fruit fruit.example / apple'
  assert_equal 'vault-1 for vault.example/ 200 pod' "$(tls vault.example / --haproxy-protocol)"
  assert_contains "$(tls fruit.example /headers --haproxy-protocol --interface 127.0.0.1)" 'X-Real-IP: 127.0.0.1'
}

@test "nothing of it is in nginx.conf while no Ingress asks for it" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=false' 'fruit fruit.example / apple'
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" preread
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" unix:
}

@test "in plain HTTP, such a host is a redirect, or a 404; and in the TLS of another host, nobody gets to its pods" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true' 'bare bare.example / apple ssl-passthrough=true ssl-redirect=false' 'fruit fruit.example / apple'
  assert_equal 308 "$(who_answers vault.example /x)"
  assert_equal 404 "$(who_answers bare.example /x)"
  assert_contains "$(tls fruit.example / -H 'Host: vault.example')" 421
  assert_contains "$(tls fruit.example / -H 'Host: bare.example')" 421
}

@test "source ranges hold there" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true whitelist-source-range=127.0.0.9' 'other other.example / other ssl-passthrough=true denylist-source-range=127.0.0.9'
  assert_contains "$(tls vault.example / --interface 127.0.0.9)" 'vault-1'
  assert_contains "$(tls vault.example / --interface 127.0.0.8)" '421 bash-ingress default certificate'
  assert_contains "$(tls other.example / --interface 127.0.0.9)" '421 bash-ingress default certificate'
  assert_contains "$(tls other.example / --interface 127.0.0.8)" 'vault-2'
}

@test "any other protection closes the host" {
  local protection
  for protection in limit-rps=5 auth-url=http://apple.demo.svc.cluster.local/ auth-type=basic auth-tls-secret=demo/ca; do
    serve_ingresses "vault vault.example / vault ssl-passthrough=true $protection"
    assert_contains "$(tls vault.example /)" 503
    refute_contains "$(tls vault.example /)" vault-1
    assert_contains "$(problems)" 'ProtectionNotAvailable: demo/vault: closed'
  done
  assert_equal 503 "$(who_answers vault.example /)"
}

# A host for each annotation, with the value that examples.json has, or one that is wrong.
@test "no annotation that asks for a protection leaves a host passed on, but source ranges and redirects" {
  snapshot rules "$with_vault"'
    | .ingresses.items = [$rows[0] | keys[] | . as $name | {metadata: {namespace: "demo", $name, creationTimestamp: "2001-01-01T00:00:00Z",
        annotations: ({"ssl-passthrough": "true"} + ($examples[0][$name] | objects // {($name): (. // "wrong")}) | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))},
        spec: {ingressClassName: "bash", rules: [{host: "\($name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "vault", port: {number: 443}}}}]}}]}}]' \
    --slurpfile rows "$bin/lib/annotations/annotations.json" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" | "$bin/route" >"$dir/model.json"
  jq --slurpfile rows "$bin/lib/annotations/annotations.json" '
    def passed: [.servers[] | select(.locations[0].passed).host | rtrimstr(".example")];
    {open: [passed[] | select($rows[0][.].class | IN("protective", "switch"))], closed: ([.servers[].locations[] | select(.status == 503)] | length > 50), passed: (passed | length > 50)}' "$dir/model.json" |
    assert_json . '{"open":["allowlist-source-range","denylist-source-range","enable-global-auth","force-ssl-redirect","proxy-ssl-verify","ssl-redirect"],"closed":true,"passed":true}'
}

@test "a protection for all Ingresses closes such a host, or holds there; and so do blocked clients" {
  local default
  for default in 'auth-url: http://apple.demo.svc.cluster.local/' 'limit-rate: 5'; do
    DEFAULT_ANNOTATIONS=$default serve_ingresses 'vault vault.example / vault ssl-passthrough=true' 'free free.example / vault ssl-passthrough=true enable-global-auth=false'
    assert_contains "$(tls vault.example /)" 503
    [[ $default == limit* ]] || assert_contains "$(tls free.example /)" vault-1
  done
  DEFAULT_ANNOTATIONS='whitelist-source-range: 127.0.0.9' serve_ingresses 'vault vault.example / vault ssl-passthrough=true'
  assert_contains "$(tls vault.example / --interface 127.0.0.9)" vault-1
  assert_contains "$(tls vault.example / --interface 127.0.0.8)" 421
  configured_with '{"blocked_networks": ["127.0.0.9"]}'
  assert_contains "$(tls vault.example / --interface 127.0.0.9)" '403 bash-ingress default certificate'
  assert_contains "$(tls vault.example / --interface 127.0.0.8)" vault-1
  configured_with '{"blocked_agents": ["\"evil\""]}'
  assert_contains "$(tls vault.example /)" 503
  assert_contains "$(problems)" 'by "block-user-agents": nginx cannot read what is in the TLS of host vault.example'
}

# Serves the Ingress vault where a ConfigMap comes to these parts.
configured_with() { # PARTS
  ingresses_snapshot 'vault vault.example / vault ssl-passthrough=true' |
    jq -c --argjson parts "$1" 'if .settings then ., {configmap: "ing/keys", uses: ["configmap"], settings: {}, annotations: {}, directives: {}, $parts, closed: null, problems: []} else . end' | serve_snapshot
}

@test "of two Ingresses that disagree about a host, the oldest decides" {
  serve_ingresses 'first a.example / vault ssl-passthrough=true' 'second a.example /x apple' 'third b.example / apple' 'fourth b.example /x vault ssl-passthrough=true'
  assert_contains "$(tls a.example /x)" 'vault-1 for a.example/x 200 pod'
  assert_equal 308 "$(who_answers a.example /x)"
  assert_contains "$(tls b.example /)" apple
  assert_contains "$(tls b.example /x)" 503
  assert_contains "$(problems)" 'HostPassedOn: demo/second: nothing is served of host a.example: Ingress demo/first, which is older, has its TLS passed on to its pods (ssl-passthrough)'
  assert_contains "$(problems)" 'demo/fourth: closed, because its protection is not available here: the TLS of host b.example is not passed on, because Ingress demo/third, which is older, has no ssl-passthrough'
}

@test "a wildcard is for one label; a host of its own below it is not passed on" {
  serve_ingresses 'wild *.a.example / vault ssl-passthrough=true' 'own own.a.example / apple'
  assert_contains "$(tls x.a.example /)" 'vault-1 for x.a.example'
  assert_contains "$(tls own.a.example /)" apple
  assert_contains "$(tls x.y.a.example /)" 404
  assert_contains "$(tls a.example /)" 404
}

@test "aliases are passed on, too; www of such a host redirects" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true server-alias=safe.example from-to-www-redirect=true'
  assert_contains "$(tls safe.example /)" 'vault-1 for safe.example'
  assert_contains "$(tls www.vault.example /)" '308 bash-ingress default certificate'
  assert_contains "$(tls vault.example /)" vault-1
}

@test "without pods, or without its Service, such a host is a 503, and no default backend answers" {
  serve_ingresses 'vault vault.example / empty ssl-passthrough=true default-backend=apple custom-http-errors=503' 'none none.example / missing ssl-passthrough=true'
  assert_contains "$(tls vault.example /)" '503 bash-ingress default certificate'
  refute_contains "$(tls vault.example /)" apple
  assert_equal 503 "$(who_answers vault.example /)"
  assert_contains "$(tls none.example /)" 503
  assert_contains "$(problems)" 'NoReadyEndpoints: demo/vault: Service demo/empty has no ready endpoint for port 443'
}

@test "beside other annotations it is served, and says what has no effect" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true affinity=cookie default-backend=apple custom-http-errors=404 enable-cors=true'
  assert_contains "$(tls vault.example /)" vault-1
  assert_contains "$(problems)" 'AnnotationRefused: demo/vault: affinity, custom-http-errors, default-backend, enable-cors have no effect where ssl-passthrough counts'
}

@test "it needs the path / of a host with a name" {
  serve_ingresses 'path path.example /x vault ssl-passthrough=true'
  assert_contains "$(tls path.example /x)" 503
  assert_contains "$(problems)" 'demo/path: closed, because its protection is not available here: ssl-passthrough needs the path / for host path.example'
}

@test "a wrong value closes the Ingress" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=perhaps'
  assert_contains "$(tls vault.example /)" 503
  assert_contains "$(problems)" 'ProtectionNotAvailable: demo/vault'
}

@test "what is no TLS gets an answer on that port, and ACME challenges of others are served in plain HTTP" {
  serve_ingresses 'vault vault.example / vault ssl-passthrough=true' 'solver vault.example /.well-known/acme-challenge/token apple'
  assert_equal 400 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$HTTPS_PORT/")"
  assert_equal apple "$(who_answers vault.example /.well-known/acme-challenge/token)"
}

# Waits for more, so that a connection stays open.
@test "apply starts and ends it with a reload: no connection is lost on the port for HTTPS" {
  ingresses_snapshot 'fruit fruit.example / apple' >"$dir/off"
  ingresses_snapshot 'fruit fruit.example / apple' 'vault vault.example / vault ssl-passthrough=true' >"$dir/on"
  serve_snapshot <"$dir/off"
  for state in on off on; do
    "$bin/route" <"$dir/$state" >"$dir/model.json"
    "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json" 2>>"$dir/apply.log"
    assert_contains "$(tls fruit.example /)" apple
    [[ $state == off ]] || assert_contains "$(tls vault.example /)" vault-1
  done
}
