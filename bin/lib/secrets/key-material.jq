# What is let in of a Secret with a key pair, or with the certificates of authorities.
#
# openssl and nginx get nothing but certificates and one clear private key. They would read much more: above all an
# encrypted key, which nobody has a passphrase for.
include "secrets/wanted-secrets"; # refused
include "secrets/named"; # here and below: what the includes need (the rule of includes, bin/README.md)
include "allow";

# input: text / output: the PEM blocks of a kind, which has only the characters of base64
def blocks($kind):
  [scan("-----BEGIN \($kind)-----[A-Za-z0-9+/= \\t\\r\\n]*-----END \($kind)-----")];

# input: a PEM block of a private key / output: whether it begins as one that is not encrypted
#
# openssl goes by the bytes and not by the label: it decrypts whatever is there. A clear key is a sequence that begins
# with a number, its version: 0 or 1 (RFC 5958, 8017 and 5915). In base64, that is one of these, by how long it is. An
# encrypted key (RFC 5958) begins with a sequence, PKCS #12 (RFC 7292) with the number 3.
def is_clear:
  test("\\A-----BEGIN [A-Z ]*-----[ \\t\\r]*\\n(?:M[A-Za-z0-9+/]{2}CAQ[A-H]|MI[A-Za-z0-9+/]{2}AgE[AB]|MII[A-Za-z0-9+/]{3}IBA[A-Za-f])");

# input: text / output: [PEM block of a list of what was revoked], without any that openssl would pass over
#
# openssl wants each mark on a line of its own, and takes any other for nothing: it would let in whom that list names.
def revocation_lists:
  [scan("(?:\\A|\\n)(-----BEGIN X509 CRL-----[ \\t\\r]*\\n[A-Za-z0-9+/= \\t\\r\\n]*\\n-----END X509 CRL-----)(?=[ \\t\\r]*(?:\\n|\\z))")[0]];

# input: text with PEM blocks / output: the same with commas for the ends of lines
def in_one_line: split("\r") | join("") | split("\n") | join(",");

# input: a Secret / output: {text}, or why it cannot be used
def key_pair:
  (.data["tls.crt"] // "" | @base64d) as $crt
  | (.data["tls.key"] // "" | @base64d) as $key
  | ($crt | blocks("(?:X509 )?CERTIFICATE")) as $certificates
  | ($key | blocks("(?:RSA |EC )?PRIVATE KEY")) as $keys
  | if $certificates == [] then refused("CertificateInvalid"; "its tls.crt holds no certificate in PEM form")
    elif ($certificates | length) < ([$crt | scan("-----BEGIN [A-Z0-9 ]*CERTIFICATE-----")] | length) then
      refused("CertificateInvalid"; "a certificate in its tls.crt is cut, or not in PEM form")
    elif $keys == [] and ($key | test("-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:[^\\n]{0,20}ENCRYPTED")) then
      refused("PrivateKeyEncrypted";
        "its private key is encrypted, and nobody is here to enter the passphrase: store it without one")
    elif $keys == [] then refused("PrivateKeyInvalid"; "its tls.key holds no private key in PEM form")
    elif $keys[0] | length > 8192 then
      refused("KeyPairRefused"; "its private key is larger than 8 KiB, which no key needs that is served")
    elif $keys[0] | is_clear | not then
      refused("PrivateKeyInvalid"; "what its tls.key calls a private key is none, or an encrypted one")
    else {text: ([$certificates[], $keys[0]] | join("\n") | in_one_line)}
    end;

# input: a Secret / output: the same of the authorities in its ca.crt, and of the lists of what they have revoked in its
# ca.crl; and whether it has a pair, too
def authorities:
  ([.data["tls.crt", "tls.key"] | values | select(. != "")] != []) as $pair
  | (.data["ca.crt"] // "" | @base64d) as $crt
  | (.data["ca.crl"] // "" | @base64d) as $crl
  | ($crt | blocks("(?:X509 |TRUSTED )?CERTIFICATE")) as $certificates
  | ($crl | revocation_lists) as $lists
  | if $certificates == [] then refused("AuthorityMissing"; "its ca.crt holds no certificate in PEM form")
    elif ($certificates | length) < ([$crt | scan("-----BEGIN [A-Z0-9 ]*CERTIFICATE-----")] | length) then
      refused("AuthorityInvalid"; "a certificate in its ca.crt is cut, or not in PEM form")
    elif .data["ca.crl"] and ($lists == [] or ($lists | length) * 4 != ([$crl | scan("-----")] | length)) then
      refused("AuthorityInvalid";
        "its ca.crl holds no list of revoked certificates in PEM form, or one that is cut or has no lines")
    else {text: ($certificates + $lists | join("\n") | in_one_line)}
    end
    | . + {$pair};
