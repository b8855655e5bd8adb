load helpers

setup() {
  dir=$BATS_TEST_TMPDIR
}

teardown() {
  kubectl -n e2e delete secret --field-selector metadata.name!=grpc --wait=false >/dev/null # that one is the gRPC server's
  common_teardown
}

# Makes the Secret NAME for the host, or gives it another key pair: FILE.crt and FILE.key.
put_secret() { # NAME FILE
  kubectl -n e2e create secret tls "$1" --cert "$2.crt" --key "$2.key" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
}

create_tls_ingress() { # NAME HOST SECRET
  create_ingress "$1" "$2/*=backend:80,tls=$3"
}

# bats test_tags=kind
@test "HTTPS with the certificate of a Secret, over HTTP/1.1 and HTTP/2, with TLS 1.2 and 1.3" {
  make_pair "$dir/first" tls.example ecdsa
  put_secret first "$dir/first"
  create_tls_ingress tls tls.example first
  wait_for 30 always_certificate first tls.example
  for options in --http1.1 --http2 '--http1.1 --tls-max 1.2' '--http2 --tls-max 1.2'; do
    # shellcheck disable=SC2086 # each word is an option
    answer=$(ask_tls tls.example '/x?y' --cacert "$dir/first.crt" $options -w '%{http_version}')
    version=${options#--http}
    assert_equal "${version%% *}" "${answer##*$'\n'}"
    assert_contains "$answer" '"uri":"/x?y"'
    assert_contains "$answer" '"X-Forwarded-Proto":["https"]'
  done
}

@test "a host without a certificate has the default one, until its Secret is there" {
  create_tls_ingress late late.example second
  wait_for 10 always_status 200 late.example /
  always_certificate 'bash-ingress default certificate' late.example
  wait_for_line 10 'Ingress e2e/late: Secret e2e/second does not exist: its hosts have the default certificate (SecretNotFound)' controller_logs --since 30s
  make_pair "$dir/second" late.example rsa
  put_secret second "$dir/second"
  wait_for 30 always_certificate second late.example
  wait_for_line 10 '"pod":' ask_tls late.example / --cacert "$dir/second.crt"
}

@test "another key pair in a Secret is live within seconds, and no request is lost" {
  make_pair "$dir/old" rotated.example ecdsa
  make_pair "$dir/new" rotated.example rsa
  put_secret rotated "$dir/old"
  create_tls_ingress rotated rotated.example rotated
  wait_for 20 always_certificate old rotated.example
  rotate() { # to another algorithm, back, and once more
    local name
    for name in new old new; do
      put_secret rotated "$dir/$name"
      wait_for 20 always_certificate "$name" rotated.example
    done
  }
  lose_nothing "-rate $(lasting 50 100) -new" "https://$TLS_ADDRESS" rotated.example / rotate
}

# Sets found: where the words of the key are in the pod. (Not in grep's own arguments.)
is_only_in_key_file() { # POD
  found=$(kubectl -n bash-ingress exec "$1" -- bash -c 'grep -rlF -e "$0" -e "$1" /tmp /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null' "$word" "$in_secret" |
    grep -v "^/proc/.*/cmdline")
  [[ $found =~ ^/tmp/bash-ingress/keys/[0-9a-f-]+\.pem$ ]]
}

is_gone() { # POD FILE
  kubectl -n bash-ingress exec "$1" -- test ! -e "$2"
}

@test "a private key is in a file for its owner only, nowhere else, and goes when it is no longer used" {
  make_pair "$dir/canary" canary.example ecdsa
  put_secret canary "$dir/canary"
  create_tls_ingress canary canary.example canary
  wait_for 30 always_certificate canary canary.example
  word=$(sed -n 2p "$dir/canary.key")
  in_secret=$(kubectl -n e2e get secret canary -o jsonpath='{.data.tls\.key}' | cut -c 50-110)
  files=()
  for pod in $(controller_pods); do
    wait_for 15 is_only_in_key_file "$pod" # until it was examined, it is in another folder
    files+=("$pod $found")
    assert_equal 600 "$(kubectl -n bash-ingress exec "$pod" -- stat -c %a "$found")"
    assert_equal tmpfs "$(kubectl -n bash-ingress exec "$pod" -- stat -f -c %T /tmp)"
    refute_contains "$(kubectl -n bash-ingress logs "$pod")" "$word"
    refute_contains "$(admin "$pod" metrics)" "$word"
  done
  kubectl -n e2e delete ingress canary
  for file in "${files[@]}"; do wait_for 30 is_gone "${file% *}" "${file#* }"; done
}

# bats test_tags=kind
@test "an annotation sends HTTP clients to HTTPS, with 308" {
  make_pair "$dir/forced" forced.example ecdsa
  put_secret forced "$dir/forced"
  create_tls_ingress forced forced.example forced
  wait_for 10 always_status 200 forced.example /
  kubectl -n e2e annotate ingress forced nginx.ingress.kubernetes.io/ssl-redirect=true
  wait_for 10 always_status 308 forced.example /
  assert_equal 'https://forced.example/a?b' "$(ask forced.example '/a?b' -o /dev/null -w '%{redirect_url}')"
  wait_for 30 always_certificate forced forced.example
  assert_contains "$(ask_tls forced.example '/a?b' --cacert "$dir/forced.crt")" '"uri":"/a?b"'
}

@test "a TLS session goes on with a ticket, also after a reload" {
  # Each replica has ticket keys of its own, so ask one of them.
  openssl s_client -connect "$TLS_ADDRESS" -servername fruit.example -tls1_2 -sess_out "$dir/session" </dev/null >/dev/null 2>&1
  resumed() {
    openssl s_client -connect "$TLS_ADDRESS" -servername fruit.example -tls1_2 -sess_in "$dir/session" </dev/null 2>/dev/null | grep -q Reused
  }
  wait_for 10 resumed
  create_ingress reload 'reload.example/=backend:80'
  wait_for 10 always_status 200 reload.example /
  wait_for 10 resumed
}
