# Snapshot in, routing model out: every decision about who serves which request.
#
# input:  the snapshot, a line for each object (jq -n): the digests of the Ingresses, Services and EndpointSlices
#         (ingresses.jq, services.jq and endpointslices.jq say what is in them), {terminating: "namespace"}, the
#         {certificate: "namespace/name", ...} of list-secrets.jq, {problem}; and last {whole: true}
# $ENV:   HTTP_PORT, HTTPS_PORT, ADMIN_PORT (reachable.jq), HOST_OWNERSHIP (ownership.jq) and SHARED_NAMESPACES
# args:   $quarantine: [{"namespace/name of an Ingress": {digest, message, without_hosts}, ...}], which nginx rejects
#         $default_secret: "namespace/name" of the Secret for hosts without a certificate, or ""
#         $limits: LIMITS (limits.jq)
# output: {
#   ingresses: ["namespace/name" of each that is ours],
#   servers: [{host, locations: [{path, pathType, ingress, service, port, upstream}               served by pods
#                              | {path, pathType, ingress, status, reason, message}  nginx answers, with an error
#                              | {path: "/", pathType: "Default", ingress: null}     nobody: a 404
#                             ]}],
#             with redirect: true if its HTTP clients are sent to HTTPS,
#             with protocol: HTTPS, AUTO_HTTP (that of the client), GRPC or GRPCS if its pods do not speak HTTP,
#             with options if its Ingress has annotations: the number, from 1, of its set of them in `options` below
#             with others: [host], of which nothing is served, so that they share this server (shut.jq)
#   upstreams: [{name, service, port, endpoints: ["address:port"]}],
#             with cut: how many of its endpoints are served, if it has more
#   options: [{annotation: value}, ...], features: [those that give them]   (features.jq)
#   certificates: [{host, files: [a key pair for each algorithm]}],
#   defaultCertificate: a file, or null for the one that is made at start,
#   problems: [{ingress, reason, message}]
# }
# host "" is any host that no other server has. pathType is Exact, Prefix, RegularExpression, or
# Default: what no path of the host matches; with nobody to serve it, it is a 404.
#
# What an Ingress asks for goes through four stages. The program is at the end of this file; in short, it is
# [Ingresses | by_age[] | claims | answered($services)] | group_by(.host)[] | winners | location($ready)
#
#   claim     {ingress, host, path, pathType, service, port, ...}              an Ingress asks for this
#   answered  {..., upstream} or {..., status, reason, message}    this Service answers, or nginx with an error; from
#             here on, port is a number, and port_name what the Service calls it
#   winner    an answered claim that counts for its host (ownership.jq), and has host, path and type to itself
#   location  what the model shows of a winner; if its Service has no pod that serves, nginx answers 503
#
# and at each stage it may become a problem: {ingress, reason, message}. Certificates are handled separately (tls.jq).
#
# At a first reading, skip the fields `alias`, `also`, `balance`, `cut`, `others`, `protections` and `share`, and what
# the program at the end marks (2).
#
# (The order of the includes is for jq 1.8.2: see "jq in short" in bin/README.md.)
include "route/tls"; # problem, known_secrets, certificates, default_certificate, redirected_with_tls
include "route/counting"; # counted
include "route/limits"; # endpoint_limits, not_too_many_problems
include "route/shut"; # served
include "route/ownership"; # with_owners
include "limits"; # limits
include "annotations/features"; # feature_claims
include "annotations/feature-files";
include "route/reachable"; # reachable, slice_problems
include "allow"; # is_name, is_port, quoted

# --- 1. claim

# input: [digest of an Ingress] / output: the same, the oldest first
#
# A namespace that is being deleted keeps its Ingresses until its pods have ended (since Kubernetes 1.33), which may
# be half a minute. They give way to all others, whatever their age: false sorts before true.
def by_age($terminating):
  sort_by((.ingress | split("/")) as $key | [$terminating[$key[0]] // false, .created, $key[0], $key[1]]);

# input: digest of an Ingress / output: its claims. Many Ingresses have the same set of annotations: so the model has
# each set once, and a claim has its number. $set_numbers: {"a set, as JSON text": its number}
def claims($set_numbers):
  ({ingress, created} + .options | if .set then .options = $set_numbers[.set | tojson] | del(.set) else . end) as $common
  | .claims[] | $common + .;

# --- 2. answered

# input: a claim / output: the same, answered by nginx with an error
def answered_by_nginx($status; $reason; $message): . + {$status, $reason, $message};

# input: a claim / output: the same with .upstream, which answers, or an error of nginx. A Default without a backend
#         gets neither, and becomes a 404.
#
# The name of an upstream starts with what is most often different, the Service: nginx
# compares names letter by letter, and would take half as long again to load 5,000 of them otherwise.
def answered($services):
  def shown($port): if $port | is_name then $port else $port | quoted end; # quoted makes 80 the text 80
  if .service == null then . # ingresses.jq has given it an error already; or it is a Default without a backend
  else
    .service as $key
    | .port as $port
    | $services[$key] as $service
    | (if $port | type == "number" then $service.ports.numbers["\($port)"] else $service.ports.names[$port] end) as $found
    | if $service == null then
        answered_by_nginx(503; "ServiceNotFound"; "Service \($key) does not exist")
      elif $service.external then
        answered_by_nginx(503; "ExternalNameNotServed"; "Service \($key) is an ExternalName, which is not served: it could point anywhere")
      elif $found == null or ($found.port | is_port | not) then
        answered_by_nginx(503; "ServicePortNotFound"; "Service \($key) has no port \(shown($port))")
      elif $found.protocol then
        answered_by_nginx(503; "ServicePortNotTCP"; "port \(shown($port)) of Service \($key) is not TCP")
      else
        .port = $found.port
        | .port_name = $found.name # for `upstreams`
        | ($key | split("/")) as [$namespace, $name]
        | .upstream = "\($name).\($namespace).\(.port)\(if .protocol then "." + (.protocol | ascii_downcase) else "" end)"
      end
  end;

# --- 3. winner

# input:  [answered claim of one host, path and type, the oldest Ingress first]
# output: the first, and a problem for each other
def first_wins:
  .[0] as $winner
  | $winner,
    ( .[1:][]
      | problem(.ingress; "PathTaken";
          "\(if .pathType == "Default" then "the default" else "\(.pathType) path \(.path)" end) of host "
          + "\(if .host == "" then "*" else .host end) is already taken by "
          + if $winner.ingress == .ingress then "an earlier path of this Ingress" else "Ingress \($winner.ingress)" end
          + if .protections then ", so what protects this one is not in force there: \(.protections | map(quoted) | join(", "))" else "" end) );

# input: [answered claim of one host, the oldest Ingress first] / output: its winners in match order, and problems
#
# If several paths match, the longest decides; of two equal ones, Exact does. (nginx looks for these itself, but it
# tries regular expressions in this order.)
# A request that no path of its host matches goes to the default backend of the oldest Ingress that names this host and
# has one; never to another host's rules. (If there is a Prefix /, it matches all.)
# (group_by sorts by this list: longer paths come first, and "Exact" before "Prefix". Within a group the order stays, so
# the oldest is first.)
def winners:
  map(select(.pathType != "Default")) as $paths
  | map(select(.pathType == "Default")) as $defaults
  | ($defaults | map(select(.upstream or .status))) as $with_backend
  | ( $paths | group_by([-(.path | length), .path, .pathType])[] | first_wins ),
    ( if any($paths[]; .path == "/" and .pathType == "Prefix") then empty
      elif $with_backend != [] then $with_backend | first_wins
      else $defaults[0] | {ingress: null, host, path, pathType}
      end );

# --- 4. location, and what else the model has

# input: [digest of an EndpointSlice] of one Service / output: {"name of a port": [those that have it], ...}
#
# [{ports: {a: 1, b: 2}}, {ports: {a: 1}}] => {a: [both], b: [the first]}: `keys[]` gives several names, and `+=` adds
# the slice under each.
def by_port: reduce .[] as $slice ({}; .[$slice.ports // {} | keys[]] += [$slice]);

# input:  [digest of an EndpointSlice] of one Service
# output: ["address:port", ...] of the port of that name, at most one more than $most, from which `upstreams` sees that
#         it has to cut
#
# The slice's port of the same name has the pods' port: a Service's targetPort may be a name that means another number
# in each pod, and so in each slice.
def endpoints($name; $most):
  def with_port(addresses): [limit($most + 1; .[] | .ports[$name] as $port | select($port) | "\(addresses[]):\($port)")];
  with_port(.ready) as $ready
  | if $ready != [] then $ready else with_port(.ending) end
  | unique;

# input: [winner] / output: for each Service a list: one winner for each of its upstreams
def by_service: map(select(.upstream), .also[]?) | unique_by(.upstream) | group_by(.service);

# input: what by_service says / output: [{name, service, port, endpoints}], one for each port of a Service and protocol
#
# $lower_limits is {"namespace/name of a Service": how many endpoints each of its ports may have}, for Services that may
# have fewer than $limit.
def upstreams($slices; $lower_limits; $limit):
  def cut($most): if (.endpoints | length) > $most then {cut: $most} + . | .endpoints |= .[:$most] else . end;
  [ .[]
    | ($lower_limits[.[0].service] // $limit) as $most
    | ($slices[.[0].service] // [] | by_port) as $own
    | .[]
    | .port_name as $name
    | {name: .upstream, service, port, endpoints: ($own[$name] // [] | endpoints($name; $most))}
      + if .balance then {balance} else {} end
    | cut($most) ]
  | sort_by(.name);

# input: [winner] / output: a problem for each whose upstream does not have all endpoints
def cut_problems($upstreams):
  ($upstreams | map(select(.cut) | {(.name): .cut}) | add // {}) as $cut
  | .[] | select(.upstream and $cut[.upstream])
  | problem(.ingress; "TooManyEndpoints"; "Service \(.service) has too many endpoints: for port \(.port), only the first \($cut[.upstream]) are served");

# input: a winner / output: the location that the model shows; $ready is {"upstream name": true, ...}
def location($ready):
  if .upstream == null or $ready[.upstream] then .
  else . + {status: 503, reason: "NoReadyEndpoints", message: "Service \(.service) has no ready endpoint for port \(.port)"}
  end
  | if .status then del(.upstream, .protocol, .options) else . end
  | delpaths([["host"], ["port_name"], ["alias"], ["others"], ["created"], ["share"], ["protections"], ["balance"], ["also"]]); # twice as fast as del

# input: [winner] / output: [a server for each host]; those with `others` come first (server-blocks.jq)
def servers($ready):
  group_by(.host)
  | map((.[0] | {host} + if .others then {others} else {} end) + {locations: map(location($ready))})
  | sort_by(.others | not);

# --- the program. What is marked (2) is for level 2: without limits, annotations and quarantined Ingresses, it hands on
# what it gets.

# input: the snapshot's lines / output: {"namespace/name": the digest of that Service}
def services: map(select(.service and (.slice | not)) | {(.service): .}) | add // {};

# input: [digest of an EndpointSlice] / output: {"namespace/name of a Service": [those of it]}
def slices: sort_by(.slice) | group_by(.service) | map({(.[0].service): .}) | add // {};

# what the snapshot says
[inputs]
| if .[-1].whole then . else error("the snapshot is not whole") end
| . as $lines
| services as $services
| ([map(select(.slice)) | reachable] | slices) as $slices # (2: reachable)
| known_secrets as $secrets
| (map(select(.terminating) | {(.terminating): true}) | add // {}) as $terminating
| (map(select(.ingress)) | by_age($terminating)) as $ours

# which Ingresses count, and what their annotations are (2)
| ($limits | limits) as $limits
| ($ours | counted($quarantine[0]; $limits)) as {$within_limits, $quarantined, $ingresses, $shut, problems: $not_counted}
| ([$ingresses[].uses[]?] | unique) as $features
| ([$within_limits[].options.set | values] | unique) as $options # those of quarantined ones tell what stays shut
| ($options | to_entries | map({(.value | tojson): (.key + 1)}) | add // {}) as $set_numbers
| {$features, $options, $secrets, $services, $slices, $ours, $shut, $quarantined,
   shared: ($ENV.SHARED_NAMESPACES | split(","))} as $context

# 1. claim, 2. answered
| [ {ingress: null, host: "", path: "/", pathType: "Default"}, # any host has a server, even if no rule asks for it
    ($within_limits[] | claims($set_numbers) | answered($services)) ]
| redirected_with_tls($ours; $limits) # (2)
| (feature_claims($context; answered($services)) | map(.shut // .)) + $shut # (2)
| . as $answered

# 3. winner. (A host may belong to a quarantined Ingress: these stay in until with_owners has decided.)
| map(select(.problem | not))
| with_owners($ours) # [{host, owner, claims, problems}]
| . as $hosts
| served($quarantined; $limits) # takes the claims of each host, and (2)
| map(winners) as $decided
| [$decided[] | select(.problem | not)] as $winners

# 4. location
| ($winners | by_service | upstreams($slices; endpoint_limits($slices; $limits); $limits.namespace_endpoints)
    | map(select(.endpoints != []))) as $upstreams
| ($upstreams | map({(.name): true}) | add // {}) as $ready
| ($winners | servers($ready)) as $servers

# the certificates
| [default_certificate($default_secret; $secrets)] as $default_certificate
| ($default_certificate[0] | strings // null) as $default_file
| [$ingresses | certificates($secrets; $hosts; $default_file; $limits)] as $certificates

# the model
| {
    ingresses: [$ours[].ingress] | sort,
    $servers, $upstreams,
    options: ($options | if $quarantined == {} then . else only_of($ingresses) end), # nothing of what nginx rejects
    $features,
    certificates: [$certificates[] | select(.files)],
    defaultCertificate: $default_file,
    problems:
      ([ ( $lines[], $answered[], $hosts[].problems[]?, $decided[],
           ($winners | slice_problems($slices), cut_problems($upstreams)),
           $certificates[], ($default_certificate[] | objects)
           | .problem // empty ),
         ($ingresses[] | {ingress} + .problems[]),
         $not_counted[],
         ($servers[].locations[] | select(.reason)) ]
       | map({ingress, namespace, reason, message}) | unique_by([.ingress, .message, .namespace, .reason])
       | not_too_many_problems($limits) | map(del(.namespace)))
  }
