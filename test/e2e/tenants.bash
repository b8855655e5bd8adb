# Two namespaces of one cluster: e2e belongs to the neighbour, who only wants to be served; "tenant" to the tenant,
# who makes trouble with what anybody may do in a namespace of one's own, and with nothing else.

setup_tenants() {
  wait_for 60 kubectl create namespace tenant # one of an earlier run may still be leaving
  kubectl -n tenant create serviceaccount owner
  kubectl -n tenant create rolebinding owner --clusterrole admin --serviceaccount tenant:owner
  kubectl -n tenant create role slices --verb '*' --resource endpointslices.discovery.k8s.io # not part of "admin"
  kubectl -n tenant create rolebinding slices --role slices --serviceaccount tenant:owner
  make_pair "$BATS_FILE_TMPDIR/neighbour" secure.example ecdsa
  kubectl -n e2e create secret tls neighbour --cert "$BATS_FILE_TMPDIR/neighbour.crt" --key "$BATS_FILE_TMPDIR/neighbour.key"
  create_ingress secure 'secure.example/*=backend:80,tls=neighbour'
  many_ingresses 10 | kubectl create -f -
  local last=last-${EPOCHREALTIME/./}.example
  create_ingress last "$last/*=backend:80" # who serves this one serves the others, and none of an earlier test
  wait_for 20 always_status 200 "$last" /
} >/dev/null

remove_tenants() {
  kubectl delete namespace tenant --wait=false
  kubectl -n e2e delete secret neighbour
  kubectl -n e2e delete ingress --all --wait=false
} >/dev/null

tenant() { # KUBECTL_ARGUMENT...
  kubectl --namespace tenant --as system:serviceaccount:tenant:owner "$@"
}

# Creates what the expression gives, with the functions of tenants.jq.
tenant_creates() { # EXPRESSION [JQ_OPTION...]
  objects "$@" | tenant create --validate=false -f - >/dev/null
}

# Prints LEVELS of nesting.
nested() { # LEVELS
  local zeros
  printf -v zeros "%0$1d" 0
  printf '%s{}%s' "${zeros//0/\{\"f:a\":}" "${zeros//0/\}}"
}

# The key pair NAME.crt and NAME.key becomes a Secret of the tenant. (kubectl would look at what is in it.)
tenant_stores() { # NAME
  tenant_creates 'tls_secret($name; $certificate; $key)' --arg name "$1" \
    --rawfile certificate "$BATS_TEST_TMPDIR/$1.crt" --rawfile key "$BATS_TEST_TMPDIR/$1.key"
}

objects() { # EXPRESSION [JQ_OPTION...]
  jq -n -c -L "$root/test/e2e" "include \"tenants\"; list($1; \"tenant\")" "${@:2}"
}

# All at once: one by one, 20 requests a second would take longer than the tests.
tenant_deletes_all() {
  local path
  for path in networking.k8s.io/v1:ingresses discovery.k8s.io/v1:endpointslices; do
    tenant_deletes "/apis/${path%:*}/namespaces/tenant/${path#*:}"
  done
  for path in services secrets; do tenant_deletes "/api/v1/namespaces/tenant/$path"; done
} >/dev/null

tenant_deletes() { # PATH
  api "$1" -X DELETE --max-time 60 -H 'Impersonate-User: system:serviceaccount:tenant:owner'
}

# Whether no pod serves anything of the tenant. If so, the namespaces owe nothing for their changes any more, as in
# forget_changes.
tenant_is_gone() {
  local pod
  for pod in $(controller_pods); do
    kubectl -n bash-ingress exec "$pod" -- bash -c '! grep -qE "[\" ]tenant/" /tmp/bash-ingress/live/model.json && truncate -c -s 0 /tmp/bash-ingress/scratch/loop/accounts' || return
  done
}

# What one wants to see when a test has failed: not the whole configuration, which may be large.
explain_tenants() {
  local pod
  for pod in $(controller_pods); do
    echo "--- log of $pod, the last lines of the test, without diffs"
    kubectl -n bash-ingress logs "$pod" --since-time "$began" | grep -E '^[0-9:]{8} ' | grep -v ' access: ' | cut -c 1-300 | tail -n 30 || true
  done
  echo '--- wrong answers for the hosts of the neighbour'
  head -n 20 "$wrong_answers" | cut -c 1-300
}

# kubectl needs long for many large objects: this sends NUMBER copies of the one in FILE, with numbers instead of "NUMBER".
tenant_posts_copies() { # NUMBER FILE PATH
  local i proxying
  tenant proxy --port 0 >"$BATS_TEST_TMPDIR/proxy" 3>&- &
  proxying=$!
  wait_for 10 grep -q 'Starting to serve on' "$BATS_TEST_TMPDIR/proxy"
  for ((i = 0; i < $1; i++)); do
    sed "s/NUMBER/$i/" "$2" | curl -s --fail -o /dev/null -H 'Content-Type: application/json' --data-binary @- "http://$(sed 's/.* on //' "$BATS_TEST_TMPDIR/proxy")$3"
  done
  pkill -P "$proxying" # the kubectl; the function's own shell ends with it
}

# --- the neighbour

begin_asking() {
  began=$(date -u +%FT%TZ)
  wrong_answers=$BATS_TEST_TMPDIR/wrong-answers
  : >"$wrong_answers"
  keep_asking 3>&- &
  asking=$!
}

# Notes each answer for the neighbour's old hosts that is not from its own pods, or that takes more than 2 s: 6 s if other
# tests use the CPUs.
keep_asking() {
  local hosts=(many-{0..9}.example) expected answers asked
  expected=$(printf '"host":"%s"\n' "${hosts[@]}")
  while true; do
    asked=$EPOCHREALTIME
    answers=$(curl -s --max-time "$((${SLOWER:-1} > 1 ? 6 : 2))" --connect-to "::$(address_with_port)" "${hosts[@]/#/http://}" | grep -o '"host":"[^"]*"') || true # nothing at all is noted, too
    [[ $answers == "$expected" ]] || printf '%(%T)T, after %s ms: %s\n' -1 "$(since "$asked")" "${answers//$'\n'/ }" >>"$wrong_answers"
    sleep 0.2
  done
}

# Without the lines of requests, of which there are many.
log_of_test() {
  controller_logs --since-time "$began" | grep -v ' access: '
}

# While the tenant's objects are there: a new Ingress of the neighbour is served within 2 s, also when the controller has
# found out what is wrong; the old ones have been served all the time; and the log names the culprit: it has a line
# that matches PATTERN. (Nearer to 0.3 s, if nobody makes trouble; a test that needs more than 2 s says why.)
assert_neighbour_unharmed() { # PATTERN [MILLISECONDS]
  assert_new_ingress_is_served 'at once' "${2-}"
  wait_for_line 20 "$1" log_of_test
  assert_new_ingress_is_served 'when the log has named the culprit' "${2-}"
  assert_equal '' "$(<"$wrong_answers")"
}

# By each replica: all 17 requests are answered, and took becomes the time until the first one was.
is_served() { # HOST
  status_is 200 "$1" / && took=$(since "$begin") && always_status 200 "$1" /
}

assert_new_ingress_is_served() { # WHEN [MILLISECONDS]
  local name=new-${EPOCHREALTIME/./} begin took
  create_ingress "$name" "$name.example/*=backend:80" >/dev/null
  begin=$EPOCHREALTIME
  wait_for 60 is_served "$name.example"
  echo "# a new Ingress of the neighbour, $1: $took ms" >&3
  ((took > 0 && took <= ${2:-2000} * ${SLOWER:-1}))
}
