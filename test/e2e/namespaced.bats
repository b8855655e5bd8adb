# manifests/variants/namespaced, beside the controller of the other tests: installed in
# the namespace "narrow" for the Ingresses of the namespace "narrow-apps".
load helpers

setup_file() {
  cd "$root"
  kubectl create namespace narrow-apps
  image=$(kubectl -n bash-ingress get deployment bash-ingress -o jsonpath='{.spec.template.spec.containers[0].image}')
  manifests >"$BATS_FILE_TMPDIR/narrow.yaml"
  kubectl apply -f "$BATS_FILE_TMPDIR/narrow.yaml"
}

setup() {
  cd "$root"
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n narrow logs deployment/bash-ingress --tail 40
  common_teardown
}

teardown_file() {
  kubectl delete namespace narrow narrow-apps --wait=false
}

manifests() {
  kubectl kustomize manifests/variants/namespaced |
    sed "s/namespace: bash-ingress$/namespace: narrow/; s/: default$/: narrow-apps/; s|: bash-ingress/bash-ingress$|: narrow/bash-ingress|; s|image: bash-ingress:dev$|image: $image|" |
    sed '/^kind: Namespace$/,/^---$/ s/^  name: bash-ingress$/  name: narrow/'
}

answer() { # PATH   asks a controller pod of "narrow", through the API server
  local pod
  pod=$(kubectl -n narrow get pods -l "$controller_label" -o jsonpath='{.items[0].metadata.name}')
  kubectl get --raw "/api/v1/namespaces/narrow/pods/$pod:8080/proxy$1"
}

@test "with rights in one namespace only, the Ingresses there are served, with certificates and Events" {
  make_pair "$BATS_TEST_TMPDIR/narrow" narrow.example ecdsa
  kubectl -n narrow-apps create secret tls narrow --cert "$BATS_TEST_TMPDIR/narrow.crt" --key "$BATS_TEST_TMPDIR/narrow.key"
  sed 's/replicas: 2/replicas: 1/' test/e2e/backend.yaml | kubectl -n narrow-apps apply -f -
  kubectl -n narrow-apps create ingress narrow --class bash --rule '/narrow*=backend:80' --rule 'narrow.example/=backend:80,tls=narrow'
  kubectl -n narrow-apps create ingress troubled --class bash --rule 'troubled.example/=missing:80'
  kubectl -n narrow rollout status deployment/bash-ingress --timeout 60s
  kubectl -n narrow-apps rollout status deployment/backend --timeout 60s
  wait_for_line 20 '"uri":"/narrow/x"' answer /narrow/x
  wait_for_line 20 ServiceNotFound kubectl -n narrow-apps get events
  refute_contains "$(kubectl -n narrow logs -l "$controller_label" --tail -1)" 'cannot '
  assert_contains "$(kubectl -n narrow exec deployment/bash-ingress -- cat /tmp/bash-ingress/live/model.json)" '"host": "narrow.example",
      "files"'
}

@test "the namespaced variant asks for no right outside of its two namespaces" {
  run kubectl auth can-i list ingressclasses --as system:serviceaccount:narrow:bash-ingress
  assert_equal no "${lines[-1]}"
  run kubectl auth can-i list ingresses -n narrow-apps --as system:serviceaccount:narrow:bash-ingress
  assert_equal yes "${lines[-1]}"
  for resource in secrets ingresses services endpointslices events pods; do
    run kubectl auth can-i list "$resource" -n demo --as system:serviceaccount:narrow:bash-ingress
    assert_equal no "${lines[-1]}"
  done
}
