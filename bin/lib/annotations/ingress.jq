# What annotations change in the summary of an Ingress (fetch/ingresses.jq):
#
#   options   {protocol, set: {annotation: value}, protections: [annotation], share: [namespace], only_challenges}, of
#             all its claims; only_challenges: whether it has nothing but paths for ACME challenges
#   uses      [feature], which its annotations need
#   claims    closed, if a protection cannot be given: the Ingress must not be served at all
#             with redirect: true or "with TLS", if HTTP clients are sent to HTTPS
#             with weighed: {steps, head}, what it costs, and pathType RegularExpression (expressions.jq)
#             {host, path, pathType: "Refused"}, which nobody serves: a path, perhaps of many, that is refused and that
#             the Ingress protects (shut.jq)
#             bare: true, if it is a Default without a backend, of a host without paths, but with a redirect
include "annotations"; # asked, defaults, protects, sharing
include "annotations/expressions"; # expression
include "limits"; # limits
include "allow"; # is_acme_challenge, is_free_of, is_name, meanings, only_hosts_of_rules, path_refusal, quoted

# input: DEFAULT_ANNOTATIONS / output: the same, with what a ConfigMap says instead; null takes a default away
def with_annotations_of($configmap):
  [ (split("\n")[] | select(split(":")[0] | trimmed | row_key as $key | $configmap | has($key) | not)),
    ($configmap | to_entries[] | select(.value != null) | "\(.key): \(.value)") ]
  | join("\n");

# input: anything / output: what the arguments of ingresses.jq come to, which all Ingresses have in common
def settings:
  $ARGS.named
  | (.configmap // "" | if . == "" then {} else fromjson end) as $configmap
  | {policy, limits: (.limits | limits),
     ssl_redirect: ($configmap.settings.SSL_REDIRECT // .ssl_redirect),
     defaults: (.annotations | if $configmap.annotations then with_annotations_of($configmap.annotations) else . end | defaults)};

# --- before the claims

# input: an Ingress / output: whether some of its paths can only be regular expressions
def has_refused_paths: any(.spec.rules[]?.http.paths[]? | select(.pathType != "Exact").path | strings; path_refusal);

# input:  an Ingress, as it is written
# output: whether it has nothing but paths for ACME challenges, and so comes and goes (ownership.jq). What is refused or
#         left out counts, too; an expression could be anything.
def has_only_challenges:
  [.spec.rules[]?.http.paths[]?] as $paths
  | .spec.defaultBackend == null and $paths != []
    and all($paths[]; is_acme_challenge and (.path | test("[.][.]|%2e"; "i") | not))
    and (.asked.has_expressions != true or all($paths[]; .pathType == "Exact"));

# input:  an Ingress
# output: the same with .asked: what its annotations ask for; has_expressions: whether its paths are regular
#         expressions, as ingress-nginx has it; and only_challenges
#
# (A canary's paths are what those of its main Ingress are, see canary.jq.)
def annotated($settings):
  asked($settings.policy; $settings.defaults) as $asked
  | .asked = $asked
  | (if $asked.set["use-regex"] or $asked.set["rewrite-target"] != null
       or ($asked.set.canary and has_refused_paths) then .asked.has_expressions = true
     else .
     end)
  | if has_only_challenges then .asked.only_challenges = true else . end;

# --- the claims

# input:  an Ingress
# output: whether HTTP clients of its hosts are sent to HTTPS: true, null, or "with TLS" for hosts that another Ingress
#         of the namespace may have in its spec.tls, which route knows (tls.jq)
#
# force-ssl-redirect says so for all Ingresses; ssl-redirect for those with spec.tls, whichever hosts that names.
def redirect($default):
  .asked.set["ssl-redirect"] as $wanted
  | if .asked.closed then null
    elif .asked.set["force-ssl-redirect"] then true
    elif $wanted or ($wanted == null and $default == "on") then
      if [.spec.tls[]?] != [] then true else "with TLS" end
    else null
    end;

# input:  a path that is meant as a regular expression
# output: {path, pathType, weighed: what it costs}; or with a problem
def judged:
  . as $path
  | expression as $weighed
  | {$path, pathType: "RegularExpression"}
    + if $weighed.why then {problem: {reason: "PathRefused", message: "the path \(quoted) \($weighed.why)"}}
      else {weighed: ($weighed | {steps, head})}
      end;

# input:  [claim, and problems]: first those of paths, in the order of the rules, and without those of hosts refused
# output: the same, but paths that are not Exact are regular expressions
def as_expressions($ingress):
  (map(select(.pathType == "Default") | {(.host): true}) | add) as $hosts
  | [$ingress.spec.rules[]? | select($hosts[.host // ""]).http.paths[]?] as $paths
  | map(select(.host == null)),
    ( map(select(.host)) | to_entries | map(
        $paths[.key] as $path
        | .value
        | if .pathType == "Default" or $path.pathType == "Exact" then .
          else del(.problem) + ($path.path // "" | if . == "" then "/" else . end | judged)
          end) )
  | .[];

# input:  an Ingress
# output: {host: true, ...} of the hosts of which all requests go to the default backend, as no rule has paths for them
#
# (Where there is too much of it, paths may have been left out.)
def hosts_without_paths:
  if .excess then {}
  else
    [.spec.rules[]? | {host: (.host // ""), has_paths: ((.http.paths // []) != [])}]
    | group_by(.host) | map(select(any(.[]; .has_paths) | not) | {(.[0].host): true}) | add // {}
  end;

# input: a claim, or problem / output: the same, as it is answered; $redirect is what `redirect` says
def answered_as_asked($redirect; $closed):
  if .problem or (.service or .status or .bare | not) then .
  else
    {host, path, pathType}
    + (if .weighed then {weighed} else {} end)
    + (if $redirect and (is_free_of("ssl-redirect"; {}) | not) then {$redirect} else {} end)
    + if $closed then {status: 503, reason: "ProtectionNotAvailable", message: $closed} else . end
  end;

# input: [claim, and problems] / output: the same, with .bare; $hosts is what hosts_without_paths says
def with_bare($hosts):
  map(if .pathType == "Default" and $hosts[.host] and (.service or .status | not) then .bare = true else . end);

# input:  [claim, and problems] of an Ingress that protects its paths
# output: the claims of type Refused: for each path that is refused. Where an Ingress has too many paths (.excess), any
#         could be among those that are left out; and of hosts that are left out, all are.
def refused_claims($ingress):
  [ ( .[] | select(.host and .problem)
      | {host, path: (.pathType as $type | .path | meanings($type == "RegularExpression")), pathType: "Refused"} ),
    ( ($ingress.left_out // [] | only_hosts_of_rules[]), (.[] | select($ingress.excess and .pathType == "Default").host)
      | {host: ., path: ("/", (select($ingress.may_challenge) | "\(challenges)/")), pathType: "Refused"} ) ]
  | unique;

# --- what is of all claims

# input: what `asked` says / output: the protocol that the pods speak, HTTPS, AUTO_HTTP, GRPC or GRPCS; null for HTTP
def backend_protocol:
  .set["backend-protocol"] // "" | ascii_upcase
  | if IN("HTTPS", "AUTO_HTTP", "GRPC", "GRPCS") then . else null end;

# input:  an Ingress
# output: [namespace, ...] that may have rules for its hosts, "*" for all; null if it does not say (ownership.jq)
def shared_with:
  .metadata.annotations[sharing]
  | if type == "string" then [split(",")[:100][] | .[:300] | gsub("\\s+"; "")] else null end;

# input: an Ingress / output: a problem if it shares with what is no namespace
def sharing_problems:
  shared_with // [] | map(select(. != "*" and (is_name | not)))[:1][]
  | {reason: "AnnotationRefused",
     message: "the annotation \(sharing) has \(quoted); allowed: names of namespaces with commas between, or *"};

# input:  the summary of an Ingress, with the problems of its paths among its claims
# output: the same, as the annotations ask: with options, and uses
def as_annotations_ask($ingress; $settings):
  $ingress.asked as $asked
  | ($ingress | redirect($settings.ssl_redirect)) as $redirect
  | (if $redirect or $asked.moves then $ingress | hosts_without_paths else {} end) as $bare
  | [.claims | with_bare($bare) | if $asked.has_expressions then as_expressions($ingress) else .[] end] as $claims
  | {of, created,
     options: (
       {protocol: ($asked | backend_protocol), set: $asked.set, protections: $asked.protections,
        share: ($ingress | shared_with), only_challenges: $asked.only_challenges}
       | del(.[] | select(. == null or . == {} or . == [])))}
    + .
    + {claims: ([$claims[] | answered_as_asked($redirect; $asked.closed)]
         + if $asked | protects then $claims | refused_claims($ingress) else [] end),
       problems: [$ingress.excess // empty, $asked.problems[]?, ($ingress | sharing_problems)]}
    + if $asked.uses then {uses: $asked.uses} else {} end;
