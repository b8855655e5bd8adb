# What key pairs, and certificates of authorities, are worth, by what openssl and nginx say of them.
#
# input:  lines (jq -n -R) with tabs between: ID, what openssl reads in the certificate, the public key that belongs to
#         the private one, why nginx rejects the pair. "over" instead of such a text: the program took too long for it
# args:   $facts: [what was known before]; $found: lines {certificate: "namespace/name", id}, the Secrets that there are
# output: {ID: {algorithm, names, notAfter} | {reason, message}, ...} of the Secrets that there are; then a line
#         "use ID" for each of the new pairs that can be used

# openssl prints the end of the validity and the public key first, and then all as text.
# The ends of its lines have become form feeds.

# input: text / output: the first group of the expression's first match, else null
def found($expression):
  first(match($expression) | .captures[0].string) // null;

# input: what openssl reads in a certificate / output: its hosts, by its subjectAltName. Clients no
# longer look at the common name (RFC 9525, section 6.3).
def names:
  [found("Subject Alternative Name:[^\\f]*\\f([^\\f]*)") // "" | scan("DNS:[^, ]+")[4:] | ascii_downcase];

# input: what openssl reads in a certificate / output: {algorithm: RSA, ECDSA or Ed25519} or why its key is not served
#
# An RSA key of more than 4096 bits takes so much time that a few clients could keep the workers busy. Of a curve, only
# its name counts, right behind the key's own bytes: other curves have the same number of bits, or come with numbers of
# their own, and the lines further below are the owner's words.
def algorithm:
  found("\\f +Public Key Algorithm: ([A-Za-z0-9.-]+)") as $algorithm
  | (found("\\f +Public-Key: \\(([0-9]+) bit") // "0" | tonumber) as $bits
  | found("\\f +Public-Key: \\([0-9]+ bit\\) *\\f +pub: *\\f(?: +[0-9a-f:]+ *\\f)+ +ASN1 OID: ([A-Za-z0-9.-]+) *\\f") as $curve
  | if $algorithm == "rsaEncryption" and $bits < 2048 then
      {reason: "KeyTooShort", message: "its RSA key has \($bits) bits, and clients accept no key of less than 2048"}
    elif $algorithm == "rsaEncryption" and $bits <= 4096 then {algorithm: "RSA"}
    elif $algorithm == "id-ecPublicKey" and ($curve | IN("prime256v1", "secp384r1", "secp521r1")) then
      {algorithm: "ECDSA"}
    elif $algorithm == "ED25519" then {algorithm: "Ed25519"}
    else
      {reason: "KeyRefused",
        message: "its key is neither RSA with 2048 to 4096 bits nor ECDSA with P-256, P-384 or P-521, each named, not described, nor Ed25519"}
    end;

# input: {certificate, key, rejection} / output: a fact; $id says of what
def examine($id):
  def rejected: .rejection | found("routines:[^:]*:([^:)]+)") // "see its log";
  if ($id | endswith(".ca.pem")) and .rejection != "over" then
    if .rejection == "" then {}
    else
      {reason: "AuthorityInvalid",
        message: "nginx rejects its ca.crt\(if $id | endswith(".crl.ca.pem") then " or ca.crl" else "" end): \(rejected)"}
    end
  elif .certificate == "over" or .key == "over" or .rejection == "over" then
    {reason: "KeyPairRefused",
      message: "to examine it takes more time or memory than a key pair may take: make another one"}
  elif .certificate == "" then
    {reason: "CertificateInvalid", message: "its tls.crt begins with a certificate that openssl cannot read"}
  else
    (.certificate | found("(-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\\f]*-----END PUBLIC KEY-----)")) as $public_key
    | (.certificate | algorithm) as $algorithm
    | (.certificate | names) as $names
    | if $algorithm.reason then $algorithm
      elif .key == "" then
        {reason: "PrivateKeyInvalid", message: "openssl cannot read the private key in its tls.key"}
      elif .key != $public_key then
        {reason: "KeyPairMismatch", message: "its private key does not belong to its certificate"}
      elif ($names | length) > 500 then
        {reason: "KeyPairRefused", message: "its certificate has more than 500 names"}
      elif .rejection != "" then
        {reason: "KeyPairRefused", message: "nginx rejects it: \(rejected)"}
      else
        $algorithm + {names: $names, notAfter: (.certificate | found("\\AnotAfter=([0-9: Z-]+)") // "")}
      end
  end;

([$found | split("\n")[] | fromjson? | .id | values | {(.): true}] | add // {}) as $present
| (reduce (inputs | split("\t")) as [$id, $certificate, $key, $rejection] ({};
    .[$id] = ({$certificate, $key, $rejection} | examine($id)))) as $new
| ($facts[0] // {} | with_entries(select($present[.key]))) + $new,
  ($new | to_entries[] | select(.value.reason | not) | "use \(.key)")
