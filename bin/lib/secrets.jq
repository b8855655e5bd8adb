# The Secrets that our Ingresses name for TLS, and what their key pairs are worth.
#
# input:  lines (jq -n -R); if $print is "facts": the findings of bin/certificates, with tabs between: ID, what
#         openssl reads in the certificate, the public key that belongs to the private one, why nginx rejects the
#         pair; or an ID alone, whose fact is kept
#         otherwise: the items of a SecretList
# args:   $print: "pairs", "facts" or "list"
#         $claims: the digest of the Ingresses; $default: a Secret that is wanted too
#         $facts: [what is known of the key pairs]; $files: the names of the files that are there
#         $now: the time, as the facts have it
# output: "pairs": a line for each Secret: its ID, "known" or "new", and the key pair in base64 if its file is missing
#         "facts": {ID: {algorithm, names, notAfter} | {reason, message}, ...}
#         "list":  the time until which the list is valid, and the lines that bin/certificates describes
include "items";

# --- what a key pair is worth
#
# openssl prints the end of the validity and the public key first, and then all as text.
# The ends of its lines have become form feeds.

# input: text / output: the first group of the expression's first match, else null
def found($expression):
  first(match($expression) | .captures[0].string) // null;

# input: what openssl reads in a certificate / output: its hosts, by its subjectAltName. Clients no
# longer look at the common name (RFC 9525, section 6.3).
def names:
  [found("Subject Alternative Name:[^\\f]*\\f([^\\f]*)") // "" | scan("DNS:[^, ]+")[4:] | ascii_downcase];

# input: what openssl reads in a certificate / output: {algorithm: RSA or ECDSA} or why its key is not served
#
# An RSA key of more than 4096 bits takes so much time that a few clients could keep the workers busy.
def algorithm:
  found("\\f +Public Key Algorithm: ([A-Za-z0-9.-]+)") as $algorithm
  | (found("\\f +Public-Key: \\(([0-9]+) bit") // "0" | tonumber) as $bits
  | if $algorithm == "rsaEncryption" and $bits < 2048 then
      {reason: "KeyTooShort", message: "its RSA key has \($bits) bits, and clients accept no key of less than 2048"}
    elif $algorithm == "rsaEncryption" and $bits <= 4096 then {algorithm: "RSA"}
    elif $algorithm == "id-ecPublicKey" and ($bits | IN(256, 384, 521)) then {algorithm: "ECDSA"}
    else {reason: "KeyRefused", message: "its key is neither RSA with 2048 to 4096 bits nor ECDSA with P-256, P-384 or P-521"}
    end;

# input: {certificate, key, rejection} / output: a fact
def examine:
  (.certificate | found("(-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\\f]*-----END PUBLIC KEY-----)")) as $public_key
  | (.certificate | algorithm) as $algorithm
  | (.certificate | names) as $names
  | if .certificate == "" then
      {reason: "CertificateInvalid", message: "its tls.crt holds no certificate in PEM form"}
    elif .key == "encrypted" then
      {reason: "PrivateKeyEncrypted", message: "its private key is encrypted, and nobody is here to enter the passphrase: store it without one"}
    elif .key == "" then
      {reason: "PrivateKeyInvalid", message: "its tls.key holds no private key in PEM form"}
    elif .key != $public_key then
      {reason: "KeyPairMismatch", message: "its private key does not belong to its certificate"}
    elif $algorithm.reason then
      $algorithm
    elif ($names | length) > 500 then
      {reason: "KeyPairRefused", message: "its certificate has more than 500 names"}
    elif .rejection != "" then
      {reason: "KeyPairRefused", message: "nginx rejects it: \(.rejection | found("routines:[^:]*:([^:)]+)") // "see its log")"}
    else
      $algorithm + {names: $names, notAfter: (.certificate | found("\\AnotAfter=([0-9: Z-]+)") // "")}
    end;

# input: none / output: {ID: fact, ...}
def new_facts:
  reduce (inputs | select(. != "") | split("\t")) as [$id, $certificate, $key, $rejection] ({};
    .[$id] = if $certificate then {certificate: $certificate, key: $key, rejection: $rejection} | examine else $facts[0][$id] end);

# --- the Secrets

# output: {"namespace/name": true, ...}
def wanted:
  [ ( $claims | split("\n")[] | fromjson? | select(.ingress)
      | (.ingress | split("/")[0]) as $namespace
      | .tls[].secretName // empty | "\($namespace)/\(.)" ),
    ($default | select(. != ""))
  ]
  | map({(.): true}) | add // {};

# input: a Secret / output: the name of its file, which differs for each Secret and after each change
def id:
  "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"));

# input: a Secret / output: certificate, chain and private key in base64
def key_pair:
  [.data["tls.crt"] // "", .data["tls.key"] // "" | @base64d] | join("\n") | @base64;

# input: a Secret / output: the fact that is known of it, or null
#
# A very large key pair is not examined: that would take long, and the loop waits for it.
def fact:
  if ([.data["tls.crt", "tls.key"] | length] | add) > 90000 then
    {reason: "KeyPairRefused", message: "its tls.crt and tls.key are larger than 64 KiB"}
  else
    $facts[0][id]
    | if .notAfter and .notAfter <= $now then {reason: "CertificateExpired", message: "its certificate expired at \(.notAfter)"} else . end
  end;

# input: a Secret / output: its line
def certificate:
  fact as $fact
  | {certificate: key} + $fact + if $fact.reason then {} else {file: "\(id).pem"} end;

# output: [Secret of ours, or a problem]
def secrets:
  wanted as $wanted
  | [each_item("Secret"; select($wanted[key]))] | sort_by(key);

# input: [Secret or problem]
def pairs:
  ($files | split("\n") | map({(.): true}) | add) as $present
  | .[] | select(.problem | not) | fact as $fact
  | [ id,
      (if $fact then "known" else "new" end),
      (if $fact.reason or $present["\(id).pem"] then empty else key_pair end)
    ]
  | join(" ");

# input: [Secret or problem]
def list:
  map(if .problem then . else certificate end)
  | ([.[] | .notAfter // empty] | min // "9999"), (.[] | tojson);

if $print == "facts" then new_facts
elif $print == "pairs" then secrets | pairs
else secrets | list
end
