# What becomes of the routes when the API server, or something on the way to it, does not do what it should.
load helpers

setup() {
  cd "$root" # the commands that stop the API server are for there
  undo=()    # what mends what the test breaks: functions without arguments that may run once more
  mapfile -t pods < <(controller_pods)
  for pod in "${pods[@]}"; do wait_for 30 is_settled "$pod"; done
  before=$(state)
}

teardown() {
  local change
  for change in "${undo[@]}"; do "$change"; done
  common_teardown
}

# What none of these faults may change. (The loop has the hash of what nginx serves from nginx.)
state() {
  local pod
  readiness
  for pod in "${pods[@]}"; do
    admin "$pod" metrics | grep '^bash_ingress_reloads_total\|^bash_ingress_config_info'
    kubectl -n bash-ingress exec "$pod" -- sha256sum /tmp/bash-ingress/live/nginx.conf
  done
}

# Keeps a load on the controller while COMMAND breaks something.
serves_on() { # COMMAND...
  lose_nothing "-rate $(lasting 50 300)" "$(address_with_port)" fruit.example /apple "$@"
}

# --- the API server is not there

# Fails unless the API server answers, and soon: while it is stopped, kubectl would wait for long.
api_server_answers() {
  timeout 2 kubectl get --raw /readyz
}

# But for the one that is the proxy.
no_kubectl_hangs() { # POD
  # shellcheck disable=SC2016 # the dollar signs are for the pod
  kubectl -n bash-ingress exec "$1" -- bash -c 'for of in $(grep -ls kubectl /proc/[0-9]*/comm); do grep -qsz "^proxy$" "${of%comm}cmdline" || exit 1; done'
}

# Of the failures that the pod told of in this time, the last is over. (There may be none: it may have been busy with nginx.)
tells_of_success() { # POD SECONDS
  local said
  said=$(kubectl -n bash-ingress logs "$1" --since "$2s") || return
  [[ $(grep -o 'this pass failed\|the pass succeeds again' <<<"$said" | tail -n 1) != 'this pass failed' ]]
}

outage() { # SECONDS BEGIN END
  local returned created pod
  undo+=("$3")
  "$2"
  sleep "$1"
  "$3"
  wait_for 60 api_server_answers
  returned=$EPOCHREALTIME
  create_ingress after 'after.example/=backend:80'
  created=$(since "$returned")
  wait_for 20 always_status 200 after.example /
  echo "# after the API server's return, an Ingress was created within $created ms, and its route live within $(since "$returned") ms" >&3
  for pod in "${pods[@]}"; do
    wait_for 20 no_kubectl_hangs "$pod"
    wait_for 20 tells_of_success "$pod" "$(($1 + 60))"
  done
  controller_logs --since "$(($1 + 60))s" | grep -q 'this pass failed'
  kubectl -n e2e delete ingress after
}

# The route that was made to see the end of it costs two reloads more.
survive() { # SECONDS BEGIN END
  serves_on outage "$@"
  for pod in "${pods[@]}"; do wait_for 30 is_settled "$pod"; done
  assert_equal "$(sed /reloads/d <<<"$before")" "$(state | sed /reloads/d)"
}

on_embedded() {
  [[ $CLUSTER == embedded ]] || skip 'only in the embedded cluster can that program be killed'
}

# As the demo shows them to a user: commands for a shell.
stop_api_server() { bash -c "$OUTAGE_BEGIN"; }
resume_api_server() { bash -c "$OUTAGE_END"; }

kill_api_server() { test/cluster/cluster kill kube-apiserver; }
start_api_server() { test/cluster/cluster start kube-apiserver; }
kill_etcd() { test/cluster/cluster kill etcd; }
start_etcd() { test/cluster/cluster start etcd; }

@test "while the API server is stopped, requests are answered and the controller stays ready" {
  [[ -n $OUTAGE_BEGIN ]] || skip 'this cluster has no way to stop its API server'
  survive "$(lasting 14 60)" stop_api_server resume_api_server # longer than two reads may take: a quiet pass tries, and then one that tells
}

@test "while the API server is dead, requests are answered and the controller stays ready" {
  on_embedded
  survive "$(lasting 4 300)" kill_api_server start_api_server
}

@test "while etcd is dead, requests are answered and the controller stays ready" {
  on_embedded
  survive "$(lasting 4 60)" kill_etcd start_etcd
}

# --- the API server answers wrongly, or refuses

# From now on, the controller's kubectl asks there, with the token in that file of the pod. (Its HOME is /tmp.) The
# one that is a proxy has to be another one for that.
ask_at() { # SERVER TOKEN_FILE
  undo+=(ask_as_always)
  in_pods "mkdir -p /tmp/.kube && cat >/tmp/.kube/new && mv /tmp/.kube/new /tmp/.kube/config; $end_proxy" <<CONFIG
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "$1", insecure-skip-tls-verify: true}}], users: [{name: u, user: {tokenFile: "$2"}}]}
CONFIG
}

ask_as_always() {
  in_pods "rm -f /tmp/.kube/config; $end_proxy" </dev/null
}

# shellcheck disable=SC2016 # the dollar signs are for the pod
end_proxy='for kubectl in $(grep -lz "^--api-prefix" /proc/[0-9]*/cmdline 2>/dev/null); do kill "$(tr -dc 0-9 <<<"$kubectl")"; done || true'

in_pods() { # COMMAND <INPUT
  local pod input
  input=$(cat)
  for pod in "${pods[@]}"; do
    kubectl -n bash-ingress exec -i "$pod" -- bash -c "$1" <<<"$input"
  done
}

ask_through_proxy() {
  ask_at "https://$(kubectl -n e2e get service api-proxy -o jsonpath='{.spec.clusterIP}')" \
    /var/run/secrets/kubernetes.io/serviceaccount/token
  undo+=(answer_right)
}

answer_right() {
  order_answer right
}

order_answer() { # ANSWER [RESOURCE]   as test/go/api-proxy understands it
  kubectl create --raw "/api/v1/namespaces/e2e/services/api-proxy:orders/proxy/?answer=$1&to=${2-}" -f - <<<''
}

# Collects what the controller says from now on in the file $messages, but for the requests.
listen() {
  messages=$BATS_TEST_TMPDIR/messages
  kubectl -n bash-ingress logs -l "$controller_label" --prefix --since 1s --follow 2>&1 3>&- |
    grep --line-buffered -v ' access: ' >>"$messages" 3>&- &
  listening=$!
  undo+=(stop_listening)
}

stop_listening() {
  kill "$listening" 2>/dev/null || true # it may have ended with its pods
}

# Whether each pod has said so.
each_says() { # PATTERN
  local pod
  for pod in "${pods[@]}"; do grep "$pod/.*$1" "$messages" || return; done
}

# Lets BREAK break the polls until each pod has told it and then failed so many times more, and MEND mend them. When
# the fault begins within a poll, that poll may say something else than those after it.
polls_fail() { # TIMES MEND BREAK...
  local pod said
  local -A failed good
  : >"$messages"
  "${@:3}"
  wait_for 30 each_says 'this pass failed in fetch; the configuration stays as it is'
  for pod in "${pods[@]}"; do read -r failed["$pod"] good["$pod"] < <(polls "$pod"); done
  for pod in "${pods[@]}"; do wait_for $((10 * $1 + 10)) has_failed "$pod" $((failed["$pod"] + $1)) "${good[$pod]}"; done
  assert_equal "$before" "$(state)"
  for pod in "${pods[@]}"; do
    said=$(grep -c "$pod/.*this pass failed" "$messages")
    ((said <= 2)) || { cat "$messages" && return 1; }
  done
  "$2"
  wait_for 30 each_says 'the pass succeeds again'
  sed 's/.*controller\]/ /' "$messages"
}

# Prints how many have failed, and when one succeeded.
polls() { # POD
  admin "$1" metrics | sed -nE 's/^bash_ingress_(failed_polls_total|last_good_poll_timestamp_seconds) //p' | paste -sd ' '
}

has_failed() { # POD TIMES LAST_GOOD_POLL
  local times good
  read -r times good < <(polls "$1")
  ((times >= $2)) && [[ $good == "$3" ]]
}

# Each kind to all requests or to one of the reads, in turns; in the long form, to each. (With 429 and slow, a poll
# takes some seconds: kubectl tries again as it is told to, or waits.)
wrong_answers() {
  local answer reads=('' ingresses '' ingressclasses '' services '' endpointslices) turn=0
  for answer in $(lasting '401 500 429 half empty kind slow html' '401 403 410 429 500 503 empty html kind half slow'); do
    for read in $(lasting "$turn" '0 1 3 5 7'); do
      echo "answer $answer to ${reads[read]:-all}"
      polls_fail "$(lasting 1 3)" answer_right order_answer "$answer" "${reads[read]}"
    done
    turn=$(((turn + 1) % 8))
  done
}

@test "a wrong answer of the API server changes no route, and is told once and counted" {
  listen
  ask_through_proxy
  serves_on wrong_answers
}

# Prints the pod that leads. Fails if one does not say whether it does.
leader() {
  local pod leads
  for pod in "${pods[@]}"; do
    leads=$(metric "$pod" leader)
    case $leads in
      0) ;;
      1) echo "$pod" ;;
      *) return 1 ;;
    esac
  done
}

one_leads() { # [BUT_NOT_THIS_POD]
  local now
  now=$(leader) && [[ $now =~ ^pod/[-a-z0-9]+$ && $now != "${1-}" ]]
}

nobody_leads() {
  local now
  now=$(leader) && [[ -z $now ]]
}

said_at() { # POD PATTERN
  kubectl -n bash-ingress logs "$1" --timestamps --since 120s | sed -n "s/ .*$2$//p" | tail -n 1
}

@test "a leader that is cut off, and gets nothing but empty answers, gives way before another leads" {
  [[ ${FAULTS-} == long ]] || skip 'make test-faults has time to wait until the leader is given up'
  wait_for 30 one_leads
  cut_off=$(leader)
  both=("${pods[@]}") pods=("$cut_off")
  ask_through_proxy
  order_answer empty
  pods=("${both[@]}")
  wait_for 60 one_leads "$cut_off"
  lost=$(said_at "$cut_off" 'does not lead any more') won=$(said_at "$(leader)" 'leads now')
  echo "$cut_off led until $lost, $(leader) leads since $won"
  [[ -n $lost && ! $lost > $won ]]
}

# What is not a resource of the API harms nobody. (A rule needs at least one.)
forbid() { # RESOURCE
  kubectl -n bash-ingress get clusterrole/bash-ingress role/bash-ingress -o json |
    jq --arg resource "$1" '(.items[].rules[].resources[] | select(. == $resource)) = "nothing"' |
    kubectl replace -f -
}

allow_all() {
  kubectl apply -f manifests/base/access.yaml
}

each_read_forbidden() {
  local resource
  for resource in $(lasting 'services secrets' 'ingresses ingressclasses namespaces services endpointslices secrets'); do
    echo "no right to $resource"
    polls_fail "$(lasting 1 20)" allow_all forbid "$resource"
    grep -qi "cannot read $resource: .*forbidden" "$messages"
  done
}

@test "a right to read that is taken away changes no route, and is told once and counted" {
  listen
  undo+=(allow_all)
  create_ingress secure 'grpc.example/=backend:80,tls=grpc' # or no Secret would be read
  wait_for 20 always_status 200 grpc.example /
  wait_for 60 always_certificate grpc.example grpc.example
  for pod in "${pods[@]}"; do
    wait_for 20 tells_served_hash "$pod"
  done
  before=$(state)
  serves_on each_read_forbidden
}

# Prints how often that has failed, in all pods.
failed_publications() {
  local pod
  for pod in "${pods[@]}"; do metric "$pod" failed_publications_total; done | jq -s add
}

publication_failed_since() { # TIMES
  (($(failed_publications) > $1))
}

# An Ingress comes; what it would have the controller write is forbidden, and told.
write_forbidden() { # RESOURCE NAME SERVICE MESSAGE
  local failed
  echo "no right to $1"
  : >"$messages"
  failed=$(failed_publications)
  forbid "$1"
  create_ingress "$2" "$2.example/=$3:80"
  wait_for 20 grep -qi "$4.*forbidden" "$messages"
  wait_for 20 publication_failed_since "$failed"
  allow_all
}

each_write_forbidden() {
  write_forbidden pods home backend 'cannot read the pods'
  wait_for 30 has_address home
  write_forbidden events mistake no-such-service 'cannot read the Events'
  wait_for 30 has_event mistake ServiceNotFound
  write_forbidden ingresses/status refused backend 'cannot replace .* objects'
  always_status 200 refused.example /
  create_ingress welcome 'welcome.example/=backend:80'
  wait_for 30 has_address welcome
  if [[ ${FAULTS-} == long ]]; then
    wait_for 90 has_address refused # what was refused is tried again after a minute
    lease_forbidden
  fi
  sed 's/.*controller\]/ /' "$messages"
}

lease_forbidden() {
  echo 'no right to leases'
  forbid leases
  wait_for 20 nobody_leads
  grep -qi 'cannot write the Lease .*forbidden' "$messages"
  allow_all
  wait_for 20 one_leads
}

@test "a right to write that is taken away changes no route, and is told and counted; given back, it is used" {
  listen
  undo+=(allow_all)
  wait_for 30 one_leads
  serves_on each_write_forbidden
  assert_equal "$(head -n 1 <<<"$before")" "$(readiness)"
}

# The old token becomes invalid with the Secret that it is bound to; the API server remembers it for some seconds.
replace_tokens() { # TIMES
  local i old=$token
  for ((i = 1; i <= $1; i++)); do
    give_token "$i"
    kubectl -n bash-ingress delete secret "token-$((i - 1))"
    wait_for 60 is_refused "$old"
    for pod in "${pods[@]}"; do wait_for 20 polled_since "$pod" "$(metric "$pod" last_good_poll_timestamp_seconds)"; done # by the new one
    old=$token
  done
}

give_token() { # NUMBER
  kubectl -n bash-ingress create secret generic "token-$1"
  tokens+=("token-$1")
  token=$(kubectl -n bash-ingress create token bash-ingress --bound-object-kind Secret --bound-object-name "token-$1")
  in_pods 'cat >/tmp/token.new && mv /tmp/token.new /tmp/token' <<<"$token"
}

delete_tokens() {
  kubectl -n bash-ingress delete secret --ignore-not-found "${tokens[@]}"
}

is_refused() { # TOKEN
  kubectl --kubeconfig /dev/null --server "$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}')" \
    --insecure-skip-tls-verify --token "$1" get --raw /api 2>&1 | grep -i unauthorized
}

failed_polls() {
  local pod
  for pod in "${pods[@]}"; do metric "$pod" failed_polls_total; done
}

@test "when the ServiceAccount's token is replaced, no poll fails" {
  tokens=()
  undo+=(delete_tokens)
  give_token 0
  ask_at "https://$(kubectl get service kubernetes -o jsonpath='{.spec.clusterIP}')" /tmp/token
  failed=$(failed_polls)
  serves_on replace_tokens "$(lasting 2 10)" # one takes so little time that fewer than 100 requests are sent
  for pod in "${pods[@]}"; do wait_for 20 polled_since "$pod" "$(metric "$pod" last_good_poll_timestamp_seconds)"; done
  assert_equal "$failed" "$(failed_polls)"
  assert_equal "$before" "$(state)"
}

polled_since() { # POD TIME
  (($(metric "$1" last_good_poll_timestamp_seconds) > $2))
}

# --- every Ingress is gone

restore_ingresses() {
  kubectl apply -f "$BATS_TEST_TMPDIR/ingresses"
}

@test "when every Ingress is deleted, requests get a 404" {
  [[ $CLUSTER != current ]] || skip "Ingresses of this cluster may be somebody else's"
  kubectl get ingresses -A -o json | jq 'del(.items[].metadata | .resourceVersion, .uid)' >"$BATS_TEST_TMPDIR/ingresses"
  undo+=(restore_ingresses)
  kubectl delete ingresses -A --all
  deleted=$EPOCHREALTIME
  wait_for 20 always_status 404 fruit.example /apple
  echo "404 after $(since "$deleted") ms"
  restore_ingresses
  wait_for 20 always_status 200 fruit.example /apple
}
