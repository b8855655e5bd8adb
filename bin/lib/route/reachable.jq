# Which addresses of EndpointSlices nginx never calls: the controller's own, or it would ask itself; and who is told.
# (Those outside of ENDPOINT_CIDRS are not even in the snapshot, see cidrs.jq.)
include "allow"; # one_spelling

# input:  an EndpointSlice
# output: {of_controllers: true} if its Service is the controller's: this pod is in it; else {}
#
# That Service has the addresses of all replicas, so that all of them decide alike.
def of_controllers($namespace; $pod):
  if .metadata.namespace == $namespace
    and any(.endpoints[]?.targetRef | values; .kind == "Pod" and .name == $pod) then {of_controllers: true}
  else {}
  end;

# input:  the summary of an EndpointSlice
# output: it without its addresses for which is_refused; if there are any, with .refused: a sentence about them
def without(is_refused; $why):
  [.ready[], .ending[] | select(is_refused)] as $refused
  | if $refused == [] then .
    else
      ((.ready, .ending) |= map(select(is_refused | not)))
      | (if $refused[1:] == [] then "is not served"
         else "and \($refused[1:] | length) more addresses are not served"
         end) as $what
      | .refused = ([.refused // "EndpointSlice \(.slice)", "\($refused[0]) \($what): \($why)"] | join(": "))
    end;

# output: .slices without addresses of the controller
#
# It listens on the ports of TCP and UDP services, too: a connection there would lead to the next one, for ever.
# On a node's own network, others may listen at a controller's address, too: so it is refused only in EndpointSlices
# with a port where the controller listens. Some can be spelled in several
# ways, and are brought to one before they are compared; most cannot, and to look at each would take time.
def reachable:
  [.slices[][] | select(.of_controllers) | (.ready + .ending)[]? | one_spelling] as $of_controllers
  | ([.settings | .HTTP_PORT, .HTTPS_PORT, .ADMIN_PORT | tonumber]
     + [.lines[] | select(.streams).entries[].port]) as $own_ports
  | .slices |= map_values(map(
      if .of_controllers then .ready = [] | .ending = [] | del(.of_controllers)
      elif .ready and any(.ports[]; IN($own_ports[])) and (
        .ready + .ending | . != . - $of_controllers or (tojson | test("[\"[.]0[0-9]|:"))) then
        without(one_spelling | IN($of_controllers[]); "address and port of a controller")
      else .
      end));
