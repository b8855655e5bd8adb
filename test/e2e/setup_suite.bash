# Once for all e2e tests: the demo, as a user gets it, and the backends of the tests.
# A demo that was up before stays. Where PREPARED names a file, other suites use the cluster, too:
# the first prepares it and makes the file, and none ends it.

setup_suite() {
  root=$BATS_TEST_DIRNAME/../..
  [[ -e ${PREPARED-} ]] || start_demo
  join_cluster
  [[ -e ${PREPARED-} ]] || deploy_backends
  [[ -z ${PREPARED-} ]] || : >"$PREPARED"
  start_proxy
}

start_demo() {
  was_up=$("$root/test/demo/demo" urls >/dev/null 2>&1 && echo yes || true)
  "$root/test/demo/demo" up >"$BATS_RUN_TMPDIR/demo.log" 2>&1 3>&- || { cat "$BATS_RUN_TMPDIR/demo.log" && return 1; }
}

# The tests get the demo's kubectl, the addresses where the controller answers, and
# the commands that stop the API server and let it go on.
join_cluster() {
  source "$root/test/demo/demo"
  choose_cluster
  connect
  export CLUSTER KUBECONFIG PATH ADDRESS=$address TLS_ADDRESS OUTAGE_BEGIN='' OUTAGE_END=''
  TLS_ADDRESS=$("${CLUSTER}_tls_address")
  { read -r OUTAGE_BEGIN && read -r OUTAGE_END; } < <("${CLUSTER}_outage") || true # not every cluster has them
}

# The namespace of the run before may still be leaving.
let_leave() { # NAMESPACE
  [[ -z $(kubectl get namespace "$1" --ignore-not-found -o 'jsonpath={.metadata.deletionTimestamp}') ]] ||
    kubectl wait --for delete "namespace/$1" --timeout 300s
}

deploy_backends() {
  let_leave e2e
  kubectl create namespace e2e --dry-run=client -o yaml | kubectl apply -f -
  bring_image backend .
  bring_image grpc google.golang.org/grpc/interop/server
  bring_image api-proxy .
  create_certificate
  kubectl -n e2e apply -f "$root/test/e2e/backend.yaml" -f "$root/test/e2e/grpc.yaml" -f "$root/test/e2e/api-proxy.yaml"
  kubectl -n e2e rollout status deployment/backend --timeout 60s
  kubectl -n e2e rollout status deployment/grpc --timeout 60s
  kubectl -n e2e rollout status deployment/api-proxy --timeout 60s
}

bring_image() { # NAME PACKAGE
  build_image "$1" "$2" "$BATS_RUN_TMPDIR/$1.tar"
  "${CLUSTER}_load" "$BATS_RUN_TMPDIR/$1.tar"
}

# The Go PACKAGE becomes the image bash-ingress-NAME:dev, as the Dockerfile in test/go/NAME says.
build_image() ( # NAME PACKAGE FILE
  source "$root/test/image"
  choose_builder
  name=bash-ingress-$1:dev
  CGO_ENABLED=0 go build -C "$root/test/go/$1" -trimpath -ldflags='-s -w' -o "$BATS_RUN_TMPDIR/$1/program" "$2"
  "$BUILDER" build --tag "$(local_name "$name")" --file "$root/test/go/$1/Dockerfile" "$BATS_RUN_TMPDIR/$1"
  save "$3"
)

# For grpc.example and grpcs.example: the Ingresses of these hosts have it, and the gRPC server, too.
create_certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=grpc.example \
    -addext subjectAltName=DNS:grpc.example,DNS:grpcs.example -keyout "$BATS_RUN_TMPDIR/tls.key" -out "$BATS_RUN_TMPDIR/tls.crt"
  kubectl -n e2e create secret tls grpc --cert "$BATS_RUN_TMPDIR/tls.crt" --key "$BATS_RUN_TMPDIR/tls.key" \
    --dry-run=client -o yaml | kubectl apply -f -
}

# For what the tests read again and again (`api` in helpers.bash): to ask it takes a tenth of what a kubectl takes to start.
start_proxy() {
  export API=$BATS_RUN_TMPDIR/api
  kubectl proxy --unix-socket "$API" >/dev/null 3>&- &
  proxying=$!
  local i
  for i in {1..100}; do
    ! curl -sf -o /dev/null --unix-socket "$API" http://localhost/version || return 0
    sleep 0.1
  done
  echo 'kubectl proxy does not answer within 10 s' >&2
  return 1
}

teardown_suite() {
  kill "${proxying-}" || true # if the setup failed, there is none
  [[ -z ${PREPARED-} ]] || return 0
  kubectl delete namespace e2e --wait=false
  [[ -n $was_up ]] || "$root/test/demo/demo" down
}
