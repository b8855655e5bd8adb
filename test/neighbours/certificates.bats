# cert-manager gets its certificates from an ACME server for Ingresses with all kinds of guards, through a solver's Ingress
# of its own, and no client sees another host's certificate while it does.
load helpers

# NAME=ANNOTATION... : a host NAME.example, whose path to the challenge the guard must not close.
guards=(
  plain
  source-range=whitelist-source-range:10.255.0.0/16
  auth-url=auth-url:http://backend.e2e.svc.cluster.local/?status=401
  basic='auth-type:basic auth-secret:people'
  client-certificates=auth-tls-secret:e2e/authority
  ssl-redirect='ssl-redirect:true force-ssl-redirect:true'
)
hosts=(plain source-range auth-url basic client-certificates ssl-redirect refused-path alias alias-too in-place-{auth-url,ssl-redirect,client-certificates})

setup_file() {
  bring_neighbour pebble pebble
  bring_neighbour cert-manager acmesolver
  apply_kinds "$("$neighbours" folder cert-manager)"/crds/*.yaml
  sed "s/ADDRESS/$(address_in_cluster)/; s/CA_BUNDLE/$(base64 -w 0 "$("$neighbours" folder pebble)/pebble.minica.pem")/" "$BATS_TEST_DIRNAME/manifests/acme.yaml" | kubectl apply -f -
  start_neighbour acme
  kubectl wait --for condition=Ready --timeout 60s clusterissuer/pebble
  create_secrets
  start_watch
  create_guarded
}

create_secrets() {
  make_pair "$BATS_FILE_TMPDIR/authority" authority.example ecdsa
  {
    kubectl create secret generic authority --from-file "ca.crt=$BATS_FILE_TMPDIR/authority.crt" --dry-run=client -o yaml
    echo ---
    kubectl create secret generic people --from-literal "auth=ann:$(openssl passwd -apr1 secret)" --dry-run=client -o yaml
  } | kubectl -n e2e apply -f -
}

# Clients that ask for each host's certificate all the time, through all tests.
start_watch() {
  "$(go_program probe)" handshakes "$TLS_ADDRESS" "${hosts[@]/%/.example}" >"$BATS_FILE_TMPDIR/watch" 3>&- &
  echo "$!" >"$BATS_FILE_TMPDIR/watching"
  wait_for 30 grep -q started "$BATS_FILE_TMPDIR/watch"
}

create_guarded() {
  local guard annotations
  for guard in "${guards[@]}"; do
    annotations=()
    [[ $guard != *=* ]] || read -r -a annotations <<<"${guard#*=}"
    create_secured "${guard%%=*}" / "${annotations[@]}"
  done
  create_secured refused-path '/ /my%20files' whitelist-source-range:10.255.0.0/16
  create_secured in-place-auth-url / acme.cert-manager.io/http01-edit-in-place:true "auth-url:http://backend.e2e.svc.cluster.local/?status=401"
  create_secured in-place-ssl-redirect / acme.cert-manager.io/http01-edit-in-place:true ssl-redirect:true force-ssl-redirect:true
  create_secured in-place-client-certificates / acme.cert-manager.io/http01-edit-in-place:true auth-tls-secret:e2e/authority
}

# An Ingress with a certificate that cert-manager is to get: for its host, and its alias if it has one.
create_secured() { # NAME PATHS [ANNOTATION:VALUE...]
  jq -n --arg name "$1" --arg paths "$2" '
    ($ARGS.positional | map(capture("^(?<key>[^:]+):(?<value>.*)$") | .key |= if contains("/") then . else "nginx.ingress.kubernetes.io/" + . end) | from_entries) as $annotations
    | {apiVersion: "networking.k8s.io/v1", kind: "Ingress",
      metadata: {namespace: "e2e", $name, annotations: ($annotations + {"cert-manager.io/cluster-issuer": "pebble"})},
      spec: {ingressClassName: "bash",
        tls: [{secretName: "tls-\($name)", hosts: ["\($name).example", $annotations["nginx.ingress.kubernetes.io/server-alias"] // empty]}],
        rules: [{host: "\($name).example", http: {paths: [$paths / " " | .[]
          | {path: ., pathType: "Prefix", backend: {service: {name: "backend", port: {number: 80}}}}]}}]}}' --args "${@:3}" |
    kubectl apply -f -
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || {
    kubectl -n e2e get certificates,challenges,ingresses -o wide || true
    kubectl -n e2e get challenges -o 'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.reason}{"\n"}{end}' || true
    explain_neighbour acme
  }
}

teardown_file() {
  kill "$(cat "$BATS_FILE_TMPDIR/watching")" || true # the last test has ended it, if it came so far
  kubectl -n e2e delete certificates --all
  kubectl delete namespace certificates --ignore-not-found
  kubectl -n e2e wait --for delete --timeout 60s challenges --all # which wait for cert-manager
  kubectl -n e2e delete ingresses,secrets --all
  kubectl -n neighbours delete deployment/acme
}

# Fails unless cert-manager has all certificates, and says so itself.
assert_issued() { # NAME...
  kubectl -n e2e wait --for condition=Ready --timeout "$((${SLOWER:-1} > 1 ? 360 : 120))s" "${@/#/certificate/tls-}"
}

# Prints the status of each.
codes() { # SCHEME://HOST...
  local url host
  for url; do
    host=${url#*://}
    curl -sk -o /dev/null --max-time 10 --connect-to "$host:80:$(address_with_port)" --connect-to "$host:443:$TLS_ADDRESS" -w '%{http_code}\n' "$url/"
  done | paste -sd ' '
}

@test "an Ingress without a guard gets its certificate" {
  assert_issued plain
  wait_for_equal 20 200 codes https://plain.example
}

@test "so does one with each guard, which stays closed to others: source ranges, auth-url, basic, client certificates, redirects" {
  assert_issued source-range auth-url basic client-certificates ssl-redirect
  wait_for_equal 20 '403 401 401 400 308' codes https://{source-range,auth-url,basic,client-certificates}.example http://ssl-redirect.example
}

@test "so does a guarded one of which a path is refused, which could be anywhere below /" {
  assert_issued refused-path
  wait_for_equal 20 403 codes https://refused-path.example
}

@test "so does one with an alias, which is served all the time" {
  local i seen=''
  create_secured alias / server-alias:alias-too.example
  wait_for 10 always_status 200 alias-too.example /
  for i in {1..120}; do
    seen+=$(codes http://alias-too.example)$'\n'
    [[ $(kubectl -n e2e get certificate tls-alias -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') != True ]] || break
    sleep 0.5
  done
  assert_equal '' "$(grep -vE '^(200|308)?$' <<<"$seen")" # it is redirected from the moment on that it has a certificate
  assert_issued alias
}

@test "with edit-in-place, the solver's path joins the Ingress, and its logins and redirects let it through" {
  assert_issued in-place-auth-url in-place-ssl-redirect in-place-client-certificates
  wait_for_equal 20 '401 308 400' codes https://in-place-auth-url.example http://in-place-ssl-redirect.example https://in-place-client-certificates.example
}

# The DNS server can be told where a host is: here where nobody answers, so that the challenge stays.
host_is_at() { # add-a|clear-a HOST ADDRESS
  local pod
  pod=$(api '/api/v1/namespaces/neighbours/pods?labelSelector=app=acme' | jq -r '.items[0].metadata.name')
  api "/api/v1/namespaces/neighbours/pods/$pod:8055/proxy/$1" --data "{\"host\": \"$2.\", \"addresses\": [\"$3\"]}"
}

has_challenge() { # NAMESPACE
  api "/apis/networking.k8s.io/v1/namespaces/$1/ingresses" | jq -e '.items[0]'
}

@test "an application is served while an older challenge of another namespace waits for its host; shared with that, it gets the certificate" {
  host_is_at add-a late.example 127.0.0.9
  kubectl create namespace certificates
  kubectl apply -f - <<'END'
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: certificates, name: late},
 spec: {secretName: late, dnsNames: [late.example], issuerRef: {kind: ClusterIssuer, name: pebble}}}
END
  wait_for 60 has_challenge certificates
  sleep 2 # so that it is older
  create_ingress late 'late.example/*=backend:80'
  kubectl -n e2e annotate ingress late bash-ingress.local/share-host-with=certificates
  wait_for 10 always_status 200 late.example /
  host_is_at clear-a late.example ''
  kubectl -n certificates wait --for condition=Ready --timeout "$((${SLOWER:-1} > 1 ? 360 : 120))s" certificate/late
}

# As `cmctl renew` asks for it.
renew() { # NAME...
  local name
  for name; do
    kubectl -n e2e patch certificate "tls-$name" --subresource status --type merge \
      -p '{"status": {"conditions": [{"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "by hand"}]}}'
  done
}

# Whether it is the second one, and clients get it.
is_renewed() { # NAME...
  local name
  for name; do
    [[ $(kubectl -n e2e get certificate "tls-$name" -o 'jsonpath={.status.revision}') == 2 ]] || return
    [[ $(kubectl -n e2e get secret "tls-$name" -o 'jsonpath={.data.tls\.crt}' | base64 -d | fingerprint) == "$(
      openssl s_client -connect "$TLS_ADDRESS" -servername "$name.example" </dev/null 2>/dev/null | fingerprint
    )" ]] || return
  done
}

fingerprint() { # <PEM
  openssl x509 -noout -fingerprint -sha256
}

@test "all are renewed, and in all this time no client sees another host's certificate, the stand-in again, or a failed handshake" {
  local renewed=(plain source-range auth-url basic client-certificates ssl-redirect)
  assert_issued "${renewed[@]}"
  renew "${renewed[@]}"
  wait_for 180 is_renewed "${renewed[@]}"
  kill "$(cat "$BATS_FILE_TMPDIR/watching")"
  wait_for 10 grep -q "${hosts[-1]}" "$BATS_FILE_TMPDIR/watch"
  sed '1d; s/^/# /' "$BATS_FILE_TMPDIR/watch" >&3
  assert_equal '' "$(sed 1d "$BATS_FILE_TMPDIR/watch" | grep -v 'foreign 0, lost 0, failed 0')"
}
