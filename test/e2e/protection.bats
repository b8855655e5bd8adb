# What asks for protection is never served without it; and what the official conformance suite found.
load helpers

prefix=nginx.ingress.kubernetes.io
setup() { pod=$(controller_pods | head -n 1); }
teardown() {
  common_teardown
  [[ -z ${namespace-} ]] || kubectl delete namespace "$namespace" --wait=false
}

# Creates an Ingress for each line NAME=VALUE on standard input, and prints their hosts: each has a path of each type.
create_annotated() {
  jq -R -n --arg prefix "$prefix" '{apiVersion: "v1", kind: "List", items: [
    [inputs] | to_entries[] | "closed-\(.key)" as $name | (.value | index("=")) as $at
    | {service: {name: "backend", port: {number: 80}}} as $backend
    | {apiVersion: "networking.k8s.io/v1", kind: "Ingress",
       metadata: {namespace: "e2e", $name, annotations: {"\($prefix)/\(.value[:$at])": .value[$at + 1:]}},
       spec: {ingressClassName: "bash", defaultBackend: $backend, rules: [{host: "\($name).example", http: {paths: [
         {path: "/exact", pathType: "Exact", $backend}, {path: "/prefix", pathType: "Prefix", $backend}]}}]}}]}' >"$BATS_TEST_TMPDIR/list.json"
  kubectl create -f "$BATS_TEST_TMPDIR/list.json" >&2
  jq -r '.items[].spec.rules[].host' "$BATS_TEST_TMPDIR/list.json"
}

# Sends TIMES requests for each of four paths to each host, and prints which statuses they got, and how many. (curl's
# status 16: older ones do not send a request when the HTTP/2 connection has just been closed for a reload. It is sent again.)
statuses() { # http|https|http2 TIMES   <HOSTS
  local scheme=${1%2} options=()
  case $1 in
    http) options=(--connect-to "::$(address_with_port)") ;;
    https) options=(--connect-to "::$TLS_ADDRESS" --http1.1) ;;
    http2) options=(--connect-to "::$TLS_ADDRESS" --http2) scheme=https ;;
  esac
  awk -v scheme="$scheme" -v times="$2" 'BEGIN { split("/exact /prefix /prefix/below /default", paths, " ") }
    { for (i = 0; i < times; i++) for (j in paths) printf "url = \"%s://%s%s\"\noutput = /dev/null\n", scheme, $0, paths[j] }' |
    curl -sk "${options[@]}" -w '%{http_code} %{exitcode} %{url}\n' -K - | again_if_not_sent "${options[@]}" | sort | uniq -c | awk '{ print $2 " x " $1 }'
}

again_if_not_sent() { # CURL_OPTION...   <LINES
  local status code url
  while read -r status code url; do
    if [[ $code == 16 ]]; then curl -sk "$@" -o /dev/null -w '%{http_code}\n' "$url"; else echo "$status"; fi
  done
}

@test "each annotation that asks for a protection which cannot be given closes its paths, over HTTP, HTTPS and HTTP/2" {
  hosts=$BATS_TEST_TMPDIR/hosts
  create_annotated >"$hosts" <<'ANNOTATIONS'
auth-type=digest
auth-url=
auth-type=basic
auth-secret=no-such-secret
auth-tls-secret=e2e/no-such-secret
auth-tls-verify-client=on
auth-snippet=deny all;
configuration-snippet=deny all; } location /x {
server-snippet=deny all;
stream-snippet=deny all;
modsecurity-snippet=SecRuleEngine On
enable-modsecurity=true
enable-owasp-core-rules=true
enable-global-auth=true
satisfy=some
limit-rps=many
limit-connections=-1
limit-whitelist=10.0.0.0/33
proxy-ssl-verify=on
ssl-passthrough=perhaps
custom-headers=e2e/no-such-configmap
ssl-redirect=yes
force-ssl-redirect="; } server {
whitelist-source-range=10.0.0.0/33
allowlist-source-range=$remote_addr
denylist-source-range={nonsense}
whitelist-source-ranges=0.0.0.0/0
secure-backends-tls=true
ANNOTATIONS
  wait_for 20 always_status 503 "$(tail -n 1 "$hosts")" /prefix
  requests=$((200 * $(wc -l <"$hosts")))
  for protocol in http https http2; do assert_equal "503 x $requests" "$(statuses "$protocol" 50 <"$hosts")"; done
  assert_equal "503 Service Temporarily Unavailable: closed, because its protection is not available here (its Events say why): path /prefix of Ingress e2e/closed-0." "$(ask closed-0.example /prefix)"
  wait_for 20 has_event closed-0 ProtectionNotAvailable
}

# Sets seen: the client's address, by the log, which is some 100 ms late.
sees_client() {
  ask 'fruit.example' /apple -o /dev/null
  seen=$(controller_logs --since 10s | sed -n 's|.*access: \([0-9.]*\) "GET fruit.example/apple.*|\1|p' | tail -n 1)
  [[ -n $seen ]]
}

@test "source ranges let in and turn away the client of the connection, IPv4 and IPv6" {
  wait_for 20 sees_client
  create_annotated >"$BATS_TEST_TMPDIR/hosts" <<ANNOTATIONS
whitelist-source-range=$seen
whitelist-source-range=203.0.113.0/24, 2001:db8::/32
denylist-source-range=$seen/32
whitelist-source-range=0.0.0.0/0,::/0
whitelist-source-range=::1
ANNOTATIONS
  wait_for 20 always_status 403 closed-4.example /prefix
  for row in '0 200' '1 403' '2 403' '3 200' '4 403'; do
    for protocol in http https http2; do assert_equal "$row: ${row#* } x 200" "$row: $(statuses "$protocol" 50 <<<"closed-${row% *}.example")"; done
  done
  # from within the pod, nginx can be asked over IPv6, if the kernel has it
  from_pod() { # ADDRESS HOST
    kubectl -n bash-ingress exec "$pod" -- bash -c "exec 3<>/dev/tcp/$1/8080 && printf 'GET /prefix HTTP/1.0\r\nHost: $2\r\n\r\n' >&3 && head -n 1 <&3" | cut -d ' ' -f 2
  }
  assert_equal '403 403' "$(from_pod 127.0.0.1 closed-0.example) $(from_pod 127.0.0.1 closed-4.example)"
  if kubectl -n bash-ingress exec "$pod" -- test -e /proc/net/if_inet6; then
    assert_equal '403 200 200' "$(from_pod ::1 closed-0.example) $(from_pod ::1 closed-4.example) $(from_pod ::1 closed-3.example)"
  else
    echo '# not asked over IPv6, which this kernel does not have' >&3
  fi
}

is_past() { # TIME
  [[ $(date -u +%FT%TZ) > $1 ]]
}

@test "an Ingress in a namespace that is being deleted gives way at once, although it is the oldest and still there" {
  namespace=leaving
  kubectl create namespace "$namespace"
  kubectl -n "$namespace" create ingress oldest --class bash --rule 'leaving.example/*=missing:80'
  kubectl -n "$namespace" create configmap holds
  kubectl -n "$namespace" patch configmap holds -p '{"metadata": {"finalizers": ["example.com/held"]}}'
  kubectl -n "$namespace" patch ingress oldest -p '{"metadata": {"finalizers": ["example.com/held"]}}' # as its pods would hold it for half a minute
  wait_for 20 always_status 503 leaving.example /
  created=$(kubectl -n "$namespace" get ingress oldest -o jsonpath='{.metadata.creationTimestamp}')
  wait_for 5 is_past "$created" # of the same second, the one whose namespace comes first would be preferred
  create_ingress younger 'leaving.example/*=backend:80'
  wait_for 20 has_event younger HostTaken
  kubectl delete namespace "$namespace" --wait=false
  wait_for 10 always_status 200 leaving.example /
  kubectl -n "$namespace" get ingress oldest
  kubectl -n "$namespace" patch ingress oldest --type json -p '[{"op": "remove", "path": "/metadata/finalizers"}]'
  kubectl -n "$namespace" patch configmap holds --type json -p '[{"op": "remove", "path": "/metadata/finalizers"}]'
}

@test "an answer whose pod names no Server says bash-ingress, and every answer has one Server" {
  create_ingress server 'server.example/*=backend:80'
  wait_for 20 always_status 200 server.example /
  servers_of() { ask "$@" -o /dev/null -D - | tr -d '\r' | sed -n 's/^[Ss]erver: //p'; }
  assert_equal bash-ingress "$(servers_of server.example /anonymous)"
  assert_equal backend "$(servers_of server.example /)"
  assert_equal nginx "$(servers_of fruit.example /no-rule)"
  assert_equal bash-ingress "$(curl -sk --http2 --connect-to "::$TLS_ADDRESS" -o /dev/null -D - https://server.example/anonymous | tr -d '\r' | sed -n 's/^server: //p')"
}
