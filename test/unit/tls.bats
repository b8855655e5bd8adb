# Which certificate a client gets, with real nginx. How Secrets are read, and what becomes of private keys: secrets.bats.
load tls

# --- certificates

@test "the name in the handshake chooses the certificate: exact, wildcard of one label, default" {
  add_pair demo/exact a.example
  add_pair demo/wild '*.wild.example'
  add_pair demo/below b.wild.example
  add_pair demo/two c.example,d.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "exact"}, {hosts: ["*.wild.example"], secretName: "wild"}]}
    demo/two {tls: [{hosts: ["b.wild.example"], secretName: "below"}, {hosts: ["c.example", "d.example"], secretName: "two"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    # name            certificate
    a.example         demo-exact
    A.Example         demo-exact
    x.wild.example    demo-wild
    b.wild.example    demo-below
    x.y.wild.example  default
    wild.example      default
    c.example         demo-two
    d.example         demo-two
    other.example     default
    -                 default
    # as nginx finds a server, too: without the dot or the port that must not stand there
    a.example.        demo-exact
    A.Example.:443    demo-exact
    a.example:443     demo-exact
    x.wild.example.   demo-wild
    b.wild.example.   demo-below
    x.y.wild.example. default
    a.example..       default
ROWS
}

@test "Secrets of the same name in two namespaces are two Secrets" {
  add_pair demo/tls a.example
  add_pair shop/tls b.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}
    shop/two {tls: [{hosts: ["b.example"], secretName: "tls"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  demo-tls
    b.example  shop-tls
ROWS
}

@test "spec.tls without hosts is for the hosts of the rules, or else for those in the certificate" {
  add_pair demo/rules a.example,elsewhere.example
  add_pair demo/names 'c.example,*.d.example'
  ingresses_are <<'ROWS'
    demo/one {tls: [{secretName: "rules"}], rules: [{host: "a.example"}, {host: "b.example"}]}
    demo/two {tls: [{secretName: "names"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example          demo-rules
    b.example          default
    elsewhere.example  default
    c.example          demo-names
    x.d.example        demo-names
ROWS
  assert_equal 'CertificateNameMismatch: the certificate in Secret demo/rules is not for host b.example: its hosts have the default certificate' "$(problems | grep Mismatch)"
}

@test "a host that spec.tls does not name, www. or an alias have a certificate of the Ingress that is for them, too" {
  add_pair demo/wide 'a.example,*.a.example,alias.example'
  add_pair demo/narrow b.example
  add_pair demo/old old.example,a.example
  add_pair shop/foreign z.example,a.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["b.example"], secretName: "narrow"}, {hosts: ["a.example"], secretName: "wide"}], rules: [{host: "a.example"}, {host: "more.a.example"}, {host: "b.example"}, {host: "c.example"}], annotations: {"nginx.ingress.kubernetes.io/server-alias": "alias.example", "nginx.ingress.kubernetes.io/from-to-www-redirect": "true"}}
    demo/none {rules: [{host: "none.a.example"}]}
    demo/older {created: "2000", tls: [{hosts: ["old.example"], secretName: "old"}], rules: [{host: "a.example"}, {host: "guest.example"}]}
    shop/guest {tls: [{hosts: ["z.example"], secretName: "foreign"}, {hosts: ["d.example"]}], rules: [{host: "a.example"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example          demo-wide
    more.a.example     demo-wide
    www.a.example      demo-wide
    alias.example      demo-wide
    b.example          demo-narrow
    www.b.example      default
    c.example          default
    none.a.example     default
ROWS
  assert_equal '' "$(problems | grep -E 'Mismatch|CertificateTaken|cannot be its certificate')"
}

@test "a host can have an RSA, an ECDSA and an Ed25519 certificate, and the client's choice counts" {
  add_pair demo/rsa a.example 2048
  add_pair demo/ecdsa a.example ecdsa
  openssl genpkey -algorithm ed25519 -out "$dir/ed.key"
  openssl req -x509 -key "$dir/ed.key" -days 1 -subj /CN=demo-ed -addext 'subjectAltName=DNS:a.example,DNS:c.example' -out "$dir/ed.crt"
  add_secret demo/ed "$dir/ed.crt" "$dir/ed.key"
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "rsa"}]}
    shop/two {tls: [{hosts: ["a.example", "b.example"]}]}
    demo/two {tls: [{hosts: ["a.example"], secretName: "ecdsa"}, {hosts: ["a.example", "c.example"], secretName: "ed"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  demo-rsa    -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
    a.example  demo-ecdsa  -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256
    a.example  demo-ecdsa  -tls1_3
    a.example  demo-rsa    -tls1_3 -sigalgs rsa_pss_rsae_sha256
    a.example  demo-ed     -tls1_2 -sigalgs ed25519
    a.example  demo-ed     -tls1_3 -sigalgs ed25519
    c.example  demo-ed
    b.example  default
ROWS
  assert_equal '' "$(problems | grep Certificate)"
}

@test "of two certificates of the same algorithm for one host, that of the older Ingress counts" {
  add_pair demo/older a.example
  add_pair demo/newer a.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "older"}]}
    demo/two {tls: [{hosts: ["a.example"], secretName: "newer"}]}
ROWS
  go_live
  assert_equal demo-older "$(certificate_for a.example)"
  assert_equal 'CertificateTaken: host a.example already has the certificate of Secret demo/older, from Ingress demo/one' "$(problems | grep CertificateTaken)"
  for _ in 1 2; do "$bin/prune-keys"; done
  assert_equal 2 "$(find "$STATE_DIR/keys" -name '*-*.pem' | wc -l)" # the newer may be needed at any time
}

@test "an older Ingress with nothing but a challenge decides about no certificate while another is there" {
  add_pair demo/passing a.example
  add_pair demo/own a.example,b.example
  add_pair shop/passing b.example
  ingresses_are <<'ROWS'
    demo/solver {created: "2025", rules: [{host: "a.example", http: {paths: [{path: "/.well-known/acme-challenge/x", pathType: "Exact", backend: {service: {name: "apple", port: {number: 80}}}}]}}], tls: [{hosts: ["a.example"], secretName: "passing"}]}
    shop/solver {created: "2025", rules: [{host: "c.example", http: {paths: [{path: "/.well-known/acme-challenge/x", pathType: "Exact", backend: {service: {name: "apple", port: {number: 80}}}}]}}], tls: [{hosts: ["b.example"], secretName: "passing"}]}
    demo/app {tls: [{hosts: ["a.example", "b.example"], secretName: "own"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  demo-own
    b.example  demo-own
ROWS
}

@test "only the namespace whose host it is can give a certificate for it" {
  add_pair shop/stranger fruit.example,a.example ecdsa
  add_pair demo/own a.example 2048
  ingresses_are <<'ROWS'
    # fruit.example has rules of demo/fruit, without TLS; of a.example the older wish counts
    demo/one {tls: [{hosts: ["a.example"], secretName: "own"}]}
    shop/two {tls: [{hosts: ["fruit.example", "a.example"], secretName: "stranger"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    fruit.example  default
    a.example      demo-own
ROWS
  assert_equal "\
HostTaken: host a.example belongs to namespace demo, so a Secret of namespace shop cannot be its certificate
HostTaken: host fruit.example belongs to namespace demo, so a Secret of namespace shop cannot be its certificate" "$(problems | grep HostTaken)"
}

@test "a wildcard's certificate is shown for hosts of its own namespace only, whoever was first, unless it is shared" {
  add_pair demo/mine '*.example'
  add_pair shop/stranger '*.example,b.other,*.other'
  add_pair shop/exact shop.other
  ingresses_are <<'ROWS'
    # stranger's wish for the wildcard is the oldest; demo has rules, and its own certificate for the wildcard
    shop/one {created: "2026-06", tls: [{hosts: ["*.example", "b.other"], secretName: "stranger"}]}
    demo/one {rules: [{host: "a.example"}], tls: [{hosts: ["*.example"], secretName: "mine"}]}
    demo/two {rules: [{host: "*.other"}]}
    shop/two {rules: [{host: "shop.other"}], tls: [{hosts: ["shop.other"], secretName: "exact"}]}
    # a namespace without any certificate
    test/one {rules: [{host: "test.example"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example       demo-mine
    test.example    default
    none.example    shop-stranger
    b.other         default
    shop.other      shop-exact
ROWS
  assert_contains "$(problems)" 'HostTaken: host b.other belongs to namespace demo, so a Secret of namespace shop cannot be its certificate'
  ingresses_are <<'ROWS'
    shop/one {annotations: {"bash-ingress.local/share-host-with": "test"}, rules: [{host: "*.example"}], tls: [{hosts: ["*.example"], secretName: "stranger"}]}
    demo/one {rules: [{host: "a.example"}]}
    test/one {rules: [{host: "test.example"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example       default
    test.example    shop-stranger
    none.example    shop-stranger
ROWS
}

@test "a host may have the name of a word that nginx knows" {
  add_pair demo/words default,include,hostnames,volatile
  ingresses_are <<<'demo/one {tls: [{hosts: ["default", "include", "hostnames", "volatile"], secretName: "words"}]}'
  go_live
  assert_certificates <<'ROWS'
    default    demo-words
    include    demo-words
    hostnames  demo-words
    volatile   demo-words
    other      default
ROWS
}

@test "what a certificate says of itself cannot be taken for what openssl says of it" {
  tab=$'\t'
  make_rsa_pair "$dir/odd" a.example 2048
  openssl req -x509 -key "$dir/odd.key" -days 1 -subj "/O=subject=subject=/CN=Public Key Algorithm: zzz Public-Key: (9 bit" \
    -addext "subjectAltName=DNS:a.example${tab}x${tab}routines:x:evil" -out "$dir/odd.crt" 2>/dev/null
  add_secret demo/odd "$dir/odd.crt" "$dir/odd.key"
  add_pair demo/other b.example
  add_secret demo/forged "$dir/odd.crt" "$dir/demo-other.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "odd"}, {hosts: ["b.example"], secretName: "forged"}]}'
  go_live
  jq -c 'select(.certificate) | [.certificate, .algorithm, .reason]' "$dir/snapshot" >"$dir/certificates"
  assert_equal $'["demo/forged",null,"KeyPairMismatch"]\n["demo/odd","RSA",null]' "$(<"$dir/certificates")"
}

@test "a key pair of more than 64 KiB, or with a key of another kind, is refused" {
  add_pair demo/large a.example
  { cat "$dir/demo-large.crt" && head -c 100000 /dev/zero | tr '\0' x; } >"$dir/large.crt"
  add_secret demo/large "$dir/large.crt" "$dir/demo-large.key"
  openssl genpkey -algorithm ed448 -out "$dir/ed.key"
  openssl req -x509 -key "$dir/ed.key" -days 1 -subj /CN=ed -out "$dir/ed.crt"
  add_secret demo/ed "$dir/ed.crt" "$dir/ed.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "large"}, {hosts: ["b.example"], secretName: "ed"}]}'
  go_live
  assert_contains "$(problems)" 'KeyPairRefused: Secret demo/large: its tls.crt and tls.key are larger than 64 KiB'
  assert_contains "$(problems)" 'KeyRefused: Secret demo/ed: its key is neither RSA with 2048 to 4096 bits nor ECDSA'
}

@test "hundreds of hosts, names and entries of one Ingress take no time to speak of" {
  jq -c -n '{ingresses: {items: [{metadata: {namespace: "demo", name: "many"}, spec: {ingressClassName: "bash",
      tls: [range(600) | {secretName: "s", hosts: (if . % 2 == 0 then [] else ["x\(.).example"] end)}], rules: [range(600) | {host: "h\(.).example"}]}}]},
    ingressClasses: {items: []}, terminatingNamespaces: {items: []}, services: {items: []}, endpointSlices: {items: []},
    certificates: [{secret: "demo/s", algorithm: "RSA", file: "1-1.pem", notAfter: "9", names: [range(600) | "h\(.).example", "x\(.).example"]}]}' >"$dir/many"
  digest_lists <"$dir/many" | timeout 20 "$bin/route" | assert_json '.certificates | length' 900
}

@test "names that come from certificates count for a namespace as hosts in spec.tls do: the oldest Ingresses have theirs, and each other says that it has not" {
  jq -c -n '{ingresses: {items: [(range(10) | {metadata: {namespace: "demo", name: "i\(.)", creationTimestamp: "202\(.)-01-01T00:00:00Z"}, spec: {ingressClassName: "bash",
      tls: [{secretName: "s\(.)"}], rules: [{http: {paths: []}}]}}), {metadata: {namespace: "other", name: "young", creationTimestamp: "2030-01-01T00:00:00Z"},
      spec: {ingressClassName: "bash", tls: [{secretName: "s", hosts: ["other.example"]}]}}]},
    ingressClasses: {items: []}, terminatingNamespaces: {items: []}, services: {items: []}, endpointSlices: {items: []},
    certificates: [(range(10) | {secret: "demo/s\(.)", algorithm: "RSA", file: "\(.)-1.pem", notAfter: "9", names: [(range(4) as $n | "n\($n).i\(.).example"), (select(. == 9) | "own.example")]}),
      {secret: "other/s", algorithm: "RSA", file: "o-1.pem", notAfter: "9", names: ["other.example"]}]}
    | .ingresses.items += [.ingresses.items[9] | .metadata |= (.name = "own" | .creationTimestamp = "2040-01-01T00:00:00Z") | .spec.tls = [{secretName: "s9", hosts: ["own.example"]}]]' >"$dir/named"
  digest_lists <"$dir/named" | with_settings LIMITS=namespace_tls_hosts=15 | "$bin/route" >"$dir/model.json" # twice 15: a host may have a problem, too
  jq '.certificates | map(.file // .files[0]) | group_by(.) | map("\(.[0]) \(length)")' "$dir/model.json" | assert_json . '["0-1.pem 4","1-1.pem 4","2-1.pem 4","3-1.pem 4","4-1.pem 4","5-1.pem 4","6-1.pem 4","7-1.pem 2","9-1.pem 1","o-1.pem 1"]'
  jq '[.problems[] | select(.reason == "LimitExceeded").of]' "$dir/model.json" | assert_json . '["Ingress demo/i7","Ingress demo/i8","Ingress demo/i9"]'
}

@test "of ECDSA, three curves by their names are served: none of the same size, and none with numbers of its own" {
  for curve in P-256 P-384 P-521 secp256k1 brainpoolP256r1 explicit; do
    options=(-pkeyopt "ec_paramgen_curve:${curve/explicit/P-256}")
    [[ $curve != explicit ]] || options+=(-pkeyopt ec_param_enc:explicit)
    openssl req -x509 -newkey ec "${options[@]}" -nodes -days 1 -subj "/CN=$curve" -addext 'nsComment=ASN1 OID: prime256v1' -keyout "$dir/ec.key" -out "$dir/ec.crt" 2>/dev/null
    add_secret "demo/${curve,,}" "$dir/ec.crt" "$dir/ec.key"
  done
  ingresses_are < <(for curve in p-256 p-384 p-521 secp256k1 brainpoolp256r1 explicit; do
    printf 'demo/%s {tls: [{hosts: ["%s.example"], secretName: "%s"}]}\n' "$curve" "$curve" "$curve"
  done)
  go_live
  assert_certificates <<'ROWS'
    p-256.example            P-256
    p-384.example            P-384
    p-521.example            P-521
    secp256k1.example        default
    brainpoolp256r1.example  default
    explicit.example         default
ROWS
  for name in secp256k1 brainpoolp256r1 explicit; do
    assert_contains "$(problems)" "KeyRefused: Secret demo/$name: its key is neither RSA with 2048 to 4096 bits nor ECDSA with P-256, P-384 or P-521"
  done
  assert_contains "$(problems)" 'CertificateNameMismatch: the certificate in Secret demo/p-256 is not for host p-256.example: it has no subjectAltName'
}

# Prints the key, encrypted, under that label.
encrypt() { # KEY_FILE LABEL
  echo "-----BEGIN $2-----"
  openssl pkcs8 -topk8 -in "$1" -passout pass:secret -outform DER | base64 -w 64
  echo "-----END $2-----"
}

@test "a private key that is encrypted is known by its label and its first bytes, and never decrypted" {
  add_pair demo/good good.example
  openssl pkey -in "$dir/demo-good.key" -traditional -aes256 -passout pass:secret -out "$dir/traditional.key"
  grep -q 'Proc-Type: 4,ENCRYPTED' "$dir/traditional.key"
  add_secret demo/traditional "$dir/demo-good.crt" "$dir/traditional.key"
  add_secret demo/encrypted "$dir/demo-good.crt" <(encrypt "$dir/demo-good.key" 'ENCRYPTED PRIVATE KEY')
  for label in PRIVATE 'RSA PRIVATE' 'EC PRIVATE'; do
    add_secret "demo/as-${label%% *}" "$dir/demo-good.crt" <(encrypt "$dir/demo-good.key" "$label KEY")
  done
  openssl pkcs12 -export -in "$dir/demo-good.crt" -inkey "$dir/demo-good.key" -passout pass: -out "$dir/p12"
  add_secret demo/pkcs12 "$dir/demo-good.crt" <(echo '-----BEGIN PRIVATE KEY-----' && base64 -w 64 "$dir/p12" && echo '-----END PRIVATE KEY-----')
  edit "$api/secrets" 's/as-PRIVATE/as-any/; s/as-RSA/as-rsa/; s/as-EC/as-ec/'
  ingresses_are < <(for name in good traditional encrypted as-any as-rsa as-ec pkcs12; do
    printf 'demo/%s {tls: [{hosts: ["%s.example"], secretName: "%s"}]}\n' "$name" "$name" "$name"
  done)
  watch_openssl
  fetch_all >"$dir/snapshot"
  assert_equal 1 "$(grep -c '^pkey' "$dir/openssl.calls")" # of the good one
  jq -r 'select(.certificate) | "\(.certificate) \(.reason)"' "$dir/snapshot" >"$dir/certificates"
  assert_equal "\
demo/as-any PrivateKeyInvalid
demo/as-ec PrivateKeyInvalid
demo/as-rsa PrivateKeyInvalid
demo/encrypted PrivateKeyEncrypted
demo/good null
demo/pkcs12 PrivateKeyInvalid
demo/traditional PrivateKeyEncrypted" "$(<"$dir/certificates")"
}

@test "private keys in each usual form are served" {
  make_rsa_pair "$dir/any" any.example 2048
  mv "$dir/any.key" "$dir/rsa"
  openssl pkey -in "$dir/rsa" -traditional -out "$dir/rsa-traditional"
  for curve in P-256 P-384 P-521; do
    openssl genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:$curve" -out "$dir/$curve"
    openssl pkey -in "$dir/$curve" -traditional -out "$dir/$curve-traditional"
    openssl ec -in "$dir/$curve" -no_public -out "$dir/$curve-short" 2>/dev/null
    openssl pkcs8 -topk8 -nocrypt -in "$dir/$curve-short" -out "$dir/$curve-short-pkcs8"
    { openssl ecparam -name "$curve" && sed 's/$/\r/' "$dir/$curve-traditional"; } >"$dir/$curve-parameters"
  done
  for file in "$dir"/rsa* "$dir"/P-*; do
    openssl req -x509 -key "$file" -days 1 -subj /CN=x -addext subjectAltName=DNS:x.example -out "$dir/crt" 2>/dev/null
    name=${file##*/}
    add_secret "demo/${name,,}" "$dir/crt" "$file"
    printf 'demo/%s {tls: [{secretName: "%s"}]}\n' "${name,,}" "${name,,}"
  done >"$dir/rows"
  assert_equal 17 "$(wc -l <"$dir/rows")"
  ingresses_are <"$dir/rows"
  fetch_all >"$dir/snapshot"
  assert_equal 17 "$(grep -c '"file":' "$dir/snapshot")"
}

@test "a chain of ten certificates with RSA 4096 and 60 KiB is within what openssl and nginx may take" {
  make_rsa_pair "$dir/leaf" "$(printf 'name-%03d.some.longer.domain.example,' {1..300})a.example" 4096
  openssl req -x509 -key "$dir/leaf.key" -days 1 -subj /CN=authority -addext "nsComment=$(printf 'x%.0s' {1..1800})" -out "$dir/authority.crt"
  { cat "$dir/leaf.crt" && for _ in {1..9}; do cat "$dir/authority.crt"; done; } >"$dir/chain"
  (($(cat "$dir/chain" "$dir/leaf.key" | wc -c) > 55 * 1024))
  add_secret demo/chain "$dir/chain" "$dir/leaf.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "chain"}]}'
  go_live
  assert_equal leaf "$(certificate_for a.example)"
}

@test "openssl has a bound of CPU time: a key pair with which that is over is refused alone, and is not tried again" {
  add_pair demo/slow slow.example
  add_pair demo/good good.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["slow.example"], secretName: "slow"}]}
    demo/two {tls: [{hosts: ["good.example"], secretName: "good"}]}
ROWS
  id=$(jq -r '.items[] | select(.metadata.name == "slow") | "\(.metadata.uid)-\(.metadata.resourceVersion)"' "$api/secrets")
  watch_openssl "if [[ \$* == *$id* ]]; then ulimit -S -t >$dir/seconds; kill -XCPU \$\$; fi" # as the kernel does then
  fetch_all >"$dir/snapshot"
  jq -r 'select(.certificate) | "\(.certificate) \(.reason): \(.message)"' "$dir/snapshot" >"$dir/certificates"
  assert_equal "\
demo/good null: null
demo/slow KeyPairRefused: to examine it takes more time or memory than a key pair may take: make another one" "$(<"$dir/certificates")"
  assert_equal 2 "$(<"$dir/seconds")"
  rm "$dir/openssl.calls"
  fetch_all >/dev/null
  [[ ! -e $dir/openssl.calls ]]
}

@test "forty Secrets of 1 MiB that nobody names cost no file, and one that an Ingress names is refused" {
  add_pair demo/good good.example
  head -c 1000000 /dev/zero | base64 -w 0 >"$dir/large"
  jq -c --rawfile large "$dir/large" '.items += [range(40) | {metadata: {name: "large-\(.)", namespace: "shop", uid: "0", resourceVersion: "1"}, data: {"tls.crt": $large, "tls.key": ""}}]' \
    "$api/secrets" >"$api/secrets.new"
  mv "$api/secrets.new" "$api/secrets"
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["good.example"], secretName: "good"}]}
    shop/two {tls: [{hosts: ["large.example"], secretName: "large-7"}]}
ROWS
  (ulimit -f 1000 && fetch_all >"$dir/snapshot") # KiB: a file that becomes larger ends the program that writes it
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_contains "$(problems)" 'KeyPairRefused: Secret shop/large-7: it is larger than 256 KiB; its hosts have the default certificate'
  assert_equal 1 "$(grep -c '"file":' "$dir/snapshot")"
}

@test "a Secret that is nested too deeply for jq is named if an Ingress names it, and harms no other" {
  add_pair demo/good good.example
  deep=$(printf '%06000d' 0 | sed 's/0/{"a":/g')1$(printf '%06000d' 0 | tr 0 '}')
  for name in deep unnamed; do
    { tr -d '\n' <"$api/secrets" | sed 's/\]}$//' && printf ',{"metadata":{"name":"%s","namespace":"demo","managedFields":[{"fieldsV1":%s}]},"data":{}}]}\n' "$name" "$deep"; } >"$api/secrets.new"
    mv "$api/secrets.new" "$api/secrets"
  done
  ingresses_are <<<'demo/one {tls: [{hosts: ["good.example"], secretName: "good"}, {hosts: ["deep.example"], secretName: "deep"}]}'
  go_live
  assert_equal demo-good "$(certificate_for good.example)"
  assert_contains "$(problems)" 'ObjectUnreadable: Secret demo/deep: it is nested too deeply to be read; its hosts have the default certificate'
}

@test "the whole chain in a Secret is sent" {
  make_pair "$dir/authority" authority.example ecdsa
  make_pair "$dir/leaf" a.example ecdsa
  cat "$dir/authority.crt" >>"$dir/leaf.crt"
  add_secret demo/chain "$dir/leaf.crt" "$dir/leaf.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "chain"}]}'
  go_live
  assert_equal 2 "$(connect -servername a.example -showcerts </dev/null 2>/dev/null | grep -c 'BEGIN CERTIFICATE')"
}

@test "a Secret of another type serves as well, if it has the two keys" {
  add_pair demo/opaque a.example
  make_opaque demo/opaque
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "opaque"}]}'
  go_live
  assert_equal demo-opaque "$(certificate_for a.example)"
}

@test "DEFAULT_TLS_SECRET is for the hosts that have no certificate, and the one made at start for its failure" {
  export DEFAULT_TLS_SECRET=shop/fallback
  add_pair shop/fallback fallback.example
  go_live
  assert_equal shop-fallback "$(certificate_for a.example)"
  assert_equal shop-fallback "$(certificate_for -)"
  add_secret shop/fallback <(echo x) <(echo y)
  go_live
  assert_equal default "$(certificate_for a.example)"
  assert_equal 'CertificateInvalid: DEFAULT_TLS_SECRET: Secret shop/fallback: its tls.crt holds no certificate in PEM form' "$(problems | grep DEFAULT)"
}

@test "a key pair that cannot be used harms its host only, and the problem says what is wrong" {
  add_pair demo/good good.example
  openssl x509 -in "$dir/demo-good.crt" -signkey "$dir/demo-good.key" -days -1 -out "$dir/expired.crt" 2>/dev/null
  add_secret demo/expired "$dir/expired.crt" "$dir/demo-good.key"
  add_pair demo/short short.example 1024
  add_pair demo/other other.example 2048
  add_secret demo/mismatched "$dir/demo-good.crt" "$dir/demo-other.key"
  add_secret demo/garbage <(echo garbage) "$dir/demo-good.key"
  add_secret demo/keyless "$dir/demo-good.crt" <(echo garbage)
  add_secret demo/empty /dev/null /dev/null
  openssl pkey -in "$dir/demo-good.key" -aes256 -passout pass:secret -out "$dir/encrypted.key"
  add_secret demo/encrypted "$dir/demo-good.crt" "$dir/encrypted.key"
  add_secret demo/torn <(head -n 4 "$dir/demo-good.crt") "$dir/demo-good.key"
  add_secret demo/badchain <(cat "$dir/demo-good.crt" && printf -- '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n') "$dir/demo-good.key"
  ingresses_are < <(for name in good expired short mismatched garbage keyless empty encrypted torn badchain missing; do
    printf 'demo/%s {tls: [{hosts: ["%s.example"], secretName: "%s"}]}\n' "$name" "$name" "$name"
  done)
  go_live
  assert_certificates <<'ROWS'
    good.example        demo-good
    expired.example     default
    short.example       default
    mismatched.example  default
    garbage.example     default
    keyless.example     default
    empty.example       default
    encrypted.example   default
    torn.example        default
    badchain.example    default
    missing.example     default
ROWS
  consequence='its hosts have the default certificate'
  assert_equal "\
CertificateExpired: Secret demo/expired: its certificate expired at DATE; $consequence
CertificateInvalid: Secret demo/empty: its tls.crt holds no certificate in PEM form; $consequence
CertificateInvalid: Secret demo/garbage: its tls.crt holds no certificate in PEM form; $consequence
CertificateInvalid: Secret demo/torn: its tls.crt holds no certificate in PEM form; $consequence
KeyPairMismatch: Secret demo/mismatched: its private key does not belong to its certificate; $consequence
KeyPairRefused: Secret demo/badchain: nginx rejects it: bad base64 decode; $consequence
KeyTooShort: Secret demo/short: its RSA key has 1024 bits, and clients accept no key of less than 2048; $consequence
PrivateKeyEncrypted: Secret demo/encrypted: its private key is encrypted, and nobody is here to enter the passphrase: store it without one; $consequence
PrivateKeyInvalid: Secret demo/keyless: its tls.key holds no private key in PEM form; $consequence
SecretNotFound: Secret demo/missing does not exist: $consequence" \
    "$(problems | grep 'Secret demo' | sed 's/ at 20[^;]*/ at DATE/' | sort)"
}

@test "with TLS, too, a new status of an Ingress changes nothing in the snapshot" {
  make_pair "$dir/a" a.example ecdsa
  add_secret demo/a "$dir/a.crt" "$dir/a.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "a"}]}'
  "$bin/fetch" "$dir/known" >"$dir/first"
  jq -c '.items[0].status.loadBalancer.ingress = [{ip: "192.0.2.9"}]' "$api/ingresses" >"$api/new"
  mv "$api/new" "$api/ingresses"
  grep -q 192.0.2.9 "$api/ingresses"
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
}

@test "a certificate that expires is replaced by the default one, though nothing changes in the cluster" {
  make_pair "$dir/soon" a.example ecdsa
  add_secret demo/soon "$dir/soon.crt" "$dir/soon.key"
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "soon"}]}'
  go_live
  cmp "$dir/snapshot" <("$bin/fetch" "$dir/known")
  edit "$dir/known/listed" 's/ 20.*/ 2026-01-01 00:00:00Z/' # as if the end had come
  edit "$STATE_DIR/keys/facts.json" -E 's/"notAfter": *"[^"]*"/"notAfter": "2026-01-01 00:00:00Z"/'
  assert_contains "$("$bin/fetch" "$dir/known" | "$bin/route" | jq -c .problems)" 'its certificate expired at 2026-01-01'
}

# --- the route is chosen by Host

@test "over HTTPS the Host chooses the route, whatever name was in the handshake" {
  add_pair demo/tls fruit.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["fruit.example"], secretName: "tls"}]}'
  go_live
  assert_contains "$(ask_tls fruit.example /banana)" 'banana-'
  assert_contains "$(ask_tls fruit.example / -H 'Host: shop.example')" 'shop-apple-1'
  assert_contains "$(ask_tls shop.example /)" 'shop-apple-1'
  answer=$(ask_tls shop.example /headers)
  assert_contains "$answer" 'X-Forwarded-Proto: https'
  assert_contains "$answer" 'X-Forwarded-Port: 443'
}

@test "TLS 1.2 and 1.3 are spoken, and nothing older" {
  go_live
  for version in -tls1_2 -tls1_3; do assert_equal default "$(certificate_for a.example "$version")"; done
  for version in -tls1 -tls1_1; do assert_equal '' "$(certificate_for a.example "$version" -cipher 'ALL:@SECLEVEL=0')"; done
}

@test "a client that comes back resumes its TLS session, also with another worker and after a reload" {
  go_live
  openssl s_client -connect "127.0.0.1:$HTTPS_PORT" -tls1_2 -no_ticket -sess_out "$dir/session" </dev/null >/dev/null 2>&1
  for round in 1 2; do
    cluster_is rules ".ingresses.items[0].spec.rules[0].host = \"round-$round.example\""
    go_live
    for _ in {1..8}; do # it is by chance which of the two workers takes a connection
      assert_contains "$(openssl s_client -connect "127.0.0.1:$HTTPS_PORT" -tls1_2 -no_ticket -sess_in "$dir/session" </dev/null 2>/dev/null)" 'Reused, TLSv1.2'
    done
  done
}

@test "the same HTTP request gets an answer without TLS, as long as nobody asks for a redirect" {
  add_pair demo/tls fruit.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["fruit.example"], secretName: "tls"}]}'
  go_live
  assert_contains "$(ask fruit.example /banana)" 'banana-'
}

# --- redirects and HSTS

@test "HTTP clients are sent to HTTPS where an annotation or the setting asks for it" {
  annotated() { # NAME HOST TLS_HOSTS ANNOTATIONS
    printf '.ingresses.items += [{metadata: {namespace: "demo", name: "%s", creationTimestamp: "2027", annotations: {%s}},
      spec: {ingressClassName: "bash", tls: [%s], rules: [{host: "%s", http: {paths: [{path: "/", pathType: "Prefix",
        backend: {service: {name: "apple", port: {number: 80}}}}]}}]}}] | ' "$1" "$4" "$3" "$2"
  }
  prefix=nginx.ingress.kubernetes.io
  cluster_is rules "$(
    annotated one plain.example '' ''
    annotated two tls.example '{hosts: ["tls.example"]}' ''
    annotated three asked.example '{hosts: ["asked.example"]}' "\"$prefix/ssl-redirect\": \"true\""
    annotated four no-tls.example '' "\"$prefix/ssl-redirect\": \"true\""
    annotated five forced.example '' "\"$prefix/force-ssl-redirect\": \"true\""
    annotated six refused.example '{hosts: ["refused.example"]}' "\"$prefix/ssl-redirect\": \"false\""
    annotated seven wild.wild.example '{hosts: ["*.wild.example"]}' "\"$prefix/ssl-redirect\": \"true\""
    annotated eight strange.example '{hosts: ["strange.example"]}' "\"$prefix/ssl-redirect\": \"perhaps\""
  ) ."
  status_of() { ask "$1" '/x?y' -o /dev/null -w '%{http_code}'; }
  go_live
  while read -r host expected _; do assert_equal "$host $expected" "$host $(status_of "$host")"; done <<'ROWS'
    plain.example      200
    tls.example        200
    asked.example      308
    no-tls.example     200
    forced.example     308
    refused.example    200
    wild.wild.example  308
    strange.example    503
ROWS
  assert_equal https://asked.example/x?y "$(ask asked.example:8080 '/x?y' -o /dev/null -w '%{redirect_url}')"
  assert_equal 200 "$(ask_tls asked.example /x -o /dev/null -w '%{http_code}')"
  export SSL_REDIRECT=on
  rm -r "$dir/lists-read" # as a restart does, which another setting takes
  go_live
  while read -r host expected _; do assert_equal "$host $expected" "$host $(status_of "$host")"; done <<'ROWS'
    plain.example      200
    tls.example        308
    asked.example      308
    no-tls.example     200
    forced.example     308
    refused.example    200
    strange.example    503
ROWS
}

@test "with SSL_REDIRECT=on, the spec.tls of one Ingress redirects those of its namespace for that host, but no ACME challenge, and nobody else's" {
  export SSL_REDIRECT=on HOST_OWNERSHIP=shared
  ingress() { # NAMESPACE NAME HOST PATH [TLS [ANNOTATION VALUE]]
    jq -n -c '$ARGS.positional as [$namespace, $name, $host, $path, $tls, $annotation, $value]
      | {metadata: {$namespace, $name, creationTimestamp: "2026-01-01T00:00:00Z", annotations: (if $annotation then {"nginx.ingress.kubernetes.io/\($annotation)": $value} else {} end)},
         spec: {ingressClassName: "bash", tls: ($tls // "null" | fromjson), rules: [{$host, http: {paths: [{$path, pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}}' --args "$@"
  }
  {
    ingress demo tls one.example / '[{"hosts": ["one.example", "*.two.example"]}]'
    ingress demo below one.example /below
    ingress demo not one.example /not null ssl-redirect false
    ingress demo acme one.example /.well-known/acme-challenge/x
    ingress shop other one.example /other
    ingress demo wild a.two.example /
    ingress demo rules three.example / '[{}]'
    ingress demo with-rules three.example /below
    ingress demo two five.example / '[{"hosts": ["six.example"]}]'
    ingress demo acme-like six.example /.well-known/acme-challenges
    ingress demo plain four.example /
    ingress shop foreign four.example /foreign '[{"hosts": ["four.example"]}]'
  } | jq -s . >"$dir/ingresses.json"
  snapshot rules '.ingresses.items = $ingresses[0]' --slurpfile ingresses "$dir/ingresses.json" | "$bin/route" >"$dir/model.json"
  assert_equal '
    a.two.example/ five.example/ four.example/foreign one.example/ one.example/below six.example/.well-known/acme-challenges three.example/ three.example/below' "
    $(jq -r '[.servers[] | .host as $host | .locations[] | select(.redirect == true) | $host + .path] | sort | join(" ")' "$dir/model.json")"
  refute_contains "$(<"$dir/model.json")" 'with TLS'
}

@test "Strict-Transport-Security is sent over HTTPS only, and only if it is set" {
  header() { grep -i '^strict-transport-security' | tr -d '\r'; }
  go_live
  assert_equal '' "$(ask_tls shop.example / -D - | header)"
  export HSTS="max-age=600; includeSubDomains"
  go_live
  assert_equal 'Strict-Transport-Security: max-age=600; includeSubDomains' "$(ask_tls shop.example / -D - | header)"
  assert_equal 'Strict-Transport-Security: max-age=600; includeSubDomains' "$(ask_tls fruit.example /nowhere -D - | header)"
  assert_equal '' "$(ask shop.example / -D - | header)"
}
