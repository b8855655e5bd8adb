# Helpers of the e2e tests: the real image in a real cluster, with real traffic.
bats_require_minimum_version 1.5.0
load ../helpers

root=$BATS_TEST_DIRNAME/../..
controller_label=app.kubernetes.io/name=bash-ingress
controllers="/api/v1/namespaces/bash-ingress/pods?labelSelector=$controller_label"

# Prints what the API server has there, as `kubectl get --raw` does, in a tenth of its time.
api() { # PATH [CURL_OPTION...]
  curl -sf --max-time 10 --unix-socket "$API" "${@:2}" "http://localhost$1"
}

common_teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || explain_failure
  api /apis/networking.k8s.io/v1/namespaces/e2e/ingresses -X DELETE --max-time 60 >/dev/null
}

# What one wants to see when a test has failed. The log comes last, as what is cut is cut at the beginning.
explain_failure() {
  local pod
  echo '--- pods'
  kubectl get pods -A -o wide || true
  for pod in $(controller_pods); do
    echo "--- nginx.conf of $pod, from the routes on"
    kubectl -n bash-ingress exec "$pod" -- sed -n '/--- routes/,$p' /tmp/bash-ingress/live/nginx.conf || true
    echo "--- processes of $pod (number, parent, state, name, what it waits in), and the loop's files"
    kubectl -n bash-ingress exec "$pod" -- bash -c "$processes_and_files" || true
  done
  for pod in $(controller_pods); do
    echo "--- log of $pod"
    kubectl -n bash-ingress logs "$pod" | grep -v ' access: .*" 200, ' | tail -n 60 || true
  done
}
# shellcheck disable=SC2016 # for the shell in the pod
processes_and_files='for process in /proc/[0-9]*; do
    read -r number name state parent _ <"$process/stat" && echo "$number $parent $state $name $(<"$process/wchan")"
  done 2>/dev/null
  ls -l --time-style=full-iso /tmp/bash-ingress/{live,run}'

# The pods that stay: one that ends may take a while to. (If nobody can tell, a name that no pod has, so that whoever looks
# at each pod fails.)
controller_pods() {
  local pods
  pods=$(api "$controllers" | jq -r '.items[] | select(.metadata.deletionTimestamp == null) | "pod/\(.metadata.name)"') || true
  echo "${pods:-pod/there-is-none}"
}

controller_logs() { # [KUBECTL_OPTION...]
  kubectl -n bash-ingress logs -l "$controller_label" --tail -1 "$@"
}

# When each pod became ready, and how often it was started.
readiness() {
  api "$controllers" |
    jq -c '[.items[] | select(.metadata.deletionTimestamp == null).status | (.conditions[] | select(.type == "Ready").lastTransitionTime), .containerStatuses[0].restartCount]'
}

# Whether what the test before has left is gone, and the metrics tell of that.
is_settled() { # POD
  ! kubectl -n bash-ingress exec "$1" -- grep -q '"e2e/' /tmp/bash-ingress/live/nginx.conf && tells_served_hash "$1"
}

# The tests before may have changed so much that namespace e2e has to wait for its changes (bin/hold-back). As if
# minutes had passed, it owes nothing then. (The file stays: somebody may be about to read it.)
forget_changes() {
  local pod
  for pod in $(controller_pods); do kubectl -n bash-ingress exec "$pod" -- truncate -c -s 0 /tmp/bash-ingress/scratch/loop/accounts; done
}

# Whether the pod's metrics, which the loop writes, name the configuration that nginx serves.
tells_served_hash() { # POD
  admin "$1" metrics | grep -qF "config_info{hash=\"$(admin "$1" config-hash)\"}"
}

# How long a fault lasts: SHORT in `make test`, LONG in `make test-faults`.
lasting() { # SHORT LONG
  if [[ ${FAULTS-} == long ]]; then echo "$2"; else echo "$1"; fi
}

# Whether a line of what COMMAND prints matches PATTERN, as grep has it. Shows both if none does.
has_line() { # PATTERN COMMAND...
  local actual
  actual=$("${@:2}") || true # COMMAND may be a pipe that found nothing: what it printed counts
  grep -q -- "$1" <<<"$actual" || {
    printf 'expected: a line that matches %s\nactual:   %s\n' "$1" "$(tail -n 20 <<<"$actual")" >&2
    return 1
  }
}

wait_for_line() { # SECONDS PATTERN COMMAND...
  wait_for "$1" has_line "${@:2}" || has_line "${@:2}"
}

# Whether COMMAND prints EXPECTED, and nothing else. Shows both if it does not.
prints() { # EXPECTED COMMAND...
  assert_equal "$1" "$("${@:2}")"
}

wait_for_equal() { # SECONDS EXPECTED COMMAND...
  wait_for "$1" prints "${@:2}" || prints "${@:2}"
}

# Asks the controller as a client of HOST would.
ask() { # HOST PATH [CURL_OPTION...]
  curl -s --path-as-is --max-time 10 -H "Host: $1" "${@:3}" "http://$ADDRESS$2"
}

status_is() { # STATUS HOST PATH
  [[ $(ask "$2" "$3" -o /dev/null -w '%{http_code}') == "$1" ]]
}

# Both replicas of the controller must have the route: sixteen answers in a row, each on a connection of its own.
always_status() { # STATUS HOST PATH [CURL_OPTION...]
  local i urls=() expected
  for i in {1..16}; do urls+=(-o /dev/null "http://$ADDRESS$3"); done
  printf -v expected "$1 %.0s" {1..16}
  [[ $(curl -s -g --path-as-is --max-time 10 -H "Host: $2" -H 'Connection: close' -w '%{http_code} ' "${@:4}" "${urls[@]}") == "$expected" ]]
}

admin() { # POD PATH   asks that controller pod, through the API server
  api "/api/v1/namespaces/bash-ingress/pods/${1#pod/}:10254/proxy/$2"
}

# Prints the milliseconds since an earlier $EPOCHREALTIME.
since() { # EPOCHREALTIME
  echo "$(((${EPOCHREALTIME/./} - ${1/./}) / 1000))"
}

metric() { # POD NAME
  admin "$1" metrics | sed -n "s/^bash_ingress_$2 //p" | grep .
}

# Prints bytes, as the kubelet knows it, and `kubectl top` would show it.
memory_of() { # POD
  local node
  node=$(kubectl -n bash-ingress get "$1" -o 'jsonpath={.spec.nodeName}')
  api "/api/v1/nodes/$node/proxy/metrics/resource" |
    awk -v pod="pod=\"${1#pod/}\"" '/^container_memory_working_set_bytes{container="controller"/ && index($0, pod) { printf "%.0f\n", $2 }'
}

address_with_port() {
  if [[ $ADDRESS == *:* ]]; then echo "$ADDRESS"; else echo "$ADDRESS:80"; fi
}

has_event() { # INGRESS REASON
  api "/api/v1/namespaces/e2e/events?fieldSelector=involvedObject.name=$1,reason=$2" | jq -e '.items[0]' >/dev/null
}

has_address() { # NAME
  [[ -n $(addresses_of "$1") ]]
}

has_no_address() { # NAME
  local addresses
  addresses=$(addresses_of "$1") && [[ -z $addresses ]]
}

addresses_of() { # NAME
  local ingress
  ingress=$(api "/apis/networking.k8s.io/v1/namespaces/e2e/ingresses/$1") && jq -r '.status.loadBalancer.ingress[]?.ip' <<<"$ingress"
}

create_ingress() { # NAME RULE...   as `kubectl create ingress` takes them
  local rules=("${@:2}")
  kubectl -n e2e create ingress "$1" --class bash "${rules[@]/#/--rule=}"
}

# Prints a List of Ingresses, each with a host of its own.
many_ingresses() { # NUMBER
  jq -n --argjson number "$1" '{apiVersion: "v1", kind: "List", items: [range($number) |
    {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: {namespace: "e2e", name: "many-\(.)"}, spec: {ingressClassName: "bash",
      rules: [{host: "many-\(.).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "backend", port: {number: 80}}}}]}}]}}]}'
}

# Runs COMMAND under a load, such as '-rate 500 -post' (test/go/probe has a list), and
# prints what became of that. Sets report: the file that tells it, too.
under_load() { # LOAD ADDRESS HOST PATH COMMAND...
  local probe probing mine
  probe=$(go_program probe)
  mine=$(mktemp -p "$BATS_TEST_TMPDIR")
  # shellcheck disable=SC2086 # each word of the load is an argument
  "$probe" load $1 "${@:2:3}" >"$mine" 3>&- &
  probing=$!
  wait_for 30 grep -q started "$mine"
  "${@:5}"
  kill "$probing"
  wait "$probing"
  report=$mine
  sed "1d; s|^|# under $1: |" "$report" >&3
}

# The same. Fails if a request is lost, or fewer than 100 were sent.
lose_nothing() { # LOAD ADDRESS HOST PATH COMMAND...
  under_load "$@"
  grep -Eq '^sent [0-9]{3,}, failed 0$' "$report"
}

# Redis, dnsmasq and their clients (test/e2e/servers).
load_servers() (
  source "$root/test/demo/demo"
  choose_cluster
  connect
  source "$root/test/image"
  choose_builder
  name=bash-ingress-servers:dev
  "$BUILDER" build --tag "$(local_name "$name")" "$root/test/e2e/servers"
  save "$BATS_FILE_TMPDIR/servers.tar"
  "${CLUSTER}_load" "$BATS_FILE_TMPDIR/servers.tar"
)

ask_tls() { # HOST PATH [CURL_OPTION...]
  curl -s --path-as-is --max-time 10 --connect-to "::$TLS_ADDRESS" "${@:3}" "https://$1$2"
}

put_secret() { # NAME FILE
  kubectl -n e2e create secret tls "$1" --cert "$2.crt" --key "$2.key" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
}

# Whether clients get the certificate with that subject, from both replicas: 16 handshakes.
always_certificate() { # SUBJECT HOST
  local i urls=()
  for i in {1..16}; do urls+=(-o /dev/null "https://$2/"); done
  [[ $(curl -skv --http1.1 --no-sessionid --max-time 10 --connect-to "::$TLS_ADDRESS" -H 'Connection: close' "${urls[@]}" 2>&1 |
    sed -n 's/^\*  subject: .*CN=//p' | uniq -c | sed 's/^ *//') == "16 $1" ]]
}
