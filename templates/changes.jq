# What is different between two routing models, in words; and the numbers of the new one.
#
# input:  the old model, then the new one ({} for none)
# args:   $most: the greatest number of problems to print
# output: a line "INGRESSES PROBLEMS REFUSED", the last being the Ingresses that nginx
#         refuses; one that names the objects added, changed and removed; then one for
#         each problem that is new, and for each that is gone

# input: a model / output: its numbers
def numbers:
  ([.objects // {} | keys[] | select(startswith("Ingress "))] | length) as $served
  | ([.problems[]? | select(.reason == "RefusedByNginx")] | length) as $refused
  | "\($served + $refused) \(.problems // [] | length) \($refused)";

# input: [name] / output: "added a, b and 3 more", or nothing for none
def listed($verb):
  if length == 0 then empty
  else "\($verb) \(.[:8] | join(", "))\(if length > 8 then " and \(length - 8) more" else "" end)"
  end;

# input: - / output: one line; $old and $new are {"Kind namespace/name": version}
def objects($old; $new):
  [ ([$new | keys[] | select($old[.] == null)] | listed("added")),
    ([$new | keys[] | select($old[.] != null and $old[.] != $new[.])] | listed("changed")),
    ([$old | keys[] | select($new[.] == null)] | listed("removed"))
  ]
  | if length == 0 then "settings or templates changed" else join("; ") end;

# input: [problem] / output: {"the problem as a sentence": true, ...}: a set, for quick look-ups
def sentences:
  map({("\(if .ingress then "Ingress \(.ingress): " else "" end)\(.message) (\(.reason))"): true}) | add // {};

# input: - / output: lines; $old and $new are sets of sentences
def problems($old; $new):
  [ ($new | keys[] | select($old[.] == null)),
    ($old | keys[] | select($new[.] == null) | "solved: \(.)")
  ]
  | .[:$most][], (length - $most | select(. > 0) | "and \(.) problems more");

. as $old | input as $new
| ($new | numbers),
  objects($old.objects // {}; $new.objects // {}),
  problems($old.problems // [] | sentences; $new.problems // [] | sentences)
