# TCP and UDP services: which port is passed on to which pods.
include "route/endpoints"; # first_endpoints
include "route/limits";
include "route/shut";
include "route/ownership";
include "allow"; # is_port, shown

# input: {protocol, port, service, servicePort, ...} / output: the same with .endpoints; or with .why there are none
#
# A port with no endpoint is not listened on: so a client is refused at once, as by a pod that is not there.
def with_pods($state):
  def port_named($found): if .servicePort | type == "number" then
      (if .protocol == "UDP" then $found.ports.numbers["\(.servicePort)/UDP"] else null end) // $found.ports.numbers["\(.servicePort)"]
    else $found.ports.names[.servicePort]
    end;
  $state.services[.service] as $found
  | port_named($found) as $its
  | "\($its.name)\(if .protocol == "UDP" then "/UDP" else "" end)" as $name
  | $state.limits.namespace_endpoints as $most
  | [ $state.slices[.service][]? | select(.ports[$name]?) ] as $slices
  | ($slices | first_endpoints($name; $most)) as $endpoints
  | "Service \(.service)" as $service
  | if $state.unbound["\(.protocol) \(.port)"] then .reason = "PortNotAvailable" | .why = $state.unbound["\(.protocol) \(.port)"]
    elif .protocol == "TCP" and (.port | IN($state.own_ports[])) then
      .reason = "PortTaken" | .why = "the controller itself listens there"
    elif $found == null then .reason = "ServiceNotFound" | .why = "\($service) does not exist"
    elif $found.external then .reason = "ExternalNameNotServed" | .why = "\($service) is an ExternalName"
    elif $its.port | is_port | not then
      .reason = "ServicePortNotFound" | .why = "\($service) has no port \(.servicePort | shown)"
    elif ($its.protocol // "TCP") != .protocol then
      .reason = "ServicePortNot\(.protocol)" | .why = "port \(.servicePort | shown) of \($service) is not \(.protocol)"
    elif $endpoints == [] then
      .reason = "NoReadyEndpoints" | .why = "\($service) has no ready endpoint for port \(.servicePort | shown)"
    else .endpoints = [$endpoints[:$most][] | "\(.address):\(.port)"]
    end;

# input: [entry with .why] or [{configMap, why}] / output: problems of the ConfigMap
def stream_problems:
  .[] | select(.why)
  | {of: "ConfigMap \(.configMap)", reason: (.reason // "EntryRefused"),
     message: "\(if .port then "\(.protocol) port \(.port) is not listened on: " else "" end)\(.why)"};

# output: the state, with what the model says of streams:
#         [{protocol, port, service, servicePort, endpoints, decodes, encodes}]
def with_streams:
  if .settings.TCP_SERVICES or .settings.UDP_SERVICES | not then .
  else
    ( [.lines[] | select(.streams)] as $maps
      | { services, slices, limits, unbound: ([.lines[].unbound | values] | add // {}),
          own_ports: [.settings | .HTTP_PORT, .HTTPS_PORT, .ADMIN_PORT | tonumber] } as $state
      | [ $maps[] | {protocol: .streams, configMap} + .entries[] | with_pods($state) ] as $entries
      | .additions += {streams: [$entries[] | select(.endpoints) | del(.configMap)]}
      | .problems += [$entries, [$maps[] | {configMap, why: .refused[]}] | stream_problems] )
  end;
