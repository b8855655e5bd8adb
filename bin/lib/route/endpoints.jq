# Which endpoints of a Service are served: not more than a namespace may have (limits.jq); and who is told of those that
# are not served.
include "route/limits"; # total
include "route/shut";
include "route/ownership"; # namespace
include "allow";

# input: the state / output: problems of Ingresses that ask for a Service whose EndpointSlices are not served, or not
#         all of them
#
# A Service may have many of these, and an Ingress many paths: so each pair is looked at once, and has two problems at
# most.
def slice_problems:
  .slices as $slices
  | if any($slices[][]; .fqdn or .refused) | not then empty
    else
      ([.winners[] | select(.upstream) | {of} + (., .also[]? | {service})] | unique)[]
      | . as {of: $ingress, $service}
      | ($slices[$service] // []) as $its
      | (select(any($its[]; .fqdn))
         | {reason: "FQDNNotServed", message: "Service \($service) has an EndpointSlice of addressType FQDN, which is not served: it could point anywhere"}),
        ([$its[].refused // empty] | select(. != [])
         | {reason: "EndpointRefused", message: "\(.[0])\(if .[1:] == [] then "" else "; and so in \(.[1:] | length) more of Service \($service)" end)"})
      | {of: $ingress} + .
    end;

# input:  [[what asks for an upstream, each for another one] of each Service]
# output: {"namespace/name of a Service": how many endpoints each of its upstreams may have}, for the Services of
#         namespaces that have too many
#
# A Service has an upstream for each of its ports, and for what annotations ask of its pods: so a few objects could come
# to millions of lines. An endpoint that is found by a hash costs nginx as much as five others, in memory and time.
def endpoint_limits($slices; $most):
  def lines($endpoints):
    if .balance.hash or .balance.sticky then 5
    elif .balance.tries > $endpoints and $endpoints > 0 then .balance.tries / $endpoints | ceil
    else 1
    end;
  map(.[0].service as $service
      | total($slices[$service][]? | (.ready // [] | length) + (.ending // [] | length)) as $endpoints
      | {$service, lines: total(.[] | lines($endpoints)), $endpoints})
  | group_by(.service | namespace)
  | map(select(total(.[] | .endpoints * .lines) > $most)
      | ($most / length) as $share
      | .[] | {(.service): ([$share / .lines | floor, 1] | max)})
  | add // {};

# input: [summary of an EndpointSlice] of one Service / output: {"name of a port": [those that have it], ...}
#
# [{ports: {a: 1, b: 2}}, {ports: {a: 1}}] => {a: [both], b: [the first]}: `keys[]` gives several names, and `+=` adds
# the slice under each.
def by_port: reduce .[] as $slice ({}; .[$slice.ports // {} | keys[]] += [$slice]);

# input:  [summary of an EndpointSlice] with a port of that name
# output: [{address, port}], at most one more than $most
def first_endpoints($name; $most):
  def first(addresses): [limit($most + 1; .[] | .ports[$name] as $port | {address: addresses[], $port})];
  first(.ready) as $ready
  | if $ready != [] then $ready else first(.ending) end
  | unique_by("\(.address):\(.port)");

# How often EndpointSlices of a Service may be looked at for its upstreams: beyond that, they are sorted by port first.
def most_looks: 1000;

# output: the state. Where a Service has too many endpoints, or too many ports and EndpointSlices, .slices has for each
#         of its upstreams those that count. .cut is {"name of an upstream": how many endpoints it has}, if these are
#         not all; .winners has what annotations ask for besides, too
def with_endpoints_limited:
  .problems += [slice_problems]
  | .winners as $winners
  | .winners += [.winners[].also[]?]
  | (.winners | map(select(.upstream)) | unique_by(.upstream) | group_by(.service)) as $by_service
  | .slices as $slices
  | .limits.namespace_endpoints as $most_of_all
  | ($by_service | endpoint_limits($slices; $most_of_all)) as $limited
  | [ $by_service[]
      | ($slices[.[0].service] // []) as $its
      | $limited[.[0].service] as $limit
      | select($limit or length * ($its | length) > most_looks)
      | ($its | by_port) as $own
      | .[]
      | .port_name as $name
      | ($limit // $most_of_all) as $most
      | ($own[$name] // [] | first_endpoints($name; $most)) as $found
      | {upstream, cut: (if ($found | length) > $most then $most else null end),
         few: [$found[:$most][] | {ports: {($name): .port}, ready: [.address], ending: []}]} ] as $chosen
  | .slices += ($chosen | map({(.upstream): .few}) | add // {})
  | .cut = ($chosen | map(select(.cut) | {(.upstream): .cut}) | add // {})
  | .cut as $cut
  | .problems += [$winners[] | select(.upstream and $cut[.upstream])
      | {of, reason: "TooManyEndpoints", message: "Service \(.service) has too many endpoints: for port \(.port), only the first \($cut[.upstream]) are served"}];

# input: a winner / output: the same without what only route needs
def public:
  if .status then del(.protocol, .options) else . end
  | if .share or .protections or .balance or .also or .alias or .others or .only_challenges then
      delpaths([["share"], ["protections"], ["balance"], ["also"], ["alias"], ["others"], ["only_challenges"]])
    else .
    end;

# output: the state; its upstreams say how they balance, and its servers which other hosts they are for
def balanced:
  .cut as $cut
  | (.winners | map(select(.balance)) | unique_by(.upstream) | map({(.upstream): {balance}}) | add // {}) as $balance
  | .upstreams |= map($balance[.name] + . + if $cut[.name] then {cut: $cut[.name]} else {} end)
  | if any(.winners[]; .others) then
      .servers = ([.hosts, .servers] | transpose
        | map(.[0][0].others as $others | .[1] + if $others then {$others} else {} end) | sort_by(.others | not))
    else .
    end;
