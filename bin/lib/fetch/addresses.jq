# Addresses as numbers, and which of them are in a list of networks.
include "networks"; # networks, groups, masked
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

# input: text with commas between networks, or "" / output: [{numbers, bits, width}]; an error if it is something else
def as_networks($name):
  [select(. != "") | networks | .[]] as $networks
  | if . != "" and $networks == [] then error("\($name) is not a list of networks") else $networks end
  | map(split("/") as [$address, $bits]
      | {numbers: ($address | numbers), bits: ($bits | tonumber),
          width: (if $address | contains(":") then 16 else 8 end)});

# input: an address / output: whether it is in one of these networks
def is_in($networks):
  numbers as $numbers
  | any($networks[]; . as $network | ($numbers | length) == ($network.numbers | length)
                       and ($numbers | masked($network.bits; $network.width)) == $network.numbers);
