# Which addresses of EndpointSlices nginx may call: only those in ENDPOINT_CIDRS, if that is set; and never the controller
# itself, which would ask itself.
include "networks";

# input: an EndpointSlice / output: {of_controllers: true} if its Service is the controller's: this pod is in it; else {}
#
# That Service has the addresses of all replicas, so that all of them decide alike.
def of_controllers($namespace; $pod):
  if .metadata.namespace == $namespace and any(.endpoints[]?.targetRef | values; .kind == "Pod" and .name == $pod) then {of_controllers: true}
  else {}
  end;

# input: an address / output: its numbers: "10.1.2.3" => [10, 1, 2, 3], "[fd00::1]" => [64768, 0, 0, 0, 0, 0, 0, 1]
#
# An IPv4 address within an IPv6 one (::ffff:a01:203) is what it stands for: nginx would call that.
def numbers:
  if contains(":") then
    ltrimstr("[") | rtrimstr("]") | groups
    | if .[:6] == [0, 0, 0, 0, 0, 65535] then [.[6:][] | (. / 256 | floor), . % 256] else . end
  else split(".") | map(tonumber)
  end;

# input: what ENDPOINT_CIDRS says / output: [{numbers, bits, width}], [] for any address; an error if it names no networks
def allowed_networks:
  if . == "" then []
  else
    [networks[]]
    | if . == [] then error("ENDPOINT_CIDRS is no list of networks") else . end
    | map(split("/") as [$address, $bits] | {numbers: ($address | numbers), bits: ($bits | tonumber), width: (if $address | contains(":") then 16 else 8 end)})
  end;

# input: an address / output: why it is not to be called, or nothing; $controllers is {"[10,1,2,3]": true, ...}
def refusal($networks; $controllers):
  numbers as $numbers
  | if $controllers[$numbers | tojson] then "address and port of a controller"
    elif $networks == [] or any($networks[]; . as $network | ($numbers | length) == ($network.numbers | length)
                                             and ($numbers | masked($network.bits; $network.width)) == $network.numbers) then empty
    else "not in ENDPOINT_CIDRS"
    end;

# input: the digest of an EndpointSlice / output: it without those addresses, and a problem if there are any
def only_reachable($networks; $controllers):
  def is_refused: any(refusal($networks; $controllers); true);
  [.ready[], .ending[] | select(is_refused)] as $refused
  | if $refused == [] then .
    else
      ((.ready, .ending) |= map(select(is_refused | not))),
      ($refused[0] | refusal($networks; $controllers)) as $why
      | (if $refused[1:] == [] then "is not served" else "and \($refused[1:] | length) more addresses are not served" end) as $what
      | {problem: {reason: "EndpointRefused", message: "EndpointSlice \(.slice): \($refused[0]) \($what): \($why)"}}
    end;

# input: none / output: what `digests` gives, with only the addresses that may be called
#
# $cidrs is what ENDPOINT_CIDRS says. On a node's own network, others may listen at a controller's address, too: so it is
# refused only in EndpointSlices with one of $own_ports.
def reachable(digests; $cidrs; $own_ports):
  ($cidrs | allowed_networks) as $networks
  | [digests] as $digests
  | ([$digests[] | select(.of_controllers) | (.ready + .ending)[]? | {(numbers | tojson): true}] | add // {}) as $controllers
  | $digests[]
  | if .of_controllers then .ready = [] | .ending = [] | del(.of_controllers)
    elif .ready and $controllers != {} and any(.ports[]; IN($own_ports[])) then only_reachable($networks; $controllers)
    elif .ready and $networks != [] then only_reachable($networks; {})
    else .
    end;
