# The summary of the EndpointSlices: the pods' addresses.
#
# input:  the items of an EndpointSliceList, one on each line (jq -n -R)
# args:   $namespace, $pod: this pod
# output: a line for each:
#   {}                             it belongs to no Service
#   {slice, service, fqdn: true}   it has names instead of addresses
#   {slice: "namespace/name", service: "namespace/name", family: "IPv4" or "IPv6",
#    ports: {"name of a TCP port": number, "name/UDP": number}, ready: [address], ending: [address]}
#                                  IPv6 addresses in brackets, as in a URL;
#                                  of_controllers: true if they are the controller's own (reachable.jq);
#                                  refused: which are left out, and why (cidrs.jq)
include "route/reachable"; # of_controllers
include "fetch/items"; # key, is_tcp, each_item
include "allow"; # is_port, is_ipv4, is_ipv6

# input: an EndpointSlice / output: {"name of a TCP port": number, "name/UDP": number of a UDP port}
def ports: [ .ports[]? | select(.port | is_port)
  | {"\(.name // "")\(if is_tcp then "" else "/\(.protocol)" end)": .port} ] | add // {};

# input: an EndpointSlice / output: [address] of those of its endpoints that are asked for
#
# (Further addresses of an endpoint mean nothing, and kube-proxy does not look at them either: see Endpoint.addresses in
# discovery.k8s.io/v1.)
def addresses(is_asked_for):
  .addressType as $type | [ .endpoints[]? | select(.conditions | is_asked_for) | .addresses[0]? // empty
      | if $type == "IPv4" and is_ipv4 then . elif $type == "IPv6" and is_ipv6 then "[\(.)]" else empty end ];

# An endpoint without the condition `ready` or `serving` is ready or serves; without `terminating`, it does not end
# (EndpointConditions in discovery.k8s.io/v1). Pods that are ending but still serve are used only if none is ready, as
# kube-proxy does.
def is_ending: .ready == false and .serving != false and .terminating == true;

each_item("EndpointSlice";
  (.metadata.labels["kubernetes.io/service-name"] // "") as $service
  | if $service == "" then {} else {slice: key, service: "\(.metadata.namespace)/\($service)"}
      + of_controllers($namespace; $pod)
      + if .addressType == "FQDN" then {fqdn: true}
        else {family: .addressType, ports: ports, ready: addresses(.ready != false), ending: addresses(is_ending)} end
    end)
