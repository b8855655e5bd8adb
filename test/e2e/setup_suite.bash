# Once for all e2e tests: the demo's cluster and deployment, and the backend of the tests.
# A cluster that was there before stays.

root=$BATS_TEST_DIRNAME/../..

setup_suite() {
  was_up=$("$root/test/demo/demo" urls >/dev/null 2>&1 && echo yes || true)
  "$root/test/demo/demo" up >"$BATS_RUN_TMPDIR/demo.log" 2>&1 3>&- || { cat "$BATS_RUN_TMPDIR/demo.log" && return 1; }
  eval "$("$root/test/demo/demo" env)"
  deploy_backend
}

deploy_backend() {
  CGO_ENABLED=0 go build -C "$root/test/backend" -o backend .
  "$root/test/image" build bash-ingress-backend:dev "$root/test/backend"
  "$root/test/demo/demo" load bash-ingress-backend:dev
  kubectl create namespace e2e --dry-run=client -o yaml | kubectl apply -f -
  kubectl -n e2e apply -f "$root/test/e2e/backend.yaml"
  kubectl -n e2e rollout status deployment/backend --timeout 60s
}

teardown_suite() {
  kubectl delete namespace e2e --wait=false
  [[ -n $was_up ]] || "$root/test/demo/demo" down
}
