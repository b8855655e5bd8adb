# The summary of the ConfigMap that TCP_SERVICES or UDP_SERVICES names: which port is passed on to which Service.
#
# A key is the port; its value is namespace/name:port of a Service, and perhaps :PROXY, which says that clients of the
# port speak the PROXY protocol, and one more :PROXY, which says that pods do.
include "fetch/items"; # key, each_item
include "allow"; # is_name, is_port, quoted

# input: {key, value} of the ConfigMap / output: {port, service, servicePort, decodes, encodes}; or a text, why not
def entry($protocol):
  (.key | if test("\\A[1-9][0-9]{0,4}\\z") then tonumber else 0 end) as $port
  | (.value | split(":")) as $parts
  | ($parts[1] // "" | if test("\\A[1-9][0-9]{0,4}\\z") then tonumber else . end) as $service_port
  | ($parts[2:] | map(ascii_upcase)) as $proxy
  | "\($protocol) port \(.key | quoted)" as $what
  | if $port | is_port | not then "its key \(.key | quoted) is not a port"
    elif $parts[0] | split("/") | length != 2 or any(.[]; is_name | not) then
      "\($what): \(.value | quoted) does not begin with namespace/name of a Service"
    elif $service_port | is_name or is_port | not then "\($what): \(.value | quoted) has no port of the Service, by number or name"
    elif $protocol == "UDP" and $proxy != [] then "\($what): \(.value | quoted) has a PROXY, which is for TCP only"
    elif $proxy - ["", "PROXY"] != [] or ($proxy | length) > 2 then
      "\($what): \(.value | quoted) has something other than PROXY behind the port of the Service"
    else
      { $port, service: $parts[0], servicePort: $service_port }
      + if $proxy[0] == "PROXY" then {decodes: true} else {} end
      + if $proxy[1] == "PROXY" then {encodes: true} else {} end
    end;

# input:  the items of a ConfigMapList with that ConfigMap only, one on each line (jq -n -R); $name: "namespace/name"
# output: one line: {streams: "TCP" or "UDP", configMap: "namespace/name", entries: [entry, by port], refused: [text]}
def summary($protocol; $name):
  [ each_item("ConfigMap";
      [.data // {} | to_entries[] | entry($protocol)]
      | {streams: $protocol, configMap: $name, entries: (map(objects) | sort_by(.port)), refused: map(strings)}) ]
  | if . == [] then {streams: $protocol, configMap: $name, entries: [], refused: ["it does not exist"]} else .[] end;
