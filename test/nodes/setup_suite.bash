# Once for the tests on three nodes: the demo on kind with two workers, and applications on both.
source "${BASH_SOURCE[0]%/*}/../kind/setup_suite.bash" # its functions, of which one is replaced

export KIND_CONFIG=${BASH_SOURCE[0]%/*}/../../manifests/variants/kind/kind-workers.yaml

deploy_backends() {
  (($(kubectl get nodes -o name | wc -l) == 3)) || { echo 'the demo is up with other nodes; to remove it: make demo-down' && return 1; }
  kubectl create namespace e2e --dry-run=client -o yaml | kubectl apply -f -
  bring_image backend .
  kubectl apply -f "$root/test/nodes/apps.yaml"
  for name in spread steady; do
    kubectl -n e2e expose "deployment/$name" --port 80 --target-port web --dry-run=client -o yaml | kubectl apply -f -
    kubectl -n e2e rollout status "deployment/$name" --timeout 60s
  done
  make -s -C "$root" deploy # the base: what a cluster with load balancers gets
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

teardown_suite() {
  kill "${proxying-}" || true # if the setup failed, there is none
  kubectl delete namespace e2e --wait=false
  if [[ -n $was_up ]]; then
    "$root/test/demo/demo" up # its own way in again
  else
    "$root/test/demo/demo" down
  fi
  [[ -z $OURS ]] || "$root/test/kind/kind" down 3>&-
}
