# The summary of the Services: their ports.
#
# input:  the items of a ServiceList, one on each line (jq -n -R)
# output: a line for each: {service: "namespace/name",
#         ports: {numbers: {"80": PORT, "53/UDP": PORT}, names: {"web": PORT}},
#         addresses: [clusterIPs, for annotations with a URL and service-upstream], family: the first of its ipFamilies}
#         with PORT {port: number, name}, and appProtocol if it has one, or protocol if that is not TCP;
#         or {service, external: the name, listed: its spec.ports} for an ExternalName
include "fetch/items"; # key, is_tcp, each_item

# input: a ServicePort / output: what counts of it
def port: {port, name: (.name // "")} + if is_tcp then {appProtocol} | with_entries(select(.value)) else {protocol} end;

# input: [PORT] / output: {numbers, names}
#
# A Service may have one number for TCP and UDP. TCP is meant then, so it comes last, and of equal keys, `add` keeps the
# last. (By "53/UDP", the other one is found, too.)
def ports:
  def by(f): map({(f): .}) | add // {};
  map(select(.protocol)) + map(select(.protocol | not))
  | {numbers: by("\(.port)", "\(.port)/\(.protocol // empty)"), names: (map(select(.name != "")) | by(.name))};

# input: a Service / output: {addresses, family}, without what it does not have
def where: .spec | {addresses: ([.clusterIPs[]?] - ["None"]), family: .ipFamilies[0]} | del(.[] | select(IN([], null)));

each_item("Service";
  if .spec.type == "ExternalName" then {service: key, external: (.spec.externalName // ""), listed: .spec.ports}
  else {service: key, ports: ([.spec.ports[]? | port] | ports)} + where end)
