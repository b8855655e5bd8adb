# Once for all e2e tests: the demo, as a user gets it, and the backend of the tests.
# A demo that was up before stays.

setup_suite() {
  root=$BATS_TEST_DIRNAME/../..
  was_up=$("$root/test/demo/demo" urls >/dev/null 2>&1 && echo yes || true)
  "$root/test/demo/demo" up >"$BATS_RUN_TMPDIR/demo.log" 2>&1 3>&- || { cat "$BATS_RUN_TMPDIR/demo.log" && return 1; }
  join_cluster
  deploy_backend
}

# The tests get the demo's kubectl, the address where the controller answers, and
# the commands that stop the API server and let it go on.
join_cluster() {
  source "$root/test/demo/demo"
  choose_cluster
  connect
  export CLUSTER KUBECONFIG PATH ADDRESS=$address OUTAGE_BEGIN='' OUTAGE_END=''
  { read -r OUTAGE_BEGIN && read -r OUTAGE_END; } < <("${CLUSTER}_outage") || true # not every cluster has them
}

deploy_backend() {
  build_backend "$BATS_RUN_TMPDIR/backend.tar"
  "${CLUSTER}_load" "$BATS_RUN_TMPDIR/backend.tar"
  kubectl create namespace e2e --dry-run=client -o yaml | kubectl apply -f -
  kubectl -n e2e apply -f "$root/test/e2e/backend.yaml"
  kubectl -n e2e rollout status deployment/backend --timeout 60s
}

build_backend() ( # FILE
  source "$root/test/image"
  choose_builder
  name=bash-ingress-backend:dev
  CGO_ENABLED=0 go build -C "$root/test/backend" -o backend .
  "$BUILDER" build --tag "$(local_name "$name")" "$root/test/backend"
  save "$1"
)

teardown_suite() {
  kubectl delete namespace e2e --wait=false
  [[ -n $was_up ]] || "$root/test/demo/demo" down
}
