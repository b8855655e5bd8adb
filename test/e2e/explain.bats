load helpers
teardown() { common_teardown; }

# Asks in each pod, and prints what the last one says.
explain() { # ARGUMENT...
  local pod
  for pod in $(controller_pods); do kubectl -n bash-ingress exec "$pod" -- explain "$@" || (($? == 1)); done
}

explains() { # TEXT ARGUMENT...
  explain "${@:2}" >"$BATS_TEST_TMPDIR/said" 2>&1
  grep -qF "$1" "$BATS_TEST_TMPDIR/said" || { cat "$BATS_TEST_TMPDIR/said" && return 1; }
}

@test "asked in the pod, explain names the pods that answer, the certificate, and why a path has none" {
  create_ingress explained 'explained.example/cart=backend:80' 'explained.example/gone*=no-such-service:80'
  wait_for 10 always_status 200 explained.example /cart
  explains 'a pod of Service e2e/backend, port 80, answers' http://explained.example/cart
  explains 'the field .spec.rules[0].http.paths[0]' http://explained.example/cart
  explains 'nginx.conf, line ' http://explained.example/cart
  explains 'HTTP/1.1 200' --curl http://explained.example/cart
  explains 'a pod of Service e2e/backend, port 80, answers' https://explained.example/cart
  explains 'ServiceNotFound: Service e2e/no-such-service does not exist' http://explained.example/gone/7
  explains 'there is Exact /cart of e2e/explained' http://explained.example/nope
}

@test "in the pod, manifests are explained before they are applied, and nothing is left behind" {
  local pod
  create_ingress explained 'explained.example/cart=backend:80'
  wait_for 10 always_status 200 explained.example /cart
  pod=$(controller_pods | head -n 1)
  kubectl -n e2e create ingress later --class bash --rule 'explained.example/later=backend:80' --dry-run=client -o yaml |
    kubectl -n bash-ingress exec -i "$pod" -- explain -f - http://explained.example/later >"$BATS_TEST_TMPDIR/said"
  assert_contains "$(<"$BATS_TEST_TMPDIR/said")" 'Exact /later of e2e/later decides'
  assert_equal '' "$(kubectl -n bash-ingress exec "$pod" -- find /tmp -maxdepth 1 -name 'explain.*')"
}
