# ssl-ciphers, ssl-prefer-server-ciphers: which ciphers clients of a host may use with TLS 1.2.
load words

# Prints the cipher of a handshake, or nothing if there is none.
cipher() { # HOST CIPHERS
  local address=127.0.0.1:${HTTPS_PORT-}
  [[ ${TIER-} != e2e ]] || address=$TLS_ADDRESS
  openssl s_client -connect "$address" -servername "$1" -tls1_2 -cipher "$2" </dev/null 2>/dev/null | sed -n 's/^ *Cipher *: //p' | grep -v ^0000 || true
}

# bats test_tags=cluster
@test "ssl-ciphers and ssl-prefer-server-ciphers count for TLS clients of their host, and for no others" {
  local aes128=ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256 aes256=ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
  ingress only one.example / red "ssl-ciphers=$aes256"
  ingress server two.example / red "ssl-ciphers=$aes256:$aes128" ssl-prefer-server-ciphers=true
  ingress client three.example / red "ssl-ciphers=$aes256:$aes128" ssl-prefer-server-ciphers=false
  ingress free four.example / red
  ingress all five.example / red 'ssl-ciphers=ALL:!aNULL:!EXPORT56:RC4+RSA:+HIGH:+MEDIUM:+LOW:+SSLv2:+EXP'
  ingress wild '*.six.example' / red "ssl-ciphers=$aes256"
  serve
  assert_equal ' AES256 AES256 AES128' "$(for host in one two three; do cipher $host.example "$aes128:$aes256" | grep -o 'AES[0-9]*'; done | xargs | sed 's/^/ /')"
  assert_equal '' "$(cipher one.example "$aes128")$(cipher x.six.example "$aes128")"
  assert_contains "$(cipher x.six.example "$aes256")" AES256
  assert_contains "$(cipher four.example "$aes128")" AES128
  assert_contains "$(cipher other.example "$aes128")" AES128
  local host
  for host in one two three four five x.six; do assert_equal 200 "$(status_tls $host.example /)"; done
  assert_equal '' "$(problems)"
}

@test "the oldest Ingress of a host decides; wrong values, and rules without a host, are problems and are served" {
  local id=0 value
  ingress old one.example /old red ssl-ciphers=HIGH:!aNULL
  ingress young one.example /young red ssl-ciphers=HIGH:!aNULL:!MD5 ssl-prefer-server-ciphers=true
  ingress same one.example /same red ssl-ciphers=HIGH:!aNULL
  ingress any '' /any red ssl-ciphers=HIGH
  for value in 'HIGH; return 200 x' NOSUCH HIGH:!HIGH HIGH:-HIGH $'HIGH\nx' 'HIGH"' '$host' HIGH:@SECLEVEL=0 aNULL; do
    id=$((id + 1))
    ingress "wrong-$id" "wrong-$id.example" / red "ssl-ciphers=$value"
  done
  ingress flag flag.example / red ssl-prefer-server-ciphers=maybe
  serve
  assert_equal '200 200 200 200 200' "$(statuses {one.example/{old,young,same},x.example/any,flag.example/})"
  for id in {1..9}; do assert_equal "wrong-$id 200 200" "wrong-$id $(statuses "wrong-$id.example/") $(status_tls "wrong-$id.example" /)"; done
  local said
  said=$(problems)
  assert_contains "$said" 'AnnotationRefused: e2e/young: ssl-ciphers and ssl-prefer-server-ciphers have no effect: for host one.example, those of Ingress e2e/old count, which is older'
  assert_contains "$said" 'AnnotationRefused: e2e/any: ssl-ciphers and ssl-prefer-server-ciphers have no effect: they need rules with a host'
  for id in {1..9}; do assert_contains "$said" "AnnotationRefused: e2e/wrong-$id: the annotation ssl-ciphers is "; done
  assert_equal 12 "$(wc -l <<<"$said")"
}

@test "on a shared host the owner's ssl-ciphers count, not a guest's" {
  [[ ${TIER-unit} == unit ]] || skip 'one tier is enough'
  ingress other/owner one.example / red ssl-ciphers=ECDHE-ECDSA-AES256-GCM-SHA384 bash-ingress.local/share-host-with=e2e
  ingress guest one.example /guest red ssl-ciphers=ECDHE-ECDSA-AES128-GCM-SHA256
  ingress other/wildcard '*.strict.example' / red bash-ingress.local/share-host-with=e2e
  ingress first a.strict.example /guest red ssl-ciphers=ECDHE-ECDSA-AES128-GCM-SHA256
  ingress other/own a.strict.example / red ssl-ciphers=ECDHE-ECDSA-AES256-GCM-SHA384
  HOST_OWNERSHIP=strict serve
  assert_contains "$(cipher one.example ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384)" AES256
  assert_contains "$(cipher a.strict.example ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384)" AES256
}

@test "with client certificates, too, the host has its own ciphers, and clients without a certificate stay outside" {
  [[ ${TIER-} != e2e ]] || skip 'the same as in the unit tier'
  make_pair "$dir/ca" ca.example ecdsa
  secret ca Opaque "ca.crt=@$dir/ca.crt"
  ingress both one.example / red auth-tls-secret=ca ssl-ciphers=ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384
  serve
  assert_equal 400 "$(status_tls one.example /)"
  assert_equal '' "$(cipher one.example ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256)"
  assert_contains "$(cipher one.example ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384)" AES256
  assert_equal '' "$(problems)"
}
