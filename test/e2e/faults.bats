load helpers

setup() {
  cd "$root" # the commands that stop the API server are for there
}

teardown() {
  [[ -z ${api_server_stopped-} ]] || eval "$OUTAGE_END"
  common_teardown
}

# When each pod became ready, and how often it was started.
readiness() {
  kubectl -n bash-ingress get pods -l "$controller_label" -o json |
    jq -c '[.items[] | select(.metadata.deletionTimestamp == null).status | (.conditions[] | select(.type == "Ready").lastTransitionTime), .containerStatuses[0].restartCount]'
}

@test "while the API server is stopped, requests are answered and the controller stays ready" {
  [[ -n $OUTAGE_BEGIN ]] || skip 'this cluster has no way to stop its API server'
  before=$(readiness)
  eval "$OUTAGE_BEGIN"
  api_server_stopped=yes
  lose_nothing '-rate 100' "$(address_with_port)" fruit.example /apple sleep 8 # longer than a read may take
  eval "$OUTAGE_END"
  api_server_stopped=''
  create_ingress after 'after.example/=backend:80'
  wait_for 20 always_status 200 after.example /
  assert_equal "$before" "$(readiness)"
  wait_for 10 eval 'controller_logs --since 60s | grep -q "the poll succeeds again"'
}

# Whether what the test before has left is gone, and the metrics tell of that.
is_settled() { # POD
  ! kubectl -n bash-ingress exec "$1" -- grep -q '"e2e/' /tmp/bash-ingress/live/nginx.conf &&
    admin "$1" metrics | grep -qF "config_info{hash=\"$(admin "$1" config-hash)\"}"
}

@test "when nginx is killed in a pod, it serves again, with the same configuration" {
  pod=$(controller_pods | head -n 1)
  wait_for 20 is_settled "$pod"
  before=$(readiness)
  configuration=$(admin "$pod" metrics | grep config_info)
  kubectl -n bash-ingress exec "$pod" -- bash -c 'kill -KILL "$(< /tmp/bash-ingress/nginx.pid)"'
  wait_for 20 eval "kubectl -n bash-ingress logs '$pod' | grep -q 'nginx ended; starting it again'"
  wait_for 10 admin "$pod" healthz
  wait_for 10 always_status 200 fruit.example /apple
  assert_equal "$configuration" "$(admin "$pod" metrics | grep config_info)"
  assert_equal "$before" "$(readiness)"
}
