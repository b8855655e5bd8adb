# The Secrets that our Ingresses name for TLS.
#
# input:  {ingresses, ingressClasses, secrets}, read with `inputs` (jq -n)
# args:   $class, $controller: which Ingresses are ours; $default: a Secret that is wanted too
#         $facts: what facts.jq knows of the key pairs; $files: the names of the files that are there
#         $now: the time, as the facts have it
# output: if $print is "pairs": a line for each, its ID, and if it is not known yet its key pair in base64
#         if it is "list": the time until which the list holds, and the list that bin/certificates describes
include "kubernetes";

# input: a snapshot / output: {"namespace/name": true, ...}
def wanted:
  [ ( our_ingresses($class; $controller)[]
      | .metadata.namespace as $namespace
      | .spec.tls[]?.secretName // empty | "\($namespace)/\(.)" ),
    ($default | select(. != ""))
  ]
  | map({(.): true}) | add // {};

# input: a Secret / output: the name of its file: what the API server made up, and another for each change
def id:
  "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"));

# input: a Secret / output: certificate, chain and private key
def key_pair:
  [.data["tls.crt", "tls.key"] // "" | @base64d] | join("\n");

# input: a Secret / output: its entry in the list
def entry:
  ($facts[0][id] // {}) as $fact
  | {secret: key, resourceVersion: .metadata.resourceVersion}
  + if $fact.reason then $fact
    elif $fact.notAfter <= $now then
      {reason: "CertificateExpired", message: "its certificate expired at \($fact.notAfter)"}
    else $fact + {file: "\(id).pem"}
    end;

input
| (.secrets | doubts("SecretList") | "the answer for secrets: \(.)" | error),
  ( wanted as $wanted
    | [.secrets.items | sort_by(key)[] | select($wanted[key])]
    | if $print == "pairs" then
        ($files | split("\n") | map({(.): true}) | add) as $present
        | .[] | $facts[0][id] as $fact
        | if $fact.reason or ($fact and $present["\(id).pem"]) then id else "\(id) \(key_pair | @base64)" end
      else
        map(entry)
        | ([.[] | .notAfter // empty] | min // "9999"), .
      end )
