# The digest of the Ingresses: their claims (who asks for which host and path).
#
# input:  the items of an IngressList, one on each line (jq -n -R)
# args:   $classes: the items of the IngressClassList, one on each line
#         $class, $controller: which Ingresses are ours
#         $ssl_redirect: "on" or "off", what counts for Ingresses that do not say it
#         $policy: ANNOTATION_POLICY; $annotations: DEFAULT_ANNOTATIONS; $limits: LIMITS (limits.jq)
# output: a line for each: {} if it is of no class of ours (known-items.bash wants a line for each), {problem} if it
#         cannot be read (items.jq), else
#         {ingress: "namespace/name", created: its creationTimestamp,
#          options: {protocol, set: {annotation: value}, protections: [annotation], share: [namespace]}, of all claims
#          uses: [feature], which its annotations need (annotations.jq)
#          claims: [{host, path, pathType, service: "namespace/name", port: number or name,
#                    redirect: true or "with TLS" (tls.jq)}
#                 | {host, path, pathType, redirect: true, status, reason, message}       an error that nginx answers
#                 | {..., weighed: {steps, head}}                                         a regular expression's costs
#                 | {host, path: "/", pathType: "Default"}                                no default backend: a 404
#                 | {host, path, pathType: "Refused"}],                                   served by nobody (shut.jq)
#          tls: [{hosts, secretName}], problems: [{reason, message}]}
#
# host "" is any host that no other server has. pathType is Exact, Prefix, or one of three that are ours and not the
# API's: Default, which is what no path of the host matches, RegularExpression (expressions.jq), and Refused (shut.jq).
# At a first reading, skip annotations ($asked, $closed, $redirected), regular expressions, limits, and shut.jq
# (`claims_that_count`, `certain`), which closes an Ingress whose protection cannot be given. What remains is: a claim
# for each path of each rule, and one of type Default for each host.
#
# $closed is why an Ingress must not be served at all: a protection that it asks for cannot be given (annotations.jq);
# else null. (The order of the includes is for jq 1.8.2: see "jq in short" in bin/README.md.)
include "fetch/classes"; # our_classes, default_is_ours, is_ours
include "annotations"; # asked, defaults, asks_for_expressions, backend_protocol, redirected_hosts, redirection, shared_with, sharing_problems
include "annotations/expressions"; # expression
include "networks"; # not used here: only so that jq 1.8.2 does not crash (bin/README.md)
include "route/limits"; # limits, for_expressions, within_limits
include "route/shut"; # certain, protects, claims_that_count
include "route/ownership"; # not used here, either
include "fetch/items"; # key, read_item, each_item
include "allow"; # only_hosts, is_acme_challenge, is_name, path_refusal, quoted

# --- claims, and problems among them: a refused host gives a problem; a refused path gives one object that is both, a
# problem and a claim of type Refused, which counts only in an Ingress that protects its paths (shut.jq)

# output: why a part of an Ingress is not served as it says
def problem($reason; $message): {problem: {$reason, $message}};

# output: the part of a claim that nginx answers with an error
def error_answer($status; $reason; $message): {$status, $reason, $message};

# input:  an IngressBackend, or null
# output: the part of a claim that comes from it; the Service is always in the Ingress's own namespace
def backend($namespace; $closed):
  if $closed then error_answer(503; "ProtectionNotAvailable"; $closed)
  elif .service == null then error_answer(501; "ResourceBackendNotServed"; "a resource cannot be the backend here, only a Service can")
  elif .service.name | is_name | not then error_answer(503; "ServiceRefused"; "\(.service.name | quoted) is not a valid name of a Service")
  else {service: "\($namespace)/\(.service.name)", port: (.service.port | .name // .number // 0)}
  end;

# input:  a path
# output: a part of a claim that has the problem, too: {path, pathType: "Refused", problem}
def refused($why; $expression):
  problem("PathRefused"; "the path \(quoted) \($why)") + {path: certain($expression), pathType: "Refused"};

# input: a path that is a regular expression / output: {path, pathType, weighed}; or the path refused
def expression_and_type:
  . as $path
  | expression as $weighed
  | if $weighed.why then refused($weighed.why; true)
    else {$path, pathType: "RegularExpression", weighed: ($weighed | {steps, head})}
    end;

# input:  an HTTPIngressPath
# output: {path, pathType}; or the path refused. $expressions: whether paths are regular expressions; $also_with_slash:
#         whether the Ingress has the same path with a slash at its end, too
#
# To a Prefix, that slash means nothing: /a/ becomes /a. But if an Ingress has both, /a/ serves all that is below, and
# /a becomes Exact: it serves only itself.
def path_and_type($expressions; $also_with_slash):
  (.path // "" | if . == "" then "/" else . end) as $path
  | if $expressions and .pathType != "Exact" then $path | expression_and_type
    else
      ($path | path_refusal) as $why
      | if $why then $path | refused($why; false)
        elif .pathType == "Exact" or $also_with_slash then {$path, pathType: "Exact"}
        else # Prefix, and ImplementationSpecific likewise
          {path: ($path | if . == "/" then . else rtrimstr("/") end), pathType: "Prefix"}
        end
    end;

# input: an Ingress / output: {"host": true, ...} of its rules, without those that are not DNS names
def rule_hosts:
  [.spec.rules[]? | .host // ""] | unique
  | (. - [""] | only_hosts) + map(select(. == ""))
  | map({(.): true}) | add // {};

# input: an Ingress / output: {"host path": true, ...} of its paths with a slash at the end, but for Exact ones
def paths_with_slash:
  [ .spec.rules[]? | (.host // "") as $host | .http.paths[]?
    | select(.pathType != "Exact").path | strings | select(endswith("/") and (endswith("//") | not) and . != "/") | {"\($host) \(.)": true} ]
  | add // {};

# input:  an Ingress
# output: for each rule the claims of its paths, and problems; $hosts and $redirected are what rule_hosts and
#         redirected_hosts say
def rule_claims($hosts; $redirected; $closed; $expressions):
  .metadata.namespace as $namespace
  | paths_with_slash as $with_slash
  | .spec.rules[]?
  | (.host // "") as $host
  | if $hosts[$host] then
      ($host | redirection($redirected)) as $redirect
      | .http.paths[]?
      | (.backend | backend($namespace; $closed)) as $backend
      | path_and_type($expressions; $with_slash["\($host) \(.path // "")/"])
      | {$host} + . + (if is_acme_challenge then {} else $redirect end) + $backend
    else
      problem("HostRefused"; "the host \($host | quoted) is not a DNS name")
    end;

# input: an Ingress / output: a claim of type Default for each of its hosts, for any host if it has no rules
def default_claims($hosts; $redirected; $closed):
  . as {metadata: {$namespace}, spec: {$defaultBackend, $rules}}
  | (if ($rules // []) == [] then "" else $hosts | keys[] end) as $host
  | {$host, path: "/", pathType: "Default"}
    + if $defaultBackend == null then {}
      else ($host | redirection($redirected)) + ($defaultBackend | backend($namespace; $closed))
      end;

# input: an Ingress / output: whether some of its paths can only be regular expressions
def has_expressions: any(.spec.rules[]?.http.paths[]? | select(.pathType != "Exact").path | strings; path_refusal);

# input: an Ingress / output: its digest. (A canary's paths are what those of its main Ingress are, see canary.jq.)
def digest($defaults; $limits):
  asked($policy; $defaults) as $asked
  | (($asked | asks_for_expressions) or $asked.set.canary and has_expressions) as $expressions
  | within_limits($limits | if $expressions then for_expressions else . end)
  | (if $asked.closed then {} else redirected_hosts($asked.set; $ssl_redirect) end) as $redirected
  | rule_hosts as $hosts
  | [rule_claims($hosts; $redirected; $asked.closed; $expressions), default_claims($hosts; $redirected; $asked.closed)] as $claims
  | {
      ingress: key,
      created: (.metadata.creationTimestamp // ""),
      options: ({protocol: ($asked | backend_protocol), set: $asked.set, protections: $asked.protections, share: shared_with}
        | del(.[] | select(. == null or . == {} or . == []))),
      claims: claims_that_count($claims; $asked | protects),
      tls: [.spec.tls[]? | {hosts, secretName}] | unique,
      problems: [.excess // empty, ($claims[].problem | values), $asked.problems[]?, sharing_problems] | unique
    } + if $asked.uses then {uses: $asked.uses} else {} end;

[$classes | split("\n")[] | select(. != "") | read_item | .object | values] as $all
| our_classes($all; $class; $controller) as $our_classes
| default_is_ours($all; $controller) as $default
| ($annotations | defaults) as $defaults
| ($limits | limits) as $limits
| each_item("Ingress";
    if is_ours($our_classes; $default) | not then {}
    elif (.metadata.namespace | is_name) and (.metadata.name | is_name) then digest($defaults; $limits)
      else # the API server checks names already; but they go into nginx.conf, so they are checked again
        problem("NameRefused"; "the Ingress with namespace \(.metadata.namespace | quoted) and name \(.metadata.name | quoted) is not served")
      end)
