# The summary of the Secrets and ConfigMaps that our Ingresses name: what each is worth, and no byte of it.
#
# input:  lines (jq -n -R) that read-secrets.jq has printed after the word "found"
# args:   those of wanted-secrets.jq, and $now: the time, as the facts have it
# output: "NUMBER TIME": how many of the Secrets have not been read yet, and until when the list is valid;
#         then a line for each: {certificate, use, file, algorithm, names, notAfter}, or {certificate, use,
#         reason, message}; of a ConfigMap, {certificate, use, headers}
include "secrets/wanted-secrets"; # wishes, by_secret, refused, fact, present
include "secrets/named"; # key_of_use
include "allow";

# input: {certificate, use, id} of a Secret / output: its line
def line($present):
  fact($facts) as $fact
  | del(.id, .size)
    + if $fact == null or ($fact.reason == null and ($present[.id] | not)) then
        refused("SecretNotReady"; "it is being examined, for some seconds")
      elif $fact.reason then $fact
      elif $fact.notAfter and $fact.notAfter <= $now then
        refused("CertificateExpired"; "its certificate expired at \($fact.notAfter)")
      else $fact + {file: .id}
      end;

([inputs | fromjson | {(key_of_use): .}] | add // {}) as $found
| present($files) as $present
| [ wishes($claims; $default; $namespace)
    | by_secret
    | to_entries[]
    | .value[] as $use
    | ({certificate: .key} + if $use == "pair" then {} else {$use} end) as $head
    | ($found[$head | key_of_use] // $found["* \(.key)"]) as $it
    | if $it == null then $head + refused("SecretNotReady"; "it has not been read yet") + {unread: true}
      elif $it.missing then empty
      elif $it.reason then ($it | del(.use)) + $head
      elif $it.headers then $it
      else $it | line($present)
      end ]
| "\(map(select(.unread)) | length) \([.[].notAfter // empty] | min // "9999")",
  (.[] | del(.unread) | tojson)
