load helpers
teardown() { common_teardown; }

@test "the pods run as a user without privileges, on a read-only root, under Pod Security restricted" {
  assert_equal restricted "$(kubectl get namespace bash-ingress -o jsonpath='{.metadata.labels.pod-security\.kubernetes\.io/enforce}')"
  pod=$(controller_pods | head -n 1)
  assert_equal 65532 "$(kubectl -n bash-ingress exec "$pod" -- id -u)"
  run kubectl -n bash-ingress exec "$pod" -- touch /opt/x
  assert_contains "$output" 'Read-only file system'
  assert_contains "$(kubectl -n bash-ingress exec "$pod" -- grep CapBnd /proc/1/status)" 0000000000000000
}

@test "the ServiceAccount may list what the controller reads, and nothing more" {
  # what each authenticated user may do anyway is not ours
  rules=$(kubectl auth can-i --list --no-headers --as system:serviceaccount:bash-ingress:bash-ingress |
    grep -v 'selfsubject\|^ ' | awk '{ print $1, $NF }' | sort)
  assert_equal 'endpointslices.discovery.k8s.io [list]
ingressclasses.networking.k8s.io [list]
ingresses.networking.k8s.io [list]
secrets [list]
services [list]' "$rules"
}

@test "the admin port tells of health, readiness and numbers" {
  pod=$(controller_pods | head -n 1)
  assert_equal alive "$(admin "$pod" healthz)"
  assert_equal ready "$(admin "$pod" readyz)"
  metrics=$(admin "$pod" metrics)
  assert_contains "$metrics" 'bash_ingress_polls_total '
  assert_contains "$metrics" 'bash_ingress_nginx_connections_active '
}

@test "the image's nginx knows every directive, and nothing was logged as an error" {
  run controller_logs
  assert_contains "$output" 'apply: new configuration: added '
  refute_contains "$output" 'left out'
  for level in error crit alert emerg; do
    refute_contains "$output" "[$level]"
  done
}

@test "the steps run in the pod, one at a time, by hand" {
  pod=$(controller_pods | head -n 1)
  run kubectl -n bash-ingress exec "$pod" -- bash -c 'fetch | route | render | head -n 1'
  assert_contains "$output" '# config-hash '
}
