# What is different between two routing models, in words.
#
# input:  the old model, then the new one ({} for none)
# args:   $about: "objects" or "problems"
# output: objects:  one line that names the objects added, changed and removed
#         problems: a line for each problem that is new, and for each that is gone

# input: [name] / output: "a, b and 3 more", or nothing for none
def listed($verb):
  if length == 0 then empty
  else "\($verb) \(.[:8] | join(", "))\(if length > 8 then " and \(length - 8) more" else "" end)"
  end;

def objects($old; $new):
  [ ($new | keys - ($old | keys) | listed("added")),
    ([$new | to_entries[] | select($old[.key] and $old[.key] != .value) | .key] | listed("changed")),
    ($old | keys - ($new | keys) | listed("removed"))
  ]
  | if length == 0 then "settings or templates changed" else join("; ") end;

def problems($old; $new):
  (($new - $old)[] | "Ingress \(.ingress): \(.message) (\(.reason))"),
  (($old - $new)[] | "Ingress \(.ingress): no longer so: \(.message) (\(.reason))");

. as $old | input as $new
| if $about == "objects" then objects($old.objects // {}; $new.objects // {})
  else problems($old.problems // []; $new.problems // [])
  end
