# What changed between two routing models, in words; and the numbers of the new one.
#
# input:  the old model, then the new one ({} for none)
# args:   $most: the greatest number of problems to print
# output: lines `WORD TEXT`:
#           number NAME VALUE   ingresses that are ours, problems, quarantined ones among the Ingresses; and how many
#                               problems have the reason NAME
#           changed TEXT        which Ingresses, pods and certificates are new, others or gone
#           problem TEXT        each problem that is new, or solved

# input: [name] / output: "added a, b and 3 more", or nothing for none
def listed($verb):
  if length == 0 then empty
  else "\($verb) \(.[:8] | join(", "))\(if length > 8 then " and \(length - 8) more" else "" end)"
  end;

# input: [text] / output: those that are not in the other list (not jq's "-", which compares each with each)
def minus($others): ($others | map({(.): true}) | add // {}) as $has | map(select($has[.] | not));

# input:  a location, or a part of one
# output: the same, with its annotations in place of the number of their set, which another Ingress may move
def with_annotations($options):
  if type == "object" then (if .options then .options |= $options[. - 1] else . end) | map_values(with_annotations($options))
  else .
  end;

# input: a model / output: {"Ingress namespace/name": what it asks for, ...}; whether its pods are ready does not count
#
# Only Ingresses that are in both models, and servers that are not the same in $other: for a large model, the rest takes
# longer than all else. (Numbers of options mean the same only where the options are the same.)
def asked($other; $in_both):
  .options as $options
  | (if $other.options == $options then [$other.servers[]? | {(.host): .}] | add // {} else {} end) as $others
  | [.servers[]? | select($others[.host] != .) | .host as $host | .locations[] | select(.of and $in_both[.of])
     | {of, asks: ({$host} + . | del(.upstream, .of)
                   | if .service and (.status // 503) == 503 then del(.status, .reason, .message) else . end
                   | with_annotations($options))}]
  | group_by(.of) | map({(.[0].of): map(.asks)}) | add // {};

# input: a model / output: {"namespace/name:port": ["address:port", ...], ...}
def pods:
  [ (.upstreams[]? | {("\(.service):\(.port)"): .endpoints}),
    (.streams[]? | {("\(.service):\(.servicePort) of \(.protocol) port \(.port)"): .endpoints}) ]
  | add // {};

# input: a model / output: {"TCP port 9000": to which Service it goes, and how, ...}
def ports: [.streams[]? | {"\(.protocol) port \(.port)": delpaths([["endpoints"]])}] | add // {};

# input: a model / output: {"host": [file, ...], ...}
def certificates:
  ([.certificates[]? | {(.host): .files}] | add // {})
  + (if .defaultCertificate then {"any host": [.defaultCertificate]} else {} end);

# output: what changed, as one line
def changes($old; $new):
  ($old.claimants // []) as $before | ($new.claimants // []) as $after
  | ($after | minus($after | minus($before)) | map({(.): true}) | add // {}) as $in_both
  | ($old | asked($new; $in_both)) as $asked | ($new | asked($old; $in_both)) as $asks
  | ($old | pods) as $had | ($new | pods) as $has
  | ($old | certificates) as $showed | ($new | certificates) as $shows
  | ($old | ports) as $passed | ($new | ports) as $passes
  | [ ($after | minus($before) | listed("added")),
      ([$after[] | select($in_both[.] and $asks[.] != $asked[.])] | listed("changed")),
      ($before | minus($after) | listed("removed")),
      ([$passes | keys[] | select($passed[.] | not)] | listed("opened")),
      ([$passes | keys[] | select($passed[.] and $passed[.] != $passes[.])] | listed("changed")),
      ([$passed | keys[] | select($passes[.] | not)] | listed("closed")),
      ( [$had + $has | keys[] | select($had[.] != $has[.] and (($before == $after) or ($had[.] and $has[.])))]
        | ( .[:8][] as $name
            | ($has[$name] // [] | minus($had[$name] // []) | listed("\($name) gained pod")),
              ($had[$name] // [] | minus($has[$name] // []) | listed("\($name) lost pod")) ),
          (length - 8 | select(. > 0) | "and pods of \(.) more Services") ),
      ([$showed + $shows | keys[] | select($showed[.] != $shows[.])] | listed("another certificate for"))
    ]
  | if length == 0 then "settings or templates changed" else join("; ") end;

# input: [problem] / output: {"the problem as a sentence": how many its namespace has, ...}
def sentences:
  group_by(.of // "" | split("/")[0])
  | map(
      length as $number
      | .[]
      | {("\(if .of then "\(.of): " else "" end)\(.message) (\(.reason))"): $number})
  | add // {};

# output: the problems that came and went; $old and $new are what `sentences` says. Of too many, those of namespaces
#         with few.
def problems($old; $new):
  [ ($new | to_entries[] | select($old[.key] == null)),
    ($old | to_entries[] | select($new[.key] == null) | .key |= "solved: \(.)")
  ]
  | sort_by(.value) | map(.key)
  | .[:$most][], (length - $most | select(. > 0) | "and \(.) problems more");

. as $old | input as $new
| "number ingresses \($new.claimants // [] | length)",
  "number problems \($new.problems // [] | length)",
  "number quarantined \([$new.problems[]? | select(.reason == "RejectedByNginx")] | length)",
  ($new.problems // [] | group_by(.reason)[] | "number \(.[0].reason) \(length)"),
  "changed \(changes($old; $new))",
  (problems($old.problems // [] | sentences; $new.problems // [] | sentences) | "problem \(.)")
