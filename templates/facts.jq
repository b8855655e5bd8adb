# What a key pair is worth.
#
# input:  the findings of bin/certificates (jq -R), lines with tabs between: ID, what openssl reads in the
#         certificate, the public key that belongs to the private one, nginx's complaint; or an ID alone
# args:   $facts: what was known before, for those
# output: {ID: {algorithm, names, notAfter} | {reason, message}, ...}
#
# openssl writes the end of the validity, the public key and the subject first,
# and then all the rest, as text.

# input: text / output: the first group of the expression where it matches first, else null
def found($expression):
  first(match($expression) | .captures[0].string) // null;

# input: what openssl reads in a certificate / output: the hosts it is for: those of its
# subjectAltName, else its common name (RFC 9525, section 6.3, forbids that one; many test certificates have no other)
def names:
  . as $text
  | [found("Subject Alternative Name:[^\\f]*\\f([^\\f]*)") // "" | scan("DNS:[^, ]+")[4:]]
  | if . == [] then [$text | found("subject=(?:[^\\f]*,)?CN=([^,+\\f]+)") // empty] else . end;

# input: {certificate, key, complaint} / output: a fact
def fact:
  (.certificate | found("(-----BEGIN PUBLIC KEY-----[^\\f]*(\\f[A-Za-z0-9+/=]+)*\\f-----END PUBLIC KEY-----)")) as $public_key
  | (.certificate | found("Public Key Algorithm: ([A-Za-z0-9.-]+)")) as $algorithm
  | (.certificate | found("Public-Key: \\(([0-9]+) bit") // "0" | tonumber) as $bits
  | if .certificate == "" then
      {reason: "CertificateInvalid", message: "its tls.crt holds no certificate in PEM form"}
    elif .key == "encrypted" then
      {reason: "PrivateKeyEncrypted", message: "its private key is encrypted, and there is nobody to ask for the passphrase"}
    elif .key == "" then
      {reason: "PrivateKeyInvalid", message: "its tls.key holds no private key in PEM form"}
    elif .key != $public_key then
      {reason: "KeyPairMismatch", message: "its private key does not belong to its certificate"}
    elif $algorithm == "rsaEncryption" and $bits < 2048 then
      {reason: "KeyTooShort", message: "its RSA key has \($bits) bits, and 2048 is the least that clients accept"}
    elif .complaint != "" then
      {reason: "KeyPairRefused", message: "nginx cannot use it: \(.complaint | found("routines:[^:]*:([^:)]+)"))"}
    else
      {algorithm: $algorithm, names: (.certificate | names), notAfter: (.certificate | found("notAfter=([0-9: Z-]+)"))}
    end;

reduce (inputs | split("\t")) as [$id, $certificate, $key, $complaint] ({};
  .[$id] = if $certificate then {certificate: $certificate, key: $key, complaint: $complaint} | fact else $facts[0][$id] end)
