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

# What each authenticated user may do anyway is left out.
allowed() { # NAMESPACE
  kubectl -n "$1" auth can-i --list --no-headers --as system:serviceaccount:bash-ingress:bash-ingress |
    grep -v 'selfsubject\|^ ' | sed -E 's/ +/ /g; s/ \[\] / /' | sort
}

@test "the ServiceAccount may list what the controller reads, write what it publishes, and nothing more" {
  everywhere='endpointslices.discovery.k8s.io [] [list]
events [] [list create update]
ingressclasses.networking.k8s.io [] [list]
ingresses.networking.k8s.io [] [list]
ingresses.networking.k8s.io/status [] [update]
secrets [] [list]
services [] [list]'
  at_home='leases.coordination.k8s.io [] [create]
leases.coordination.k8s.io [bash-ingress] [get update]
pods [] [list]
services [bash-ingress] [get]'
  assert_equal "$everywhere" "$(allowed default)"
  assert_equal "$(sort <<<"$everywhere"$'\n'"$at_home")" "$(allowed bash-ingress)"
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
