# The pods of all namespaces but for those that cause reloads all the time.
#
# input:  a routing model
# args:   $accounts: what hold-back.jq prints of the namespaces that owe something; $now: the time, as there
# output: their addresses and ports in the form of /proc/net/tcp and tcp6; nothing if nobody causes so many reloads
#
# Those that are held back cause reloads all the time. While none is, it is the one that owes most, if it owes five
# changes or more.
include "accounts"; # cost

# input: a number below 256 / output: two hexadecimal digits
def hex: "0123456789ABCDEF" as $digits | (. / 16 | floor) as $high | ($high, . - $high * 16) | $digits[.:. + 1];

# input: hexadecimal digits / output: each four bytes in the order in which the kernel prints them, the last first
def words: [scan("(..)(..)(..)(..)") | reverse[]] | add;

# input: an IPv6 address, such as "fd00::1" / output: 32 hexadecimal digits
def digits:
  split("::") | map(split(":")) as [$left, $right]
  | $left + ($right // [] | [range(8 - length - ($left | length)) | "0"] + .)
  | map("000\(.)"[-4:]) | add | ascii_upcase;

# input: "10.0.0.1:8080" or "[fd00::1]:8080" / output: "0100000A:1F90" or "000000FD000000000000000001000000:1F90"
def as_kernel_says:
  rindex(":") as $at
  | (.[$at + 1:] | tonumber | [(. / 256 | floor), . % 256] | map([hex] | add) | add) as $port
  | .[:$at]
  | (if startswith("[") then .[1:-1] | digits else [split(".")[] | tonumber | hex] | add end) as $address
  | "\($address | words):\($port)";

($accounts[0] // {} | to_entries) as $accounts
| ($accounts | map(select(.value.held).key)) as $held
| (if $held != [] then $held
   else [$accounts | max_by(.value.paid) | select(.value.paid? and .value.paid - $now >= 5 * cost).key]
   end) as $restless
| select($restless != [])
| .upstreams[]? | select(.service | split("/")[0] | IN($restless[]) | not)
| .endpoints[] | as_kernel_says
