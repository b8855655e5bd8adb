load helpers
teardown() { common_teardown; }

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
