# oauth2-proxy, asked by auth-url, signs a client in that keeps cookies, refreshes its session, and signs it out.
load helpers

setup_file() {
  bring_neighbour mockoidc oidc
  bring_neighbour oauth2-proxy oauth2-proxy
  sed "s/ADDRESS/$(address_in_cluster)/" "$BATS_TEST_DIRNAME/manifests/oauth2-proxy.yaml" | kubectl apply -f -
  kubectl -n e2e rollout status deployment/issuer --timeout 120s
  wait_for 20 status_is 200 issuer.example /oidc/.well-known/openid-configuration # oauth2-proxy asks once, when it starts
  kubectl -n e2e rollout restart deployment/oauth2-proxy
  kubectl -n e2e rollout status deployment/oauth2-proxy --timeout 120s
  wait_for 20 status_is 302 login.example /
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n e2e logs deployment/oauth2-proxy --tail 30 | grep -v kube-probe || true
}

teardown_file() {
  kubectl -n e2e delete ingress --all
  kubectl -n e2e delete deployment,service issuer oauth2-proxy
}

# A whole visit: in, three refreshes at least, and out. Prints what it was.
visit() { # OPTION...
  "$(go_program login)" "$@" -for 20s -refreshes 3 "$(address_with_port)" "$TLS_ADDRESS" "$link" | tee "$BATS_TEST_TMPDIR/visit"
  sed 's/^/# /' "$BATS_TEST_TMPDIR/visit" >&3
  grep -qx 'signed out' "$BATS_TEST_TMPDIR/visit"
}

link='https://login.example/a/page?with=a%20query&and=more'

@test "a client signs in and comes to its link, stays through refreshes, and signs out: over HTTP/2 and HTTP/1.1" {
  visit
  visit -http1
}

@test "so does one whose session takes 15 kB of cookies, over HTTP/2 and HTTP/1.1" {
  visit -kilobytes 7
  visit -http1 -kilobytes 7
}

@test "so does one whose session takes 20 kB, and one with 44 kB, over HTTP/2" {
  visit -kilobytes 10
  visit -kilobytes 24
}

@test "a link with long queries comes back from the sign-in as it was" {
  link="https://login.example/dashboard?$(printf 'query%s=a%%20long%%20expression%%7Bwith%%3D%%22braces%%22%%7D&' {1..40})"
  visit
}
