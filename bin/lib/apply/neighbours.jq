# The pods of all namespaces except those that cause reloads all the time.
#
# input:  a routing model
# args:   $accounts: what hold-back.jq prints of the namespaces that owe something; $now: the time, as there
# output: their addresses and ports in the form of /proc/net/tcp and tcp6; nothing if nobody causes so many reloads

include "loop/hold-back"; # restless
include "networks"; # groups, to_hex
include "allow";

# input: a number / output: $many hexadecimal digits
def hex($many): "000\(to_hex | ascii_upcase)"[-$many:];

# input: hexadecimal digits / output: each four bytes in the order in which the kernel prints them, the last first
def words: [scan("(..)(..)(..)(..)") | reverse[]] | add;

# input: "10.0.0.1:8080" or "[fd00::1]:8080" / output: "0100000A:1F90" or "000000FD000000000000000001000000:1F90"
def as_kernel_says:
  rindex(":") as $at
  | (.[$at + 1:] | tonumber | hex(4)) as $port
  | .[:$at]
  | (if startswith("[") then [.[1:-1] | groups[] | hex(4)] else [split(".")[] | tonumber | hex(2)] end | add) as $address
  | "\($address | words):\($port)";

($accounts[0] // {} | restless($now)) as $restless
| select($restless != [])
| .upstreams[]?, .streams[]? | select(.service | split("/")[0] | IN($restless[]) | not)
| .endpoints[] | as_kernel_says
