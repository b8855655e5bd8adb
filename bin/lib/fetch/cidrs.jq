# Which addresses of EndpointSlices nginx may call, if ENDPOINT_CIDRS names networks: only those in them.
#
# input:  the summary of the EndpointSlices (endpointslices.jq)
# args:   $cidrs: ENDPOINT_CIDRS
# output: the same without other addresses; those that had some say so in .refused. The controllers' own stay, since
#         route must know them to leave them out everywhere (reachable.jq)
include "networks"; # as_networks, is_in
include "route/reachable";
include "allow";

($cidrs | as_networks("ENDPOINT_CIDRS")) as $networks
| inputs
| if .ready and (.of_controllers | not) then without(is_in($networks) | not; "not in ENDPOINT_CIDRS") else . end
