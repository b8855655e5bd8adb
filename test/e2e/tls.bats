load helpers

setup() {
  dir=$BATS_TEST_TMPDIR
}

teardown() {
  touch "$dir/enough"                                                                       # for what runs beside a test
  kubectl -n e2e delete secret --field-selector metadata.name!=grpc --wait=false >/dev/null # that one is the gRPC server's
  common_teardown
}

# Makes the Secret NAME for the host, or gives it another key pair: FILE.crt and FILE.key.
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

# Asks for the certificates of these hosts again and again, and notes "HOST SUBJECT" of each answer in the file "seen".
watch_certificates() { # HOST...
  local host
  until [[ -e $dir/enough ]]; do
    for host; do
      curl -skv --http1.1 --no-sessionid --max-time 10 --connect-to "::$TLS_ADDRESS" -o /dev/null "https://$host/" 2>&1 |
        sed -n "s/^\*  subject: .*CN=/$host /p" >>"$dir/seen"
    done
  done
}

# Prints the Secret NAME with a key pair, and an Ingress of that name for the host NAME.example, which names it.
tls_app() { # NAME FILE
  kubectl -n e2e create secret tls "$1" --cert "$2.crt" --key "$2.key" --dry-run=client -o json
  kubectl -n e2e create ingress "$1" --class bash --rule "$1.example/*=backend:80,tls=$1" --dry-run=client -o json
}

@test "a certificate is live at once: a new one, a renewed one, one that goes and comes back, and fifty; no host ever shows that of another" {
  for i in {1..50}; do make_pair "$dir/many-$i" "many-$i.example" ecdsa; done
  for i in {1..50}; do tls_app "many-$i" "$dir/many-$i"; done >"$dir/many.json"
  make_pair "$dir/one-first" one.example ecdsa
  make_pair "$dir/one-second" one.example ecdsa
  make_pair "$dir/two" two.example ecdsa
  { tls_app one "$dir/one-first" && tls_app two "$dir/two"; } >"$dir/apps.json"
  watch_certificates one.example two.example many-1.example many-50.example 3>&- &
  kubectl apply -f "$dir/apps.json" >/dev/null
  wait_for 4 always_certificate one-first one.example # a look at all Secrets comes once in a minute
  for name in one-second one-first one-second; do
    put_secret one "$dir/$name"
    wait_for 4 always_certificate "$name" one.example
  done
  kubectl -n e2e delete secret one >/dev/null
  wait_for 4 always_certificate 'bash-ingress default certificate' one.example
  put_secret one "$dir/one-first"
  wait_for 4 always_certificate one-first one.example
  kubectl apply -f "$dir/many.json" >/dev/null
  for i in {1..50}; do wait_for 15 always_certificate "many-$i" "many-$i.example"; done
  touch "$dir/enough"
  wait "$!"
  sed -E 's/^(one.example) one-(first|second)$/\1 its own/; s/^(.*)\.example \1$/\1.example its own/; s/bash-ingress default certificate$/default/' \
    "$dir/seen" | grep -vE '^[a-z0-9.-]+ (its own|default)$' >"$dir/others" || true
  assert_equal '' "$(<"$dir/others")"
  grep -q '^two.example two$' "$dir/seen"
}

@test "neither a Secret that changes all the time nor one that no Ingress names holds anybody up" {
  make_pair "$dir/busy" busy.example ecdsa
  tls_app busy "$dir/busy" | kubectl apply -f - >/dev/null
  wait_for 10 always_certificate busy busy.example
  kubectl -n e2e create secret generic unnamed >/dev/null
  change_all_the_time() {
    until [[ -e $dir/enough ]]; do kubectl -n e2e annotate secret busy unnamed --overwrite "time=$EPOCHREALTIME" >/dev/null; done
  }
  change_all_the_time 3>&- &
  create_ingress beside 'beside.example/*=backend:80'
  wait_for 10 always_status 200 beside.example /
  make_pair "$dir/calm" calm.example ecdsa
  tls_app calm "$dir/calm" | kubectl apply -f - >/dev/null
  wait_for 10 always_certificate calm calm.example
  touch "$dir/enough"
  wait "$!"
  always_certificate busy busy.example
}
