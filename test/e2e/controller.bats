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

@test "nothing in the image can become another user, and its package list tells what is there" {
  pod=$(controller_pods | head -n 1)
  assert_equal /usr/bin/bash "$(kubectl -n bash-ingress exec "$pod" -- find / -xdev -type f '(' -perm /6000 -o -path /usr/bin/bash ')')" # which find found
  packages=$(kubectl -n bash-ingress exec "$pod" -- dpkg-query -W -f '${Package}\n')
  for package in bash jq kubectl nginx openssl gettext-base; do
    grep -qx "$package" <<<"$packages"
  done
  # shellcheck disable=SC2016 # the dollar sign is for the pod
  assert_equal bash "$(kubectl -n bash-ingress exec "$pod" -- bash -c 'for program; do ! command -v "$program" >/dev/null || echo "$program"; done' _ bash python3 curl wget gcc ssh)"
}

# What each authenticated user may do anyway is left out.
allowed() { # NAMESPACE
  kubectl -n "$1" auth can-i --list --no-headers --as system:serviceaccount:bash-ingress:bash-ingress |
    grep -v 'selfsubject\|^ ' | sed -E 's/ +/ /g; s/ \[\] / /' | sort
}

# The same from the table in manifests/README.md.
documented() { # WHERE...
  local where
  for where; do
    sed -nE "s/^\\| \`([^\`]+)\`( \`([^\`]+)\`)? \\| ([a-z ]+) \\| $where \\|.*/\\1 [\\3] [\\4]/p" "$root/manifests/README.md"
  done | sort
}

@test "the ServiceAccount has the rights that manifests/README.md names, and no others" {
  assert_equal "$(documented 'all namespaces')" "$(allowed default)"
  assert_equal "$(documented 'all namespaces' 'its own namespace')" "$(allowed bash-ingress)"
}

@test "the admin port tells of health, readiness and numbers" {
  pod=$(controller_pods | head -n 1)
  assert_equal alive "$(admin "$pod" healthz)"
  assert_equal ready "$(admin "$pod" readyz)"
  metrics=$(admin "$pod" metrics)
  assert_contains "$metrics" 'bash_ingress_polls_total '
  assert_contains "$metrics" 'bash_ingress_nginx_connections_active '
}

@test "the image's nginx knows every directive, and has no error of its own to tell, but of single requests" {
  run controller_logs
  grep -qE '^[0-9:]+ (ingress-controller|apply): ' <<<"$output" # the logs are there; of a controller that has just been started again, without a change
  refute_contains "$output" 'It is left out:'
  # Other tests, which may have run before on this cluster, want errors of requests, and have apply repeat what nginx rejects.
  errors=$(grep -E '^[0-9]{4}/[0-9/]+ .*\[(error|crit|alert|emerg)\]' <<<"$output" | grep -v ', client: ' || true)
  assert_equal '' "$errors"
}

@test "the steps run in the pod, one at a time, by hand" {
  pod=$(controller_pods | head -n 1)
  run kubectl -n bash-ingress exec "$pod" -- bash -c 'fetch | route | render | head -n 1'
  assert_contains "$output" '# config-hash '
}
