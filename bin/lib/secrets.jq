# The Secrets that our Ingresses name for TLS.
#
# input:  the items of a SecretList, one on each line (jq -n -R)
# args:   $claims: the digest of the Ingresses; $default: a Secret that is wanted too
#         $facts: what facts.jq knows of the key pairs; $files: the names of the files that are there
#         $now: the time, as the facts have it
# output: if $print is "pairs": a line for each, its ID, "known" or "new", and if its file is missing the key pair in base64
#         if it is "list": the time until which the list holds, and the lines that bin/certificates describes
include "items";

# output: {"namespace/name": true, ...}
def wanted:
  [ ( $claims | split("\n")[] | fromjson? | select(.ingress)
      | (.ingress | split("/")[0]) as $namespace
      | .tls[].secretName // empty | "\($namespace)/\(.)" ),
    ($default | select(. != ""))
  ]
  | map({(.): true}) | add // {};

# input: a Secret / output: the name of its file: what the API server made up, and another for each change
def id:
  "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"));

# input: a Secret / output: certificate, chain and private key in base64
def key_pair:
  [.data["tls.crt"] // "", .data["tls.key"] // "" | @base64d] | join("\n") | @base64;

# To examine what is very large would take long, and the loop waits for it.
def is_too_large:
  [.data["tls.crt", "tls.key"] | length] | add > 90000;

# input: a Secret / output: what is known of it, if it is all that is needed
def fact:
  if is_too_large then {reason: "KeyPairRefused", message: "its tls.crt and tls.key are larger than 64 KiB"}
  else
    $facts[0][id]
    | if .notAfter and .notAfter <= $now then {reason: "CertificateExpired", message: "its certificate expired at \(.notAfter)"} else . end
  end;

# input: a Secret / output: its line
def certificate:
  fact as $fact
  | {certificate: key} + $fact + if $fact.reason then {} else {file: "\(id).pem"} end;

wanted as $wanted
| [each_item("Secret"; select($wanted[key]))] | sort_by(key)
| if $print == "pairs" then
    ($files | split("\n") | map({(.): true}) | add) as $present
    | .[] | select(.problem | not) | fact as $fact
    | [ id,
        (if $fact then "known" else "new" end),
        (if $fact.reason or $present["\(id).pem"] then empty else key_pair end)
      ]
    | join(" ")
  else
    map(if .problem then . else certificate end)
    | ([.[] | .notAfter // empty] | min // "9999"), (.[] | tojson)
  end
