# The summary of the names outside of the cluster: where the ExternalName Services lead, as far as nginx may go there.
#
# A name is its owner's, and can turn to any address at any time: to the cloud's metadata, the API server, another
# tenant's pod. So nginx never resolves one. The controller does, and nginx gets only addresses that are outside of
# loopback, link-local, private, pod, Service and node networks, or in EXTERNAL_CIDRS. If one of a name's is inside, the
# name has none.
#
# input:  the summaries of the Services and the EndpointSlices (jq -n)
# args:   $names, $cidrs, $pods: EXTERNAL_NAMES, EXTERNAL_CIDRS, ENDPOINT_CIDRS
#         $own: this pod's addresses, with spaces between
#         $services: [summary of an ExternalName Service]
#         $answers: what `resolve` prints
# output: NAME NAME ...: those that are to be resolved, in one line; then a line for each of these Services:
#         {outside: "namespace/name", name, addresses: [address]}; or {outside, why}, the end of a sentence
include "networks"; # as_networks, is_in, address_numbers, masked
include "allow";

# How many names of one namespace are resolved.
def most_names: 100;

# output: the networks of the registries of special addresses (IANA: iana-ipv4-special-registry, and that for IPv6, of
#         which only 2000::/3 is given out)
def special:
  "0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,192.0.2.0/24,192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,224.0.0.0/3,"
  + "::/3,4000::/2,8000::/1,2001::/23,2001:db8::/32,2002::/16,3fff::/20";

# input: an address / output: the network of so many bits that it is in, as a key
def near($bits_of_ipv4; $bits_of_ipv6):
  address_numbers
  | if length == 4 then masked($bits_of_ipv4; 8) else masked($bits_of_ipv6; 16) end
  | map(tostring) | join(".");

# Services have addresses of one or two networks; those of nodes and pods are often in networks of this size.
def service_network: near(24; 112);
def node_network: near(24; 64);

# input:  summary of a Service or an EndpointSlice
# output: {"key of a network": true, ...}: where it says that the cluster is
#
# Of the nodes, only those of the API server are known (Service default/kubernetes).
def cluster_networks:
  if .slice then
    (.ready // [], .ending // [])[] as $address
    | ({"\($address | near(32; 128))": true}, (select(.service == "default/kubernetes") | {"\($address | node_network)": true}))
  else .addresses[]? | {"\(service_network)": true}
  end;

# input: the name of an ExternalName Service / output: it, as it is asked for
def as_asked: ascii_downcase | rtrimstr(".");

# input: a name / output: whether EXTERNAL_NAMES has it: itself, or by *. and what it ends with
def is_allowed($patterns):
  . as $name
  | any($patterns[]; . as $pattern
      | if startswith("*.") then $name | endswith($pattern[1:]) and length >= ($pattern | length) else . == $name end);

# input: a name / output: whether it is one that only DNS can know: no address, however that is written, and no
#         name that would mean something else in each domain
def is_of_dns: is_host and test("[.](?!0x)[^.]*[a-z][^.]*\\z") and (split(".") | all(length <= 63));

# input: text / output: whether it is an address
def is_address: is_ipv4 or is_ipv6;

($names | [split(" ")[] | select(. != "")]) as $patterns
| ($cidrs | as_networks("EXTERNAL_CIDRS")) as $allowed
| (special | as_networks("special")) as $special
| ($pods | as_networks("ENDPOINT_CIDRS")) as $pod_networks
| ([$answers | split("\n")[] | select(. != "") | split(" ") | {(.[0]): .[1:]}] | add // {}) as $found
| (if all($found[]; . == []) then {}
   else
     reduce (($own | split(" ")[] | select(. != "") | {"\(node_network)": true}), (inputs | cluster_networks)) as $key ({}; . + $key)
   end) as $inside
| def is_inside:
    if is_address | not then true
    elif is_in($allowed) then false
    else is_in($special) or is_in($pod_networks) or $inside[near(32; 128)] or $inside[service_network] or $inside[node_network]
    end;
def addresses: # input: {outside, name}
  $found[.name] as $addresses
  | if $addresses == null then {outside, why: "\(.name) has not been resolved yet"}
    elif $addresses == [] then {outside, why: "\(.name) does not resolve"}
    elif any($addresses[]; is_inside) then
      {outside, why: "\(.name) turns to an address inside of the cluster or of a network that is not public, and EXTERNAL_CIDRS does not allow it"}
    else .addresses = ($addresses | map(if contains(":") then "[\(.)]" else . end))
    end;
[ $services
  | sort_by(.service) | group_by(.service | split("/")[0])[]
  | [ .[] | {outside: .service, name: (.external | as_asked)}
      | if .name | is_of_dns | not then {outside, why: "\(.name | quoted) is no name of DNS with a dot in it"}
        elif .name | is_allowed($patterns) | not then {outside, why: "EXTERNAL_NAMES does not have \(.name)"}
        else .
        end ]
  | ([.[].name | values] | unique[:most_names] | map({(.): true}) | add // {}) as $first
  | .[]
  | if .name and ($first[.name] | not) then {outside, why: "its namespace has more than \(most_names) such names"} else . end ]
| ([.[].name | values] | unique | join(" ")),
  (.[] | if .name then addresses else . end | tojson)
