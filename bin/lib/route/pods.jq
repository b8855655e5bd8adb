# Which EndpointSlices of a Service count, and what is said where none of its pods can be asked.
include "allow"; # shown

# --- one address family
#
# A pod with an IPv4 and an IPv6 address is in two EndpointSlices. It is one pod, which may listen at one address only:
# so, as kube-proxy keeps to one family, the EndpointSlices of the Service's first one count (spec.ipFamilies). For a
# port for which these have no ready pod, those of the other count as well; pods of the other that are ending, only if
# the first has none of these either. A Service without the field prefers none.

# input:  [summary of an EndpointSlice] of one Service; $first is its first family
# output: those that count, with the ports for which they do. (So what was refused of others is no problem.)
def of_family($first):
  def names_with(addresses): [.[] | select(.family == $first and addresses != []) | .ports | keys_unsorted[]];
  def for_ports($names): .ports as $ports | .ports = ($names | map({(.): $ports[.]}) | add);
  . as $all
  | names_with(.ready) as $ready
  | [ .[]
      | if .family == $first or .fqdn then .
        else
          (.ports | keys_unsorted - $ready) as $names
          | select($names != [])
          | (.ending = [] | for_ports($names)),
            ( select(.ending != [])
              | ($names - ($all | names_with(.ending))) as $names
              | select($names != [])
              | .ready = [] | del(.refused) | for_ports($names) )
        end ];

# output: the state; .slices has those that count, and .all_slices all
def by_family:
  .services as $services
  | .all_slices = .slices
  | .slices += ([ .slices[]
      | select([.[].family] | . - [.[0]] != [])
      | .[0].service as $service
      | $services[$service].family as $first
      | select($first)
      | {($service): of_family($first)} ] | add // {});

# --- none

# input: {service, port_name} as `answer` has it / output: whether a pod of it is ready, or ends and still answers
def has_pods($slices):
  .port_name as $name
  | any($slices[.service][]?; .ports[$name] and .ready + .ending != []);

# input: {service, port, port_name}, of which no pod is ready / output: that, as the end of a sentence
#
# A Service's port is that of an EndpointSlice by name, as for kube-proxy. In one that was written by hand, the names
# may be others.
def no_pods($slices):
  .port_name as $name
  | [$slices[.service][]? | select(.ready[0]).ports] as $others
  | ($others | add // {} | keys | map(select(contains("/") | not) | if . == "" then "one without a name" else shown end)) as $names
  | "has no ready endpoint for port \(.port)"
    + if $others == [] then ""
      else
        " (its EndpointSlices have ready endpoints, but no TCP port \(if $name == "" then "without a name" else "called \($name | shown)" end); they have "
        + if $names == [] then "none)"
          else "\($names[:5] | join(", "))\(if $names[5:] == [] then "" else " and \($names[5:] | length) more" end))"
          end
      end;

# input: the same / output: that, as a sentence
def without_pod($slices): "Service \(.service) \(no_pods($slices))";

# input:  the state, with .winners and .upstreams
# output: {"name of an upstream": why it has no pod}. (A claim beside a canary knows that itself: features/canary.jq.)
def without_pods:
  .slices as $slices
  | (.upstreams | map({(.name): true}) | add // {}) as $has_pods
  | .winners | map(select(.upstream and ($has_pods[.upstream] or .reason | not))) | unique_by(.upstream)
  | map({(.upstream): without_pod($slices)}) | add // {};
