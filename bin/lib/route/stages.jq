# The stages of route.jq that are for more than the mechanism: state => state. Each joins the state with the file that
# decides; without them, route.jq serves what plain Ingresses ask for.
include "route/tls"; # known_secrets, redirected_with_tls, certificates, default_certificate
include "route/limits"; # within_namespace_limits
include "route/shut"; # only_of, served
include "route/tcp-udp"; # with_streams
include "route/endpoints";
include "route/unserved"; # with_bare_redirected, unserved_problems
include "route/ownership"; # with_owners, namespace
include "route/reachable"; # reachable
include "route/pods"; # by_family
include "annotations/features"; # feature_claims
include "limits"; # limits
include "allow"; # quoted

# --- counted: not what exceeds a limit (limits.jq), nor what nginx rejects (bin/quarantine)

# output: .ingresses with those last whose namespace is being deleted
#
# Such a namespace keeps its Ingresses until its pods have ended (since Kubernetes 1.33), which may be half a minute.
# They give way to all others, whatever their age: false sorts before true. (sort_by keeps the order of what is equal.)
def terminating_last:
  (.lines | map(select(.terminating) | {(.terminating): true}) | add // {}) as $terminating
  | if $terminating == {} then . else .ingresses |= sort_by($terminating[.of | namespace] // false) end;

# input: summary of an Ingress that is quarantined / output: the problem; $message is what nginx says of it
def quarantine_problem($message):
  {of, reason: "RejectedByNginx", message: "it is quarantined: nothing of it is served, because nginx rejects it: \($message)"};

# input: [summary of an Ingress]
# output: {options: [{annotation: value}], numbered: the same, with the number of its set in .options.options}
#
# Many Ingresses have the same set of annotations. So the model has each set once, and a claim has its number, from 1.
def numbered_sets:
  ([.[].options.set | values] | unique) as $options
  | ($options | to_entries | map({(.value | tojson): (.key + 1)}) | add // {}) as $numbers
  | {$options,
     numbered: map(if .options.set then .set = .options.set | .options.options = $numbers[.set | tojson] | del(.options.set) else . end)};

# --- names outside of the cluster (ExternalName), which fetch/outside/outside.jq has looked at

# input:  {outside, name, addresses} (outside.jq); $listed: spec.ports of the Service; $asked: the numbers of ports that
#         claims ask for
# output: {service, slice}: the summaries of an ordinary Service, and of an EndpointSlice of it
#
# A port by number needs not be listed. If it is, a targetPort that is a number is where requests go.
def as_pods($listed; $asked):
  ($listed // []) as $listed
  | ($asked - [$listed[].port] | unique | map({port: ., name: "=\(.)"})) as $others
  | ([$listed[] | select((.protocol // "TCP") != "TCP")] + $others
     + [$listed[] | select((.protocol // "TCP") == "TCP") | {port, name: (.name // ""), targetPort, appProtocol}]) as $ports
  | {service: {service: .outside, outside: .name, ports: {
       numbers: ($ports | map({"\(.port)": del(.targetPort)}) | add // {}),
       names: ($ports | map(select(.name // "" | . != "" and (startswith("=") | not)) | {(.name): del(.targetPort)}) | add // {})}},
     slice: {slice: .outside, service: .outside, ready: .addresses, ending: [],
       ports: ($ports | map({(.name // ""): ((.targetPort | numbers) // .port)}) | add // {})}};

# output: the state; an ExternalName Service with addresses is as any other; any other one says why it is not served
def with_outside:
  if any(.services[]; .external) | not then .
  else
    (.lines | map(select(.outside) | {(.outside): .}) | add // {}) as $outside
    | (.settings.DEFAULT_BACKEND // "" | split(":")) as [$default, $port]
    | ([ (.ingresses[].claims[] | select($outside[.service // ""].addresses and (.port | type == "number")) | {service, port}),
         ($port | strings | tonumber? | {service: $default, port: .}) ]
       | group_by(.service) | map({(.[0].service): map(.port)}) | add // {}) as $asked
    | reduce (.services[] | select(.external)) as {$service, $external, $listed} (.;
        $outside[$service] as $its
        | if $its.addresses then
            ($its | as_pods($listed; $asked[$service] // [])) as $pods
            | .services[$service] = $pods.service | .slices[$service] = [$pods.slice]
          else .services[$service].external = ($its.why // "it could point anywhere, so EXTERNAL_NAMES has to allow it")
          end)
  end;

# input: an answered claim / output: the same; TLS to a name outside is spoken with that name
def with_outside_name($services):
  $services[.service // ""].outside as $name
  | if $name and .upstream and (.protocol | IN("HTTPS", "AUTO_HTTP", "GRPCS")) then .tls_name = $name else . end;

# output: {"namespace/name of a Service": {"port": protocol}} of ports whose appProtocol says what their pods speak
#         (KEP-3726)
#
# WebSockets need no word: nginx passes them on wherever it speaks HTTP. And HTTP/2 without TLS is what gRPC is.
def app_protocols:
  {"https": "HTTPS", "kubernetes.io/wss": "HTTPS", "kubernetes.io/h2c": "GRPC"} as $protocols
  | [ .services[] | .service as $service
      | .ports.numbers[]? | select(.appProtocol) | $protocols[.appProtocol] as $protocol | select($protocol)
      | {($service): {"\(.port)": $protocol}} ]
  | reduce .[] as $one ({}; . * $one);

# output: the state with
#   configured: what a ConfigMap says (configmap.jq), or null
#   settings, limits, secrets: what they say; shared: [namespace whose Services and Secrets any annotation may name]
#   ours: [all Ingresses of ours, the oldest first], as their summaries are
#   quarantined: {"Ingress namespace/name": {without_hosts}} of those that are still, byte for byte, what nginx rejected
#   ingresses: those within the limits, with their set of annotations as a number. Quarantined ones stay among them
#     until by_owner has decided: a host may be theirs
#   served: those of them that are not quarantined, as their summaries are
#   shut: [claim of one beyond a limit] (shut.jq)
#   options, features: the sets of annotations, and what they need
#   app_protocols: what pods speak (below)
# and problems.
# args: $rejected: what `quarantine` prints: {"Ingress namespace/name": {summary, message, without_hosts}}
def counted($rejected):
  .configured = first((.lines[1:3][] | select(.configmap)), null)
  | .settings = .lines[0].settings + (.configured.settings // {})
  | with_outside
  | reachable
  | by_family
  | terminating_last
  | .ours = .ingresses
  | .limits = (.settings.LIMITS | limits)
  | .limits as $limits
  | .shared = (.settings.SHARED_NAMESPACES | split(","))
  | .app_protocols = app_protocols
  | .app_protocols as $app_protocols
  | .secrets = (.lines | known_secrets)
  | (.ours | map(select($rejected[.of] and $rejected[.of].summary == tojson))) as $rejected_ones
  | .quarantined = ($rejected_ones | map({(.of): ($rejected[.of] | {without_hosts})}) | add // {})
  | .quarantined as $quarantined
  | [.ours | within_namespace_limits($limits; $app_protocols)] as $limited
  | ($limited | map(select(.problem | not))) as $within_limits
  | .served = ($within_limits | map(select($quarantined[.of] | not)))
  | .shut = [$limited[].shut[]?]
  | ($within_limits | numbered_sets) as {$options, $numbered}
  | .ingresses = ($numbered | map(if $quarantined[.of] then .problems = [] else . end))
  | .options = $options # those of quarantined ones tell what stays shut
  | .features = ([.served[].uses[]?, .configured.uses[]?] | unique)
  | .problems += [.configured | select(.) as {$configmap, $problems} | $problems[]
      | {of: "ConfigMap \($configmap)", reason, message}]
  | .problems += [$limited[].problem // empty, ($rejected_ones[] | quarantine_problem($rejected[.of].message))]
  | .additions = {
      claimants: ([.ours[].of] | sort),
      options: (if $quarantined == {} then .options else .served as $served | .options | only_of($served) end), # nothing of what nginx rejects
      features }
  | if .configured then .additions.configured = (.configured | {settings, directives, parts, closed}) else . end;

# --- as_annotations_say

# input: an answered claim / output: the same; pods that do not speak HTTP have an upstream of their own
def with_protocol: if .upstream and .protocol then .upstream += "." + (.protocol | ascii_downcase) else . end;

# input: an answered claim / output: the same, with the protocol of its Service's port, unless backend-protocol says one
def with_app_protocol($app_protocols; $options):
  $app_protocols[.service // ""]["\(.port)"] as $protocol
  | (if .options then $options[.options - 1]["backend-protocol"] else null end) as $said
  | if $protocol and .upstream and $said == null then .protocol = $protocol else . end;

# --- the default backend (DEFAULT_BACKEND), which answers whatever no rule is for

# input: the state / output: it, answered; {reason, message} if it has no pod; null if there is none
def default_backend(answer):
  .slices as $slices
  | .settings.DEFAULT_BACKEND // "" | if . == "" then null
    else
      capture("\\A(?<service>[^:]+):(?<port>.+)\\z") | .port |= (if test("\\A[0-9]+\\z") then tonumber else . end) | answer
      | if .upstream and (has_pods($slices) | not) then {reason: "NoReadyEndpoints", message: without_pod($slices)} else . end
    end;

# input:  [claim that counts, of one host]
# output: the same; what no path of the host is for goes to the default backend
#
# Where another one answers, or an error, that counts: a host that must stay shut has one.
def with_default_backend($backend):
  if $backend.upstream == null or any(.[]; .pathType == "Default" and (.upstream or .status)) then .
  else . + [{of: null, host: .[0].host, path: "/", pathType: "Default"} + $backend]
  end;

# input:  the state
# output: the same, with the claims as annotations change them, and those of Ingresses beyond a limit, which are shut;
#         .canaries are those of which a canary gets a part; and with .default_backend
# args:   answer: {service, port} => the same, answered (route.jq)
def as_annotations_say(answer):
  .default_backend = (if .configured.closed then null else default_backend(answer) end)
  | . as $state
  | (.claims
     | if $state.app_protocols == {} then . else map(with_app_protocol($state.app_protocols; $state.options)) end
     | map(with_protocol)
     | if any($state.services[]; .outside) then map(with_outside_name($state.services)) else . end
     | redirected_with_tls($state.ours; $state.limits)
     | feature_claims($state; answer | with_protocol)
     | map(.shut // .)) as $claims
  | .canaries = [$claims[] | select(.canary and (.alias | not))]
  | .claims = ($claims | map(select(.problem | not))) + .shut
  | .problems += [($claims[].problem | values),
      (.default_backend | select(.reason) | {of: null, reason, message: "DEFAULT_BACKEND: \(.message)"})];

# --- by_owner: only what is let in to a host (ownership.jq), and nothing that must stay shut (shut.jq)

# output: the state; .owned is what with_owners says, and .claims are those that count for their host
def by_owner:
  . as $state
  | .owned = (.claims | with_owners($state.ours; $state.settings.HOST_OWNERSHIP))
  | .claims = [ .owned | served($state.quarantined; $state.limits; $state.options)[]
      | with_bare_redirected | with_default_backend($state.default_backend) | .[] ]
  | .problems += [.owned[].problems[]?.problem];

# input: why a claim does not count / output: the same, with what it was to protect
def with_protection_lost($claim):
  if $claim.protections then
    "\(.), so what protects this one is not in force there: \($claim.protections | map(quoted) | join(", "))"
  else .
  end;

# --- with_certificates

# output: the state with what the model says of certificates
def with_certificates:
  .secrets as $secrets
  | .owned as $hosts
  | .limits as $limits
  | [.settings.DEFAULT_TLS_SECRET | default_certificate(.; $secrets)] as $default
  | ($default[0] | strings // null) as $default_file
  | [.served | certificates($secrets; $hosts; $default_file; $limits)] as $certificates
  | .additions += {certificates: [$certificates[] | select(.files)], defaultCertificate: $default_file}
  | .problems += [$certificates[], ($default[0] | objects) | .problem // empty];

# --- unserved_told

# output: the state, with problems of what is not served and of which nothing else says so; and with what is not HTTP
def unserved_told: .problems += [unserved_problems] | if .configured.closed then . else with_streams end;

# --- told

# input:  the state, with .problems: [{of, namespace, reason, message}, sorted]
# output: the same, but not many of one Ingress, or of one namespace's other objects
#
# An Ingress with 5,000 mistakes must not hide what is said of others. Why an Ingress is closed comes first.
def told:
  .limits as $limits
  | .problems |= [ group_by([.of, .namespace])[]
    | if length <= $limits.ingress_problems then .[]
      else
        (sort_by(.reason != "ProtectionNotAvailable")[:$limits.ingress_problems][]),
        {of: .[0].of, reason: "MoreProblems",
          message: "and \(length - $limits.ingress_problems) more problems\(.[0].namespace // "" | if . == "" then . else " in namespace " + . end)"}
      end ];
