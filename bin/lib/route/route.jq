# Snapshot in, routing model out: every decision about who serves which request.
#
# input:  the snapshot, a line for each object (jq -n): first {settings: {NAME: value}}; then the summaries of the
#         Services, EndpointSlices and Ingresses (services.jq, endpointslices.jq and ingresses.jq of lib/fetch say what
#         is in them), {terminating: "namespace"}, {certificate: "namespace/name", ...}, {problem}; last {whole: true}
# args:   $quarantine: [{"Ingress namespace/name": {summary, message, without_hosts}, ...}], which nginx rejects
# output: {
#   servers: [{host, locations: [{path, pathType, of, service, port, upstream}    served by pods
#                              | {path, pathType, of, status, reason, message}    nginx answers, with an error
#                              | {path: "/", pathType: "Default", of: null}       nobody: a 404
#                             ]}],
#   upstreams: [{name, service, port, endpoints: ["address:port"]}],
#   problems: [{of, reason, message}],   (of: null, if it is about an object that is no Ingress)
# }, and .additions (stages.jq): claimants: ["Ingress namespace/name" of each that is ours], annotations, certificates,
# streams
#
# host "" is any host that no other server has. pathType is Exact, Prefix, or Default: what no path of the host matches.
#
# The program, at the end of this file, hands one state through stages: state => state. What an Ingress asks for is
#
#   a claim    {of, host, path, pathType, service, port}           an Ingress asks for this; of: "Ingress demo/fruit"
#   answered   {..., upstream} or {..., status, reason, message}   this Service answers, or nginx with an error
#   a winner   an answered claim that has its host, path and type to itself
#   a location what the model shows of a winner; if its Service has no pod that serves, nginx answers 503
#
# and at each stage it may become a problem, {of, reason, message}, in the state's .problems. The other stages are for
# more than the mechanism. counted leaves out Ingresses beyond a limit; as_annotations_say changes claims; by_owner
# takes those away whose host belongs to another namespace; with_protection_lost, unserved_told and told complete what
# is said.
include "route/stages"; # counted, as_annotations_say, by_owner, with_protection_lost, with_certificates, told and such
include "route/endpoints"; # with_endpoints_limited, balanced, public
include "route/pods"; # without_pods
include "route/rooms";
include "allow"; # is_port, shown

# input: [object] / output: {"what f says of it": object, ...}
def by(f): map({(f): .}) | add // {};

# input: the snapshot's lines / output: the state
def state:
  if .[0].settings and .[-1].whole then . else error("the snapshot is not whole") end
  | { lines: .,
      services: (map(select(.service and (.slice | not))) | by(.service)),
      slices: (map(select(.slice)) | sort_by(.slice) | group_by(.service) | by(.[0].service)),
      ingresses: (map(select(.of)) | sort_by([.created, (.of | split("/"))])),
      problems: map(.problem | values) };

# --- 1. claim

# output: .claims, those of the oldest Ingress first. Host "", which is any other host, always has a server. (.options
#         is what annotations say of all claims of an Ingress.)
def claimed:
  {of: null, host: "", path: "/", pathType: "Default"} as $nobody
  | .claims = [$nobody, (.ingresses[] | {of, created} + .options + .claims[])]
  | .problems += [.ingresses[] | {of} + .problems[]];

# --- 2. answered

# input: a claim / output: the same, answered by nginx: 503 Service Unavailable
def error503($reason; $message): . + {status: 503, $reason, $message};

# input: a claim of a Service / output: the same with .upstream, which answers, or an error of nginx
#
# The name of an upstream starts with what is most often different, the Service: nginx compares names letter by letter,
# and would take half as long again to load 5,000 of them otherwise.
def answer($services):
  .port as $port | $services[.service] as $found | "Service \(.service)" as $service
  | ($found.ports | if $port | type == "number" then .numbers["\($port)"] else .names[$port] end) as $its
  | if $found == null then error503("ServiceNotFound"; "\($service) does not exist")
    elif $found.external then
      error503("ExternalNameNotServed"; "\($service) is an ExternalName: \($found.external)")
    elif $its.port | is_port | not then error503("ServicePortNotFound"; "\($service) has no port \($port | shown)")
    elif $its.protocol then error503("ServicePortNotTCP"; "port \($port | shown) of \($service) is not TCP")
    else . + {port: $its.port, port_name: $its.name}
      | .upstream = "\(.service | split("/") | reverse | join(".")).\(.port)"
    end;

# output: the state with .claims answered. Those without a Service have an error already (ingresses.jq), or are a
#         Default without a backend, which becomes a 404.
def answered: .services as $services | .claims |= map(if .service then answer($services) else . end);

# --- 3. winner

# input: [answered claim of one host, path and type, the oldest first] / output: the first, and a problem for each other
def first_wins:
  .[0] as $winner
  | $winner, ( .[1:][] as $claim
      | (if $claim.pathType == "Default" then "the default" else "\($claim.pathType) path \($claim.path)" end) as $what
      | (if $winner.of == $claim.of then "an earlier path of this Ingress" else "\($winner.of)" end) as $whose
      | "\($what) of host \(if $claim.host == "" then "*" else $claim.host end) is already taken by \($whose)"
      | {problem: {of: $claim.of, reason: "PathTaken", message: with_protection_lost($claim)}} );

# input: [answered claim of one host, the oldest Ingress first] / output: its winners in match order, and problems
#
# If several paths match, the longest decides; of two equal ones, Exact does. (group_by sorts by its key, and within a
# group the order stays, so the oldest is first.) What no path of its host matches goes to the default backend of the
# oldest Ingress that names this host and has one; never to another host's rules. Prefix / matches all.
def winners:
  .[0].host as $host | any(.path == "/" and .pathType == "Prefix") as $has_all
  | (map(select(.pathType != "Default")) | group_by([-(.path | length), .path, .pathType])[] | first_wins),
    ( map(select(.pathType == "Default" and (.upstream or .status))) | select($has_all | not)
      | if . == [] then {of: null, host: $host, path: "/", pathType: "Default"} else first_wins end );

# output: the state with .hosts: [[winner] of each host], and .winners: all of them
def won:
  [.claims | group_by(.host)[] | [winners]] as $decided
  | .hosts = ($decided | map(map(select(.problem | not)))) | .winners = [.hosts[][]]
  | .problems += [$decided[][].problem | values];

# --- 4. location

# input:  [summary of an EndpointSlice] of one Service
# output: ["address:port"] of each pod that is ready, at the port of that name; if none is, of those that are ending
#
# The slice's port of the same name has the pods' port: a Service's targetPort may be a name that means another number
# in each pod, and so in each slice.
def endpoints($name):
  def with_port(addresses): [.[] | .ports[$name] as $port | select($port) | "\(addresses[]):\($port)"] | unique;
  with_port(.ready) as $ready | if $ready != [] then $ready else with_port(.ending) end;

# input: [winner] / output: [upstream] of those that have a pod. (For some upstreams, EndpointSlices have been chosen:
#         endpoints.jq.)
def upstreams($slices):
  [ map(select(.upstream)) | unique_by(.upstream)[] | .port_name as $name
    | {name: .upstream, service, port, endpoints: ($slices[.upstream] // $slices[.service] // [] | endpoints($name))}
    | select(.endpoints != []) ];

# input: a winner / output: the location that the model shows; $without_pods: {"name of an upstream": why it has no pod}
def location($without_pods):
  if $without_pods[.upstream // ""] then error503("NoReadyEndpoints"; $without_pods[.upstream]) else . end
  | (if .status then del(.upstream) else . end) | delpaths([["host"], ["port_name"], ["created"]]) | public;

# output: the state with .upstreams, and .servers: one for each host
def located:
  .slices as $slices | .upstreams = (.winners | upstreams($slices))
  | without_pods as $without_pods
  | .servers = (.hosts | map({host: .[0].host, locations: map(location($without_pods))}))
  | .problems += [.servers[].locations[] | select(.reason)];

# --- the program

[inputs] | state | counted($quarantine[0])
| claimed | answered | .services as $services | as_annotations_say(answer($services))
| by_owner | won
| with_endpoints_limited | located | balanced | with_certificates | unserved_told
| .problems |= unique_by([.of, .message, .namespace, .reason]) | told
| .additions + {servers, upstreams, problems: (.problems | map({of, reason, message}))}
