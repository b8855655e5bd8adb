# Snapshot in, routing model out: every decision about who serves which request.
#
# input:  {ingresses, ingressClasses, services, endpointSlices}, the lists that fetch read
# args:   $class, $controller: which Ingresses are ours
# output: {
#   servers: [{host, locations: [{path, pathType, ingress, upstream}                   served by pods
#                              | {path, pathType, ingress, status, reason, message}  an error of ours
#                             ]}],
#   upstreams: [{name, service, port, endpoints: ["address:port"]}],
#   problems: [{ingress, reason, message}],
#   objects: {"Kind namespace/name": resourceVersion}      all that this was made of
# }
# host "" is any host that no other server has. pathType is Exact, Prefix, or
# Default: what no path of the host matches; with nobody to serve it, it is a 404.
#
# Records go through four stages: claims (what the Ingresses ask for), targets
# (what their backends are), winners (one for each host, path and type), model.
include "allow";
include "kubernetes";

# --- 1. claims: {ingress, host, path, pathType, backend} or, refused, {ingress, reason, message}

def refusal($ingress; $reason; $message): {ingress: $ingress, reason: $reason, message: $message};

# input: an HTTPIngressPath / output: its claim
def path_claim($ingress; $host):
  (.path // "" | if . == "" then "/" else . end) as $path
  | if ($path | is_path | not) then
      refusal($ingress; "PathRefused"; "the path \($path | quoted) holds something that is not served; allowed are letters, digits and -._~!&()*+,=:@/")
    elif .pathType == "Exact" then
      {ingress: $ingress, host: $host, path: $path, pathType: "Exact", backend: .backend}
    else # Prefix, and ImplementationSpecific likewise; a trailing slash means nothing there
      {ingress: $ingress, host: $host, path: ($path | if . == "/" then . else rtrimstr("/") end), pathType: "Prefix", backend: .backend}
    end;

# input: an IngressRule / output: the claims of its paths
def rule_claims($ingress):
  (.host // "") as $host
  | if $host == "" or ($host | is_host) then
      .http.paths[]? | path_claim($ingress; $host)
    else
      refusal($ingress; "HostRefused"; "the host \($host | quoted) is no DNS name")
    end;

# input: an Ingress / output: a claim of type Default for each of its hosts: what no path there matches
def default_claims:
  key as $ingress
  | .spec.defaultBackend as $backend
  | [.spec.rules[]?.host // ""] | if length == 0 then [""] else unique end
  | .[] | select(. == "" or is_host)
  | {ingress: $ingress, host: ., path: "/", pathType: "Default", backend: $backend};

# input: an Ingress / output: all its claims
def claims:
  key as $ingress
  | (.spec.rules[]? | rule_claims($ingress)),
    default_claims,
    (select(.spec.tls) | refusal($ingress; "TLSNotServed"; "spec.tls is not served yet: its hosts answer over HTTP only"));

# --- 2. targets: a claim's backend becomes {upstream} or {status, reason, message}

def answer($status; $reason; $message): {status: $status, reason: $reason, message: $message};

# input: a Service, or null if there is none / output: the target of the port {name} or {number}
def service_target($key; $port):
  ($port.name // $port.number | if is_name then . else quoted end) as $wanted
  | if . == null then
      answer(503; "ServiceNotFound"; "Service \($key) does not exist")
    elif .spec.type == "ExternalName" then
      answer(503; "ExternalNameNotServed"; "Service \($key) is an ExternalName, which is not served: it could point anywhere")
    else
      [service_port($port)][0] as $found
      | if $found == null or ($found.port | is_port | not) then
          answer(503; "ServicePortNotFound"; "Service \($key) has no port \($wanted)")
        elif ($found.protocol // "TCP") != "TCP" then
          answer(503; "ServicePortNotTCP"; "port \($wanted) of Service \($key) is not TCP")
        else
          {upstream: "\($key | sub("/"; ".")).\($found.port)", service: $key, port: $found}
        end
    end;

# input: a claim / output: it with its target
def with_target($services):
  (.ingress | split("/")[0]) as $namespace
  | .backend as $backend
  | del(.backend)
  + if $backend == null then
      {} # a default that was not given: the 404
    elif $backend.service == null then
      answer(501; "ResourceBackendNotServed"; "a resource is no backend that can be served, only a Service is")
    elif ($backend.service.name | is_name | not) then
      answer(503; "ServiceRefused"; "\($backend.service.name | quoted) is no name of a Service")
    else
      "\($namespace)/\($backend.service.name)" as $key
      | $services[$key] | service_target($key; $backend.service.port // {})
    end;

# --- 3. winners: one location for each host, path and type

# input: [target of one path and type, the oldest Ingress first] / output: the first, and a refusal for each other
def first_wins:
  .[0] as $winner
  | $winner,
    ( .[1:][]
      | refusal(.ingress; "PathTaken";
          "\(.pathType) path \(.path) of host \(if .host == "" then "*" else .host end) is already taken by Ingress \($winner.ingress)") );

# input: [target of one host, the oldest Ingress first] / output: its locations in match order, and refusals
#
# Of a path and a longer one, the longer decides; of the same, Exact does.
# What no path matches goes to the default backend of the oldest Ingress that
# has rules for the host and gives one, never to another host's rules.
def locations:
  map(select(.pathType != "Default")) as $paths
  | map(select(.pathType == "Default")) as $defaults
  | ($defaults | map(select(.upstream or .status))) as $given
  | ( $paths | group_by([-(.path | length), .path, .pathType])[] | first_wins ),
    ( if any($paths[]; .path == "/" and .pathType == "Prefix") then empty
      elif ($given | length) > 0 then $given | first_wins
      else $defaults[0] | .ingress = null
      end );

# --- 4. model

# input: [winner] / output: [{name, service, port, endpoints}], one for each Service port in use
def upstreams($slices):
  map(select(.upstream)) | unique_by(.upstream)
  | map(.port as $port
      | {name: .upstream, service, port: $port.port, endpoints: ($slices[.service] // [] | endpoints($port))});

# input: a winner / output: the location that the model shows
def location($ready):
  if .upstream == null or $ready[.upstream] then .
  else . + answer(503; "NoReadyEndpoints"; "Service \(.service) has no ready endpoint for port \(.port.port)") | del(.upstream)
  end
  | del(.host, .service, .port);

# input: [Ingress], [upstream] / output: {"Kind namespace/name": resourceVersion, ...} of all that counts
def objects($ingresses; $upstreams; $services; $slices):
  def entry($kind): {"\($kind) \(key)": (.metadata.resourceVersion // "")};
  [ ($ingresses[] | entry("Ingress")),
    ($upstreams[].service | ($services[.] | entry("Service")), ($slices[.][]? | entry("EndpointSlice")))
  ] | add // {};

our_ingresses($class; $controller) as $ingresses
| services_by_key as $services
| slices_by_service as $slices
| [ $ingresses[] | claims ]
| map(select(.reason)) as $refused
| map(select(.reason | not) | with_target($services))
| [ {ingress: null, host: "", path: "/", pathType: "Default"}, .[] ] # any host: a server even if no rule asks for it
| [ group_by(.host)[] | {host: .[0].host, results: [locations]} ]
| [ .[].results[] | select(.host == null) ] as $lost
| map({host, winners: (.results | map(select(.host)))})
| ([ .[].winners[] ] | upstreams($slices)) as $upstreams
| ($upstreams | map(select(.endpoints != []) | {(.name): true}) | add // {}) as $ready
| map({host, locations: (.winners | map(location($ready)))})
| {
    servers: .,
    upstreams: ($upstreams | map(select(.endpoints != []))),
    problems: ([ $refused[], $lost[], (.[].locations[] | select(.reason)) | {ingress, reason, message} ] | unique),
    objects: objects($ingresses; $upstreams; $services; $slices)
  }
