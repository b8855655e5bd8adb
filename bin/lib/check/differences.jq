# What of an Ingress is touched by a row of differences.json that no problem tells of.
#
# differences.json has the table of manifests/README.md, a row for each: `there` is ingress-nginx, `here` this
# controller, `instead` is how to have it as there. A row with
#   problems   is about the problems that this expression matches, as "REASON: MESSAGE"
#   touched    is about Ingresses that `touched` names
# and one without both is about all of them, whatever they say.
include "annotations/expressions"; # longest_path
include "allow"; # as_wildcard, namespace, quoted

# input: the summary of an Ingress / output: its claims of that pathType
def claims_of(types): .claims[] | select(.pathType | IN(types));

# input: an Ingress / output: its {host, path, pathType}, as they are written
def paths: .spec.rules[]? | (.host // "") as $host | .http.paths[]? | {$host, path: (.path // "/"), pathType};

# input: [summary of an Ingress] / output: {host: {of: the first with regular expressions, longest}}
def hosts_with_expressions:
  [.[] | {of} + (claims_of("RegularExpression") | {host, weighed})] | group_by(.host)
  | map({(.[0].host): {of: (map(.of) | unique), longest: ([.[].weighed.steps[]?] | longest_path)}}) | add // {};

# input: [summary of an Ingress] / output: {wildcard: [namespace, ...] of those that have it and a spec.tls}
def wildcards_with_tls:
  [ .[] | select(.tls != []) | (.of | namespace) as $of
    | (.tls[].hosts[]?, .claims[].host) | select(startswith("*.")) | {host: ., $of} ]
  | group_by(.host) | map({(.[0].host): (map(.of) | unique)}) | add // {};

# input:  an Ingress; $set is what its annotations mean, $written how they are written, $summary what the snapshot says
#         of it, and $all what all Ingresses have in common
# output: {name of a row: [what of it is touched], ...}
def touched($set; $written; $summary; $all):
  . as $ingress
  | ($summary.of | namespace) as $namespace
  | [paths] as $paths
  | ([$summary.claims[].host] | unique) as $hosts
  | any($summary.claims[]; .pathType == "RegularExpression") as $has_expressions
  | def value($name): "\($name): \($written[$name] | quoted)";
    {
      "body-held": [
        $set["proxy-body-size"] | numbers
        | select((. == 0 or . > 8388608) and $set["proxy-request-buffering"] == null)
        | value("proxy-body-size") ],
      "expressions-of-another": [
        $paths[]
        | select($all.expressions[.host] and (($has_expressions | not) or .pathType == "Exact"))
        | "\(.host)\(.path)" ],
      "longest-path": [
        $hosts[]
        | select($has_expressions and $all.expressions[.].longest < 8000)
        | "\(.): \($all.expressions[.].longest) characters" ],
      "implementation-specific": [
        select($has_expressions | not)
        | $paths[]
        | select((.pathType // "ImplementationSpecific") == "ImplementationSpecific" and (.path | endswith("/") | not))
        | "\(.host)\(.path)" ],
      "redirect-of-exact-path": [
        select($set["permanent-redirect"] or $set["temporal-redirect"])
        | $paths[] | select(.pathType == "Exact") | "\(.host)\(.path)" ],
      "group-behind-host": [
        $set["rewrite-target"] // empty | select(test("\\Ahttps?://[^/?]*[$]")) | value("rewrite-target") ],
      "canary-protection": [
        select($set.canary) | $summary.options.protections[]? ],
      "canary-without-pods": [select($set.canary) | "canary"],
      "dots-of-groups": [
        $set["rewrite-target"] // empty | select(test("\\A/.*[$][1-9]")) | value("rewrite-target") ],
      "cors-of-pods": [
        select($set["enable-cors"])
        | $set["cors-allow-origin"] // empty | select(. != ["*"]) | "cors-allow-origin: \(join(", "))" ],
      "cookie-flags": [
        $set["proxy-cookie-path"] // empty | select(contains(";")) | value("proxy-cookie-path") ],
      "body-of-errors": [$set["default-backend"] // empty | value("default-backend")],
      "app-protocol": [
        select($set["backend-protocol"] == null)
        | $summary.claims[] | select(.service)
        | ($all.services[.service].ports // {}) as $ports
        | (if .port | type == "number" then $ports.numbers["\(.port)"] else $ports.names[.port] end).appProtocol // empty
        | "appProtocol: \(.)" ] | unique,
      "both-families": [
        $summary.claims[].service // empty | select($all.families[.] // [] | length > 1) ] | unique,
      "certificate-of-wildcard": [
        ([$ingress.spec.tls[]?.hosts[]?] | map({(.): true}) | add // {}) as $own
        | $hosts[]
        | select(. != "" and ($own[.] | not))
        | ($all.wildcards[as_wildcard] // []) as $theirs
        | select($theirs != [] and ($theirs | index($namespace) | not)) ],
      "connection-close": [
        $set["connection-proxy-header"] // empty | select(. == "close") | value("connection-proxy-header") ]
    };
