# Where a verdict differs from what the running controller does.
#
# args:   [$verdicts]: what `check --json` says; [$lists]: what verdicts.jq has made; [$model]: the model of the
#         controller; $codes: lines "namespace/name<tab>host<tab>path<tab>status" of what nginx answered
# output: a line for each difference
#
# A 404 is one of nginx where nobody has the path; a 502, one of a pod that does not speak what it should: it was asked.
# Where two Ingresses have a host, the other one may answer; a canary has no path of its own.

def errors: ["404", "500", "501", "503", "000"];

([$codes | split("\n")[] | select(. != "") | split("\t") | {of: .[0], path: "\(.[1])\(.[2])", code: .[3]}]
 | group_by(.of) | map({(.[0].of): .}) | add) as $answers
| ($model[0].problems | map(select(.of)) | group_by(.of) | map({(.[0].of): .}) | add // {}) as $problems
| ($lists[0].ingresses.items | map({name: "\(.metadata.namespace)/\(.metadata.name)", host: .spec.rules[0].host, set: .metadata.annotations})) as $ingresses
| ($ingresses | group_by(.host) | map(select(length == 1)[0]) | map(select(.set | any(keys[]; test("/(canary|app-root)$")) | not) | {(.name): true}) | add // {}) as $is_alone
| $verdicts[0].ingresses[]
| . as {$ingress, $verdict}
| ($problems["Ingress \($ingress)"] // [] | map("\(.reason): \(.message)") | sort) as $real
| ([.findings[] | select(.reason and .reason != "NotOurs") | "\(.reason): \(.message)"] | sort) as $said
| any(.findings[]; .reason == "NotOurs") as $not_ours
| ("Ingress \($ingress)" | IN($model[0].claimants[])) as $is_claimant
| [$answers[$ingress][].code] as $all
| [$all[] | select(IN(errors[]))] as $errors
| ( select($real != $said) | "it says \($said), and the controller \($real)" ),
  ( select($not_ours == $is_claimant) | "it is \(if $is_claimant then "" else "not " end)the controller's" ),
  ( select($verdict == "kept" and ($real != [] or $errors != [])) | "kept, but \($all) \($real)" ),
  ( select($verdict == "kept, but different" and $errors != []) | "served, but \($all)" ),
  ( select($verdict == "kept, but different" and $real == [] and all(.findings[]; .difference == null)) | "different, but nothing is" ),
  ( select($verdict == "closed" and (any($real[]; test("\\AProtectionNotAvailable|app-root is")) | not)) | "closed, but \($real)" ),
  ( select($verdict == "closed" and $is_alone[$ingress] and $errors != $all) | "closed, but \($all)" ),
  ( select($verdict == "not there" and $real == [] and $is_claimant) | "not there, but no problem" )
| "\($ingress): \(.)"
