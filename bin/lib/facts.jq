# What a key pair is worth.
#
# input:  the findings of bin/certificates (jq -R), lines with tabs between: ID, what openssl reads in the
#         certificate, the public key that belongs to the private one, nginx's complaint; or an ID alone
# args:   $facts: what was known before, for those
# output: {ID: {algorithm, names, notAfter} | {reason, message}, ...}
#
# openssl writes the end of the validity and the public key first, and then all
# as text. The ends of its lines have become form feeds.

# input: text / output: the first group of the expression where it matches first, else null
def found($expression):
  first(match($expression) | .captures[0].string) // null;

# input: what openssl reads in a certificate / output: the hosts it is for, by its subjectAltName. Clients do not look
# at the common name any more (RFC 9525, section 6.3).
def names:
  [found("Subject Alternative Name:[^\\f]*\\f([^\\f]*)") // "" | scan("DNS:[^, ]+")[4:] | ascii_downcase];

# input: what openssl reads in a certificate / output: {algorithm: RSA or ECDSA} or why its key is not served
#
# A longer RSA key takes so long that few clients could keep the workers busy.
def algorithm:
  found("\\f +Public Key Algorithm: ([A-Za-z0-9.-]+)") as $algorithm
  | (found("\\f +Public-Key: \\(([0-9]+) bit") // "0" | tonumber) as $bits
  | if $algorithm == "rsaEncryption" and $bits < 2048 then
      {reason: "KeyTooShort", message: "its RSA key has \($bits) bits, and 2048 is the least that clients accept"}
    elif $algorithm == "rsaEncryption" and $bits <= 4096 then {algorithm: "RSA"}
    elif $algorithm == "id-ecPublicKey" and ($bits | IN(256, 384, 521)) then {algorithm: "ECDSA"}
    else {reason: "KeyRefused", message: "its key is none of those that are served: RSA with 2048 to 4096 bits, ECDSA with P-256, P-384 or P-521"}
    end;

# input: {certificate, key, complaint} / output: a fact
def fact:
  (.certificate | found("(-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\\f]*-----END PUBLIC KEY-----)")) as $public_key
  | (.certificate | algorithm) as $algorithm
  | (.certificate | names) as $names
  | if .certificate == "" then
      {reason: "CertificateInvalid", message: "its tls.crt holds no certificate in PEM form"}
    elif .key == "encrypted" then
      {reason: "PrivateKeyEncrypted", message: "its private key is encrypted, and there is nobody to ask for the passphrase"}
    elif .key == "" then
      {reason: "PrivateKeyInvalid", message: "its tls.key holds no private key in PEM form"}
    elif .key != $public_key then
      {reason: "KeyPairMismatch", message: "its private key does not belong to its certificate"}
    elif $algorithm.reason then
      $algorithm
    elif ($names | length) > 500 then
      {reason: "KeyPairRefused", message: "its certificate has more than 500 names"}
    elif .complaint != "" then
      {reason: "KeyPairRefused", message: "nginx cannot use it: \(.complaint | found("routines:[^:]*:([^:)]+)") // "see its log")"}
    else
      $algorithm + {names: $names, notAfter: (.certificate | found("\\AnotAfter=([0-9: Z-]+)") // "")}
    end;

reduce (inputs | select(. != "") | split("\t")) as [$id, $certificate, $key, $complaint] ({};
  .[$id] = if $certificate then {certificate: $certificate, key: $key, complaint: $complaint} | fact else $facts[0][$id] end)
