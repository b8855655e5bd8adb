# What the page shows of a change (templates/page.html). Nothing secret: of annotations and headers only the names, and
# no query strings.
#
# input:  the routing model
# args:   $change, $took, $objects, $nginx: texts: the file "change", that of durations, and the diffs of the snapshots
#         and of nginx.conf
# output: {number, time, hash, cause, steps: [[name, milliseconds]]}, for the list of changes;
#         and the same with
#           hosts: [{host, paths: [{path, type, of, service, port, pods: [address], status, reason, message}]}],
#                  last what is not HTTP, as hosts such as "TCP port 9000"
#           problems: [{of, reason, message}] of what is in no path,
#           objects, nginx: [line of a diff]
include "loop/changes/sentences";

# input: a line of the snapshot / output: what it says, in lines
def told:
  if .configmap then # only names: its values may be secret
    .configmap as $map
    | (.keys[]? | "ConfigMap \($map): key \(.)"), (.problems[]? | "ConfigMap \($map): \(.reason)")
  elif .streams then
    "ConfigMap \(.configMap): \(.streams) port" as $port
    | .entries[] | "\($port) \(.port) → \(.service):\(.servicePort)\(if .decodes or .encodes then ", PROXY" else "" end)"
  elif .of then
    .of as $of
    | (.claims[]? | select(.service or .status)
       | "\($of): \(.host // "" | if . == "" then "*" else . end)\(.path // "") (\(.pathType)) → \(.service // "an answer of nginx")\(if .port then ":\(.port)" else "" end)"),
      (.options.set // {} | keys[] | "\($of): annotation \(.)"),
      (.problems[]? | "\($of): \(.reason)")
  elif .slice then
    .slice as $slice
    | (.ready[]? | "EndpointSlice \($slice): \(.) is ready"), (.ending[]? | "EndpointSlice \($slice): \(.) is ending")
  elif .service then .service as $service | .ports.numbers // {} | keys[] | "Service \($service): port \(.)"
  elif .certificate then "Secret \(.certificate): \(.reason // "good")"
  elif .terminating then "namespace \(.terminating) is being deleted"
  elif .settings then "settings"
  else empty
  end;

# input: the diff of two snapshots / output: [line of the diff of what they say]
def told_diff:
  (split("\n") | map(select(test("\\A[<>] \\{")) | {sign: .[:1], line: (.[2:] | fromjson? // {})})) as $lines
  | ([$lines[] | select(.sign == "<").line | told] | unique) as $before
  | ([$lines[] | select(.sign == ">").line | told] | unique) as $after
  | ($before - $after | map("- \(.)")) + ($after - $before | map("+ \(.)"))
  | if . == [] and $lines != [] then [$lines[].line | .of // .service // (.configmap | values | "ConfigMap \(.)") // empty | "~ \(.): other values"] | unique else . end
  | .[:200];

# input: the diff of two nginx.conf, perhaps with colours / output: [line that may be shown]; of what is the same, only
#        what stands next to a difference
def nginx_diff:
  ["", (split("\n")[2:][] | gsub("\u001b\\[[0-9;]*m"; "")), ""] as $lines
  | [ range(1; $lines | length - 1) as $i
      | $lines[$i] | select(startswith("@@") or any($lines[$i - 1:$i + 2][]; test("\\A[-+]"))) ]
  | map(if startswith("@@") then . elif . == "" then empty else .[:1] + (.[1:] | shown_line) end)
  | .[:300];

def words: split("\n") | map(capture("\\A(?<key>[a-z]+) (?<value>.*)\\z") | {(.key): .value}) | add;

# input: [[name, microseconds]] / output: [[name, milliseconds in all]]
def added_up:
  reduce .[] as [$name, $us] ([];
    (map(.[0] == $name) | index(true)) as $i
    | if $i == null then . + [[$name, 0]] | .[-1][1] += $us else .[$i][1] += $us end)
  | map(.[1] |= (. / 100 | round / 10));

# input: the model / output: [{host, paths}], as the page draws them
def drawn:
  ([.upstreams[]? | {(.name): .endpoints}] | add // {}) as $pods
  | [ .servers[]?
      | {host, paths: [ .locations[]
          | select(.of or .status)
          | if .passed then . + .passed + {pathType: "TLS passed on"} | del(.status, .message) else . end
          | {path, type: .pathType, of, service, port, pods: ($pods[.upstream // ""] // []), status, reason, message}
          | (if .message then .message |= (without_values | without_queries) else . end)
          | del(.[] | nulls) ]}
      | select(.paths != []) ]
  + [ .streams[]?
      | {host: "\(.protocol) port \(.port)", paths: [{path: "–", type: (if .decodes or .encodes then "PROXY" else "" end),
          of: "\(.protocol)_SERVICES", service, port: .servicePort, pods: .endpoints}]} ];

. as $model
| ($change | words) as {$number, $time, $hash, $cause}
| {number: ($number | tonumber), time: ($time | tonumber), $hash, $cause,
   steps: ([$took | split("\n")[] | select(. != "") | split(" ") | [.[0], (.[1] | tonumber)]] | added_up)}
| .,
  . + ($model | {hosts: drawn})
    + {problems: [ $model.problems[]?
         | select(.reason | IN("NoReadyEndpoints", "ServiceNotFound", "ServicePortNotFound") | not)
         | .message |= (without_values | without_queries) ],
       objects: ($objects | told_diff), nginx: ($nginx | nginx_diff)}
