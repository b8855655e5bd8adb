# The verdicts as a table for people (jq -r).
#
# input:  what check.jq says
# output: lines

# input: text / output: it with spaces behind it, so that it has $width characters
def padded($width): . + ([range($width - length)] | map(" ") | join(""));

# input: a finding / output: its lines
def lines:
  (if .there then
     (if .reason then .message else "\(.message): not as in ingress-nginx" end),
     "  there: \(.there)",
     "  here:  \(.here)"
   else .message
   end),
  (.instead // "" | select(. != "") | "  way out: \(.)")
  | "    \(.)";

# input: [text] / output: the first ones, in a line
def some: .[:8] | join(", ") + (if length > 8 then " and others" else "" end);

([.ingresses[].ingress | length] | max // 0) as $width
| (if .ingresses == [] then "There is no Ingress." else empty end),
  (.ingresses[] | "\(.ingress | padded($width))  \(.verdict)", (.findings[] | lines)),
  "",
  ( [.ingresses[].verdict] as $all
    | "\($all | length) of class \(.class): "
      + (["kept", "kept, but different", "not there", "closed"] | map(. as $verdict | "\([$all[] | select(. == $verdict)] | length) \($verdict)") | join("; ")) ),
  (.assumed | map(select(startswith("pods") | not)) | select(. != []) | "Taken for granted, with ready pods: \(some)"),
  "\(.everywhere | length) more differences from ingress-nginx hold for all Ingresses: --json has them, and manifests/README.md."
