# proxy-ssl-*: how nginx speaks TLS with pods, and whether it verifies them.
load words

# bats test_tags=cluster
@test "with proxy-ssl-verify, only pods that the authority vouches for get requests: others are a 502, never reached" {
  make_pair "$dir/other" pod.example ecdsa
  pod_certificate >"$dir/pod.crt"
  secret pod Opaque "ca.crt=@$dir/pod.crt"
  secret other Opaque "ca.crt=@$dir/other.crt"
  secret many kubernetes.io/tls "tls.crt=@$dir/other.crt" "tls.key=@$dir/other.key" "ca.crt=$(cat "$dir/other.crt" "$dir/pod.crt")"
  local https=(backend-protocol=HTTPS) verified=(backend-protocol=HTTPS proxy-ssl-verify=on proxy-ssl-name=pod.example)
  ingress unverified unverified.example / red:443 "${https[@]}"
  ingress right right.example / red:443 "${verified[@]}" proxy-ssl-secret=pod
  ingress many many.example / red:443 "${verified[@]}" proxy-ssl-secret=e2e/many proxy-ssl-verify-depth=3 proxy-ssl-protocols='TLSv1.2 TLSv1.3' proxy-ssl-ciphers='HIGH:!aNULL' proxy-ssl-server-name=on
  ingress wrong wrong.example / red:443 "${verified[@]}" proxy-ssl-secret=other
  ingress name name.example / red:443 backend-protocol=HTTPS proxy-ssl-verify=on proxy-ssl-secret=pod
  ingress other-name other-name.example / red:443 backend-protocol=HTTPS proxy-ssl-verify=on proxy-ssl-secret=pod proxy-ssl-name=other.example
  ingress off off.example / red:443 backend-protocol=HTTPS proxy-ssl-verify=off proxy-ssl-secret=other
  ingress grpc grpc.example / red:443 backend-protocol=GRPCS proxy-ssl-verify=on proxy-ssl-secret=other proxy-ssl-name=pod.example
  ingress http http.example / red proxy-ssl-secret=other
  serve
  for _ in {1..20}; do
    assert_equal '200 200 200 502 502 502 200 502 200' "$(statuses {unverified,right,many,wrong,name,other-name,off,grpc,http}.example/)" # the first opens connections that the others must not take
  done
  assert_equal 'AnnotationRefused: e2e/http: proxy-ssl-secret has no effect without backend-protocol: HTTPS or AUTO_HTTP or GRPCS' "$(problems)"
}

# bats test_tags=cluster
@test "with backend-protocol=AUTO_HTTP the pods are spoken to as the client speaks: with TLS, which can be verified, or without" {
  make_pair "$dir/other" pod.example ecdsa
  pod_certificate >"$dir/pod.crt"
  secret pod Opaque "ca.crt=@$dir/pod.crt"
  secret other Opaque "ca.crt=@$dir/other.crt"
  local verified=(red:443 backend-protocol=auto_http proxy-ssl-verify=on proxy-ssl-name=pod.example)
  ingress plain plain.example / red backend-protocol=AUTO_HTTP
  ingress tls tls.example / red:443 backend-protocol=AUTO_HTTP affinity=cookie
  ingress right right.example / "${verified[@]}" proxy-ssl-secret=pod
  ingress wrong wrong.example / "${verified[@]}" proxy-ssl-secret=other
  ingress subset subset.example / many:443 backend-protocol=AUTO_HTTP 'upstream-hash-by=$request_uri' upstream-hash-by-subset=true upstream-hash-by-subset-size=2
  serve
  for _ in {1..3}; do # the pods' port for TLS says 400 to what comes without
    assert_equal '200 400 400 400' "$(statuses {plain,tls,right,subset}.example/)"
    assert_equal '502 200 200 502 200' "$(for host in plain tls right wrong subset; do ask_tls "$host.example" / -o /dev/null -w '%{http_code}\n'; done | xargs)"
  done
  assert_equal '' "$(problems)"
}

@test "a canary of a main Ingress with backend-protocol=AUTO_HTTP is spoken to like it" {
  ingress main main.example / red:443 backend-protocol=AUTO_HTTP
  ingress canary main.example / blue:443 canary=true canary-by-header=Can
  serve
  assert_equal '127.77.0.1:8443 127.77.0.2:8443' "$(for value in never always; do ask_tls main.example / -H "Can: $value" | jq -r .address; done | xargs)"
}

# (The pods' certificate is its own authority. Newer OpenSSL does not ask whether such a one was revoked, so no pod is turned away here.)
@test "nginx looks at the ca.crl of the authority that must have signed the pods' certificates" {
  make_pair "$dir/other" pod.example ecdsa
  make_revocations "$dir/other.crl" "$dir/other" 20991231000000Z
  secret with Opaque "ca.crt=@$dir/other.crt" "ca.crl=@$dir/other.crl"
  secret without Opaque "ca.crt=@$dir/other.crt"
  for name in with without; do
    ingress "$name" "$name.example" / red:443 backend-protocol=HTTPS proxy-ssl-verify=on "proxy-ssl-secret=$name"
  done
  ingress grpc grpc.example / red:443 backend-protocol=GRPCS proxy-ssl-verify=on proxy-ssl-secret=with
  serve
  assert_equal '502 502 502' "$(statuses {with,without,grpc}.example/)"
  assert_equal '1 1' "$(for directive in proxy_ssl_crl grpc_ssl_crl; do grep -c "location / .* $directive \".*[.]crl[.]ca[.]pem\"; " "$STATE_DIR/live/nginx.conf"; done | xargs)"
}

@test "what cannot be verified as it is asked closes the Ingress: no Secret, no authority, a wrong value" {
  make_pair "$dir/other" pod.example ecdsa
  make_pair "$dir/third" pod.example ecdsa
  secret pair Opaque "tls.crt=@$dir/other.crt" "tls.key=@$dir/other.key"
  secret mismatch Opaque "tls.crt=@$dir/other.crt" "tls.key=@$dir/third.key" "ca.crt=@$dir/other.crt"
  secret garbage Opaque 'ca.crt=-----BEGIN CERTIFICATE-----
MIIB
-----END CERTIFICATE-----'
  secret text Opaque ca.crt=nothing
  secret revoked Opaque "ca.crt=@$dir/other.crt" ca.crl=x
  secret users Opaque auth=x
  local https=(red:443 backend-protocol=HTTPS)
  for name in nowhere mismatch garbage text revoked users other/pair; do
    ingress "${name#*/}-off" "${name#*/}-off.example" / "${https[@]}" "proxy-ssl-secret=$name"
    ingress "${name#*/}-on" "${name#*/}-on.example" / "${https[@]}" "proxy-ssl-secret=$name" proxy-ssl-verify=on
  done
  ingress authorized pair.example / "${https[@]}" proxy-ssl-secret=pair
  ingress unverified pair-verify.example / "${https[@]}" proxy-ssl-secret=pair proxy-ssl-verify=on
  ingress none none.example / "${https[@]}" proxy-ssl-verify=on
  ingress maybe maybe.example / "${https[@]}" proxy-ssl-verify=maybe proxy-ssl-secret=pair
  ingress inject inject.example / "${https[@]}" 'proxy-ssl-secret=pair; proxy_ssl_verify off'
  ingress line line.example / "${https[@]}" proxy-ssl-secret=pair $'proxy-ssl-name=x;\nproxy_pass http://127.0.0.1;' 'proxy-ssl-ciphers=x"; }' 'proxy-ssl-protocols=SSLv3 $host' proxy-ssl-server-name=1 proxy-ssl-verify-depth=-1
  serve
  for name in nowhere mismatch garbage text revoked users pair; do
    assert_equal "$name 503 503" "$name $(statuses "$name"-{off,on}.example/)"
  done
  assert_equal '200 503 503 503 503 200' "$(statuses {pair,pair-verify,none,maybe,inject,line}.example/)"
  said=$(problems)
  assert_contains "$said" 'e2e/mismatch-off: closed, because its protection is not available here: Secret e2e/mismatch: its private key does not belong to its certificate'
  assert_contains "$said" 'e2e/garbage-on: closed, because its protection is not available here: Secret e2e/garbage: nginx rejects its ca.crt: '
  assert_contains "$said" 'e2e/unverified: closed, because its protection is not available here: Secret e2e/pair: its ca.crt holds no certificate in PEM form'
  for name in name ciphers protocols server-name verify-depth; do assert_contains "$said" "AnnotationRefused: e2e/line: the annotation proxy-ssl-$name is "; done
}

@test "proxy-ssl-ciphers that would leave no cipher are a problem: nginx would take no configuration" {
  local ciphers id=0
  for ciphers in NOSUCH HIGH:!HIGH HIGH:-HIGH HIGH:@SECLEVEL=9 MD5 'ECDHE-RSA-AES128-GCM-SHA256:!aRSA' NOSUCH:DEFAULT; do
    id=$((id + 1))
    ingress "wrong-$id" "wrong-$id.example" / red:443 backend-protocol=HTTPS "proxy-ssl-ciphers=$ciphers"
  done
  for ciphers in DEFAULT HIGH:!aNULL:!MD5:!SHA:!DH:!kRSA NOSUCH:ECDHE-ECDSA-AES128-GCM-SHA256:!MEDIUM '!aNULL:HIGH' kEECDH+AESGCM:HIGH; do
    id=$((id + 1))
    ingress "good-$id" "good-$id.example" / red:443 backend-protocol=HTTPS "proxy-ssl-ciphers=$ciphers"
  done
  serve
  assert_equal 200 "$(status good-8.example /)"
  assert_equal 7 "$(problems | grep -c 'AnnotationRefused: e2e/wrong-.: the annotation proxy-ssl-ciphers is ')"
  assert_equal '' "$(problems | grep good-)"
}

@test "proxy-ssl-verify closes a path whose pods are not spoken to with TLS, as where backend-protocol is misspelt" {
  ingress http http.example / red proxy-ssl-verify=on proxy-ssl-secret=pod
  ingress misspelt misspelt.example / red proxy-ssl-verify=on proxy-ssl-secret=pod backend-protocol=HTTPX
  ingress off off.example / red proxy-ssl-verify=off proxy-ssl-secret=pod
  secret pod Opaque "ca.crt=$(pod_certificate)"
  serve
  assert_equal '503 503 200' "$(statuses {http,misspelt,off}.example/)"
  assert_contains "$(problems)" 'proxy-ssl-verify is on, and nothing is verified without TLS'
}
