# What explain says of requests is what nginx does with them.
load helpers

setup() {
  common_setup
  export KUBECONFIG=/dev/null # there is no cluster
  export TCP_SERVICES=ing/tcp UDP_SERVICES=ing/udp
}
teardown() { common_teardown; }

# The pods of the clusters of combinations.jq. Each also plays a login service: it lets nobody in whose request says so.
start_random_pods() {
  local addresses
  addresses=$(printf '    listen %s;\n' 127.78.{0..5}.{1,2}:{8080,'8443 ssl'})
  "$bin/certificates" default
  printf 'joe:{PLAIN}good\n' | tee "$STATE_DIR/keys/users.map.htpasswd" >"$STATE_DIR/keys/users.file.htpasswd"
  chmod -R a+rX "$STATE_DIR/keys"
  cat >"$dir/pods.conf" <<CONF
pid $dir/pods.pid;
error_log $dir/pods.log crit;
events {}
http {
  access_log off;
$(temp_paths "$dir/pods")
  map "\$http_x_original_method|\$http_x_login" \$code { ~^.+[|]no\$ 401; default 200; }
  server {
$addresses
    ssl_certificate $STATE_DIR/keys/default.pem; ssl_certificate_key $STATE_DIR/keys/default.pem;
    large_client_header_buffers 16 16k;
    if (\$code = 401) { return 401; }
    location / { add_header X-Pod \$server_addr:\$server_port; return 200; }
  }
}
CONF
  mkdir -p "$dir/pods"
  nginx -e stderr -c "$dir/pods.conf"
}

# A line of JSON on standard input becomes what curl is to do: each question is asked twice, as logins are given or not;
# and often where a canary may have its share. Its number and the way are its ID, which nginx logs.
curl_config() {
  jq -r --arg http "$HTTP_PORT" --arg https "$HTTPS_PORT" '
    def quoted: "\"\(gsub("\\\\"; "\\\\") | gsub("\""; "\\\""))\"";
    (.url | capture("^(?<scheme>[a-z]+)://(?<host>[^/]+)(?<target>.*)$")) as {$scheme, $host, $target}
    | ("yes", "no") as $login
    | range(if $login == "yes" then .times else 1 end) as $time
    | "next",
      "url = \("\($scheme)://\($host | sub("[.]?(:[0-9]+)?$"; ""))\($target)" | quoted)",
      "connect-to = \(if $scheme == "http" then "::127.0.0.1:\($http)" else "::127.0.0.1:\($https)" end | quoted)",
      "header = \("Host: \($host)" | quoted)", "header = \("X-Request-ID: \(.number).\($login).\($time)" | quoted)", "header = \("X-Login: \($login)" | quoted)",
      "header = \("X-Forwarded-For: \(.from)" | quoted)", "header = \("X-Client: \(.from)" | quoted)",
      (select($scheme == "https") | "interface = \(.from)"),
      (.headers[] | "header = \(quoted)"),
      "request = \(.method | quoted)", (select(.method == "POST") | "data = \"\""),
      "insecure", "http1.1", "path-as-is", "globoff", "silent", "output = \"/dev/null\"", "max-time = 20",
      "write-out = \"\(.number).\($login).\($time)\\t%{http_code}\\t%header{location}\\t%header{x-pod}\\n\""'
}

# The snapshot of tables/explain.yaml, which all tests of this file share; and the same with an operator's ConfigMap.
shop() {
  local file=$BATS_FILE_TMPDIR/shop
  [[ -e $file ]] || CONFIGMAP='' snapshot_of_tables explain.yaml >"$file"
  echo "$file"
}

operated_shop() {
  local file=$BATS_FILE_TMPDIR/operated_shop
  [[ -e $file ]] || CONFIGMAP=ing/keys snapshot_of_tables explain.yaml explain-configmap.yaml >"$file"
  echo "$file"
}

snapshot_of_tables() ( # FILE...
  source "$bin/settings"
  source "$bin/lib/check/manifests/manifests.bash"
  read_manifests "$dir/manifests" "${@/#/$BATS_TEST_DIRNAME/tables/}"
  empty_snapshot | with_manifests "$dir/manifests"
)

# Asks, and sets output and status.
explain() { # ARGUMENT...
  run "$bin/explain" --snapshot "$(shop)" "$@"
}

# Fails unless explain ends with STATUS and its text has TEXT.
assert_explained() { # STATUS TEXT -- ARGUMENT...
  explain "${@:4}"
  assert_equal "$1" "$status"
  assert_contains "$output" "$2"
}

# What the tests of this file ask, a line each: URL, and perhaps a header and the client's address. One run answers all
# questions about a snapshot.
questions() { # FUNCTION
  sed -n "s/^ *$1 '\\([^']*\\)'.*/\\1/p" "$BATS_TEST_FILENAME"
}

# Sets output and status to what explain says of one of them.
asked() { # 'URL|HEADER|ADDRESS' STATUS TEXT...
  answered asked "$(shop)" "$@"
}

# The same where the operator has a ConfigMap.
with_keys() { # 'URL|HEADER|ADDRESS' STATUS TEXT...
  answered with_keys "$(operated_shop)" "$@"
}

answered() { # FUNCTION SNAPSHOT 'URL|HEADER|ADDRESS' STATUS TEXT...
  local all=$BATS_FILE_TMPDIR/explained-$1 text
  if [[ ! -e $all ]]; then
    questions "$1" | jq -R -c 'split("|") | {url: .[0], method: "GET", headers: [.[1] // "" | select(. != "")], from: (.[2] // "192.0.2.1"), line: join("|")}' >"$dir/questions"
    "$bin/explain" --snapshot "$2" --questions "$dir/questions" --json >"$all.new" || (($? == 1))
    paste <(questions "$1") "$all.new" >"$all"
  fi
  awk -F '\t' -v line="$3" '$1 == line { print $2; exit }' "$all" >"$dir/one"
  output=$(jq -r -L "$bin/lib" -f "$bin/lib/explain/text.jq" "$dir/one")
  assert_equal "$4" "$(jq .exit "$dir/one")"
  for text in "${@:5}"; do assert_contains "$output" "$text"; done
}

@test "a pod answers: which rule decides, which it beats, who lost the host and the path, and what the pod gets" {
  asked 'http://shop.example/carts/new/pay' 0 'a pod of Service shop/next, port 80, answers: one of 10.0.0.9:8080' '/carts/new/pay: Prefix /carts/new of shop/shop decides' 'counts less: Prefix /carts of shop/shop' 'lost: other/thief: host shop.example belongs to namespace shop' 'Host: shop.example' 'EndpointSlice shop/next-1: 1 ready' 'shop/shop, the rule for host shop.example, path /carts/new (Prefix)'
  asked 'http://shop.example/carts?a=b' 0 'one of 10.0.0.1:8080, 10.0.0.2:8080' 'lost: shop/late: Prefix path /carts of host shop.example is already taken by Ingress shop/shop'
  refute_contains "$output" 10.0.0.3
}

@test "for a 404, the nearest paths are named; and status 1 says that no pod answers" {
  asked 'http://shop.example/cart/7' 1 'nginx answers 404' 'no path matches /cart/7' 'there is Exact /cart of shop/shop' 'there is Prefix /carts of shop/shop'
  asked 'shop.example/cart' 0 'Exact /cart of shop/shop decides'
  asked 'http://none.example/' 1 'nginx answers 404' 'no Ingress names none.example'
}

@test "a wildcard answers for one label, in any case and with a port, and nobody for two" {
  asked 'http://A.Shop.Example:8000/x' 0 '*.shop.example is the wildcard that matches'
  asked 'http://a.b.shop.example/x' 1 'no Ingress names a.b.shop.example'
}

@test "a path is told as nginx reads it, and what nginx refuses is told, too" {
  asked 'http://shop.example//carts/%6eew/x' 0 '/carts/new/x: Prefix /carts/new of shop/shop decides' 'GET //carts/%6eew/x'
  asked 'http://shop.example/carts/../cart' 1 'nginx answers 400' 'a segment "." or ".."'
}

@test "without ready pods, without a Service, or without the protection that is asked for, the reason is told and the stage that found it" {
  asked 'http://shop.example/idle' 1 'nginx answers 503' 'NoReadyEndpoints: Service shop/idle has no ready endpoint for port 80' 'EndpointSlice shop/idle-1: 0 ready' 'stage located'
  asked 'http://shop.example/missing' 1 'nginx answers 503' 'ServiceNotFound: Service shop/gone does not exist' 'it has no EndpointSlice' 'stage answered'
  asked 'http://closed.example/' 1 'nginx answers 503' 'ProtectionNotAvailable: closed, because its protection is not available here: Secret shop/none does not exist' 'stage as_annotations_say'
}

@test "source ranges are judged for the address that the question names" {
  asked 'http://staff.example/' 1 'nginx answers 403' 'allowlist-source-range: 10.0.0.0/8: answers 403'
  asked 'http://staff.example/||10.1.1.1' 0 'allowlist-source-range: 10.0.0.0/8: lets it pass' 'X-Forwarded-For: 10.1.1.1'
}

@test "redirects are told with their target, and HTTPS is spoken for a URL that has it" {
  asked 'http://moved.example/x' 1 'nginx answers 301, and sends the client to https://new.example/there' 'permanent-redirect: https://new.example/there: answers 301'
  asked 'http://secure.example/a?b=c' 1 'nginx answers 308, and sends the client to https://secure.example/a?b=c'
  asked 'https://secure.example/a' 0 'a pod of Service shop/cart' 'X-Forwarded-Proto: https' 'the default one, which clients do not trust'
}

@test "a pod is told the path that a rewrite-target has made" {
  asked 'http://api.example/v1/a/b?c=d' 0 'GET /api/a/b?c=d' 'rewrite-target: /api/$1'
}

@test "a login is asked for; where the passwords are not at hand, both answers are named" {
  asked 'http://users.example/' 1 'nginx answers 401' 'auth-secret: users: answers 401'
  asked 'http://users.example/|Authorization: Basic am9lOng=' 0 'if the password is right: a pod of Service shop/cart' 'if the password is wrong: nginx answers 401'
  mkdir -p "$STATE_DIR/keys"
  printf 'joe:{PLAIN}x\n' >"$STATE_DIR/keys/$(jq -r 'select(.certificate == "shop/users").file' "$(shop)")"
  chmod -R a+rX "$STATE_DIR/keys"
  assert_explained 0 'answer      a pod of Service shop/cart' -- -H 'Authorization: Basic am9lOng=' http://users.example/
  assert_explained 1 'nginx answers 401' -- -H 'Authorization: Basic am9lOnk=' http://users.example/
}

@test "what another service, chance or a counter decides is named with its condition" {
  asked 'http://asked.example/' 0 'if the login service says 2xx: a pod of Service shop/cart' 'if the login service does not say 2xx: nginx answers 401'
  asked 'http://canary.example/' 0 'if it has no part in the share of the canary: a pod of Service shop/cart' 'if it has a part in the share of the canary shop/canary: a pod of Service shop/next'
  asked 'http://canary.example/|X-Canary: always' 0 'answer      a pod of Service shop/next' 'takes it'
  asked 'http://canary.example/|X-Canary: never' 0 'answer      a pod of Service shop/cart'
  asked 'http://limited.example/' 0 'if this client asks too often: nginx answers 503'
}

@test "of a host whose TLS is passed on, the pods are told that get it, by whose annotation, and whom source ranges keep out" {
  asked 'https://vault.example/x||10.1.1.1' 0 'one of 10.0.0.9:8080' '/x: the pod reads it' 'allowlist-source-range: 10.0.0.0/8: lets it pass' 'ssl-passthrough: nginx reads the name in the handshake, and no more: it goes on to the pod as it comes' 'Service     shop/next, port 80' 'EndpointSlice shop/next-1: 1 ready' 'shop/vault, the rule for host vault.example' 'stage as_annotations_say'
  refute_contains "$output" certificate
  refute_contains "$output" 'pod gets'
  asked 'https://vault.example/' 1 'nginx answers 421' 'allowlist-source-range: 10.0.0.0/8: answers 421'
  asked 'http://vault.example/x' 1 'sends the client to https://vault.example/x'
}

@test "of a port of TCP or UDP, its entry, Service and pods are told, or why nobody listens there" {
  asked 'tcp://:9000' 0 'a pod of Service shop/cart, port 80, answers: one of 10.0.0.1:8080, 10.0.0.2:8080' '9000 is a key of ConfigMap ing/tcp' 'the client speaks the PROXY protocol' 'EndpointSlice shop/cart-1: 2 ready' 'ConfigMap ing/tcp, key 9000'
  asked 'tcp://any.example:9001' 1 'nobody: ConfigMap ing/tcp: TCP port 9001 is not listened on: Service shop/gone does not exist' 'it has no EndpointSlice'
  asked 'tcp://:9002' 1 'no entry of ConfigMap ing/tcp is for TCP port 9002' 'there is TCP port 9000, of Service shop/cart, port 80'
  asked 'udp://:9000' 1 'no entry of ConfigMap ing/udp is for UDP port 9000'
}

@test "what a key of the ConfigMap of CONFIGMAP decides is told with the names of both" {
  with_keys 'http://shop.example/carts/x||192.0.2.77' 1 'nginx answers 403: This is not allowed.' 'shop.example is named by a rule' 'nginx answers before it looks for a rule' 'blocked: clients in 192.0.2.77/32; User-Agents "~*badbot" (keys block-cidrs, block-user-agents of ConfigMap ing/keys): answers 403'
  with_keys 'http://shop.example/carts/x|User-Agent: BadBot/1' 1 'nginx answers 403: This is not allowed.'
  with_keys 'http://shop.example/carts/x||10.1.1.1' 0 'client address: said by proxies in 10.0.0.0/8 (keys use-forwarded-headers, proxy-real-ip-cidr of ConfigMap ing/keys): it is 10.1.1.1' 'redirect: none to HTTPS for paths that begin with /carts (key no-tls-redirect-locations of ConfigMap ing/keys)' 'login: none for paths that begin with /cart (key no-auth-locations of ConfigMap ing/keys): lets it pass' 'log: no line is written (key access-log-path of ConfigMap ing/keys)' 'X-Forwarded-For: 10.1.1.1' '/carts/x: Prefix /carts of shop/shop decides'
  with_keys 'http://shop.example/idle' 1 'nginx answers 301' 'HTTP clients are sent to HTTPS with 301 (keys force-ssl-redirect, http-redirect-code of ConfigMap ing/keys): answers 301'
  with_keys 'https://x.shop.example/a' 0 'if the login service says 2xx: a pod of Service shop/cart' 'login: auth-url: http://login.shop.svc/ (key global-auth-url of ConfigMap ing/keys)' '/a: Prefix / of shop/shop decides'
}

@test "a ConfigMap among the files counts, for the Ingresses of the cluster, too; and without one, that of the snapshot does" {
  export CONFIGMAP=ing/keys
  mkdir -p "$STATE_DIR"/{live,scratch/loop/lists/last}
  CONFIGMAP='' snapshot_of_tables explain.yaml >"$STATE_DIR/live/snapshot"
  "$bin/route" <"$STATE_DIR/live/snapshot" >"$STATE_DIR/live/model.json"
  jq -c '{metadata} + . | select(.kind == "Ingress")' "$dir/manifests/objects" | paste -s -d , | sed 's/$/]}/' >"$STATE_DIR/scratch/loop/lists/last/ingresses"
  run "$bin/explain" --changes -f "$BATS_TEST_DIRNAME/tables/explain-configmap.yaml"
  assert_equal 0 "$status"
  assert_contains "$output" 'the annotations differ: auth-url, auth-url-by-default, force-ssl-redirect'
  run "$bin/explain" --snapshot "$(operated_shop)" -f "$BATS_TEST_DIRNAME/tables/explain.yaml" --from 192.0.2.77 http://shop.example/
  assert_contains "$output" 'This is not allowed.'
}

@test "a certificate is named with its Secret and its end" {
  make_pair "$dir/pair" secure.example ecdsa
  jq -n --rawfile crt "$dir/pair.crt" --rawfile key "$dir/pair.key" '{apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls",
    metadata: {name: "pair", namespace: "shop"}, data: {"tls.crt": ($crt | @base64), "tls.key": ($key | @base64)}}' >"$dir/pair.json"
  assert_explained 0 'Secret shop/pair for secure.example, until 20' -- -f "$dir/pair.json" https://secure.example/
}

@test "a question that is none ends with status 2 and a sentence" {
  assert_explained 2 'is no URL' -- 'http://'
  assert_explained 2 'write a space as %20' -- 'http://a.example/a b'
  assert_explained 2 'a URL is needed' --
  assert_explained 2 '--nonsense is no option' -- --nonsense
  run "$bin/explain" http://a.example/
  assert_equal 2 "$status"
  assert_contains "$output" "there is no $STATE_DIR/live/snapshot"
}

@test "of what is live, the lines of nginx.conf are told, and of a file the field" {
  mkdir -p "$STATE_DIR/live"
  cp "$(shop)" "$STATE_DIR/live/snapshot"
  "$bin/route" <"$STATE_DIR/live/snapshot" >"$STATE_DIR/live/model.json"
  "$bin/render" <"$STATE_DIR/live/model.json" >"$STATE_DIR/live/nginx.conf"
  run "$bin/explain" http://shop.example/carts/new/x
  assert_equal 0 "$status"
  [[ $output =~ "nginx.conf, line "([0-9]+)" and line "([0-9]+) ]]
  assert_contains "$(sed -n "${BASH_REMATCH[2]}p" "$STATE_DIR/live/nginx.conf")" 'location "/carts/new/" { set $ingress "shop/shop";'
  assert_explained 0 'the field .spec.rules[0].http.paths[2]' -- -f "$BATS_TEST_DIRNAME/tables/explain.yaml" http://shop.example/carts/new/x
}

@test "--all is a table of every host and path, with the problems" {
  explain --all
  assert_equal 0 "$status"
  assert_contains "$output" "$(printf 'shop.example     /idle       Prefix             shop/shop       503 NoReadyEndpoints')"
  assert_contains "$output" 'other/thief: HostTaken: host shop.example belongs to namespace shop'
  assert_contains "$output" 'TLS passed on to Service shop/next, port 80, 1 pod'
  assert_contains "$output" 'port 9000        -           TCP                TCP_SERVICES    Service shop/cart, port 80, 2 pods, PROXY'
}

@test "--changes names what would go elsewhere, what would become an error, and which problems come and go" {
  cat >"$dir/shop.yaml" <<'YAML'
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: shop}
spec:
  ingressClassName: bash
  rules: [{host: shop.example, http: {paths: [{path: /carts/new, pathType: Prefix, backend: {service: {name: nowhere, port: {number: 80}}}}]}}]
YAML
  explain --changes -f "$dir/shop.yaml" --diff
  assert_equal 0 "$status"
  assert_contains "$output" "shop.example /carts (Prefix)
  - Service shop/cart, port 80, 2 pods, of shop/shop
  + Service shop/next, port 80, 1 pod, of shop/late"
  assert_contains "$output" 'shop.example /carts/new (Prefix): an error from then on'
  assert_contains "$output" 'new: shop/shop: ServiceNotFound: Service shop/nowhere does not exist'
  assert_contains "$output" 'gone: shop/late: PathTaken'
  assert_contains "$output" '-    location = "/cart" { set $ingress "shop/shop"; proxy_pass "http://cart.shop.80"; }'
  # a host with rules of its own is its wildcard's no more
  edit "$dir/shop.yaml" 's/host: shop.example/host: new.shop.example/; s/name: shop,/name: new,/'
  explain --changes -f "$dir/shop.yaml"
  assert_contains "$output" "new.shop.example / (Prefix)
  - Service shop/cart, port 80, 2 pods, of shop/shop
  + nobody (404, or a rule for more)"
  explain --changes -f "$BATS_TEST_DIRNAME/tables/explain.yaml"
  assert_equal 'No request would go elsewhere.' "$output"
}

@test "nothing stays behind: no nginx, and no folder" {
  TMPDIR=$dir explain http://shop.example/cart
  assert_equal 0 "$status"
  assert_equal '' "$(find "$dir" -name 'explain.*')"
  wait_for 10 no_nginx_of_explain
}

no_nginx_of_explain() {
  ! pgrep -f "nginx.*$dir/explain" >/dev/null
}

# --- the proof

@test "whatever is asked of whatever cluster, the answer is one that explain names, and each that it names can be had" {
  local number=${FIRST_CLUSTER:-1} clusters=${CLUSTERS:-3} count=${REQUESTS:-30} asked=0 unsure=0
  start_random_pods
  export ACCESS_LOG=json TRUSTED_PROXIES=127.0.0.1
  while IFS= read -r lists; do
    mapfile -t settings < <(jq -r '{CONFIGMAP: "", DEFAULT_BACKEND: ""} + .settings | to_entries[] | "\(.key)=\(.value)"' <<<"$lists")
    export "${settings[@]}"
    "$fixtures/snapshot" <<<"$lists" >"$dir/snapshot"
    : >"$dir/access.log"
    echo "FIRST_CLUSTER=$number" >"$dir/this.log" # which is shown if this fails
    serve_snapshot <"$dir/snapshot"
    jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson cluster "$number" --argjson count "$count" -f "$BATS_TEST_DIRNAME/tables/questions.jq" >"$dir/questions"
    "$bin/explain" --snapshot "$dir/snapshot" --questions "$dir/questions" --json >"$dir/explained" || (($? == 1))
    jq -c -s --slurpfile explained "$dir/explained" 'to_entries[] | .value + {number: .key, times: (if any($explained[.key].answers[].when // ""; test("share")) then 40 else 1 end)}' "$dir/questions" >"$dir/asks"
    curl_config <"$dir/asks" | curl -K - >"$dir/got"
    wait_for 15 all_logged
    compared=$(jq -n -r --slurpfile explained "$dir/explained" --rawfile got "$dir/got" --slurpfile log "$dir/logged" -f "$BATS_TEST_DIRNAME/tables/compared.jq")
    [[ $compared != *different* ]] || { echo "cluster $number: $compared" && return 1; }
    asked=$((asked + count)) unsure=$((unsure + ${compared##* })) number=$((number + 1))
  done < <(jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson first "$number" --argjson count "$clusters" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" \
    --argjson classes "$(jq -c .ingressClasses "$fixtures/rules/lists.json")" -f "$BATS_TEST_DIRNAME/tables/combinations.jq" | sed 's/"10[.]1[.]/"127.78./g')
  echo "# $asked requests, $((unsure * 1000 / asked)) in a thousand have several answers" >&3
  assert_equal "$((${FIRST_CLUSTER:-1} + clusters))" "$number"
  ((unsure * 100 < asked * 15))
}

# Each request is logged, whatever annotations and the ConfigMap say; and each login is asked for: an answer of the
# login service that is kept would let the next one in, too.
change_live() {
  sed -e 's/access_log off; //; s/proxy_cache auth_answers_256k;/proxy_cache off;/' -e '/^http {/,$ { /lost_cookies/! s/^  access_log .*/  access_log \/dev\/stdout json buffer=4k flush=100ms;/; }' \
    "$STATE_DIR/live/nginx.conf" >"$dir/logging.conf"
  mv "$dir/logging.conf" "$STATE_DIR/live/nginx.conf"
}

# (What a pod says itself may have come over a connection that is passed on.)
all_logged() {
  grep -a '"request_id"' "$dir/access.log" >"$dir/logged"
  awk -F '\t' '$2 != "000" && $4 == "" { print "\"request_id\":\"" $1 "\"" }' "$dir/got" >"$dir/wanted"
  (($(grep -a -c -F -f "$dir/wanted" "$dir/logged") == $(wc -l <"$dir/wanted")))
}
