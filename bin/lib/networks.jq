# Lists of networks, as ingress-nginx's *-source-range annotations have them.
include "allow";

# input: hexadecimal digits / output: the number
def from_hex:
  reduce (ascii_downcase | explode[]) as $digit (0;
    . * 16 + if $digit < 97 then $digit - 48 else $digit - 87 end);

# input: a number / output: its hexadecimal digits
def to_hex: if . < 16 then "0123456789abcdef"[.:. + 1] else (. / 16 | floor | to_hex) + (. % 16 | to_hex) end;

# input: an IPv6 address / output: its eight groups as numbers: "::1" => [0, 0, 0, 0, 0, 0, 0, 1]
def groups:
  [split("::")[] | [split(":")[] | from_hex]] as [$left, $right]
  | if $right == null then $left
    else $left + [range(8 - ($left + $right | length)) | 0] + $right
    end;

# input: the parts of an address, each a number of $width bits / output: the same, zero after the first $bits bits
def masked($bits; $width):
  [ range(length) as $i | .[$i]
    | pow(2; [[$width - ($bits - $i * $width), 0] | max, $width] | min) as $size
    | . - . % $size ];

# input: text / output: the network that it names as nginx writes it, without the bits after the prefix:
# "10.1.2.3/8" => "10.0.0.0/8", "::1" => "0:0:0:0:0:0:0:1/128"; nothing if it names none
#
# Numbers with leading zeros are octal to some programs, and an IPv4 address within an IPv6 one (::ffff:0:0/96, RFC
# 4291, section 2.5.5.2) is never the address of a connection: neither is accepted.
def network:
  capture("\\A(?<address>[^/]+)(/(?<bits>0|[1-9][0-9]{0,2}))?\\z")
  | .address as $address
  | if $address | is_ipv4 and (test("(^|[.])0[0-9]") | not) then
      (.bits // "32" | tonumber | select(. <= 32)) as $bits
      | "\($address | split(".") | map(tonumber) | masked($bits; 8) | map(tostring) | join("."))/\($bits)"
    elif $address | is_ipv6 then
      (.bits // "128" | tonumber | select(. <= 128)) as $bits
      | $address | groups | select(.[:6] != [0, 0, 0, 0, 0, 65535])
      | "\(masked($bits; 16) | map(to_hex) | join(":"))/\($bits)"
    else empty
    end;

# input: the value of an annotation / output: [network, ...] without repetitions, sorted; nothing if an entry names none
def networks:
  strings
  | split(",")
  | select(length <= 1000 and all(.[]; length <= 100)) # whatever is longer names none, and would take long to look at
  | [.[] | gsub("\\A\\s+|\\s+\\z"; "")] as $entries
  | [$entries[] | network]
  | select(length == ($entries | length) and length > 0)
  | unique;
