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
      (if .refused then "nobody" else "nginx answers \(.status)" end)
      + (if .location then ", and sends the client to \(.location)" else "" end)
      + if (.message // "") == "" then "" else ": \(.message | split("\n")[0])" end
    end;

# input: a step / output: the keys of the operator's ConfigMap that it comes from
def origin:
  .origin // {keys: []}
  | .configMap as $map
  | if .keys == [] then "" else " (key\(if .keys[1:] == [] then "" else "s" end) \(.keys | join(", ")) of ConfigMap \($map))" end;

def host_and_path:
  (.answers[0].pod != null) as $is_passed
  | (.host as $host | line("host";
      ( if $host.match == null then "nginx answers before it looks for a server"
        elif $host.match == "none" then "no Ingress names \($host.asked): what has no host in its rule, or nobody, answers"
        else "\($host.server) is \(if $host.match == "exact" then "named by a rule" else "the wildcard that matches" end)\(if $host.owner then ", and belongs to namespace \($host.owner)" else "" end)" end ),
      ($host.ingresses[:5][] | "asked for by \(.of | name), \(if .created | startswith("2") then "created \(.created)" else .created end)"),
      (if ($host.ingresses | length) > 5 then "and by \(($host.ingresses | length) - 5) more" else empty end),
      ($host.lost[] | "lost: \(.of | name): \(.message)"))),
    (.host as $host | .path as $path | line("path";
      ( if $path.read == "" and $is_passed then "\($path.asked): the pod reads it. To nginx, it is in TLS"
        elif $path.read == "" and $host.match then "\($path.asked): nginx answers before it looks for a rule"
        elif $path.read == "" then "\($path.asked): nginx refuses it"
        elif $path.rule == null then "no path matches \($path.read)"
        else "\($path.read): \($path.rule | if .pathType == "Default" then "the default backend of \(.of | name)" else rule end) decides" end ),
      ($path.beaten[] | "also matches, but counts less: \(rule)"),
      ($path.lost[] | "lost: \(.of | name): \(.message)"),
      ($path.nearest[] | "there is \(rule)")));

# Of what is not HTTP (streams.jq).
def port:
  line("port"; (.entry // empty | "\(.port) is a key of ConfigMap \(.configMap)"),
    (.nearest[:5][] | "there is \(.protocol) port \(.port), of Service \(.service), port \(.servicePort)"));

"\(.method // "" | if . == "" then . else . + " " end)\(.url)\(if .from == "192.0.2.1" then "" else " from \(.from)" end)",
line("answer"; .answers[] | outcome),
(if .protocol then port else host_and_path end),
line("before"; .before[] | "\(.step): \(.says)\(origin): \(.decides)"),
(.answers[0].gets // empty | line("pod gets"; "\(.method) \(.uri)", ([.headers | to_entries[] | "\(.key): \(.value)"] | join("; ")))),
(.service // empty | line("Service"; "\(.name), port \(.port)",
  (.slices[] | "EndpointSlice \(.slice): \(.ready | length) ready\(if .ending | length > 0 then ", \(.ending | length) ending" else "" end)"),
  (if .slices == [] then "it has no EndpointSlice" else empty end))),
(.why // empty | line("problem"; "\(.reason): \(.message)")),
(.problems[:5] as $problems | line("also"; $problems[] | "\(.reason): \(.message)")),
(.certificate // empty | line("certificate"; if .secret then "Secret \(.secret) for \(.names | join(", ")), until \(.notAfter)" else "the default one, which clients do not trust: no Secret of spec.tls is for this name" end)),
(.where // empty | line("where";
  ( if .configMap then "ConfigMap \(.configMap), key \(.key)"
    else "\(.ingress | name), the rule for host \(if .host == "" then "*" else .host end), path \(.path) (\(.pathType))" end ),
  (.field // empty | "the field \(.)"), (.lines // empty | "nginx.conf, line \(split(" ") | join(" and line "))"),
  "decided by stage \(.stage) of lib/route/route.jq")),
""
