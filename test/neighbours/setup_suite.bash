# Once for the tests with neighbours: the demo, the backends, and rights for the neighbours. Each file starts its own.
source "${BASH_SOURCE[0]%/*}/../e2e/setup_suite.bash" # its functions, of which two are replaced

deploy_backends() {
  let_leave e2e
  let_leave neighbours
  kubectl create namespace e2e --dry-run=client -o yaml | kubectl apply -f -
  bring_image backend .
  kubectl -n e2e apply -f "$root/test/e2e/backend.yaml"
  kubectl apply -f "$root/test/neighbours/manifests/access.yaml"
  kubectl -n e2e rollout status deployment/backend --timeout 60s
}

teardown_suite() {
  kill "${proxying-}" || true # if the setup failed, there is none
  if [[ -z $was_up ]]; then
    "$root/test/demo/demo" down
    return
  fi
  kubectl delete namespace e2e neighbours --wait=false
  kubectl delete clusterrolebinding neighbours
  kubectl get crd -o name | { grep -E '(cert-manager|argoproj|flagger)\.' || true; } | xargs -r kubectl delete --wait=false
}
