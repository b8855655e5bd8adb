# Lists of networks, as ingress-nginx's *-source-range annotations have them.
include "allow"; # is_whole_ipv6

# input: text / output: its parts between commas, without white space around
#
# One expression for all, as jq compiles it at each use. (Without the look-behind, spaces in the middle would be looked
# at again from each of them.)
def elements:
  if test("\\s") then gsub("(?<![^,])\\s+|(?<!\\s)\\s+(?![^,])"; "") else . end | split(",");

# input: the parts of an address, each a number of $width bits / output: the same, zero after the first $bits bits
def masked($bits; $width):
  [ range(length) as $i | .[$i]
    | pow(2; [[$width - ($bits - $i * $width), 0] | max, $width] | min) as $size
    | . - . % $size ];

# output: what a network looks like, as a regular expression: an IPv4 address, or digits and colons as IPv6 has them,
# with an IPv4 address perhaps; and perhaps how many bits count. (Numbers with leading zeros are octal to some
# programs.)
def looks:
  "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" as $number
  | "\($number)([.]\($number)){3}" as $ipv4
  | "(\($ipv4)(/([12]?[0-9]|3[0-2]))?|[0-9a-fA-F]{0,4}:([0-9a-fA-F:]{1,38}|[0-9a-fA-F:]{0,30}(?<=:)\($ipv4))(/(1[01][0-9]|12[0-8]|[1-9]?[0-9]))?)";

# input: text that looks so / output: the network that it names as nginx writes it, without the bits after the prefix:
# "10.1.2.3/8" => "10.0.0.0/8", "::1" => "0:0:0:0:0:0:0:1/128"; nothing if it names none
#
# An IPv4 address within an IPv6 one (::ffff:0:0/96, RFC 4291, section 2.5.5.2) is never the address of a connection.
def network:
  split("/") as [$address, $bits]
  | if $address | contains(":") | not then
      ($bits // "32" | tonumber) as $bits
      | "\($address | split(".") | map(tonumber) | masked($bits; 8) | map(tostring) | join("."))/\($bits)"
    else
      ($bits // "128" | tonumber) as $bits
      | $address | in_hexadecimal | select(is_whole_ipv6(7)) | groups
      | select(.[:6] != [0, 0, 0, 0, 0, 65535])
      | "\(masked($bits; 16) | map(to_hex) | join(":"))/\($bits)"
    end;

# input: the value of an annotation / output: [network, ...] without repetitions, sorted; nothing if an entry names none
def networks:
  strings
  | select(split(",") | length <= 1000 and all(.[]; length <= 100)) # whatever is longer names none
  | elements as $entries
  | select(all($entries[]; contains("\n") | not))
  | select($entries | as_lines | looks as $looks | test("\\A(?>\($looks)\n)+\\z"))
  | [$entries | unique[] | network]
  | select(length == ($entries | unique | length))
  | unique;

# input: an address / output: its numbers: "10.1.2.3" => [10, 1, 2, 3], "[fd00::1]" => [64768, 0, 0, 0, 0, 0, 0, 1]
#
# An IPv4 address within an IPv6 one (::ffff:a01:203) is what it stands for: nginx would call that.
def address_numbers:
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
      | {numbers: ($address | address_numbers), bits: ($bits | tonumber),
          width: (if $address | contains(":") then 16 else 8 end)});

# input: an address / output: whether it is in one of these networks
def is_in($networks):
  address_numbers as $numbers
  | any($networks[]; . as $network | ($numbers | length) == ($network.numbers | length)
                       and ($numbers | masked($network.bits; $network.width)) == $network.numbers);
