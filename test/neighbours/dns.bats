# external-dns makes records of the addresses that the Ingresses show.
load helpers

setup_file() {
  bring_neighbour external-dns external-dns
  kubectl apply -f "$BATS_TEST_DIRNAME/manifests/external-dns.yaml"
  start_neighbour external-dns
}

teardown() {
  explain_neighbour external-dns
  common_teardown
}

teardown_file() {
  kubectl -n neighbours delete deployment/external-dns
}

records() {
  kubectl -n neighbours logs deployment/external-dns --tail -1 | grep -F "$1"
}

@test "an Ingress's host gets a record with our address, and loses it with the Ingress" {
  create_ingress named 'named.example/*=backend:80'
  wait_for 30 has_address named
  wait_for_line 30 "CREATE: named.example.* A .*$(addresses_of named)" records named.example
  kubectl -n e2e delete ingress named
  wait_for_line 30 'DELETE: named.example' records named.example
}

@test "so does a host that the annotation external-dns.kubernetes.io/hostname names" {
  create_ingress noted 'noted.example/*=backend:80'
  kubectl -n e2e annotate ingress noted external-dns.kubernetes.io/hostname=other-name.example
  wait_for_line 30 'CREATE: other-name.example.* A ' records other-name.example
}

@test "a restart of the controller takes no record away" {
  create_ingress kept 'kept.example/*=backend:80'
  wait_for_line 30 'CREATE: kept.example' records kept.example
  kubectl -n bash-ingress rollout restart deployment/bash-ingress
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
  sleep 5
  refute_contains "$(records kept.example)" DELETE
}
