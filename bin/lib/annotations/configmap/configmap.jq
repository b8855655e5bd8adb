# The summary of the ConfigMap that CONFIGMAP names: what each of its keys comes to.
#
# input:  the items of a list of ConfigMaps, one on each line (jq -n -R): that one, or none
# args:   $name: "namespace/name"; $before: the lines of the live snapshot about it, or nothing
#         $add_headers, $proxy_set_headers: of the ConfigMaps that these keys name, "read" and then their items, one on
#         each line; nothing if they have not been read
# $ENV:   DEFAULT_ANNOTATIONS, and the settings that are defaults of keys
# output: {configmap: "namespace/name", uses: ["configmap"],
#          settings: {NAME: value}, annotations: {name: value}: what takes the place of settings and DEFAULT_ANNOTATIONS
#          directives: {name: text}: what takes the place of a line of nginx.conf.template and its fragments
#          parts: {name: what the feature `configmap` gives}
#          keys: the names of those that count
#          names, headers: what the keys add-headers and proxy-set-headers name, and what is in it
#          good: {key: value} of those that protect, for the next time
#          closed: why nothing must be served, or null; problems: [{reason, message}]}
include "annotations/configmap/keys"; # summary
include "annotations/configmap/parts";
include "annotations/configmap/headers";
include "annotations/configmap/log";
include "annotations/configmap/blocks";
include "annotations";
include "fetch/items"; # read_item
include "networks";
include "allow";

# input: text / output: the items in its lines; null if there is none, not even the first, "read"
def items: split("\n")[:-1] | if . == [] then null else .[1:] | map(read_item.object) end;

($before | split("\n")[0] // "" | if . == "" then null else fromjson | select(.configmap == $name) end // null) as $before
| {"add-headers": ($add_headers | items), "proxy-set-headers": ($proxy_set_headers | items)} as $named
| ($before.headers // {}) as $headers
| [inputs | read_item] as $items
| if $items == [] then
    if $before then
      $before.good // {}
      | summary($name; $before.good // {};
          [{reason: "ConfigMapNotFound", message: "it does not exist. What its last version protects stays protected"}];
          [select($before.closed) | "it does not exist, and its last version closed all"]; $named; $headers)
    else {} | summary($name; {}; []; ["it does not exist: make it, or take it out of CONFIGMAP"]; $named; $headers)
    end
  elif $items[0].object | type != "object" or ("\(.metadata.namespace)/\(.metadata.name)" != $name) then
    error("the list has another object than ConfigMap \($name)")
  else $items[0].object.data // {} | summary($name; $before.good // {}; []; []; $named; $headers)
  end
