# An explanation for people: one screen of text.
#
# input: an explanation (answers.jq) / output: lines

def name: ltrimstr("Ingress ");
def rule: "\(.pathType) \(.path) of \(.of | name)";
def line($head; text): [text] | select(. != []) | "\($head + "            " | .[:12])\(.[0])", (.[1:][] | "            \(.)");

# input: what can become of a request / output: it in a sentence
def outcome:
  (if .when then "if \(.when): " else "" end)
  + if .pod then
      "a pod of Service \(.pod.service), port \(.pod.port), answers: one of \(.pod.endpoints | join(", "))"
    else
      "nginx answers \(.status)"
      + (if .location then ", and sends the client to \(.location)" else "" end)
      + if (.message // "") == "" then "" else ": \(.message | split("\n")[0])" end
    end;

"\(.method) \(.url)\(if .from == "192.0.2.1" then "" else " from \(.from)" end)",
line("answer"; .answers[] | outcome),
(.host as $host | line("host";
  ( if $host.match == null then "nginx answers before it looks for a server"
    elif $host.match == "none" then "no Ingress names \($host.asked): what has no host in its rule, or nobody, answers"
    else "\($host.server) is \(if $host.match == "exact" then "named by a rule" else "the wildcard that matches" end)\(if $host.owner then ", and belongs to namespace \($host.owner)" else "" end)" end ),
  ($host.ingresses[:5][] | "asked for by \(.of | name), \(if .created | startswith("2") then "created \(.created)" else .created end)"),
  (if ($host.ingresses | length) > 5 then "and by \(($host.ingresses | length) - 5) more" else empty end),
  ($host.lost[] | "lost: \(.of | name): \(.message)"))),
(.path as $path | line("path";
  ( if $path.read == "" then "\($path.asked): nginx refuses it"
    elif $path.rule == null then "no path matches \($path.read)"
    else "\($path.read): \($path.rule | if .pathType == "Default" then "the default backend of \(.of | name)" else rule end) decides" end ),
  ($path.beaten[] | "also matches, but counts less: \(rule)"),
  ($path.lost[] | "lost: \(.of | name): \(.message)"),
  ($path.nearest[] | "there is \(rule)"))),
line("before"; .before[] | "\(.step): \(.says): \(.decides)"),
(.answers[0].gets // empty | line("pod gets"; "\(.method) \(.uri)", ([.headers | to_entries[] | "\(.key): \(.value)"] | join("; ")))),
(.service // empty | line("Service"; "\(.name), port \(.port)",
  (.slices[] | "EndpointSlice \(.slice): \(.ready | length) ready\(if .ending | length > 0 then ", \(.ending | length) ending" else "" end)"),
  (if .slices == [] then "it has no EndpointSlice" else empty end))),
(.why // empty | line("problem"; "\(.reason): \(.message)")),
(.problems[:5] as $problems | line("also"; $problems[] | "\(.reason): \(.message)")),
(.certificate // empty | line("certificate"; if .secret then "Secret \(.secret) for \(.names | join(", ")), until \(.notAfter)" else "the default one, which clients do not trust: no Secret of spec.tls is for this name" end)),
(.where // empty | line("where"; "\(.ingress | name), the rule for host \(if .host == "" then "*" else .host end), path \(.path) (\(.pathType))",
  (.field // empty | "the field \(.)"), (.lines // empty | "nginx.conf, line \(split(" ") | join(" and line "))"),
  "decided by stage \(.stage) of lib/route/route.jq")),
""
