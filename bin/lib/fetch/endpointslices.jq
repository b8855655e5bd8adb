# The digest of the EndpointSlices: the pods' addresses.
#
# input:  the items of an EndpointSliceList, one on each line (jq -n -R)
# args:   $namespace, $pod: this pod
# output: a line for each:
#   {}                             it belongs to no Service
#   {slice, service, fqdn: true}   it has names instead of addresses
#   {slice: "namespace/name", service: "namespace/name", ports: {"name of a port": number}, ready: [address],
#    ending: [address]}            IPv6 addresses in brackets, as in a URL;
#                                  of_controllers: true if they are the controller's own (reachable.jq);
#                                  refused: which are left out, and why (cidrs.jq)
# (The order of the includes is for jq 1.8.2: see "jq in short" in bin/README.md.)
include "route/reachable"; # of_controllers
include "fetch/items"; # key, each_item
include "allow"; # is_port, is_ipv4, is_ipv6

# input: an Endpoint / output: its address, if it is valid. (Further ones mean nothing, and kube-proxy does not look at
# them either: see Endpoint.addresses in discovery.k8s.io/v1.)
def address($type):
  .addresses[0]? // empty
  | if $type == "IPv4" and is_ipv4 then .
    elif $type == "IPv6" and is_ipv6 then "[\(.)]"
    else empty end;

# input: an EndpointSlice / output: what its digest says of its ports and addresses
def addresses:
  .addressType as $type
  | if $type == "FQDN" then {fqdn: true}
    else {
        ports: ([.ports[]? | select(.port | is_port) | {(.name // ""): .port}] | add // {}),
        # an endpoint without this condition counts as ready (EndpointConditions in discovery.k8s.io/v1)
        ready: [.endpoints[]? | select(.conditions.ready != false) | address($type)],
        # pods that are ending but still serve are used only if none is ready, as kube-proxy does
        ending: [.endpoints[]? | select(.conditions.ready == false and .conditions.serving == true and .conditions.terminating == true) | address($type)]
      }
    end;

each_item("EndpointSlice";
  (.metadata.labels["kubernetes.io/service-name"] // "") as $service
  | if $service == "" then {} else {slice: key, service: "\(.metadata.namespace)/\($service)"} + of_controllers($namespace; $pod) + addresses end)
