# Which certificate a client gets, with real nginx, and what becomes of the private keys.
load helpers

# What every test begins with, the fixture as a pass of the loop has digested it.
setup_file() {
  common_setup "$BATS_FILE_TMPDIR/first"
  mkdir "$dir"
  start_api rules
  be_the_proxy
  "$bin/fetch" "$BATS_FILE_TMPDIR/lists-read" >/dev/null
  end_servers
}

setup() {
  common_setup
  cp -r "$BATS_FILE_TMPDIR/lists-read" "$dir"
  start_pods
  start_api rules
  be_the_proxy
}
teardown() { common_teardown; }

# --- the cluster

# Adds a Secret of the type for TLS with these files, or replaces it.
add_secret() { # NAMESPACE/NAME CERTIFICATE_FILE KEY_FILE
  local version=$((RANDOM * 32768 + RANDOM))
  jq -c --arg name "$1" --arg version "$version" --rawfile certificate "$2" --rawfile key "$3" '
    ($name | split("/")) as [$namespace, $name]
    | .metadata.resourceVersion = $version
    | .items |= (map(select([.metadata.namespace, .metadata.name] != [$namespace, $name]))
      + [{metadata: {namespace: $namespace, name: $name, uid: "00000000-0000", resourceVersion: $version}, type: "kubernetes.io/tls",
          data: {"tls.crt": ($certificate | @base64), "tls.key": ($key | @base64)}}])' "$api/secrets" >"$api/secrets.new"
  mv "$api/secrets.new" "$api/secrets"
}

add_pair() { # NAMESPACE/NAME HOSTS [ecdsa | BITS of RSA]
  local name=${1//\//-}
  if [[ ${3-} == [1-9]* ]]; then make_rsa_pair "$dir/$name" "$2" "$3"; else make_pair "$dir/$name" "$2" ecdsa; fi
  add_secret "$1" "$dir/$name.crt" "$dir/$name.key"
}

# Makes it one of another type: it is not in the list of those for TLS, but has an address of its own.
make_opaque() { # NAMESPACE/NAME
  jq -c --arg name "$1" '.items[] | select("\(.metadata.namespace)/\(.metadata.name)" == $name)
    | {kind: "Secret", apiVersion: "v1"} + . + {type: "Opaque"}' "$api/secrets" >"$api/secret-${1/\//-}"
  jq -c --arg name "$1" 'del(.items[] | select("\(.metadata.namespace)/\(.metadata.name)" == $name))' "$api/secrets" >"$api/secrets.new"
  mv "$api/secrets.new" "$api/secrets"
}

# The cluster is the fixture "rules" and an Ingress for each line: NAMESPACE/NAME, as JSON what its spec has, and perhaps when
# it was created, and its annotations.
ingresses_are() {
  local name spec edit='.'
  while read -r name spec; do
    [[ -n $name && $name != '#'* ]] || continue
    edit+=" | .ingresses.items += [$spec | {metadata: {namespace: \"${name%/*}\", name: \"${name#*/}\", creationTimestamp: (.created // \"2027\"), annotations},
      spec: ({ingressClassName: \"bash\"} + del(.created, .annotations))}]"
  done
  cluster_is rules "$edit"
}

# What the passes of some seconds fetch: one that looks at the Secrets at once and waits for it.
fetch_all() { # [FOLDER]
  bash -c 'source "$1/fetch" && program=fetch look_seconds=0 times_as_long=0 && is_waited_for() { true; } && patience() { echo 60; } && fetch "$2"' \
    _ "$bin" "${1:-$dir/lists-read}"
}

# One pass; nginx is started if it does not run yet.
go_live() {
  fetch_all >"$dir/snapshot"
  if [[ -s $STATE_DIR/run/nginx.pid ]]; then
    "$bin/route" <"$dir/snapshot" >"$dir/model.json"
    "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json" >>"$dir/apply.log" 2>&1
  else
    serve_snapshot <"$dir/snapshot"
  fi
  cp "$dir/snapshot" "$STATE_DIR/live/snapshot"
}

# --- the client

# Prints the subject of the certificate that nginx shows for the name in the handshake; "-" for none.
certificate_for() { # HOST [S_CLIENT_OPTION...]
  local name=(-servername "$1")
  [[ $1 != - ]] || name=(-noservername)
  connect "${name[@]}" "${@:2}" </dev/null 2>/dev/null | sed -nE 's/^ *0 s:(.* = )?//p' | sed 's/^bash-ingress default.*/default/'
}

# openssl's client. To read the authorities that the machine knows would take it 30 ms, and it asks none of them.
connect() { # S_CLIENT_OPTION...
  openssl s_client -connect "127.0.0.1:$HTTPS_PORT" -no-CAfile -no-CApath -no-CAstore "$@"
}

# Each row: the name in the handshake, and the certificate; more words are options of s_client.
assert_certificates() {
  local host expected options
  while read -r host expected options; do
    [[ -n $host && $host != '#'* ]] || continue
    # shellcheck disable=SC2086 # each word is an option
    assert_equal "$host: $expected" "$host: $(certificate_for "$host" $options)"
  done
}

ask_tls() { # HOST PATH [CURL_OPTION...]
  curl -sk --max-time 10 --connect-to "::127.0.0.1:$HTTPS_PORT" "${@:3}" "https://$1$2"
}

problems() {
  jq -r '.problems[] | "\(.reason): \(.message)"' "$dir/model.json"
}

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
    b.example          demo-rules
    elsewhere.example  default
    c.example          demo-names
    x.d.example        demo-names
ROWS
  assert_equal 'CertificateNameMismatch: the certificate in Secret demo/rules is not for host b.example, so clients may reject it' "$(problems | grep Mismatch)"
}

@test "a host can have an RSA and an ECDSA certificate, and the client's choice counts" {
  add_pair demo/rsa a.example 2048
  add_pair demo/ecdsa a.example ecdsa
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "rsa"}]}
    shop/two {tls: [{hosts: ["a.example", "b.example"]}]}
    demo/two {tls: [{hosts: ["a.example"], secretName: "ecdsa"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  demo-rsa    -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256
    a.example  demo-ecdsa  -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256
    a.example  demo-ecdsa  -tls1_3
    a.example  demo-rsa    -tls1_3 -sigalgs rsa_pss_rsae_sha256
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

@test "a key pair that would take long to examine or to use is refused" {
  add_pair demo/large a.example
  { cat "$dir/demo-large.crt" && head -c 100000 /dev/zero | tr '\0' x; } >"$dir/large.crt"
  add_secret demo/large "$dir/large.crt" "$dir/demo-large.key"
  openssl genpkey -algorithm ed25519 -out "$dir/ed.key"
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
    certificates: [{secret: "demo/s", algorithm: "RSA", file: "1-1.pem", notAfter: "9", names: [range(500) | "n\(.).example"]}]}' >"$dir/many"
  digest_lists <"$dir/many" | timeout 20 "$bin/route" | assert_json '.certificates | length' 900
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
}

# Puts a program before openssl that notes how it is called, and runs SCRIPT first.
watch_openssl() { # [SCRIPT]
  mkdir -p "$dir/path"
  printf '#!/bin/bash\necho "$*" >>%s/openssl.calls\n%s\nexec %s "$@"\n' "$dir" "${1-}" "$(command -v openssl)" >"$dir/path/openssl"
  chmod +x "$dir/path/openssl"
  PATH=$dir/path:$PATH
}

# With 8 million rounds of PBKDF2, which takes some seconds; only the number of bytes keeps it from being two thousand million.
encrypt() { # KEY_FILE LABEL
  echo "-----BEGIN $2-----"
  openssl pkcs8 -topk8 -in "$1" -iter 65537 -passout pass: -outform DER | xxd -p | tr -d '\n' | sed 's/0203010001/02037fffff/' | xxd -r -p | base64 -w 64
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
  sed -i 's/as-PRIVATE/as-any/; s/as-RSA/as-rsa/; s/as-EC/as-ec/' "$api/secrets"
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

@test "a key pair that takes openssl too long is refused alone, and is not tried again" {
  add_pair demo/slow slow.example
  add_pair demo/good good.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["slow.example"], secretName: "slow"}]}
    demo/two {tls: [{hosts: ["good.example"], secretName: "good"}]}
ROWS
  id=$(jq -r '.items[] | select(.metadata.name == "slow") | "\(.metadata.uid)-\(.metadata.resourceVersion)"' "$api/secrets")
  watch_openssl "if [[ \$* == *$id* ]]; then while true; do :; done; fi"
  fetch_all >"$dir/snapshot"
  jq -r 'select(.certificate) | "\(.certificate) \(.reason): \(.message)"' "$dir/snapshot" >"$dir/certificates"
  assert_equal "\
demo/good null: null
demo/slow KeyPairRefused: to examine it takes more time or memory than a key pair may take: make another one" "$(<"$dir/certificates")"
  rm "$dir/openssl.calls"
  fetch_all >/dev/null
  [[ ! -e $dir/openssl.calls ]]
}

@test "a hundred Secrets of 1 MiB that nobody names cost no file, and one that an Ingress names is refused" {
  add_pair demo/good good.example
  head -c 1000000 /dev/zero | base64 -w 0 >"$dir/large"
  jq -c --rawfile large "$dir/large" '.items += [range(100) | {metadata: {name: "large-\(.)", namespace: "shop", uid: "0", resourceVersion: "1"}, data: {"tls.crt": $large, "tls.key": ""}}]' \
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

# --- beside the passes

# Lets openssl wait in front of key pairs until the file "go" is there.
hold_openssl() {
  watch_openssl "if [[ \$1 == x509 && \$* != *-subject* ]]; then until [[ -e $dir/go ]]; do sleep 0.1; done; fi"
}

@test "while a new key pair is examined, passes go on without it, and a problem says so" {
  add_pair demo/one a.example
  ingresses_are <<<''
  go_live
  hold_openssl
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  began=$(date +%s%N)
  "$bin/fetch" "$dir/lists-read" >"$dir/snapshot"
  (($(date +%s%N) - began < 4000000000)) # and not the 10 s after which openssl would be ended
  assert_contains "$(<"$dir/snapshot")" '{"certificate":"demo/one","reason":"SecretNotReady","message":"it has not been read yet"}'
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_contains "$(problems)" 'SecretNotReady: Secret demo/one: it has not been read yet; its hosts have the default certificate'
  touch "$dir/go"
  wait_for 15 knows_certificate demo/one
}

# Whether a pass that looks at no Secrets knows how to serve this one.
knows_certificate() { # NAMESPACE/NAME
  "$bin/fetch" "$dir/lists-read" | grep -q "{\"certificate\":\"$1\",.*\"file\":"
}

# The line of the snapshot that is about a Secret, from a pass that looks at none.
line_of() { # NAMESPACE/NAME
  "$bin/fetch" "$dir/lists-read" | grep "{\"certificate\":\"$1\""
}

@test "while the next key pair of a Secret is examined, its hosts keep the one that they have" {
  add_pair demo/one a.example
  add_pair demo/two b.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}, {hosts: ["b.example"], secretName: "two"}]}'
  go_live
  one=$(line_of demo/one) two=$(line_of demo/two)
  add_pair demo/one a.example
  add_pair demo/two b.example
  watch_openssl "if [[ \$1 == x509 && -e $dir/held ]]; then until [[ -e $dir/go ]]; do sleep 0.1; done; fi; touch $dir/held; sleep 1"
  bash -c 'source "$1/certificates" && program=certificates round_seconds=1 && main "$2"' _ "$bin" "$dir/lists-read/digest/ingresses" 3>&- &
  wait_for 15 has_other_line demo/one "$one" # a round that lasts for one pair has ended
  assert_equal "$two" "$(line_of demo/two)"
  touch "$dir/go"
  wait_for 15 has_other_line demo/two "$two"
  wait "$!"
}

has_other_line() { # NAMESPACE/NAME LINE
  [[ $(line_of "$1") == *'"file":'* && $(line_of "$1") != "$2" ]]
}

@test "the first new key pair of each namespace is examined before the second of any" {
  for i in {1..4}; do add_pair "demo/many-$i" a.example; done
  add_pair shop/only b.example
  {
    for i in {1..4}; do echo "demo/many-$i {tls: [{hosts: [\"a.example\"], secretName: \"many-$i\"}]}"; done
    echo 'shop/only {tls: [{hosts: ["b.example"], secretName: "only"}]}'
  } >"$dir/rows"
  ingresses_are <"$dir/rows"
  id=$(jq -r '.items[] | select(.metadata.name == "only") | "\(.metadata.uid)-\(.metadata.resourceVersion)"' "$api/secrets")
  watch_openssl
  fetch_all >/dev/null
  assert_contains "$(grep '^x509' "$dir/openssl.calls" | sed -n 2p)" "$id"
}

@test "the list of Secrets has those for TLS only; others are asked for by the names that Ingresses have, at each look, and seldom if they are missing" {
  add_pair demo/listed a.example
  add_pair demo/opaque b.example
  make_opaque demo/opaque
  ingresses_are <<<'demo/one {tls: [{secretName: "listed"}, {secretName: "opaque"}, {secretName: "missing"}, {secretName: "../../x"}]}'
  for _ in 1 2 3; do
    fetch_all >"$dir/snapshot"
    sed -i "s/^[0-9]*/$(cut -d. -f1 /proc/uptime)/" "$STATE_DIR/keys/times" # as if that had been just now
  done
  assert_equal 2 "$(grep -c '"file":' "$dir/snapshot")"
  grep -oE 'GET [^ ]*secrets[^ ]*' "$dir/api.access" | sort | uniq -c | sed 's/^ *//' >"$dir/asked"
  assert_equal "\
1 GET /api/v1/namespaces/demo/secrets/missing
3 GET /api/v1/namespaces/demo/secrets/opaque
3 GET /api/v1/secrets?fieldSelector=type=kubernetes.io/tls" "$(<"$dir/asked")"
  add_pair demo/missing c.example
  make_opaque demo/missing
  sed -i 's/^[0-9]*/0/' "$STATE_DIR/keys/times" # as if that had been long ago
  fetch_all >"$dir/snapshot"
  assert_equal 3 "$(grep -c '"file":' "$dir/snapshot")"
}

@test "a Secret that the controller may not read is a problem of the Ingress that names it, and of no other" {
  add_pair demo/good b.example
  : >"$api/forbidden-opaque"
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "opaque"}]}
    demo/two {tls: [{hosts: ["b.example"], secretName: "good"}]}
ROWS
  go_live
  assert_certificates <<'ROWS'
    a.example  default
    b.example  demo-good
ROWS
  assert_contains "$(problems)" 'SecretForbidden: Secret demo/opaque: the controller may not read it'
}

@test "the longer it takes to read the Secrets, the more rarely they are read" {
  add_pair demo/good b.example
  ingresses_are <<<'demo/two {tls: [{hosts: ["b.example"], secretName: "good"}]}'
  fetch_all "$dir/known" >/dev/null
  looks() { grep -c '/secrets?' "$dir/api.access"; }
  before=$(looks)
  read -r now _ </proc/uptime
  echo "$((${now%.*} - 9))" >"$dir/known/looked" # in the past, as if 9 s had gone by
  echo 100 >"$STATE_DIR/keys/took"               # and it had taken 1 s, for which it rests 5 s more
  "$bin/fetch" "$dir/known" >/dev/null
  assert_equal "$before" "$(looks)"
  echo 10 >"$STATE_DIR/keys/took"
  "$bin/fetch" "$dir/known" >/dev/null
  wait_for 10 has_looked "$((before + 1))"
}

has_looked() { # TIMES
  (($(grep -c '/secrets?' "$dir/api.access") == $1))
}

@test "many Secrets that are missing are asked for by and by, but not more than 50 of a namespace" {
  ingresses_are <<'ROWS'
    demo/many {tls: [range(55) | {secretName: "missing-\(.)"}]}
    shop/few {tls: [range(3) | {secretName: "missing-\(.)"}]}
ROWS
  fetch_all >"$dir/snapshot"
  missing() { grep -o "$1/secrets/missing-[0-9]*" "$dir/api.access" | sort -u | wc -l; }
  assert_equal 50 "$(missing demo)"
  assert_equal 3 "$(missing shop)"
  assert_equal 2 "$(grep -c '/secrets?' "$dir/api.access")"        # rounds, of 50 at most
  assert_equal 53 "$(grep -c /secrets/missing- "$dir/api.access")" # with a kubectl to say that it is missing, it would be twice as many
  assert_equal 5 "$(grep -c 'its namespace names more than 50 Secrets that are missing, or not of type kubernetes.io/tls' "$dir/snapshot")"
}

@test "Secrets that are late hold up one pass and no other, until all have been read" {
  run -0 bash -c '
    source "$1/fetch"
    run_certificates() { sleep 1; }
    patience() { echo 0.1; }
    pass() { if is_waited_for; then echo waits; else echo goes on; fi; look; }
    use_folder "$2"
    now=0
    unread=1 && pass && pass && unread=0 && pass && unread=1 && pass' _ "$bin" "$dir/lists-read"
  assert_equal 'waits goes on goes on waits' "${output//$'\n'/ }"
}

@test "an answer for one Secret that is not that Secret is an error, and changes nothing" {
  add_pair demo/opaque a.example
  make_opaque demo/opaque
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "opaque"}]}'
  "$bin/fetch" "$dir/known" >"$dir/first"
  cp "$api/secret-demo-opaque" "$dir/whole"
  for answer in '' '<html>' "$(jq -c '.kind = "List"' "$dir/whole")" "$(jq -c '.metadata.name = "other"' "$dir/whole")" "$(head -c 300 "$dir/whole")"; do
    echo "$answer" >"$api/secret-demo-opaque"
    sed -i 's/^[0-9]*/0/' "$STATE_DIR/keys/times" # as if it had been asked long ago
    run --separate-stderr fetch_all "$dir/known"
    assert_equal 1 "$status"
    assert_equal '' "$output"
    assert_contains "$stderr" 'cannot use secrets: '
  done
  cp "$dir/whole" "$api/secret-demo-opaque"
  cmp "$dir/first" <(fetch_all "$dir/known")
}

@test "the loop follows a new key pair without a ring from outside, and is ready with the certificates of its hosts" {
  add_pair demo/one a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "one"}]}'
  watch_openssl 'if [[ $1 == x509 && $* != *-subject* ]]; then sleep 2; fi'
  start_controller DOORBELL=off POLL_SECONDS=3
  be_the_proxy
  assert_equal demo-one "$(certificate_for a.example)"
  make_pair "$dir/next" a.example ecdsa
  add_secret demo/one "$dir/next.crt" "$dir/next.key"
  wait_for 20 shows_certificate next a.example
}

shows_certificate() { # SUBJECT HOST
  [[ $(certificate_for "$2") == "$1" ]]
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
  sed -i 's/ 20.*/ 2026-01-01 00:00:00Z/' "$dir/known/listed" # as if the end had come
  sed -i -E 's/"notAfter": *"[^"]*"/"notAfter": "2026-01-01 00:00:00Z"/' "$STATE_DIR/keys/facts.json"
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

# --- private keys

# Whether a word of the private key is in the file; its lines are base64.
holds_key() { # KEY_FILE FILE...
  grep -qF "$(sed -n 2p "$1")" "${@:2}"
}

@test "a private key is in a file for its owner only, and in nothing that people are shown" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  go_live
  holds_key "$dir/demo-tls.key" "$STATE_DIR"/keys/*.pem
  assert_equal 600 "$(stat -c %a "$STATE_DIR"/keys/*.pem | sort -u)"
  assert_equal 700 "$(stat -c %a "$STATE_DIR/keys")"
  run holds_key "$dir/demo-tls.key" "$dir/snapshot" "$dir/model.json" "$dir"/*.log "$STATE_DIR"/live/*
  assert_equal 1 "$status"
  run grep -rlF "$(base64 -w 0 "$dir/demo-tls.key" | head -c 100)" "$dir/snapshot" "$STATE_DIR" "$dir/model.json"
  assert_equal 1 "$status" # nor as the Secret has it
}

@test "Secrets are read only if an Ingress has TLS, and keys kept only of those that ours name" {
  go_live
  run grep -c /secrets "$dir/api.access"
  assert_equal 0 "$output"
  add_pair demo/ours a.example
  add_pair demo/not-ours b.example
  add_pair demo/unnamed c.example
  ingresses_are <<'ROWS'
    demo/one {tls: [{hosts: ["a.example"], secretName: "ours"}]}
    demo/two {ingressClassName: "other", tls: [{hosts: ["b.example"], secretName: "not-ours"}]}
ROWS
  go_live
  holds_key "$dir/demo-ours.key" "$STATE_DIR"/keys/*.pem
  for name in demo-not-ours demo-unnamed; do
    run grep -rF "$(sed -n 2p "$dir/$name.key")" "$STATE_DIR"
    assert_equal 1 "$status"
  done
}

@test "a rotated key pair is live with the next pass, and the old key is gone after two calls of prune-keys" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  go_live
  cp "$dir/demo-tls.key" "$dir/old.key"
  make_pair "$dir/new" a.example ecdsa
  add_secret demo/tls "$dir/new.crt" "$dir/new.key"
  go_live
  assert_equal new "$(certificate_for a.example)"
  "$bin/prune-keys"
  holds_key "$dir/old.key" "$STATE_DIR"/keys/*.pem # a client in the handshake may need it
  "$bin/prune-keys"
  run holds_key "$dir/old.key" "$STATE_DIR"/keys/*.pem
  assert_equal 1 "$status"
  assert_equal new "$(certificate_for a.example)"
}

@test "a doubtful list of Secrets changes nothing" {
  add_pair demo/tls a.example
  ingresses_are <<<'demo/one {tls: [{hosts: ["a.example"], secretName: "tls"}]}'
  for answer in '' '{}' '<html>' '{"kind":"SecretList","apiVersion":"v1","items":[]}' '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}' \
    "$(jq -c . "$api/secrets" | head -c 400)"; do
    echo "$answer" >"$api/secrets"
    run --separate-stderr "$bin/fetch" "$dir/lists-read"
    assert_equal 1 "$status"
    assert_equal '' "$output"
  done
}

# --- Secrets that annotations name

# Adds an Opaque Secret with the passwords of user alice, or replaces it.
add_passwords() { # NAMESPACE/NAME PASSWORD
  jq -n -c --arg name "$1" --arg version "$((RANDOM * 32768 + RANDOM))" --arg auth "alice:$(openssl passwd -apr1 "$2")" '($name | split("/")) as [$namespace, $name]
    | {kind: "Secret", apiVersion: "v1", metadata: {name: $name, namespace: $namespace, uid: "00000000-0001", resourceVersion: $version}, type: "Opaque", data: {auth: ($auth | @base64)}}' >"$api/new"
  mv "$api/new" "$api/secret-${1/\//-}"
}

# The rows of ingresses_are, for Ingresses NAMESPACE/NAME with the host NAME.example that name a Secret for passwords.
protected_by() { # SECRET NAMESPACE/NAME...
  local name
  for name in "${@:2}"; do
    printf '%s {annotations: {"nginx.ingress.kubernetes.io/auth-type": "basic", "nginx.ingress.kubernetes.io/auth-secret": "%s"},
      rules: [{host: "%s.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]}\n' "$name" "$1" "${name#*/}" | tr '\n' ' '
    echo
  done
}

status_with() { # PASSWORD HOST
  ask "$2" / -o /dev/null -w '%{http_code}' -u "alice:$1"
}

has_status() { # STATUS PASSWORD HOST
  [[ $(status_with "$2" "$3") == "$1" ]]
}

@test "the loop follows a changed password; once the Secret is deleted or forbidden, the path is closed, and again after a restart" {
  add_passwords demo/users first
  ingresses_are < <(protected_by users demo/one)
  look_often
  start_controller
  assert_equal '200 401' "$(status_with first one.example) $(status_with second one.example)"
  add_passwords demo/users second
  wait_for 25 has_status 200 second one.example
  assert_equal 401 "$(status_with first one.example)"
  mv "$api/secret-demo-users" "$dir/users"
  wait_for 25 has_status 503 second one.example
  mv "$dir/users" "$api/secret-demo-users"
  wait_for 25 has_status 200 second one.example
  : >"$api/forbidden-users"
  wait_for 25 has_status 503 second one.example
  wait_for 10 polled_since "$(($(metric polls_total) + 2))" # one that is stopped before it has proved what it reloaded goes back to what was
  stop_controller
  start_controller # with what is in STATE_DIR, as in a container that was restarted
  assert_equal 503 "$(status_with second one.example)"
  rm "$api/forbidden-users"
  wait_for 25 has_status 200 second one.example
  stop_controller
  rm -r "$STATE_DIR"
  be_the_proxy
  : >"$api/forbidden-users"
  start_controller # with nothing
  assert_equal 503 "$(status_with second one.example)"
}

@test "passwords are in a file for its owner only, in nothing that people are shown, and gone two calls of prune-keys after the Secret" {
  add_passwords demo/users first
  hash=$(jq -r '.data.auth | @base64d' "$api/secret-demo-users")
  ingresses_are < <(protected_by users demo/one)
  go_live
  assert_equal 200 "$(status_with first one.example)"
  grep -rlF "$hash" "$STATE_DIR" "$dir/snapshot" "$dir/model.json" "$dir/lists-read" >"$dir/files"
  assert_equal 1 "$(grep -cE '/keys/00000000-0001-[0-9]+\.file\.htpasswd$' "$dir/files")"
  assert_equal 1 "$(wc -l <"$dir/files")"
  assert_equal 600 "$(stat -c %a "$STATE_DIR"/keys/*.htpasswd)"
  for _ in 1 2; do "$bin/prune-keys"; done
  assert_equal 200 "$(status_with first one.example)"
  ingresses_are <<<''
  go_live
  for _ in 1 2; do "$bin/prune-keys"; done
  run grep -rlF "$hash" "$STATE_DIR" --exclude-dir=lists
  assert_equal 1 "$status"
}

@test "a Secret of another namespace is read and counts only if SHARED_NAMESPACES lists that" {
  add_passwords shop/users first
  ingresses_are < <(protected_by shop/users demo/one shop/theirs)
  go_live
  assert_equal '503 200' "$(status_with first one.example) $(status_with first theirs.example)"
  assert_contains "$(problems)" 'Secret shop/users is not of namespace demo, and SHARED_NAMESPACES does not list its namespace'
  ingresses_are < <(protected_by shop/users demo/one)
  export SHARED_NAMESPACES=test
  rm -r "$dir/lists-read" "$STATE_DIR/keys"
  : >"$dir/api.access"
  go_live
  assert_equal 503 "$(status_with first one.example)"
  run grep -c /secrets/ "$dir/api.access"
  assert_equal 0 "$output"
  export SHARED_NAMESPACES=test,shop
  go_live
  assert_equal 200 "$(status_with first one.example)"
}

@test "one Secret can be a certificate, an authority and passwords; each use is read when an Ingress first asks for it" {
  add_pair demo/all a.example
  make_revocations "$dir/crl" "$dir/demo-all" 20991231000000Z
  jq -c --rawfile crl "$dir/crl" '.items |= map(.data += {"ca.crt": .data["tls.crt"], "ca.crl": ($crl | @base64), auth: ("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=" | @base64)})' "$api/secrets" >"$api/new"
  mv "$api/new" "$api/secrets"
  make_opaque demo/all
  ingresses_are <<<'demo/tls {tls: [{hosts: ["a.example"], secretName: "all"}]}'
  go_live
  assert_equal 1 "$(grep -c '"certificate":' "$dir/snapshot")"
  ingresses_are < <(echo 'demo/tls {tls: [{hosts: ["a.example"], secretName: "all"}], annotations: {"nginx.ingress.kubernetes.io/proxy-ssl-secret": "all"}}' && protected_by all demo/one)
  go_live
  jq -c 'select(.certificate) | [.use, .reason, (.file | sub(".*[0-9][.]"; ""))]' "$dir/snapshot" >"$dir/uses"
  assert_equal $'["auth-file",null,"file.htpasswd"]\n["ca",null,"crl.ca.pem"]\n[null,null,"pem"]' "$(<"$dir/uses")"
  for _ in 1 2; do "$bin/prune-keys"; done
  assert_equal 3 "$(find "$STATE_DIR/keys" -name '*-*.*' | wc -l)"
  assert_equal '200 401' "$(status_with secret one.example) $(status_with wrong one.example)"
  assert_equal demo-all "$(certificate_for a.example)"
}

@test "the Secrets that serve are asked for at each look, by one kubectl if they are many; more than 50 of a namespace are not read" {
  for i in {10..70}; do add_passwords "demo/users-$i" "first-$i"; done
  ingresses_are < <(for i in {10..70}; do protected_by "users-$i" "demo/one-$i"; done)
  go_live
  assert_equal '200 503' "$(status_with first-10 one-10.example) $(status_with first-70 one-70.example)"
  assert_equal 50 "$(grep -c '"file":' "$dir/snapshot")"
  : >"$dir/api.access"
  add_passwords demo/users-59 second
  go_live
  assert_equal '401 200' "$(status_with first-59 one-59.example) $(status_with second one-59.example)"
  assert_equal 50 "$(grep -c '/secrets/users' "$dir/api.access")"
}

# Adds an Opaque Secret with an authority, or replaces it; the authority's key pair stays in FILE.crt and FILE.key.
add_authority() { # NAMESPACE/NAME FILE
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=authority -keyout "$2.key" -out "$2.crt" 2>/dev/null
  jq -n -c --arg name "$1" --arg version "$((RANDOM * 32768 + RANDOM))" --rawfile crt "$2.crt" '($name | split("/")) as [$namespace, $name]
    | {kind: "Secret", apiVersion: "v1", metadata: {name: $name, namespace: $namespace, uid: "00000000-0002", resourceVersion: $version}, type: "Opaque", data: {"ca.crt": ($crt | @base64)}}' >"$api/new"
  mv "$api/new" "$api/secret-${1/\//-}"
}

# Prints the status of a request on a connection of its own, which resumes the session in the file, if it is there.
status_on() { # HANDSHAKE HOST VERSION [S_CLIENT_OPTION...]
  local session=()
  [[ ! -e $dir/session$3 ]] || session=(-sess_in "$dir/session$3")
  { printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$2" && sleep 0.3; } |
    connect -servername "$1" -ign_eof "$3" "${session[@]}" "${@:4}" 2>/dev/null | tr -d '\r' | sed -n 's/^HTTP[^ ]* \([0-9]*\) .*/\1/p'
}

@test "a client's TLS session is resumed for no other host, nor after another authority of the same name has replaced its own" {
  add_authority demo/ca "$dir/ca"
  add_authority demo/other "$dir/other"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=client -keyout "$dir/client.key" -out "$dir/client.csr" 2>/dev/null
  openssl x509 -req -in "$dir/client.csr" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -days 1 -out "$dir/client.crt" 2>/dev/null
  verified='rules: [{host: "%s.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}], annotations: {"nginx.ingress.kubernetes.io/auth-tls-secret": "%s"}'
  # shellcheck disable=SC2059 # that is a format
  printf "demo/x {$verified}\ndemo/y {$verified}\n" x ca y other >"$dir/rows"
  ingresses_are <"$dir/rows"
  go_live
  for version in -tls1_2 -tls1_3; do
    assert_equal 200 "$(status_on x.example x.example "$version" -cert "$dir/client.crt" -key "$dir/client.key" -sess_out "$dir/session$version")"
    assert_equal 421 "$(status_on x.example y.example "$version")"
    for host in x y; do
      [[ $(status_on y.example "$host.example" "$version") != 200 ]]
    done
  done
  add_authority demo/ca "$dir/next"
  go_live
  for version in -tls1_2 -tls1_3; do
    wait_for 10 has_status_on 400 x.example x.example "$version" # an old worker may still take it
  done
}

has_status_on() { # STATUS HANDSHAKE HOST VERSION
  [[ $(status_on "${@:2}") == "$1" ]]
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
    a.two.example/ four.example/foreign one.example/ one.example/below six.example/.well-known/acme-challenges three.example/ three.example/below' "
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
