# Which addresses of EndpointSlices nginx may call, if ENDPOINT_CIDRS names networks: only those in them.
#
# input:  the summary of the EndpointSlices (endpointslices.jq)
# args:   $cidrs: ENDPOINT_CIDRS
# output: the same without other addresses; those that had some say so in .refused. The controllers' own stay, since
#         route must know them to leave them out everywhere (reachable.jq)
include "networks";
include "route/reachable";
include "allow";

# input: an address / output: its numbers: "10.1.2.3" => [10, 1, 2, 3], "[fd00::1]" => [64768, 0, 0, 0, 0, 0, 0, 1]
#
# An IPv4 address within an IPv6 one (::ffff:a01:203) is what it stands for: nginx would call that.
def numbers:
  if contains(":") then
    ltrimstr("[") | rtrimstr("]") | groups
    | if .[:6] == [0, 0, 0, 0, 0, 65535] then [.[6:][] | (. / 256 | floor), . % 256] else . end
  else split(".") | map(tonumber)
  end;

# input: an address / output: whether it is in one of the networks
def is_in($networks):
  numbers as $numbers
  | any($networks[]; . as $network | ($numbers | length) == ($network.numbers | length)
                       and ($numbers | masked($network.bits; $network.width)) == $network.numbers);

[$cidrs | networks[]]
| if . == [] then error("ENDPOINT_CIDRS is not a list of networks") else . end
| map(split("/") as [$address, $bits]
    | {numbers: ($address | numbers), bits: ($bits | tonumber),
        width: (if $address | contains(":") then 16 else 8 end)})
| . as $networks
| inputs
| if .ready and (.of_controllers | not) then without(is_in($networks) | not; "not in ENDPOINT_CIDRS") else . end
