# Snapshot in, routing model out: every decision about who serves which request.
#
# input:  {ingresses, ingressClasses, terminatingNamespaces, services, endpointSlices, certificates}, as fetch read them;
#         then perhaps {"namespace/name": {version, message}, ...}: the Ingresses that nginx refuses
# args:   $class, $controller: which Ingresses are ours
#         $default_secret: "namespace/name" of the Secret for hosts without a certificate, or ""
#         $ssl_redirect: "on" or "off", what counts for Ingresses that do not say it
# output: {
#   servers: [{host, locations: [{path, pathType, ingress, upstream}                   served by pods
#                              | {path, pathType, ingress, status, reason, message}  an error of ours
#                             ]}],
#             with redirect: true if its HTTP clients are sent to HTTPS,
#             with protocol: HTTPS, GRPC or GRPCS if its pods do not speak HTTP,
#             with deny and allow if not every client may use it: numbers of `networks`, from 1; deny counts first
#   upstreams: [{name, service, port, endpoints: ["address:port"]}],
#             with cut: their number, if there are more of them
#   networks: [[network, ...], ...],
#   certificates: [{host, files: [a key pair for each algorithm]}],
#   defaultCertificate: a file, or null for the one that is made at start,
#   problems: [{ingress, reason, message}],
#   objects: {"Kind namespace/name": version}      all that this was made of
# }
# host "" is any host that no other server has. pathType is Exact, Prefix, or
# Default: what no path of the host matches; with nobody to serve it, it is a 404.
#
# Read it from the end. What an Ingress asks for goes through four stages:
#
#   claim     {ingress, host, path, pathType, backend}            an Ingress asks for this (with options, see `claim`)
#   answered  {ingress, host, path, pathType, upstream, service, port}    these pods answer,
#           | {ingress, host, path, pathType, status, reason, message, service}   or we do
#   winner    an answered claim that has its host, path and type to itself
#   location  what the model shows of a winner
#
# and at each stage it may become a refusal: {ingress, reason, message}. The
# certificates go a way of their own (tls.jq).
#
# (jq 1.8 crashes unless a file is included after those that include it.)
include "tls";
include "annotations";
include "ingress-nginx";
include "networks";
include "kubernetes";
include "allow";

# --- 1. claims

# input: an Ingress / output: why nothing of it is served; nothing if it is
#
# The API server sees to it that names are names. But nginx.conf has them, so that is not relied on.
def whole_refusal($refused):
  if .metadata | (.namespace | is_name) and (.name | is_name) | not then
    refusal(null; "NameRefused"; "the Ingress with namespace \(.metadata.namespace | quoted) and name \(.metadata.name | quoted) is not served")
  elif $refused != {} and $refused[key].version == version then
    refusal(key; "RefusedByNginx"; "nothing of it is served, because nginx refuses it: \($refused[key].message)")
  else empty
  end;

# input: an Ingress / output: what all its claims for the host have in common: {ingress, host}, and its options:
# those of its protection, {protections: [the annotations that ask for it], allow, deny, closed: why it is}, protocol and redirect
def claim($host; $redirected; $protection):
  {ingress: key, host: $host}
  + $protection
  + (backend_protocol | if . == "HTTP" then {} else {protocol: .} end)
  + (if $redirected != {} and ($redirected["*"] or $redirected[$host] or $redirected[$host | as_wildcard]) then {redirect: true} else {} end);

# input: an HTTPIngressPath / output: its claim, or a refusal
def path_claim($claim):
  (.path // "" | if . == "" then "/" else . end) as $path
  | [$path | path_refusal] as $refused
  | ($claim + {path: $path, pathType: "Exact", backend: .backend}) as $exact
  | if $refused != [] then
      refusal($claim.ingress; "PathRefused"; "the path \($path | quoted) \($refused[0])")
    elif .pathType == "Exact" then
      $exact
    else # Prefix, and ImplementationSpecific likewise; a trailing slash means nothing there
      $exact + {pathType: "Prefix", path: ($path | if . == "/" then . else rtrimstr("/") end)}
    end;

# input: an IngressRule / output: the claims of its paths
def rule_claims($ingress; $redirected; $protection):
  (.host // "") as $host
  | if $host == "" or ($host | is_host) then
      ($ingress | claim($host; $redirected; $protection)) as $claim
      | .http.paths[]? | path_claim($claim)
    else
      refusal($ingress | key; "HostRefused"; "the host \($host | quoted) is no DNS name")
    end;

# input: an Ingress / output: a claim of type Default for each of its hosts, for any host if it has no rules
def default_claims($redirected; $protection):
  . as $ingress
  | [.spec.rules[]? | .host // ""] | if length == 0 then [""] else unique end
  | .[] | select(. == "" or is_host) | . as $host
  | ($ingress | claim($host; $redirected; $protection)) + {path: "/", pathType: "Default", backend: $ingress.spec.defaultBackend};

# input: an Ingress / output: all its claims and refusals; $protections is {"namespace/name": protection, ...}
def claims($protections; $documented):
  . as $ingress
  | redirected_hosts($ssl_redirect) as $redirected
  | $protections[key] as $protection
  | (.spec.rules[]? | rule_claims($ingress; $redirected; $protection)),
    default_claims($redirected; $protection),
    annotation_refusals($protection.closed; $documented);

# input: {"namespace/name": protection, ...} / output: it as claims have it, with the number of each list of networks in its place
def numbered($networks):
  ($networks | to_entries | map({(.value | tojson): (.key + 1)}) | add) as $numbers
  | map_values({protections: .names, allow: $numbers[.allow | tojson], deny: $numbers[.deny | tojson], closed} | del(.[] | nulls));

# --- 2. who answers

# input: anything / output: what a claim gets that no pod answers
def error_answer($status; $reason; $message): {status: $status, reason: $reason, message: $message};

# input: a Service, or null if there is none / output: who answers for its port {name} or {number}, spoken to by the protocol
#
# The name of an upstream starts with what is most often different, the Service: nginx
# looks for it among all of them, letter by letter, and 5,000 take it half as long again otherwise.
def service_answer($key; $port; $protocol):
  def wanted: $port.name // $port.number | if is_name then . else quoted end;
  if . == null then
      error_answer(503; "ServiceNotFound"; "Service \($key) does not exist")
    elif .spec.type == "ExternalName" then
      error_answer(503; "ExternalNameNotServed"; "Service \($key) is an ExternalName, which is not served: it could point anywhere")
    else
      (if $port.name then .ports.names[$port.name] else .ports.numbers["\($port.number)"] end) as $found
      | if $found == null or ($found.port | is_port | not) then
          error_answer(503; "ServicePortNotFound"; "Service \($key) has no port \(wanted)")
        elif ($found.protocol // "TCP") != "TCP" then
          error_answer(503; "ServicePortNotTCP"; "port \(wanted) of Service \($key) is not TCP")
        else
          {upstream: "\($key | split("/") | reverse | join(".")).\($found.port)\(if $protocol then "." + ($protocol | ascii_downcase) else "" end)", port: $found}
        end
    end
  | .service = $key;

# input: a claim / output: it with who answers; a default that is not given stays without an answer, which is a 404
def answered($services):
  (.ingress | split("/")[0]) as $namespace # a backend is in the namespace of its Ingress
  | .backend as $backend
  | .protocol as $protocol
  | del(.backend)
  + if $backend == null and .pathType == "Default" then
      {}
    elif .closed then
      error_answer(503; "ProtectionNotAvailable"; .closed)
    elif $backend.service == null then
      error_answer(501; "ResourceBackendNotServed"; "a resource cannot be the backend here, only a Service can")
    elif ($backend.service.name | is_name | not) then
      error_answer(503; "ServiceRefused"; "\($backend.service.name | quoted) is no name of a Service")
    else
      "\($namespace)/\($backend.service.name)" as $key
      | $services[$key] | service_answer($key; $backend.service.port // {}; $protocol)
    end;

# --- 3. winners

# input: [answered claim of one host, path and type, the oldest Ingress first] / output: the first, and a refusal for each other
def first_wins:
  .[0] as $winner
  | $winner,
    ( .[1:][]
      | refusal(.ingress; "PathTaken";
          "\(if .pathType == "Default" then "the default" else "\(.pathType) path \(.path)" end) of host "
          + "\(if .host == "" then "*" else .host end) is already taken by Ingress \($winner.ingress)"
          + if .protections then ", so what protects this one is not in force there: \(.protections | map(quoted) | join(", "))" else "" end) );

# input: [answered claim of one host, the oldest Ingress first] / output: its winners in match order, and refusals
#
# Of a path and a longer one, the longer decides; of the same, Exact does.
# What no path matches goes to the default backend of the oldest Ingress that
# has rules for the host and gives one, never to another host's rules.
def winners:
  map(select(.pathType != "Default")) as $paths
  | map(select(.pathType == "Default")) as $defaults
  | ($defaults | map(select(.upstream or .status))) as $given
  | ( $paths | group_by([-(.path | length), .path, .pathType])[] | first_wins ),
    ( if any($paths[]; .path == "/" and .pathType == "Prefix") then empty
      elif ($given | length) > 0 then $given | first_wins
      else $defaults[0] | {ingress: null, host, path, pathType}
      end );

# --- 4. model

# input: [winner] / output: [{name, service, port, endpoints}], one for each Service port that they use
#
# Each of a slice's endpoints counts for each of its ports, so a few objects could
# come to millions of lines. 10,000 are for all ports of a Service together.
def upstreams($slices):
  def cut($most): if (.endpoints | length) > $most then {cut: $most} + . | .endpoints |= .[:$most] else . end;
  map(select(.upstream)) | unique_by(.upstream) | group_by(.service)
  | [ .[]
      | ([10000 / length | floor, 1] | max) as $most
      | ($slices[.[0].service] // [] | endpoints_by_port) as $by_port
      | .[]
      | {name: .upstream, service, port: .port.port, endpoints: ($by_port[.port.name // ""] // [] | endpoints($most))}
      | cut($most) ]
  | sort_by(.name);

# input: [winner] / output: a refusal for each whose upstream does not have all endpoints
def cut_refusals($upstreams):
  ($upstreams | map(select(.cut) | {(.name): .cut}) | add // {}) as $cut
  | .[] | select(.upstream and $cut[.upstream])
  | refusal(.ingress; "TooManyEndpoints"; "Service \(.service) has too many endpoints: for port \(.port.port), only the first \($cut[.upstream]) are served");

# input: a winner / output: the location that the model shows; $ready is {"upstream name": true, ...}
def location($ready):
  if .upstream == null or $ready[.upstream] then .
  else . + error_answer(503; "NoReadyEndpoints"; "Service \(.service) has no ready endpoint for port \(.port.port)")
  end
  | if .status then del(.upstream, .protocol, .allow, .deny) else . end
  | if .closed then del(.redirect, .closed) else . end
  | del(.host, .service, .port, .protections);

# input: [winner] / output: a refusal for each whose Service has EndpointSlices that are not served
def slice_refusals($slices):
  map(select(.upstream) | {ingress, service}) | unique[]
  | select(any($slices[.service][]?; .addressType == "FQDN"))
  | refusal(.ingress; "FQDNNotServed"; "Service \(.service) has an EndpointSlice of addressType FQDN, which is not served: it could point anywhere");

# input: [winner] / output: {"Kind namespace/name": version, ...} of all that counts
def objects($ingresses; $services; $slices; $certificates):
  def entry($kind): {"\($kind) \(key)": (.metadata.resourceVersion // "")};
  [ ($ingresses[] | {"Ingress \(key)": version}),
    ( [.[].service // empty] | unique[]
      | ($services[.] // empty | entry("Service")), ($slices[.][]? | entry("EndpointSlice")) ),
    ($certificates[] | {"Secret \(.secret)": .resourceVersion})
  ] | add // {};

input # and not `.`: no input at all must be an error
| ([inputs] | add // {}) as $refused
| our_ingresses($class; $controller) as $ours
| [$ours[] | whole_refusal($refused)] as $wholly_refused
| (if $wholly_refused == [] then $ours else [$ours[] | select([whole_refusal($refused)] == [])] end) as $ingresses
| services_by_key as $services
| slices_by_service as $slices
| certificates_by_secret as $secrets
| documented_annotations as $documented
| ([$ingresses[] | {(key): protection($documented)} | select(.[])] | add // {}) as $protections
| ([$protections[] | .allow, .deny | values] | unique) as $networks
| ($protections | numbered($networks)) as $protections
| [$ingresses[] | claims($protections; $documented)] as $claims
| [$claims[] | select(.reason)] as $refused_claims
| [ {ingress: null, host: "", path: "/", pathType: "Default"}, # any host has a server, even if no rule asks for it
    ($claims[] | select(.reason | not) | answered($services)) ]
| [group_by(.host)[] | winners]
| map(select(has("host") | not)) as $lost
| map(select(has("host"))) as $winners
| ($winners | upstreams($slices) | map(select(.endpoints != []))) as $upstreams
| ($upstreams | map({(.name): true}) | add // {}) as $ready
| ($winners | group_by(.host) | map({host: .[0].host, locations: map(location($ready))})) as $servers
| [$ingresses | certificates($secrets)] as $certificates
| [default_certificate($default_secret; $secrets)] as $default_certificate
| {
    servers: $servers,
    upstreams: $upstreams,
    networks: $networks,
    certificates: [$certificates[] | select(.files)],
    defaultCertificate: ($default_certificate[0] | strings // null),
    problems:
      ([ $wholly_refused[], $refused_claims[], $lost[],
         ($winners | slice_refusals($slices), cut_refusals($upstreams)),
         ($servers[].locations[], ($certificates, $default_certificate)[] | objects | select(.reason)) ]
       | map({ingress, reason, message}) | unique),
    objects: ($winners | objects($ingresses; $services; $slices; $secrets))
  }
