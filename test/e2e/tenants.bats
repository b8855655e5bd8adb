# What a tenant may try with the rights of one namespace. While the objects are there, a neighbour has no harm.
# (An endpoint that moves all the time is in faults-load.bats.)
load helpers
load tenants

setup_file() { setup_tenants; }
teardown_file() { remove_tenants; }

setup() {
  wait_for 60 tenant_is_gone
  begin_asking
}

teardown() {
  kill "$asking" ${watching[@]+"${watching[@]}"}
  [[ -n ${BATS_TEST_COMPLETED-} ]] || explain_tenants
  kubectl -n e2e delete secret platform --ignore-not-found >/dev/null
  tenant_deletes_all
}

# --- what could hold up everybody's changes

@test "a Service, an Ingress, an EndpointSlice and a Secret whose managedFields nest 5,200 levels deep are left out alone" {
  objects 'service("deep"), ingress("deep"; ["deep.example"]), slice("deep"; ["10.0.0.1"]; 80), tls_secret("deep"; "a"; "b") | nested' |
    sed "s/\"NESTED\"/$(nested 5200)/g" | tenant create --validate=false -f - >/dev/null
  tenant_creates 'ingress("names-it"; ["names-it.example"]) | with_tls({secretName: "deep"})'
  assert_neighbour_unharmed 'Service tenant/deep is left out'
  for kind in Ingress EndpointSlice Secret; do wait_for_line 10 "$kind tenant/deep" log_of_test; done
}

@test "1,700 host names of one hash value quarantine their own Ingress and nobody else's" {
  tenant_creates 'range(2) as $half | ingress("colliding-\($half)"; colliding_hosts($half * 850; $half * 850 + 850))'
  assert_neighbour_unharmed 'Ingress tenant/colliding-[01]: it is quarantined.*(RejectedByNginx)'
}

@test "1,700 names of one hash value in spec.tls harm nobody either" {
  make_pair "$BATS_TEST_TMPDIR/pair" colliding.example ecdsa
  tenant_stores pair
  tenant_creates 'range(2) as $half | ingress("colliding-\($half)"; ["one-\($half).example"]) | with_tls({hosts: colliding_hosts($half * 850; $half * 850 + 850), secretName: "pair"})'
  assert_neighbour_unharmed 'Ingress tenant/colliding-[01]: .*'
}

@test "a private key that is encrypted is left out, wherever in the Secret it stands and whatever its label says" {
  make_pair "$BATS_TEST_TMPDIR/pair" locked.example ecdsa
  openssl pkcs8 -topk8 -in "$BATS_TEST_TMPDIR/pair.key" -passout pass:secret -out "$BATS_TEST_TMPDIR/locked"
  tenant_creates '
    tls_secret("key"; $certificate; $locked),
    tls_secret("before"; $locked + $certificate; $key),
    tls_secret("after"; $certificate + $locked; $key),
    tls_secret("disguised"; $certificate; $locked | gsub("ENCRYPTED "; "")),
    ("key", "before", "after", "disguised" | ingress(.; ["\(.).example"]) | with_tls({secretName: .metadata.name}))' \
    --rawfile locked "$BATS_TEST_TMPDIR/locked" --rawfile certificate "$BATS_TEST_TMPDIR/pair.crt" --rawfile key "$BATS_TEST_TMPDIR/pair.key"
  assert_neighbour_unharmed 'Ingress tenant/key: Secret tenant/key: .*(PrivateKeyEncrypted)'
  wait_for_line 20 'Ingress tenant/disguised: Secret tenant/disguised: .*(PrivateKeyInvalid)' log_of_test
  assert_equal '' "$(<"$wrong_answers")"
}

@test "a certificate that is an empty block of PEM, of which nginx says nothing but that it failed, is left out" {
  make_pair "$BATS_TEST_TMPDIR/empty" empty.example ecdsa
  printf -- '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n' >>"$BATS_TEST_TMPDIR/empty.crt"
  tenant_stores empty
  tenant_creates 'ingress("empty"; ["empty.example"]) | with_tls({secretName: "empty"})'
  assert_neighbour_unharmed 'Ingress tenant/empty: Secret tenant/empty: '
}

@test "a key on a curve that is not for the web is left out" {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:secp256k1 -nodes -days 1 -subj /CN=odd -addext subjectAltName=DNS:odd.example \
    -keyout "$BATS_TEST_TMPDIR/odd.key" -out "$BATS_TEST_TMPDIR/odd.crt" 2>/dev/null
  tenant_stores odd
  tenant_creates 'ingress("odd"; ["odd.example"]) | with_tls({hosts: ["odd.example"], secretName: "odd"})'
  assert_neighbour_unharmed 'Ingress tenant/odd: Secret tenant/odd: .*(KeyRefused)'
  always_certificate 'bash-ingress default certificate' odd.example
}

# Who fills a namespace to its limits makes each pass longer, for all, but not for long.

@test "many thousands of hosts are limited, and the log says so" {
  local number=20
  [[ ${FAULTS-} != long ]] || number=85
  tenant_creates "range($number)"' | . as $number | ingress("wide-\($number)"; [range(1000) | "h\(.).wide-\($number).example"])'
  assert_neighbour_unharmed 'Ingress tenant/wide-[0-9]*: .*(LimitExceeded)'
}

@test "thousands of wildcard hosts are limited, and a request for a host that nobody has is answered as fast as before" {
  tenant_creates 'range(20) | . as $number | ingress("wild-\($number)"; [range(240) | "*.w\(.).wild-\($number).example"])'
  assert_neighbour_unharmed 'Ingress tenant/wild-[0-9]*: .*(LimitExceeded)'
  fastest=$(for _ in {1..10}; do ask nobody.has.this.example / -o /dev/null -w '%{time_total} %{http_code}\n'; done | sort -n | head -n 1)
  echo "# a host that nobody has: $fastest" >&3
  [[ $fastest == 0.0*' 404' ]]
}

@test "9,000 paths in one Ingress are limited" {
  tenant_creates 'ingress("paths"; ["paths.example"]; [range(9000) | path("/\(.)"; "Prefix")])'
  assert_neighbour_unharmed 'Ingress tenant/paths: .*(LimitExceeded)'
}

@test "3,000 entries of spec.tls for 900 hosts are not multiplied" {
  tenant_creates 'ingress("product"; [range(900) | "p\(.).example"]) | with_tls(range(3000) | {secretName: "s\(.)"})'
  assert_neighbour_unharmed 'Ingress tenant/product: '
}

# Notes from now on, until the test ends, how many KiB the controllers' folder in memory holds, but for the last
# changes, which have a bound of their own (lib/loop/changes/record.bash).
watch_state() {
  local pod
  for pod in $(controller_pods); do
    kubectl -n bash-ingress exec "$pod" -- timeout 300 bash -c 'while du -sk --exclude changes --exclude page /tmp/bash-ingress 2>/dev/null || true; do sleep 0.1; done' >>"$BATS_TEST_TMPDIR/state" 3>&- &
    watching+=("$!")
  done
}

assert_state_is_small() {
  kill -0 "${watching[@]}"
  most=$(sort -n "$BATS_TEST_TMPDIR/state" | tail -n 1 | cut -f 1)
  echo "# most KiB in STATE_DIR: $most" >&3
  ((most > 0 && most < 20000))
}

@test "dozens of Secrets of 1 MiB fill no memory, neither unused ones nor those that an Ingress names" {
  head -c 510000 /dev/urandom | od -A n -v -t x1 | tr -d ' \n' >"$BATS_TEST_TMPDIR/large"
  objects 'tls_secret("large-NUMBER"; $large; "b")' --rawfile large "$BATS_TEST_TMPDIR/large" | jq -c '.items[0]' >"$BATS_TEST_TMPDIR/secret"
  watch_state
  tenant_posts_copies 40 "$BATS_TEST_TMPDIR/secret" /api/v1/namespaces/tenant/secrets
  assert_neighbour_unharmed ''
  assert_state_is_small
  tenant_creates 'ingress("large"; [range(40) | "large-\(.).example"]) | with_tls(range(40) | {secretName: "large-\(.)", hosts: ["large-\(.).example"]})'
  assert_neighbour_unharmed 'Ingress tenant/large: '
  assert_state_is_small
}

# Opens a connection to the tenant's Ingress and sends a body but for its last byte. sockets has one more.
send_most_of_a_body() { # BYTES
  local address socket
  address=$(address_with_port)
  exec {socket}<>"/dev/tcp/${address%:*}/${address##*:}"
  sockets+=("$socket")
  { printf 'POST / HTTP/1.1\r\nHost: bodies.example\r\nContent-Length: %d\r\n\r\n' "$(($1 + 1))" && head -c "$1" /dev/zero; } >&"$socket" || true
} 2>/dev/null # one that is refused may be closed meanwhile

# Prints the first words of the answers that are there, each once, and closes the connections.
answers_until_now() {
  local socket answer
  for socket in "${sockets[@]}"; do
    read -r -t 0.02 -u "$socket" answer || answer='none yet'
    echo "${answer:0:12}" >>"$BATS_TEST_TMPDIR/answers"
    exec {socket}>&-
  done
  sort -u "$BATS_TEST_TMPDIR/answers" | xargs
}

@test "bodies that nginx holds have a volume of their own: who fills it gets a 500, and a small body needs no room there" {
  tenant_creates 'service("backend"), slice("backend"; ["10.0.0.1"]; 80), (ingress("bodies"; ["bodies.example"]) | .metadata.annotations = {
    "nginx.ingress.kubernetes.io/proxy-request-buffering": "on", "nginx.ingress.kubernetes.io/proxy-body-size": "8m"})'
  kubectl -n e2e create ingress held --class bash --rule 'held.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/proxy-request-buffering=on >/dev/null
  wait_for 20 always_status 200 held.example / -d small
  local sockets=()
  for _ in {1..90}; do send_most_of_a_body 8000000; done
  assert_neighbour_unharmed ''
  wait_for 10 always_status 200 held.example / -d small
  assert_equal 'HTTP/1.1 500 none yet' "$(answers_until_now)"
}

@test "large bodies that nginx holds for a namespace leave half of that volume to others: one too many is refused" {
  tenant_creates 'service("backend"), slice("backend"; ["10.0.0.1"]; 80), (ingress("bodies"; ["bodies.example"]) | .metadata.annotations = {
    "nginx.ingress.kubernetes.io/proxy-request-buffering": "on", "nginx.ingress.kubernetes.io/proxy-body-size": "50m"})'
  kubectl -n e2e create ingress held-too --class bash --rule 'held-too.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/proxy-request-buffering=on >/dev/null
  wait_for 20 always_status 200 held-too.example / -d small
  head -c 900000 /dev/zero >"$BATS_TEST_TMPDIR/body"
  local sockets=()
  for _ in {1..12}; do send_most_of_a_body 50000000; done
  assert_equal 200 "$(ask held-too.example / -o /dev/null -w '%{http_code}' --data-binary "@$BATS_TEST_TMPDIR/body")"
  assert_equal 'HTTP/1.1 503 none yet' "$(answers_until_now)"
  (($(grep -c 'none yet' "$BATS_TEST_TMPDIR/answers") <= 2 * $(controller_pods | wc -w)))
}

@test "an Ingress with 5,000 mistakes leaves the neighbour's problem in the log, and in the Events" {
  tenant_creates 'ingress("mistakes"; ["mistakes.example"]; [range(4990) | path("/mistake-\(.);"; "Prefix")])'
  create_ingress mistaken 'mistaken.example/*=missing:80' >/dev/null
  assert_neighbour_unharmed 'Ingress tenant/mistakes: .*(PathRefused)'
  wait_for_line 10 'Ingress e2e/mistaken: Service e2e/missing does not exist (ServiceNotFound)' log_of_test
  wait_for_line 10 'Ingress tenant/mistakes: and [0-9,]* more' log_of_test
  wait_for 30 has_event mistaken ServiceNotFound
  assert_equal 20 "$(log_of_test | grep -c 'Ingress tenant/mistakes: the path')" # ten from each replica
}

# --- what could be taken from a neighbour

@test "a newer Ingress for a neighbour's host, with a longer path or Exact, gets none of its requests" {
  tenant_creates '
    ingress("thief"; ["many-1.example"]; [path("/.well-known/acme-challenge/token"; "Exact"), path("/login"; "Prefix"), path("/"; "Exact")]),
    (ingress("default-thief"; ["many-2.example"]; null) | del(.spec.rules[].http) | .spec.defaultBackend = backend)'
  assert_neighbour_unharmed 'Ingress tenant/thief: .*many-1[.]example .*e2e.*(HostTaken)'
  wait_for_line 10 'Ingress tenant/default-thief: .*many-2[.]example .*e2e.*' log_of_test
  for path in /.well-known/acme-challenge/token /login /login/x /; do
    always_status 200 many-1.example "$path"
    assert_equal "many-1.example $path" "$(ask many-1.example "$path" | jq -r '"\(.host) \(.uri)"')"
  done
}

@test "a host that its owner shares gets a path from the other namespace: as ACME solvers in a namespace of their own need it" {
  create_ingress owner 'shared.example/*=backend:80' >/dev/null
  wait_for 10 always_status 200 shared.example /
  tenant_creates 'ingress("solver"; ["shared.example"]; [path("/.well-known/acme-challenge/token"; "Exact")])'
  wait_for_line 20 'Ingress tenant/solver: .*shared[.]example .*(HostTaken)' log_of_test
  always_status 200 shared.example /.well-known/acme-challenge/token
  kubectl -n e2e annotate ingress owner bash-ingress.local/share-host-with=team,tenant
  wait_for 10 always_status 503 shared.example /.well-known/acme-challenge/token # of the tenant's, which has no Service
  always_status 200 shared.example /
  kubectl -n e2e annotate ingress owner bash-ingress.local/share-host-with-
  wait_for 10 always_status 200 shared.example /.well-known/acme-challenge/token
  assert_neighbour_unharmed ''
}

@test "an older Ingress that has nothing but a challenge does not keep its host from another namespace's application" {
  tenant_creates 'ingress("solver"; ["later.example"]; [path("/.well-known/acme-challenge/token"; "Exact")])'
  # it has the host, and no Service
  wait_for 10 always_status 503 later.example /.well-known/acme-challenge/token
  sleep 1.1 # the times of objects are whole seconds
  create_ingress later 'later.example/*=backend:80' >/dev/null
  wait_for 10 always_status 200 later.example /
  wait_for_line 20 'Ingress tenant/solver: .*later[.]example .*(HostTaken)' log_of_test
  always_status 200 later.example /.well-known/acme-challenge/token
}

# A key pair for the hosts, in a Secret of its name.
tenant_pair() { # NAME HOSTS
  make_pair "$BATS_TEST_TMPDIR/$1" "$2" ecdsa
  tenant_stores "$1"
}

@test "a tenant's certificate is shown for no host of a neighbour: neither by a wildcard nor by its name" {
  tenant_pair stolen '*.example,secure.example,many-1.example'
  tenant_creates '
    (ingress("stolen"; ["*.example"]) | with_tls({hosts: ["*.example", "secure.example", "many-1.example"], secretName: "stolen"})),
    (ingress("stolen-by-rule"; ["many-1.example", "secure.example"]) | with_tls({secretName: "stolen"}))'
  wait_for 10 always_certificate stolen anything.example
  assert_neighbour_unharmed 'Ingress tenant/stolen.*: .*many-1[.]example.*(HostTaken)'
  always_certificate neighbour secure.example
  always_certificate 'bash-ingress default certificate' many-1.example
}

@test "a neighbour's wildcard certificate is not shown for a tenant's host" {
  make_pair "$BATS_TEST_TMPDIR/platform" '*.platform.example' ecdsa
  kubectl -n e2e create secret tls platform --cert "$BATS_TEST_TMPDIR/platform.crt" --key "$BATS_TEST_TMPDIR/platform.key" >/dev/null
  create_ingress platform '*.platform.example/*=backend:80,tls=platform' >/dev/null
  wait_for 10 always_certificate platform other.platform.example
  tenant_creates 'ingress("team"; ["team.platform.example"])'
  wait_for 10 always_certificate 'bash-ingress default certificate' team.platform.example
  wait_for 10 always_status 503 team.platform.example /
  assert_neighbour_unharmed 'Ingress tenant/team: Service tenant/backend does not exist'
  always_certificate platform other.platform.example
}
