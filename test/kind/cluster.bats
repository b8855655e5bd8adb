# What kind has that the embedded cluster lacks: nodes that are containers, another network, ports of the machine.
# bats file_tags=kind
load ../e2e/helpers
teardown() {
  ${undo-}
  common_teardown
}

# The controller of variants/kind takes the place of another again, as `make demo` has it.
restore_variant() {
  kubectl -n bash-ingress delete daemonset bash-ingress --ignore-not-found
  kubectl apply -k "$root/manifests/variants/kind"
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
  wait_for 60 always_status 200 fruit.example /apple
}

node_addresses() {
  kubectl get nodes -o 'jsonpath={.items[*].status.addresses[?(@.type=="InternalIP")].address}'
}

# prints: the addresses that the demo's Ingress shows
shown_addresses() {
  kubectl -n demo get ingress fruit -o 'jsonpath={.status.loadBalancer.ingress[*].ip}'
}

node_answers() { # ADDRESS
  local status
  status=$(curl -sk --max-time 5 -o /dev/null -w '%{http_code}' --connect-to "::$1:443" https://fruit.example/apple)
  [[ $status == 200 && $(curl -s --max-time 5 -H 'Host: fruit.example' "http://$1/apple") == 'Hello from apple,'* ]]
}

@test "a rolling restart of the controller loses no request that comes by the machine's port" {
  restart() {
    kubectl -n bash-ingress rollout restart deployment/bash-ingress
    kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
  }
  lose_nothing '-clients 100 -pause 200ms' "$(address_with_port)" fruit.example /apple restart
}

@test "a node that was stopped is started by make demo, and all URLs answer" {
  "$CONTAINER_PROGRAM" stop --time 3 bash-ingress-control-plane
  run "$root/test/demo/demo" up
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" 'It works'
  (($(wc -l <<<"$output") < 30))
}

@test "the variant hostport, deployed by its release manifest: each node's ports 80 and 443 answer, and the Ingresses show the nodes" {
  undo=restore_variant
  kubectl -n bash-ingress delete deployment/bash-ingress service/bash-ingress poddisruptionbudget/bash-ingress
  make -s -C "$root" release-manifest VARIANT=variants/hostport IMAGE=docker.io/library/bash-ingress:dev >"$BATS_TEST_TMPDIR/manifest.yaml"
  grep -q 'image: docker.io/library/bash-ingress:dev$' "$BATS_TEST_TMPDIR/manifest.yaml"
  kubectl apply -f "$BATS_TEST_TMPDIR/manifest.yaml"
  kubectl -n bash-ingress rollout status daemonset/bash-ingress --timeout 120s
  nodes=$(node_addresses)
  [[ -n $nodes ]]
  for address in $nodes; do
    wait_for 30 node_answers "$address"
  done
  wait_for_equal 30 "$nodes" shown_addresses
  kubectl -n bash-ingress rollout restart daemonset/bash-ingress
  kubectl -n bash-ingress rollout status daemonset/bash-ingress --timeout 120s
  for address in $nodes; do
    wait_for 30 node_answers "$address"
  done
}
