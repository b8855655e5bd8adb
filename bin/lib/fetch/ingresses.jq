# The summary of the Ingresses: their claims, which say who asks for which host and path.
#
# input:  the items of an IngressList, one on each line (jq -n -R)
# args:   $classes: the items of the IngressClassList, one on each line
#         $class, $controller: which Ingresses are ours
#         $ssl_redirect, $policy, $annotations, $limits: the settings SSL_REDIRECT, ANNOTATION_POLICY,
#         DEFAULT_ANNOTATIONS and LIMITS
# output: a line for each: {} if it is of no class of ours (known-items.bash wants a line for each), {problem} if it
#         cannot be read (items.jq), else
#         {of: "Ingress namespace/name", created: its creationTimestamp,
#          claims: [{host, path, pathType, service: "namespace/name", port: number or name}      a Service answers
#                 | {host, path, pathType, status, reason, message}                              nginx answers, an error
#                 | {host, path: "/", pathType: "Default"}],                                     nobody: a 404
#          tls: [{hosts, secretName}], problems: [{reason, message}]}
#         and what its annotations add (annotations/ingress.jq)
#
# There is a claim for each path of each rule, of pathType Exact or Prefix; and one of pathType Default for each host:
# it counts where no path of the host matches. Host "" is any host that no rule names.
include "fetch/classes"; # our_classes, is_ours, refused_name
include "fetch/rules"; # within_limits, exact_beside_slash
include "annotations/ingress"; # settings, annotated, as_annotations_ask
include "annotations/ingress-files";
include "fetch/items"; # key, each_item
include "allow"; # is_name, only_hosts_of_rules, path_refusal, quoted

# input: an IngressBackend / output: the part of a claim that comes from it; the Service is in the Ingress's namespace
def backend($namespace):
  if .service == null then {status: 501, reason: "ResourceBackendNotServed",
    message: "a resource cannot be the backend here, only a Service can"}
  elif .service.name | is_name | not then
    {status: 503, reason: "ServiceRefused", message: "\(.service.name | quoted) is not a valid name of a Service"}
  else {service: "\($namespace)/\(.service.name)", port: (.service.port | .name // .number // 0)}
  end;

# input: an HTTPIngressPath / output: {path, pathType}; or a problem of the path
def path_and_type:
  (.path // "" | if . == "" then "/" else . end) as $path | ($path | path_refusal) as $why
  | if $why then {$path, problem: {reason: "PathRefused", message: "the path \($path | quoted) \($why)"}}
    elif .pathType == "Exact" then {$path, pathType: "Exact"}
    else {path: ($path | if . == "/" then . else rtrimstr("/") end), pathType: "Prefix"} # or ImplementationSpecific
    end;

# input: an Ingress / output: {"host": true, ...} of its rules
def rule_hosts: [.spec.rules[]? | .host // ""] | unique | only_hosts_of_rules | map({(.): true}) | add // {};

# input: an Ingress / output: a claim for each path of each rule, or a problem of the path or the rule
def rule_claims($hosts):
  .metadata.namespace as $namespace
  | .spec.rules[]? | (.host // "") as $host
  | if $hosts[$host] then .http.paths[]? | {$host} + path_and_type + (.backend | backend($namespace))
    else {problem: {reason: "HostRefused", message: "the host \($host | quoted) is not a DNS name"}}
    end;

# input: an Ingress / output: a claim of type Default for each of its hosts; for any host if it has no rules
def default_claims($hosts):
  . as {metadata: {$namespace}, spec: {$defaultBackend, $rules}}
  | (if ($rules // []) == [] then "" else $hosts | keys[] end) as $host
  | {$host, path: "/", pathType: "Default"} + if $defaultBackend then $defaultBackend | backend($namespace) else {} end;

# input: an Ingress / output: its summary
def summary($settings):
  annotated($settings) | within_limits($settings) | exact_beside_slash | . as $ingress | rule_hosts as $hosts
  | {of: "Ingress \(key)", created: (.metadata.creationTimestamp // ""),
     claims: [rule_claims($hosts), default_claims($hosts)],
     tls: [.spec.tls[]? | {hosts, secretName}] | unique, problems: []}
  | as_annotations_ask($ingress; $settings)
  | .problems = (.problems + [.claims[].problem | values] | unique) | .claims |= map(select(.problem | not));

settings as $settings
| ($classes | our_classes($class; $controller)) as $our_classes
| each_item("Ingress"; if is_ours($our_classes) then refused_name // summary($settings) else {} end)
