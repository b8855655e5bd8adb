load helpers
teardown() { common_teardown; }

is_older_than() { # SECONDS POD
  kubectl -n bash-ingress get "$2" -o json | jq -e --argjson seconds "$1" 'now - (.status.containerStatuses[0].state.running.startedAt | fromdate) > $seconds'
}

@test "when nginx is killed in a pod, it serves again, with the same configuration" {
  pod=$(controller_pods | head -n 1)
  wait_for 20 is_settled "$pod"
  wait_for 20 is_older_than 8 "$pod" # an nginx that ends in the first 5 s has failed to start, and so has the pod
  before=$(readiness)
  configuration=$(admin "$pod" metrics | grep config_info)
  killed=$(date -u +%FT%TZ)
  kubectl -n bash-ingress exec "$pod" -- bash -c 'kill -KILL "$(< /tmp/bash-ingress/run/nginx.pid)"'
  wait_for_line 20 'nginx ended; starting it again' kubectl -n bash-ingress logs "$pod" --since-time "$killed"
  wait_for 10 admin "$pod" healthz
  wait_for 10 always_status 200 fruit.example /apple
  assert_equal "$configuration" "$(admin "$pod" metrics | grep config_info)"
  assert_equal "$before" "$(readiness)"
}
