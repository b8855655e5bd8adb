# What protects stays shut: while an annotation, a Secret, a right, nginx or the controller itself fails, nobody gets in.
#
# Each fault runs under a stream of requests of a client that no Ingress here may let in. Whatever they are answered,
# 401, 500, 503 or not at all, it is never the pod's 200. Namespace `shut` has its own budget of changes.
load helpers

prefix=nginx.ingress.kubernetes.io

# NAME STATUS PORT ANNOTATION=VALUE...: its host is NAME.shut.example, and the client gets STATUS over HTTPS.
protected() {
  cat <<'INGRESSES'
basic 401 80 auth-type=basic auth-secret=users
map 401 80 auth-type=basic auth-secret=shut/map auth-secret-type=auth-map
url 401 80 auth-url=http://auth.shut.svc.cluster.local/signed-in
client 400 80 auth-tls-secret=shut/ca auth-tls-verify-client=on
listed 403 80 whitelist-source-range=203.0.113.7
denied 403 80 denylist-source-range=0.0.0.0/0,::/0
any 401 80 satisfy=any whitelist-source-range=203.0.113.7 auth-type=basic auth-secret=users
verified 502 443 backend-protocol=HTTPS proxy-ssl-verify=on proxy-ssl-secret=shut/other
rejected-0 401 80 auth-type=basic auth-secret=users
rejected-1 401 80 auth-type=basic auth-secret=users
INGRESSES
}

# Prints a List of them. EDIT changes each Ingress: $name is its name.
ingresses() { # [EDIT]
  protected | jq -R -n --arg prefix "$prefix" -L "$root/test/e2e" 'include "tenants"; list(inputs | split(" ") as [$name, $status, $port] | split(" ")[3:] as $annotations
    | ingress($name; ["\($name).shut.example"]; [path("/admin"; "Prefix") | .backend.service |= {name: "red", port: {number: ($port | tonumber)}}])
    | .metadata.annotations = ($annotations | map(index("=") as $at | {"\($prefix)/\(.[:$at])": .[$at + 1:]}) | add)
    | '"${1:-.}"'; "shut")'
}

create_objects() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=nobody -keyout "$BATS_FILE_TMPDIR/ca.key" -out "$BATS_FILE_TMPDIR/ca.crt" 2>/dev/null
  kubectl -n shut create secret generic users --from-literal "auth=alice:$(openssl passwd -apr1 secret)"
  kubectl -n shut create secret generic map --from-literal "alice=$(openssl passwd -apr1 secret)"
  kubectl -n shut create secret generic ca --from-file "ca.crt=$BATS_FILE_TMPDIR/ca.crt"
  kubectl -n shut create secret generic other --from-file "ca.crt=$BATS_FILE_TMPDIR/ca.crt"
  sed 's/NAME/auth/g; s/POD/auth/' "$root/test/annotations/pods.yaml" | kubectl -n shut apply -f -
}

setup_file() {
  root=$BATS_TEST_DIRNAME/../..
  wait_for 60 kubectl create namespace shut
  create_objects
  sed 's/NAME/red/g; s/POD/red/' "$root/test/annotations/pods.yaml" | kubectl -n shut apply -f -
  for name in red auth; do kubectl -n shut rollout status "deployment/$name" --timeout 60s; done
  ingresses | kubectl create -f -
  # what is beside /admin is open, and would answer for it if nothing else did
  jq -n -L "$root/test/e2e" 'include "tenants"; list(ingress("open"; [range(2) | "rejected-\(.).shut.example"]; [path("/"; "Prefix") | .backend.service.name = "red"]); "shut")' | kubectl create -f -
  kubectl get clusterrole bash-ingress -o json | jq 'del(.metadata.resourceVersion, .metadata.uid)' >"$BATS_FILE_TMPDIR/rights.json"
} >/dev/null

teardown_file() {
  kubectl delete namespace shut --timeout 120s # or the next file's tests would see its Ingresses go
}

setup() {
  pod=$(controller_pods | head -n 1)
  wait_for_equal 60 "$(protected | cut -d ' ' -f 2 | xargs)" answers
  wait_for 30 always_status 200 rejected-0.shut.example /
  assert_equal 200 "$(curl -sk -u alice:secret -o /dev/null -w '%{http_code}' --connect-to "::$TLS_ADDRESS" https://basic.shut.example/admin)"
}

teardown() {
  [[ -z ${asking-} ]] || kill "$asking" 2>/dev/null || true
  [[ -z ${lost_rights-} ]] || regain_rights
  common_teardown
}

# Prints curl's options for a request to each host, over HTTP and HTTPS.
requests() {
  printf 'connect-to = ":80:%s"\nconnect-to = ":443:%s"\n' "$(address_with_port)" "$TLS_ADDRESS"
  protected | awk '{ printf "url = \"http://%s.shut.example/admin\"\noutput = /dev/null\nurl = \"https://%s.shut.example/admin\"\noutput = /dev/null\n", $1, $1 }'
}

# Prints what each host answers over HTTPS.
answers() {
  requests | curl -sk --max-time 5 -K - -w '%{http_code} %{url}\n' | awk '/https/ { print $1 }' | xargs
}

# Writes which answer each request got: "401 https://basic.shut.example/admin". One curl sends 200, and keeps its
# connections. (Without a pause, the requests would take the CPUs that the controller needs to follow.)
keep_asking() { # FILE
  for _ in {1..10}; do requests; done >"$1.requests"
  while true; do
    curl -sk --max-time 5 -K "$1.requests" -w '%{http_code} %{url}\n' >>"$1" || true
    sleep 0.2
  done
}

each_was_asked() { # TIMES FILE
  (($(wc -l <"$2") >= $1 * $(protected | wc -l)))
}

# Runs the commands under requests, 500 at least to each host, over HTTP or HTTPS. Fails if a pod answered one.
nobody_gets_in_while() { # COMMAND...
  local said=$BATS_TEST_TMPDIR/said
  : >"$said"
  keep_asking "$said" 3>&- &
  asking=$!
  wait_for 30 each_was_asked 20 "$said"
  "$@"
  wait_for 240 each_was_asked 500 "$said"
  kill "$asking"
  sort "$said" | uniq -c | awk '{ print $3 " " $2 " x " $1 }' >"$BATS_TEST_TMPDIR/answers"
  echo "# $(wc -l <"$said") requests: $(cut -d ' ' -f 1 "$said" | sort | uniq -c | awk '{ print $2 " x " $1 }' | paste -sd ',' | sed 's/,/, /g')" >&3
  assert_equal '' "$(grep -E ' (2..|30[0-7]) x ' "$BATS_TEST_TMPDIR/answers")"
}

all_are_shut_by() { # STATUSES
  wait_for_equal 60 "$1" answers
}

get_wrong_values() {
  local row
  # shellcheck disable=SC2016 # $request_uri is for nginx, which must not see it
  for row in basic:auth-type=digest map:auth-secret-type=auth-book 'url:auth-url=http://auth.shut.svc/; } server {' client:auth-tls-verify-client=maybe \
    listed:whitelist-source-range=anybody 'denied:denylist-source-range=$request_uri' any:satisfy=some verified:proxy-ssl-verify=perhaps rejected-{0,1}:auth-secret=../users; do
    kubectl -n shut annotate --overwrite ingress "${row%%:*}" "$prefix/${row#*:}" >/dev/null
  done
  all_are_shut_by '503 503 503 503 503 503 503 503 503 503'
}

@test "while an annotation has a wrong value, and while it is mended, nobody gets in" {
  nobody_gets_in_while get_wrong_values
  nobody_gets_in_while restore_annotations
}

restore_annotations() {
  ingresses | kubectl apply -f - >/dev/null 2>&1
  all_are_shut_by "$(protected | cut -d ' ' -f 2 | xargs)"
}

lose_objects_for_a_while() {
  kubectl -n shut delete secret users map ca other >/dev/null
  kubectl -n shut delete service auth >/dev/null
  all_are_shut_by '503 503 500 503 403 403 503 503 503 503'
  create_objects >/dev/null
  all_are_shut_by "$(protected | cut -d ' ' -f 2 | xargs)"
}

@test "while a Secret or a Service that protects is gone, and when it comes back, nobody gets in" {
  nobody_gets_in_while lose_objects_for_a_while
}

# Each pod's controller ends, and is started again with nothing that it knew.
restart_controllers() {
  local pod
  for pod in $(controller_pods); do kubectl -n bash-ingress exec "$pod" -- bash -c 'kill 1'; done
}

# What is live stays, and no more goes live. A container that is started again serves what was live; a new pod, which
# knows nothing, does not become ready.
lose_rights() {
  lost_rights=yes
  jq '.rules |= map(select(.resources != ["secrets"]))' "$BATS_FILE_TMPDIR/rights.json" | kubectl replace -f - >/dev/null
  wait_for_line 30 'cannot read secrets: .*Forbidden' controller_logs --since 30s
  all_are_shut_by "$(protected | cut -d ' ' -f 2 | xargs)"
  restart_controllers_and_wait
  kubectl -n bash-ingress delete pods -l "$controller_label" --wait=false >/dev/null
  all_are_shut_by '000 000 000 000 000 000 000 000 000 000'
}

regain_rights() {
  kubectl replace -f "$BATS_FILE_TMPDIR/rights.json" >/dev/null
  lost_rights=''
  all_are_shut_by "$(protected | cut -d ' ' -f 2 | xargs)"
}

@test "while the controller may not read Secrets, and starts without them, nobody gets in" {
  nobody_gets_in_while lose_rights
  nobody_gets_in_while regain_rights
}

one_is_quarantined() {
  answers | grep -q '503$\|503 ...$'
}

be_rejected() {
  # shellcheck disable=SC2016 # $name and $from are for jq
  ingresses 'if $name | startswith("rejected") then ($name[-1:] | tonumber * 850) as $from | .spec.rules += (colliding_hosts($from; $from + 850) | map({host: .})) else . end' | kubectl apply -f - >/dev/null 2>&1
  wait_for 60 one_is_quarantined
}

@test "while nginx rejects an Ingress that protects, no other answers in its place" {
  nobody_gets_in_while be_rejected
  nobody_gets_in_while restore_annotations
}

have_started_again() { # STARTS_BEFORE
  api "$controllers" | jq -e --argjson before "$1" \
    '[.items[].status.containerStatuses[0]] | length > 0 and (map(.restartCount) | add) >= $before + length and all(.[]; .ready)' >/dev/null
}

# Until they serve again: one that ends serves on for a while, and one that ended lately is not started at once.
restart_controllers_and_wait() {
  local before
  before=$(api "$controllers" | jq '[.items[].status.containerStatuses[0].restartCount] | add')
  restart_controllers
  wait_for 180 have_started_again "$before"
  all_are_shut_by "$(protected | cut -d ' ' -f 2 | xargs)"
}

@test "while the controller restarts, nobody gets in" {
  nobody_gets_in_while restart_controllers_and_wait
}
