# Snapshot in, routing model out: every decision about who serves which request.
#
# input:  the snapshot, a line for each object (jq -n): first {settings: {NAME: value}}; then the summaries of the
#         Services, EndpointSlices and Ingresses (services.jq, endpointslices.jq and ingresses.jq of lib/fetch say what
#         is in them), {terminating: "namespace"}, {certificate: "namespace/name", ...} and {problem}; last {whole: true}
# args:   $quarantine: [{"namespace/name of an Ingress": {digest, message, without_hosts}, ...}], which nginx rejects
# output: {
#   servers: [{host, locations: [{path, pathType, ingress, service, port, upstream}               served by pods
#                              | {path, pathType, ingress, status, reason, message}  nginx answers, with an error
#                              | {path: "/", pathType: "Default", ingress: null}     nobody: a 404
#                             ]}],
#   upstreams: [{name, service, port, endpoints: ["address:port"]}],
#   problems: [{ingress, reason, message}],
#   ingresses: ["namespace/name" of each that is ours]
# }, and what level 2 adds (model.md)
#
# host "" is any host that no other server has. pathType is Exact, Prefix, or Default: what no path of the host matches.
#
# The program, at the end of this file, hands one state through stages: state => state. What an Ingress asks for is
#
#   a claim    {ingress, host, path, pathType, service, port}      an Ingress asks for this
#   answered   {..., upstream} or {..., status, reason, message}   this Service answers, or nginx with an error
#   a winner   an answered claim that has its host, path and type to itself
#   a location what the model shows of a winner; if its Service has no pod that serves, nginx answers 503
#
# and at each stage it may become a problem, {ingress, reason, message}, in the state's .problems.
include "route/counting"; # counted
include "route/annotated"; # as_annotations_say
include "route/tls"; # with_certificates
include "route/endpoints"; # with_endpoints_limited, balanced, public
include "route/limits"; # told
include "route/shut"; # by_owner
include "route/ownership";
include "annotations/features";
include "annotations/feature-files";
include "route/reachable";
include "allow"; # is_name, is_port, quoted

# input: [object] / output: {"what f says of it": object, ...}
def by(f): map({(f): .}) | add // {};

# input: the snapshot's lines / output: the state
def state:
  if .[0].settings and .[-1].whole then . else error("the snapshot is not whole") end
  | { lines: .,
      settings: .[0].settings,
      services: (map(select(.service and (.slice | not))) | by(.service)),
      slices: (map(select(.slice)) | sort_by(.slice) | group_by(.service) | by(.[0].service)),
      ingresses: (map(select(.ingress)) | sort_by([.created, (.ingress | split("/"))])),
      problems: [.[].problem | values],
      additions: {ingresses: (map(.ingress | values) | sort)} };

# --- 1. claim

# output: .claims, those of the oldest Ingress first. Any host has a server, even if no rule asks for it.
def claimed:
  .claims = [{ingress: null, host: "", path: "/", pathType: "Default"}, (.ingresses[] | {ingress, created} + .options + .claims[])]
  | .problems += [.ingresses[] | {ingress} + .problems[]];

# --- 2. answered

# input: a claim / output: the same, answered by nginx with an error
def error_answer($status; $reason; $message): . + {$status, $reason, $message};

# input: a claim / output: the same with .upstream, which answers, or an error of nginx. A Default without a backend
#         gets neither, and becomes a 404.
#
# The name of an upstream starts with what is most often different, the Service: nginx compares names letter by letter,
# and would take half as long again to load 5,000 of them otherwise.
def answer($services):
  if .service == null then . # ingresses.jq has given it an error already; or it is a Default without a backend
  else
    .port as $port
    | "Service \(.service)" as $service
    | (if $port | is_name then $port else $port | quoted end) as $shown
    | $services[.service] as $found
    | ($found.ports | if $port | type == "number" then .numbers["\($port)"] else .names[$port] end) as $found_port
    | if $found == null then error_answer(503; "ServiceNotFound"; "\($service) does not exist")
      elif $found.external then
        error_answer(503; "ExternalNameNotServed"; "\($service) is an ExternalName, which is not served: it could point anywhere")
      elif $found_port.port | is_port | not then error_answer(503; "ServicePortNotFound"; "\($service) has no port \($shown)")
      elif $found_port.protocol then error_answer(503; "ServicePortNotTCP"; "port \($shown) of \($service) is not TCP")
      else
        . + ($found_port | {port, port_name: .name})
        | .upstream = "\(.service | split("/") | "\(.[1]).\(.[0])").\(.port)"
      end
  end;

# --- 3. winner

# input: [answered claim of one host, path and type, the oldest first] / output: the first, and a problem for each other
def first_wins:
  .[0] as $winner
  | $winner,
    ( .[1:][]
      | (if .pathType == "Default" then "the default" else "\(.pathType) path \(.path)" end) as $what
      | (if $winner.ingress == .ingress then "an earlier path of this Ingress" else "Ingress \($winner.ingress)" end) as $whose
      | "\($what) of host \(if .host == "" then "*" else .host end) is already taken by \($whose)" as $message
      | {problem: {ingress, reason: "PathTaken", $message, claim: .}} );

# input: [answered claim of one host, the oldest Ingress first] / output: its winners in match order, and problems
#
# If several paths match, the longest decides; of two equal ones, Exact does. (group_by sorts by its key, and within a
# group the order stays, so the oldest is first.) What no path of its host matches goes to the default backend of the
# oldest Ingress that names this host and has one; never to another host's rules. Prefix / matches all.
def winners:
  map(select(.pathType == "Default")) as $defaults
  | ($defaults | map(select(.upstream or .status))) as $with_backend
  | map(select(.pathType != "Default"))
  | ( group_by([-(.path | length), .path, .pathType])[] | first_wins ),
    ( if any(.[]; .path == "/" and .pathType == "Prefix") then empty
      elif $with_backend != [] then $with_backend | first_wins
      else $defaults[0] | {ingress: null, host, path, pathType}
      end );

# output: .hosts: [[winner] of each host], and .winners, all of them
def won:
  [.claims | group_by(.host)[] | [winners]] as $decided
  | .hosts = ($decided | map(map(select(.problem | not))))
  | .winners = [.hosts[][]]
  | .problems += [$decided[][].problem | values];

# --- 4. location

# input:  [summary of an EndpointSlice] of one Service
# output: "address:port" of each pod that is ready, at the port of that name; if none is, of those that are ending
#
# The slice's port of the same name has the pods' port: a Service's targetPort may be a name that means another number
# in each pod, and so in each slice.
def endpoints($name):
  def with_port(addresses): [.[] | .ports[$name] as $port | select($port) | "\(addresses[]):\($port)"];
  with_port(.ready) as $ready
  | if $ready != [] then $ready else with_port(.ending) end
  | unique;

# input: [winner] / output: [upstream] of those that have a pod
def upstreams($slices):
  map(select(.upstream)) | unique_by(.upstream)
  | map(.port_name as $name
      | {name: .upstream, service, port, endpoints: ($slices[.service] // [] | endpoints($name))}
      | select(.endpoints != []));

# input: a winner / output: the location that the model shows; $upstreams is {"its name": upstream}
def location($upstreams):
  if .upstream and ($upstreams[.upstream] | not) then
    error_answer(503; "NoReadyEndpoints"; "Service \(.service) has no ready endpoint for port \(.port)")
  else .
  end
  | if .status then del(.upstream) else . end
  | delpaths([["host"], ["port_name"], ["created"]])
  | public;

# output: .upstreams, and .servers: one for each host
def located:
  .slices as $slices
  | .upstreams = (.winners | upstreams($slices))
  | (.upstreams | by(.name)) as $upstreams
  | .servers = (.hosts | map({host: .[0].host, locations: map(location($upstreams))}))
  | .problems += [.servers[].locations[] | select(.reason)];

# --- the program

[inputs]
| state
| counted($quarantine[0])
| .services as $services
| claimed
| .claims |= map(answer($services))
| as_annotations_say(answer($services))
| by_owner
| won
| with_endpoints_limited
| located
| balanced
| with_certificates
| .problems |= unique_by([.ingress, .message, .namespace, .reason])
| told
| .additions + {servers, upstreams, problems: (.problems | map({ingress, reason, message}))}
