# auth-tls-*: only clients with a certificate of an authority get in.
load words

# Makes FILE.crt and FILE.key for a client, signed by AUTHORITY.crt and .key.
make_client() { # FILE SUBJECT AUTHORITY [DAYS]
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA "$3.crt" -CAkey "$3.key" -CAcreateserial -days "${4:-1}" -out "$1.crt" 2>/dev/null
}

# They are made once for all tests of the file.
make_clients() {
  local made=$BATS_FILE_TMPDIR/clients
  if [[ ! -e $made ]]; then
    mkdir "$made"
    make_pair "$made/authority" authority.example ecdsa
    make_pair "$made/stranger" authority.example ecdsa
    make_client "$made/alice" /O=Fruit/CN=alice "$made/authority"
    make_client "$made/bob" /O=Fruit/CN=bob "$made/authority"
    make_client "$made/mallory" '/O=x,CN=alice/CN=mallory' "$made/authority"
    make_client "$made/forged" /O=Fruit/CN=alice "$made/stranger"
  fi
  cp "$made"/* "$dir"
  secret ca Opaque "ca.crt=@$dir/authority.crt"
  secret other-ca Opaque "ca.crt=@$dir/stranger.crt"
}

# Prints the status for each host, for a client that shows this certificate; "-" for none.
tls_statuses() { # CLIENT HOST/PATH...
  local client=()
  [[ $1 == - ]] || client=(--cert "$dir/$1.crt" --key "$dir/$1.key")
  statuses_tls "${@:2}" -- "${client[@]}"
}

# A replica reads a Secret again some seconds after it has changed.
tls_statuses_are() { # EXPECTED CLIENT HOST/PATH...
  [[ $(tls_statuses "${@:2}") == "$1" ]]
}

# bats test_tags=cluster
@test "only clients with a certificate of the authority get in, as auth-tls-verify-client says, and the pod is told who they are" {
  make_clients
  ingress on on.example / red auth-tls-secret=e2e/ca
  ingress also also.example / red auth-tls-secret=ca auth-tls-verify-client=on auth-tls-verify-depth=2 auth-tls-pass-certificate-to-upstream=true
  ingress optional optional.example / red auth-tls-secret=ca auth-tls-verify-client=optional
  ingress any any.example / red auth-tls-secret=ca auth-tls-verify-client=optional_no_ca
  ingress off off.example / red auth-tls-secret=ca auth-tls-verify-client=off auth-tls-pass-certificate-to-upstream=false
  ingress page page.example / red auth-tls-secret=ca auth-tls-error-page=https://login.example/error
  ingress path path.example / red auth-tls-secret=ca auth-tls-error-page=/sorry
  ingress sorry path.example /sorry blue auth-tls-verify-client=off
  ingress free free.example / red
  ingress grpc grpc.example / red auth-tls-secret=ca backend-protocol=GRPC
  serve
  hosts=({on,also,optional,any,off,page,free}.example/x)
  assert_equal '400 400 200 200 200 302 200' "$(tls_statuses - "${hosts[@]}")"
  assert_equal '200 200 200 200 200 200 200' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '400 400 400 200 200 302 200' "$(tls_statuses forged "${hosts[@]}")"
  assert_equal '308 308 308 308 200 308 200' "$(statuses "${hosts[@]}")"
  assert_equal '308 308 308 308 200 308 200' "$(statuses "${hosts[@]}" -- -H 'X-Forwarded-Proto: https' -H 'ssl-client-verify: SUCCESS')"
  assert_equal 400 "$(tls_statuses - grpc.example/)"
  assert_equal https://login.example/error "$(ask_tls page.example / -o /dev/null -w '%{redirect_url}')"
  assert_equal https://path.example/sorry "$(ask_tls path.example /x -o /dev/null -D - | sed -n 's/^location: \([^\r]*\).*/\1/Ip')"
  assert_equal '302 200 400' "$(tls_statuses - path.example/{x,sorry} on.example/)"
  assert_equal '200 200' "$(tls_statuses alice path.example/{x,sorry})"
  alice=(--cert "$dir/alice.crt" --key "$dir/alice.key" -H 'ssl-client-subject-dn: CN=root' -H 'SSL-Client-Cert: x' -H 'ssl-client-verify: FAILED')
  told='[.header | ."Ssl-Client-Verify", ."Ssl-Client-Subject-Dn", ."Ssl-Client-Issuer-Dn", (."Ssl-Client-Cert" // [] | map(.[:30]))] | tojson'
  assert_equal '[["SUCCESS"],["CN=alice,O=Fruit"],["CN=authority"],["-----BEGIN%20CERTIFICATE-----%"]]' "$(ask_tls also.example / "${alice[@]}" | jq -r "$told")"
  assert_equal '[["SUCCESS"],["CN=alice,O=Fruit"],["CN=authority"],[]]' "$(ask_tls on.example / "${alice[@]}" | jq -r "$told")"
  assert_equal '[null,null,null,[]]' "$(ask_tls free.example / "${alice[@]}" | jq -r "$told")"
  assert_equal '[["NONE"],null,null,[]]' "$(ask_tls any.example / -H 'ssl-client-subject-dn: CN=root' | jq -r "$told")"
  assert_contains "$(ask_tls any.example / --cert "$dir/forged.crt" --key "$dir/forged.key" | jq -r "$told")" '[["FAILED:'
  assert_equal '' "$(problems)"
}

# Prints the status of a request for / on a TLS 1.3 connection to HOST: of CLIENT, or one that resumes the session of FILE.
status_on() { # HOST -sess_out|-sess_in FILE [S_CLIENT_OPTION...]
  { printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" && sleep 0.5; } |
    openssl s_client -connect "$(https_address)" -servername "$1" -tls1_3 -ign_eof "${@:2}" 2>/dev/null | tr -d '\r' | sed -n 's/^HTTP[^ ]* \([0-9]*\) .*/\1/p'
}

# bats test_tags=cluster
@test "a TLS session of a host with another auth-tls-verify-depth gets nobody in" {
  make_clients
  make_intermediate
  ingress strict strict.example / red auth-tls-secret=ca auth-tls-verify-depth=0
  ingress lax lax.example / red auth-tls-secret=ca auth-tls-verify-depth=1
  serve
  carol=(-cert "$dir/carol.crt" -key "$dir/carol.key" -cert_chain "$dir/between.crt")
  assert_equal 400 "$(status_on strict.example "${carol[@]}")"
  assert_equal 200 "$(status_on lax.example "${carol[@]}" -sess_out "$dir/session")"
  if [[ ${TIER-unit} == unit && ! -s $dir/session ]]; then return; fi # nginx 1.22 gives none
  assert_equal 400 "$(status_on strict.example "${carol[@]}" -sess_in "$dir/session")"
}

# carol's certificate is signed by an authority between hers and the one in the Secret.
make_intermediate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=between -keyout "$dir/between.key" -out "$dir/between.csr" 2>/dev/null
  openssl x509 -req -in "$dir/between.csr" -CA "$dir/authority.crt" -CAkey "$dir/authority.key" -CAcreateserial -days 1 \
    -extfile <(echo 'basicConstraints=critical,CA:true') -out "$dir/between.crt" 2>/dev/null
  make_client "$dir/carol" /O=Fruit/CN=carol "$dir/between"
}

@test "an authority for the host's own certificate asks its challenges without a client certificate, over HTTP too, and also while the Secret is missing" {
  make_clients
  ingress on on.example / red auth-tls-secret=ca
  ingress solver on.example Exact:/.well-known/acme-challenge/token blue
  ingress missing missing.example / red auth-tls-secret=nowhere
  ingress missing-solver missing.example Exact:/.well-known/acme-challenge/token blue
  serve
  assert_equal '200 200 308 503' "$(statuses {on,missing}.example/.well-known/acme-challenge/token {on,missing}.example/.well-known/acme-challenge/tokens)"
  assert_equal '200 200 400 503' "$(tls_statuses - {on,missing}.example/.well-known/acme-challenge/token {on,missing}.example/.well-known/acme-challenge/tokens)"
}

@test "auth-tls-match-cn lets in only the names that it matches, whatever else a certificate says" {
  make_clients
  ingress one one.example / red auth-tls-secret=ca auth-tls-match-cn=CN=alice
  ingress several several.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=(carol|bob|dave)'
  ingress begins begins.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=a.*e'
  ingress optional optional.example / red auth-tls-secret=ca auth-tls-verify-client=optional_no_ca auth-tls-match-cn=CN=alice
  ingress off off.example / red auth-tls-secret=ca auth-tls-verify-client=off auth-tls-match-cn=CN=alice
  ingress nested nested.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=(alice)+$'
  ingress inject inject.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=x") { } proxy_pass http://x; #'
  ingress prefix prefix.example / red auth-tls-secret=ca auth-tls-match-cn=alice
  ingress range range.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=[z-a]'
  ingress posix posix.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=[.a.]'
  ingress class class.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=[a-c]l[A-Z0-9i_-]c[a-z]$'
  ingress classes classes.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=a[a-z]+'
  ingress dot dot.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=ali\.e'
  ingress group group.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=(x|a\w+e|b.*)'
  ingress digit digit.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=.*\d.*'
  ingress many many.example / red auth-tls-secret=ca 'auth-tls-match-cn=CN=.*a.*b.*'
  ingress free free.example / red auth-tls-secret=ca
  serve
  assert_equal 503 "$(tls_statuses alice posix.example/)"
  hosts=({one,several,begins,optional,off,classes,dot,nested,inject,prefix,range,class}.example/)
  assert_equal '200 403 503' "$(tls_statuses alice {group,digit,many}.example/)"
  assert_equal '200 403 503' "$(tls_statuses bob {group,digit,many}.example/)"
  assert_equal '403 403 503' "$(tls_statuses mallory {group,digit,many}.example/)"
  # its subject has more than 256 characters
  make_client "$dir/long" "/O=Fruit$(printf '/OU=a%.0s' {1..60})/CN=alice" "$dir/authority"
  assert_equal '403 403 200' "$(tls_statuses long {one,group,free}.example/)"
  assert_equal '200 403 200 200 200 200 403 503 503 503 503 503' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '403 200 403 403 403 403 403 503 503 503 503 503' "$(tls_statuses bob "${hosts[@]}")"
  assert_equal '403 403 403 403 403 403 403 503 503 503 503 503' "$(tls_statuses mallory "${hosts[@]}")"
  assert_equal '400 400 400 403 403 400 400 503 503 503 503 503' "$(tls_statuses forged "${hosts[@]}")"
  assert_equal '400 400 400 403 403 400 400 503 503 503 503 503' "$(tls_statuses - "${hosts[@]}")"
}

# bats test_tags=cluster
@test "a client whose certificate is in the authority's ca.crl gets in no more, and nobody does by a list that is over or another's" {
  make_clients
  make_revocations "$dir/bob.crl" "$dir/authority" 20991231000000Z "$dir/bob"
  make_revocations "$dir/both.crl" "$dir/authority" 20991231000000Z "$dir/bob" "$dir/alice" {1000..2799}
  (($(wc -c <"$dir/both.crl") > 45000)) # and less than 64 KiB
  make_revocations "$dir/none.crl" "$dir/authority" 20991231000000Z
  make_revocations "$dir/over.crl" "$dir/authority" 20260102000000Z
  make_revocations "$dir/other.crl" "$dir/stranger" 20991231000000Z
  secret one Opaque "ca.crt=@$dir/authority.crt" "ca.crl=@$dir/bob.crl"
  secret over Opaque "ca.crt=@$dir/authority.crt" "ca.crl=@$dir/over.crl"
  secret other Opaque "ca.crt=@$dir/authority.crt" "ca.crl=@$dir/other.crl"
  secret cut Opaque "ca.crt=@$dir/authority.crt" "ca.crl=$(head -c 200 "$dir/bob.crl")"
  secret garbage Opaque "ca.crt=@$dir/authority.crt" $'ca.crl=-----BEGIN X509 CRL-----\nMIIB\n-----END X509 CRL-----'
  # openssl would pass over a list in one line, or without its first mark, and let in bob
  secret folded Opaque "ca.crt=@$dir/authority.crt" "ca.crl=$(cat "$dir/none.crl" && tr '\n' ' ' <"$dir/bob.crl")"
  secret headless Opaque "ca.crt=@$dir/authority.crt" "ca.crl=$(cat "$dir/none.crl" && sed 1d "$dir/bob.crl")"
  for name in one over other cut garbage folded headless; do ingress "$name" "$name.example" / red "auth-tls-secret=$name"; done
  ingress optional optional.example / red auth-tls-secret=one auth-tls-verify-client=optional
  ingress any any.example / red auth-tls-secret=one auth-tls-verify-client=optional_no_ca
  serve
  hosts=({one,over,other,cut,garbage,folded,headless,optional,any}.example/)
  assert_equal '200 400 400 503 503 503 503 200 200' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '400 400 400 503 503 503 503 400 400' "$(tls_statuses bob "${hosts[@]}")"
  assert_equal '400 400 400 503 503 503 503 200 200' "$(tls_statuses - "${hosts[@]}")"
  for name in cut folded headless; do
    assert_contains "$(problems)" "Secret e2e/$name: its ca.crl holds no list of revoked certificates in PEM form, or one that is cut or has no lines"
  done
  assert_contains "$(problems)" 'Secret e2e/garbage: nginx rejects its ca.crt or ca.crl: '
  secret one Opaque "ca.crt=@$dir/authority.crt" "ca.crl=@$dir/both.crl"
  serve
  wait_for 20 tls_statuses_are '400 400' alice one.example/ optional.example/
  wait_for 20 tls_statuses_are '400 400' alice one.example/ optional.example/ # perhaps of the other replica
  assert_equal 200 "$(tls_statuses - optional.example/)"
}

@test "a connection that was opened for another host gets nobody in" {
  make_clients
  ingress one one.example / red auth-tls-secret=ca
  ingress two two.example / red auth-tls-secret=other-ca
  ingress free free.example / red
  serve
  assert_equal '200 400' "$(tls_statuses alice {one,two}.example/)"
  assert_equal '400 200' "$(tls_statuses forged {one,two}.example/)"
  for client in alice forged; do
    for host in one two; do
      [[ $client-$host != alice-one && $client-$host != forged-two ]] || continue
      other=$([[ $host == one ]] && echo two || echo one)
      assert_equal "421 421" "$(tls_statuses_as "$other" "$host" "$client") $(tls_statuses_as free "$host" "$client")"
    done
  done
  assert_equal 200 "$(tls_statuses_as one free alice)"
  # without a name in the handshake (curl sends none for an address), nobody was asked for a certificate
  assert_equal 400 "$(status_tls 127.0.0.1 / -H 'Host: one.example' --cert "$dir/alice.crt" --key "$dir/alice.key")"
}

tls_statuses_as() { # HANDSHAKE HOST CLIENT
  status_tls "$1.example" / -H "Host: $2.example" --cert "$dir/$3.crt" --key "$dir/$3.key"
}

# Prints the status for a name in the handshake that curl would not send.
status_by_name() { # HANDSHAKE HOST [S_CLIENT_OPTION...]
  printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" |
    openssl s_client -connect "$(https_address)" -servername "$1" -quiet "${@:3}" 2>/dev/null | awk 'NR == 1 { print $2 }'
}

@test "a name in the handshake with a dot or a port at its end gets nobody in who would not get in without" {
  make_clients
  ingress one one.example / red auth-tls-secret=ca
  ingress wild '*.wild.example' / red auth-tls-secret=ca
  ingress free free.example / red
  serve
  alice=(-cert "$dir/alice.crt" -key "$dir/alice.key") forged=(-cert "$dir/forged.crt" -key "$dir/forged.key")
  local host end
  for host in one.example a.wild.example; do
    for end in . .:443; do
      assert_row '400 400 200' "$(status_by_name "$host$end" "$host") $(status_by_name "$host$end" "$host" "${forged[@]}") $(status_by_name "$host$end" "$host" "${alice[@]}")" "$host$end"
      assert_row '421 421' "$(status_by_name "free.example$end" "$host" "${alice[@]}") $(status_by_name "free.example$end" "$host.")" "free.example$end $host"
    done
    assert_equal 200 "$(status_by_name "$host." "$host." "${alice[@]}")"
  done
}

@test "of two Ingresses of a host the older one's authority counts; a younger one with another is closed, and one without any takes the older one's" {
  make_clients
  ingress older one.example /older red auth-tls-secret=ca
  ingress same one.example /same red auth-tls-secret=ca auth-tls-verify-client=optional
  ingress younger one.example /younger red auth-tls-secret=other-ca
  ingress deeper one.example /deeper red auth-tls-secret=ca auth-tls-verify-depth=3
  ingress free one.example /free red
  ingress limited one.example /limited red proxy-body-size=1m
  ingress off one.example /off red auth-tls-verify-client=off
  serve
  paths=(one.example/{older,same,younger,deeper,free,limited,off,none})
  assert_equal '400 200 503 503 400 400 200 404' "$(tls_statuses - "${paths[@]}")"
  assert_equal '200 200 503 503 200 200 200 404' "$(tls_statuses alice "${paths[@]}")"
  assert_equal '400 400 503 503 400 400 200 404' "$(tls_statuses forged "${paths[@]}")"
  assert_contains "$(problems)" 'e2e/younger: closed, because its protection is not available here: clients of host one.example are verified by the authority or the depth of Ingress e2e/older, which is older'
  assert_equal '308 308 503 503 308 308 200 404' "$(statuses "${paths[@]}")"
  assert_equal '["SUCCESS"]' "$(ask_tls one.example /free --cert "$dir/alice.crt" --key "$dir/alice.key" | jq -c '.header["Ssl-Client-Verify"]')"
}

@test "if the only Ingress of a host with an authority cannot have it, paths of the others are closed, too" {
  make_clients
  ingress missing missing.example / red auth-tls-secret=nowhere
  ingress beside missing.example /beside red
  ingress off missing.example /off red auth-tls-verify-client=off
  ingress falls-back missing.example /back no-such-service default-backend=blue
  ingress moved missing.example /moved no-such-service permanent-redirect=https://elsewhere.example
  ingress backed right.example / no-such-service default-backend=blue
  ingress verified right.example /x red auth-tls-secret=ca
  ingress wrong wrong.example / red auth-tls-secret=ca auth-tls-verify-depth=-1
  ingress beside-wrong wrong.example /beside red
  ingress replaced replaced.example / red auth-tls-secret=nowhere
  ingress right replaced.example /right red auth-tls-secret=ca
  ingress beside-right replaced.example /beside red
  serve
  hosts=({missing,wrong}.example/{,beside} missing.example/off replaced.example/{,right,beside})
  assert_equal '503 503 503 503 200 503 200 200' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '503 503 503 503 200 503 400 400' "$(tls_statuses - "${hosts[@]}")"
  assert_equal '503 503 400' "$(tls_statuses - missing.example/{back,moved} right.example/)"
  assert_equal '503 503 200' "$(tls_statuses alice missing.example/{back,moved} right.example/)"
  assert_contains "$(problems)" 'e2e/beside: closed, because its protection is not available here: clients of host missing.example need a certificate, because Ingress e2e/missing says so, which cannot be given: Secret e2e/nowhere does not exist'
}

@test "of a host that namespaces share, its owner decides about certificates, whatever the names and ages of the Ingresses" {
  make_clients
  secret other/ca Opaque "ca.crt=@$dir/authority.crt"
  ingress other/owner own.example / red bash-ingress.local/share-host-with=e2e auth-tls-secret=ca
  ingress guest own.example /guest red
  ingress guest-ca own.example /guest-ca red auth-tls-secret=other-ca
  ingress other/open open.example / red bash-ingress.local/share-host-with=e2e
  ingress open-ca open.example /ca red auth-tls-secret=ca
  ingress other/late late.example / red bash-ingress.local/share-host-with=e2e
  ingress late-guest late.example /guest red auth-tls-secret=other-ca
  ingress other/late-ca late.example /ca red auth-tls-secret=ca
  serve
  hosts=(own.example/{,guest,guest-ca} open.example/{,ca} late.example/{,guest,ca})
  assert_equal '200 200 503 200 503 200 503 200' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '400 400 503 200 503 400 503 400' "$(tls_statuses forged "${hosts[@]}")"
  assert_contains "$(problems)" 'e2e/open-ca: closed, because its protection is not available here: host open.example belongs to namespace other, and none of its Ingresses has clients verified by this authority'
}

@test "with HOST_OWNERSHIP=strict, the owner of the wildcard decides about certificates, not who was first to name the host" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  make_clients
  secret other/ca Opaque "ca.crt=@$dir/authority.crt"
  ingress other/wildcard '*.strict.example' / red
  ingress stranger a.strict.example /stranger red auth-tls-secret=other-ca
  ingress other/owner a.strict.example / red auth-tls-secret=ca
  HOST_OWNERSHIP=strict serve
  assert_equal '200 200' "$(tls_statuses alice a.strict.example/{,stranger})"
  assert_equal '400 400' "$(tls_statuses forged a.strict.example/{,stranger})"
}

@test "an Ingress beyond a limit that protects keeps its host for its namespace, whose clients need a certificate" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  make_clients
  ingress large one.example /large red denylist-source-range=10.0.0.0/8
  local large=("$BATS_TEST_TMPDIR/objects/"*-e2e-large.json)
  jq -c '.spec.rules[].http.paths |= [.[0] | ., (range(9) as $number | .path += "/\($number)")]' "${large[0]}" >"$dir/large" && mv "$dir/large" "${large[0]}"
  ingress other/stranger one.example /stranger red
  ingress owner one.example /owner red auth-tls-secret=ca
  ingress beside one.example /beside red
  LIMITS='namespace_paths=5' serve
  assert_equal '200 200' "$(tls_statuses alice one.example/{owner,beside})"
  assert_equal '400 400' "$(tls_statuses forged one.example/{owner,beside})"
  assert_contains "$(problems)" 'HostTaken: other/stranger'
}

@test "a redirect that needs no Service needs the certificate that the host asks for" {
  make_clients
  ingress owner one.example / red auth-tls-secret=ca
  ingress moved one.example /moved no-such-service permanent-redirect=http://a.example
  serve
  assert_equal '503 503' "$(tls_statuses - one.example/moved) $(status one.example /moved)"
}

@test "an authentication service is told whose certificate it is, and a client cannot say so" {
  make_clients
  ingress asks asks.example / red auth-tls-secret=ca auth-url=http://auth.e2e.svc/asked auth-response-headers=X-Asked auth-tls-pass-certificate-to-upstream=true
  ingress plain plain.example / red auth-url=http://auth.e2e.svc/asked auth-response-headers=X-Asked
  serve
  local told='.header["X-Asked"][0] | fromjson | .header | [."Ssl-Client-Verify", ."Ssl-Client-Subject-Dn", (."Ssl-Client-Cert" // [] | map(.[:30]))] | tojson'
  assert_equal '[["SUCCESS"],["CN=alice,O=Fruit"],["-----BEGIN%20CERTIFICATE-----%"]]' "$(ask_tls asks.example / --cert "$dir/alice.crt" --key "$dir/alice.key" -H 'ssl-client-verify: x' | jq -r "$told")"
  assert_equal '[null,null,[]]' "$(ask_tls plain.example / -H 'ssl-client-verify: SUCCESS' -H 'ssl-client-subject-dn: CN=root' -H 'ssl-client-cert: x' | jq -r "$told")"
}

@test "without the Secret, or with a wrong value, nobody gets in; nor after the Secret is deleted" {
  make_clients
  secret no-ca Opaque tls.crt=x
  ingress right right.example / red auth-tls-secret=ca
  ingress missing missing.example / red auth-tls-secret=nowhere
  ingress missing-off missing-off.example / red auth-tls-secret=nowhere auth-tls-verify-client=off
  ingress no-ca no-ca.example / red auth-tls-secret=no-ca auth-tls-verify-client=optional
  ingress foreign foreign.example / red auth-tls-secret=other/ca
  ingress none none.example / red auth-tls-verify-client=on
  ingress wrong wrong.example / red auth-tls-secret=ca auth-tls-verify-client=yes
  ingress depth depth.example / red auth-tls-secret=ca auth-tls-verify-depth=-1
  ingress page page.example / red auth-tls-secret=ca 'auth-tls-error-page=https://x.example/";return 200 "'
  ingress pages pages.example / red auth-tls-secret=ca auth-tls-error-page=//x.example/
  ingress pass pass.example / red auth-tls-secret=ca auth-tls-pass-certificate-to-upstream=perhaps
  ingress inject inject.example / red $'auth-tls-secret=ca\n; ssl_verify_client off'
  ingress off off.example / red auth-tls-verify-client=off
  ingress any-host '' /any-host red auth-tls-secret=ca
  serve
  hosts=({right,missing,missing-off,no-ca,foreign,none,wrong,depth,page,pages,pass,inject,off}.example/ any.example/any-host)
  assert_equal '200 503 503 503 503 503 503 503 503 503 503 503 200 503' "$(tls_statuses alice "${hosts[@]}")"
  assert_equal '400 503 503 503 503 503 503 503 503 503 503 503 200 503' "$(tls_statuses - "${hosts[@]}")"
  without ca
  serve
  assert_equal '503 503' "$(tls_statuses alice right.example/) $(tls_statuses - right.example/)"
}
