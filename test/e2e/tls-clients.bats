# Clients that speak HTTP/2 or TLS, and pods that do.
load helpers

setup_file() {
  create_ingress secure 'secure.example/*=backend:https'
  create_ingress client 'client.example/*=backend:80'
  create_ingress grpc 'grpc.example/*=grpc:plain,tls=grpc'
  create_ingress grpcs 'grpcs.example/*=grpc:secure,tls=grpc'
  speak grpc GRPC
  speak grpcs GRPCS
  speak secure HTTPS # the last change: once it is live, all are
  kubectl -n e2e get secret grpc -o json | jq -r '.data["tls.crt"] | @base64d' >"$BATS_FILE_TMPDIR/ca"
  go build -C "$root/test/go" -o "$BATS_RUN_TMPDIR/interop" google.golang.org/grpc/interop/client
  wait_for 15 always_status 200 secure.example /
}
teardown() { [[ -n ${BATS_TEST_COMPLETED-} ]] || explain_failure; }
teardown_file() { kubectl -n e2e delete ingress --all --wait=false; }

speak() { # INGRESS PROTOCOL   that its pods speak
  kubectl -n e2e annotate ingress "$1" "nginx.ingress.kubernetes.io/backend-protocol=$2"
}

# Asks over HTTPS, whatever the certificate.
ask_securely() { # HOST PATH [CURL_OPTION...]
  curl -sk --max-time 10 --connect-to "::$TLS_ADDRESS" "${@:3}" "https://$1$2"
}

@test "HTTP/2 without TLS is answered" {
  assert_equal '2 200' "$(ask client.example / --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}')"
}

@test "HTTPS is answered over HTTP/2 and over HTTP/1.1, and the pod is told that it was HTTPS" {
  for version in 2 1.1; do
    answer=$(ask_securely client.example / "--http$version" -w '\n%{http_version} %{http_code}')
    assert_equal "$version 200" "${answer##*$'\n'}"
    assert_contains "$answer" '"X-Forwarded-Proto":["https"]'
  done
}

@test "100 requests at the same time over HTTP/2 are answered" {
  assert_equal 100 "$(ask_securely client.example '/?[1-100]' --http2 --parallel -o /dev/null -w '%{http_code}\n' | grep -c 200)"
}

@test "pods that speak HTTPS are spoken to in HTTPS" {
  assert_equal true "$(ask secure.example / | jq .tls)"
  assert_equal true "$(ask_securely secure.example / | jq .tls)"
}

@test "an upload over HTTP/2 arrives" {
  assert_equal received "$(head -c 10000000 /dev/zero | ask_securely client.example /upload --http2 -T -)"
}

# Runs cases of the gRPC library's interoperability tests (their descriptions:
# "interop-test-descriptions" in the gRPC project). On a busy machine, a call that is cancelled may be
# answered before the library notices: so a case has two tries.
interoperate() { # HOST CASE...
  local case
  for case in "${@:2}"; do
    call "$1" "$case" || call "$1" "$case" || { echo "case: $case" && return 1; }
  done
}

call() { # HOST CASE
  timeout 20 "$BATS_RUN_TMPDIR/interop" --use_tls --use_test_ca --ca_file "$BATS_FILE_TMPDIR/ca" --server_host "${ADDRESS%:*}" \
    --server_port "${TLS_ADDRESS##*:}" --server_host_override "$1" --test_case "$2"
}

grpc_cases=(empty_unary large_unary client_streaming server_streaming ping_pong empty_stream status_code_and_message
  special_status_message custom_metadata timeout_on_sleeping_server cancel_after_begin cancel_after_first_response
  unimplemented_method unimplemented_service)

@test "the gRPC library's interoperability tests pass with a server that speaks gRPC" {
  interoperate grpc.example "${grpc_cases[@]}"
}

@test "the gRPC library's interoperability tests pass with a server that speaks gRPC with TLS" {
  interoperate grpcs.example "${grpc_cases[@]}"
}
