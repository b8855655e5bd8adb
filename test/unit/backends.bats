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
  local setting problem
  DEFAULT_BACKEND=demo/any:1 snapshot broken >"$dir/snapshot"
  while IFS=$'\t' read -r setting problem; do
    sed "1 s|demo/any:1|$setting|" "$dir/snapshot" | "$bin/route" >"$dir/model.json"
    assert_row "$problem" "$(problems | grep DEFAULT_BACKEND)" "$setting"
    assert_json '[.servers[].locations[] | select(.of == null) | has("upstream")] | unique' '[false]' <"$dir/model.json"
  done < <(
    rows <<'ROWS'
    demo/nowhere:80      ServiceNotFound: null: DEFAULT_BACKEND: Service demo/nowhere does not exist
    demo/apple:81        ServicePortNotFound: null: DEFAULT_BACKEND: Service demo/apple has no port 81
    demo/apple:web       ServicePortNotFound: null: DEFAULT_BACKEND: Service demo/apple has no port web
    demo/empty:80        NoReadyEndpoints: null: DEFAULT_BACKEND: Service demo/empty has no ready endpoint for port 80
    demo/external:80     ExternalNameNotServed: null: DEFAULT_BACKEND: Service demo/external is an ExternalName: it could point anywhere, so EXTERNAL_NAMES has to allow it
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

# Prints the snapshot in which each "APP_PROTOCOL ANNOTATION ADDRESS:PORT" is a Service sN with such a port and such a pod,
# and an Ingress for host sN.example, with that backend-protocol unless it is none.
with_app_protocols() { # ROW...
  snapshot rules '.ingresses.items[0] as $one | ($rows | split("\n")) as $rows
    | .services.items = [$rows | to_entries[] | {metadata: {namespace: "demo", name: "s\(.key)"}, spec: {ports: [{port: 80, appProtocol: (.value | split(" ")[0])}]}}]
    | .endpointSlices.items = [$rows | to_entries[] | .key as $n | .value | split(" ")[2] | split(":")
        | {metadata: {namespace: "demo", name: "s\($n)-1", labels: {"kubernetes.io/service-name": "s\($n)"}}, addressType: "IPv4", ports: [{name: "", port: (.[1] | tonumber)}],
           endpoints: [{addresses: [.[0]], conditions: {ready: true}}]}]
    | .ingresses.items = [$rows | to_entries[] | .key as $n | .value | split(" ")[1] as $says | $one
        | .metadata.name = "s\($n)" | .metadata.annotations = (if $says == "none" then {} else {"nginx.ingress.kubernetes.io/backend-protocol": $says} end)
        | .spec.rules = [{host: "s\($n).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "s\($n)", port: {number: 80}}}}]}}]]' --arg rows "$(printf '%s\n' "$@")"
}

@test "appProtocol says what pods speak, where no annotation says otherwise" {
  local app annotation passes number=0 services=()
  rows >"$dir/rows" <<'ROWS'
    https                none     proxy https://.https
    kubernetes.io/wss    none     proxy https://.https
    kubernetes.io/h2c    none     grpc grpc://.grpc
    kubernetes.io/ws     none     proxy http://
    http                 none     proxy http://
    HTTPS                none     proxy http://
    example.com/https    none     proxy http://
    https                HTTP     proxy http://
    kubernetes.io/h2c    HTTP     proxy http://
    kubernetes.io/h2c    HTTPS    proxy https://.https
    kubernetes.io/ws     GRPCS    grpc grpcs://.grpcs
    https                SPDY     proxy https://.https
ROWS
  while read -r app annotation _; do services+=("$app $annotation 127.77.0.1:8080"); done <"$dir/rows"
  with_app_protocols "${services[@]}" | "$bin/route" | "$bin/render" >"$dir/nginx.conf"
  while IFS=$'\t' read -r app annotation passes; do
    assert_row "${passes/:\/\//://s$number.demo.80}" "$(sed -nE "s/.*\"demo\/s$number\"; .*(proxy|grpc)_pass \"(.*)\"; .*/\\1 \\2/p" "$dir/nginx.conf" | sort -u)" "$app" "$annotation"
    number=$((number + 1))
  done <"$dir/rows"
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
  server {
    listen 127.77.0.5:8443 ssl;
    ssl_certificate $STATE_DIR/keys/default.pem;
    ssl_certificate_key $STATE_DIR/keys/default.pem;
    location / { return 200 "\$scheme \$ssl_server_name \$request_method \$request_uri\n"; }
  }
}
CONF
  mkdir -p "$STATE_DIR"
  use_known_keys
  nginx -e stderr -c "$dir/h2c.conf"
  with_app_protocols 'kubernetes.io/h2c none 127.77.0.5:8080' 'https none 127.77.0.5:8443' 'http none 127.77.0.5:8080' | serve_snapshot
  assert_equal 'HTTP/2.0 GET /x?y' "$(ask s0.example '/x?y')"
  assert_equal 'HTTP/2.0 POST /' "$(ask s0.example / -d body)"
  assert_equal 'https s1.demo.svc GET /x' "$(ask s1.example /x)"
  refute_contains "$(ask s2.example /)" 'HTTP/2.0'
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

# --- ExternalName

# Prints what outside.jq makes of ANSWERS ("NAME ADDRESS ..." lines), with a Service demo/NAME for each NAME.
judge() { # ANSWERS [JQ_OPTION...]
  awk '{ name = $1; gsub(/[.]/, "-", name); printf "{\"service\":\"demo/%s\",\"external\":\"%s\",\"listed\":null}\n", name, $1 }' <<<"$1" >"$dir/external"
  jq -n -r -L "$bin/lib" -f "$bin/lib/fetch/outside/outside.jq" --arg names "${EXTERNAL_NAMES-*.example.com}" --arg cidrs "${EXTERNAL_CIDRS-}" --arg pods "${ENDPOINT_CIDRS-}" \
    --arg own '5.6.7.8 2600:7::8' --slurpfile services "$dir/external" --rawfile answers <(printf '%s\n' "$1") "$dir/others" >"$dir/judged"
}

# What the cluster has: addresses of Services, of a pod, of the API server.
write_others() {
  printf '%s\n' '{"service":"demo/web","ports":{},"addresses":["11.96.0.1","2600:96::1"]}' \
    '{"slice":"demo/web-1","service":"demo/web","ready":["11.1.1.1","[2600:1::0:1]"],"ending":["11.1.1.2"],"ports":{}}' \
    '{"slice":"default/kubernetes","service":"default/kubernetes","ready":["9.1.2.3","[2600:9::3]"],"ending":[],"ports":{}}' >"$dir/others"
}

@test "only addresses outside of the cluster and of networks that are not public get past, in whatever form they are written" {
  write_others
  rows >"$dir/rows" <<'ROWS'
    # outside
    8.8.8.8                          yes
    100.63.255.255                   yes
    100.128.0.0                      yes
    172.32.0.1                       yes
    223.255.255.255                  yes
    2600::1                          yes
    2a00:1450:4001::200e             yes
    ::ffff:8.8.8.8                   yes
    11.1.1.3                         yes
    9.1.3.1                          yes
    8.8.8.8 2600::1 9.9.9.9          yes
    # not public
    0.0.0.0                          no
    10.0.0.1                         no
    100.64.0.1                       no
    127.0.0.1                        no
    127.1                            no
    169.254.169.254                  no
    172.16.0.1                       no
    192.168.1.1                      no
    192.0.0.170                      no
    198.18.0.1                       no
    198.51.100.1                     no
    203.0.113.1                      no
    224.0.0.1                        no
    255.255.255.255                  no
    ::                               no
    ::1                              no
    0:0:0:0:0:0:0:1                  no
    ::ffff:127.0.0.1                 no
    ::ffff:a00:1                     no
    ::ffff:a9fe:a9fe                 no
    ::10.0.0.1                       no
    64:ff9b::10.0.0.1                no
    64:ff9b::a00:1                   no
    64:ff9b:1::a00:1                 no
    fe80::1                          no
    fe80::1%eth0                     no
    fec0::1                          no
    fd00:ec2::254                    no
    ff02::1                          no
    2001::1                          no
    2001:db8::1                      no
    2002:a00:1::                     no
    3fff::1                          no
    0x7f.1                           no
    2130706433                       no
    localhost                        no
    # the cluster's own, although they are public
    11.96.0.1                        no
    11.96.0.99                       no
    2600:96::99                      no
    11.1.1.1                         no
    11.1.1.2                         no
    2600:1::1                        no
    2600:1:0:0::1                    no
    9.1.2.3                          no
    9.1.2.200                        no
    2600:9::beef                     no
    5.6.7.9                          no
    2600:7::1                        no
    ::ffff:11.1.1.1                  no
    # one is enough
    8.8.8.8 10.0.0.1                 no
    2600::1 ::1                      no
ROWS
  judge "$(awk -F '\t' '{ printf "a%03d.example.com %s\n", NR, $1 }' "$dir/rows")"
  tail -n +2 "$dir/judged" | jq -r 'if .addresses then "yes" elif .why | test(" turns to an address inside of ") then "no" else tojson end' >"$dir/verdicts"
  diff "$dir/rows" <(paste <(cut -f 1 "$dir/rows") "$dir/verdicts")
}

@test "EXTERNAL_CIDRS lets addresses past, and ENDPOINT_CIDRS is inside" {
  write_others
  EXTERNAL_CIDRS=10.1.0.0/16,fd00::/8 ENDPOINT_CIDRS=12.0.0.0/8,2600:c::/32 judge 'a.example.com 10.1.2.3 fd00::1
b.example.com 10.2.0.1
c.example.com 12.1.1.1
d.example.com 2600:c::1
e.example.com 8.8.8.8'
  assert_equal '["10.1.2.3","[fd00::1]"] null null null ["8.8.8.8"]' "$(tail -n +2 "$dir/judged" | jq -c .addresses | xargs -d '\n')"
}

@test "EXTERNAL_NAMES is a list of names: no other is asked for, nor what DNS alone cannot know" {
  write_others
  local name why
  EXTERNAL_NAMES='*.example.com api.example.net' judge 'a.example.com
a.b.example.com
A.Example.com.
api.example.net
example.com
notexample.com
x.api.example.net
a.example.com.evil.net
localhost
127.0.0.1
10.1
0x7f.0x1
a.0x1
metadata'
  assert_equal 'a.b.example.com a.example.com api.example.net' "$(head -n 1 "$dir/judged")"
  assert_equal 10 "$(grep -cE 'EXTERNAL_NAMES does not have|is no name of DNS' "$dir/judged")"
  seq -f 'n%g.example.com' 150 >"$dir/many"
  judge "$(<"$dir/many")"
  assert_equal 100 "$(head -n 1 "$dir/judged" | wc -w)"
  assert_equal 50 "$(grep -c 'its namespace has more than 100 such names' "$dir/judged")"
  for name in '*' '*.' 10.0.0.1 a.b.1 localhost 'a.example.com,b.example.com' '*.*.example.com'; do
    EXTERNAL_NAMES=$name run "$bin/settings"
    assert_row 2 "$status" "$name"
  done
}

# An ExternalName Service shop/apple, and what is said of it.
with_outside() { # LINE [SPEC]
  snapshot rules '(.services.items[] | select(.metadata.namespace == "shop").spec) = ({type: "ExternalName", externalName: "api.example.com"} + '"${2-{\}}"')' | sed -e '$d'
  printf '%s\n{"whole":true}\n' "$1"
}

@test "an ExternalName Service is served at the addresses of its name: ports by number, by name, with a numeric targetPort" {
  start_pods
  local spec port want number
  outside='{"outside":"shop/apple","name":"api.example.com","addresses":["127.77.0.5"]}'
  rows >"$dir/rows" <<'ROWS'
    {}                                                        80       127.77.0.5:80
    {}                                                        8443     127.77.0.5:8443
    {}                                                        "web"    ServicePortNotFound
    {ports: [{port: 80, targetPort: 8080}]}                   80       127.77.0.5:8080
    {ports: [{port: 80, targetPort: "http"}]}                 80       127.77.0.5:80
    {ports: [{name: "web", port: 81, targetPort: 8080}]}      "web"    127.77.0.5:8080
    {ports: [{name: "web", port: 81}]}                        80       127.77.0.5:80
    {ports: [{name: "dns", port: 80, protocol: "UDP"}]}       80       ServicePortNotTCP
ROWS
  # a Service, and an Ingress with the path /, for each row
  snapshot rules '.ingresses.items[0] as $one | [$rows | split("\n")[] | select(. != "") | split("\t")] as $rows
    | .services.items = ['"$(cut -f 1 "$dir/rows" | paste -sd ,)"'] | .services.items |= (to_entries | map({metadata: {namespace: "shop", name: "s\(.key)"}, spec: (.value + {type: "ExternalName", externalName: "api.example.com"})}))
    | .ingresses.items = [$rows | to_entries[] | .key as $n | .value[1] as $port | $one | .metadata += {namespace: "shop", name: "s\($n)"}
        | .spec.rules = [{host: "s\($n).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "s\($n)", port: ($port | fromjson | if type == "number" then {number: .} else {name: .} end)}}}]}}]]' \
    --arg rows "$(<"$dir/rows")" | sed '$d' >"$dir/snapshot"
  for ((number = 0; number < 8; number++)); do printf '%s\n' "${outside/apple/s$number}"; done >>"$dir/snapshot"
  echo '{"whole":true}' | cat "$dir/snapshot" - | "$bin/route" >"$dir/model.json"
  number=0
  while IFS=$'\t' read -r spec port want; do
    assert_row "$want" "$(jq -r --arg name "s$number" '[.upstreams[] | select(.service == "shop/\($name)").endpoints[]] + [.servers[].locations[] | select(.of == "Ingress shop/\($name)").reason // empty] | unique | join(" ")' "$dir/model.json")" "$spec" "$port"
    number=$((number + 1))
  done <"$dir/rows"
  with_outside "$outside" '{ports: [{port: 80, targetPort: 8080}]}' | serve_snapshot
  assert_equal shop "$(who_answers shop.example /)"
  assert_contains "$(ask shop.example /headers)" 'Host: shop.example'
  with_outside "$outside" '{ports: [{port: 80, appProtocol: "https"}]}' | "$bin/route" | "$bin/render" >"$dir/nginx.conf"
  assert_contains "$(<"$dir/nginx.conf")" 'proxy_ssl_name "api.example.com"; proxy_pass "https://apple.shop.80.https";'
}

@test "a name without addresses that are allowed is a 503 with a sentence, and stops nothing" {
  start_pods
  with_outside '{"outside":"shop/apple","why":"api.example.com does not resolve"}' | serve_snapshot
  assert_equal 'Service shop/apple is an ExternalName: api.example.com does not resolve: path / of Ingress shop/same-names.' "$(ask shop.example /)"
  assert_equal apple "$(who_answers fruit.example /apple)"
  with_outside '' | sed '/^$/d' | "$bin/route" >"$dir/model.json" # none is known of it
  assert_contains "$(problems)" 'ExternalNameNotServed: shop/same-names: Service shop/apple is an ExternalName: it could point anywhere'
}

# Runs COMMAND where names are asked of dnsmasq, which answers what is in $dir/hosts.
with_dns() { # COMMAND...
  printf 'nameserver 127.0.0.1\nsearch example.com\noptions timeout:1 attempts:1\n' >"$dir/resolv.conf"
  unshare --mount bash -c 'mount --bind "$1" /etc/resolv.conf && shift && "$@"' _ "$dir/resolv.conf" "$@"
}

dns_says() { # LINE...
  printf '%s\n' "$@" >"$dir/hosts"
  [[ ! -s $dir/dns.pid ]] || kill -HUP "$(<"$dir/dns.pid")"
}

pass() {
  with_dns bash -c 'source "$1/fetch" && program=fetch resolve_seconds=0 && patience() { echo 60; } && fetch "$2"' _ "$bin" "$dir/lists-read" >"$dir/snapshot"
}

# Whether a pass leads there. (dnsmasq needs a moment to read its file; "asked" makes a pass wait for the answer.)
leads_to() { # ADDRESSES
  rm -f "$dir/lists-read/asked"
  pass
  [[ $(called) == "$1" ]]
}

# What nginx would call: the addresses in nginx.conf.
called() {
  "$bin/route" <"$dir/snapshot" | tee "$dir/model.json" | "$bin/render" | sed -nE 's/^    server "([^"]*)".*/\1/p' | xargs
}

@test "a real DNS server whose answer turns: no address of inside gets to nginx.conf, in no form" {
  command -v dnsmasq >/dev/null || skip 'there is no dnsmasq'
  unshare --mount true 2>/dev/null || skip 'not as this user'
  ip addr add 192.0.2.7/32 dev lo 2>/dev/null || skip 'not in this network' # or the resolver would look for no IPv4
  ip -6 addr add 2001:db8::7/128 dev lo 2>/dev/null || skip 'there is no IPv6'
  mapfile -t answers < <(for n in {0..8}; do echo "8.8.8.$((n + 1)) s$n.example.com"; done)
  dns_says "${answers[@]}"
  dnsmasq --no-resolv --no-hosts --addn-hosts="$dir/hosts" --port=53 --listen-address=127.0.0.1 --bind-interfaces --pid-file="$dir/dns.pid" --user=root --local-ttl=0
  # Services s0 to s8 have the names s0.example.com to s8.example.com, and an Ingress with the path / of such a host
  start_api rules '.ingresses.items[0] as $one
    | .services.items = [range(9) | {metadata: {namespace: "shop", name: "s\(.)"}, spec: {type: "ExternalName", externalName: "s\(.).example.com"}}]
    | .endpointSlices.items = []
    | .ingresses.items = [range(9) as $n | $one | .metadata += {namespace: "shop", name: "s\($n)"}
        | .spec.rules = [{host: "s\($n).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "s\($n)", port: {number: 80}}}}]}}]]'
  be_the_proxy
  export EXTERNAL_NAMES='*.example.com'
  wait_for 60 leads_to "$(printf '8.8.8.%s:80 ' 1 2 3 4 5 6 7 8 9 | sed 's/ $//')"
  # each but the last turns; of one, a second address is inside
  dns_says '10.0.0.1 s0.example.com' '127.0.0.1 s1.example.com' '169.254.169.254 s2.example.com' '::1 s3.example.com' '::ffff:10.0.0.1 s4.example.com' \
    'fe80::1 s5.example.com' 'fd00::1 s6.example.com' '8.8.8.8 s7.example.com' '10.0.0.1 s7.example.com' '8.8.8.9 s8.example.com'
  wait_for 60 leads_to 8.8.8.9:80
  assert_equal 8 "$(problems | grep -c 'turns to an address inside of the cluster')"
  dns_says '8.8.8.1 s0.example.com' '8.8.8.2 s1.example.com.example.com' # by way of the search list
  wait_for 60 leads_to 8.8.8.1:80
  assert_contains "$(problems)" 'Service shop/s1 is an ExternalName: s1.example.com does not resolve'
  kill -STOP "$(<"$dir/dns.pid")" # silence is bounded in time, and stops nothing
  wait_for 60 leads_to ''
  kill -CONT "$(<"$dir/dns.pid")"
}
