# The summary of the ConfigMap that CONFIGMAP names: what each of its keys comes to.
#
# input:  the items of a list of ConfigMaps, one on each line (jq -n -R): that one, or none
# args:   $name: "namespace/name"; $before: the lines of the live snapshot about it, or nothing
# $ENV:   DEFAULT_ANNOTATIONS, and the settings that are defaults of keys
# output: {configmap: "namespace/name", uses: ["configmap"],
#          settings: {NAME: value}, annotations: {name: value}: what takes the place of settings and DEFAULT_ANNOTATIONS
#          directives: {name: text}: what takes the place of a line of nginx.conf.template and its fragments
#          parts: {name: what the feature `configmap` gives}
#          good: {key: value} of those that protect, for the next time
#          closed: why nothing must be served, or null; problems: [{reason, message}]}
include "annotations/configmap/keys"; # summary
include "annotations/configmap/parts";
include "annotations/configmap/log";
include "annotations/configmap/blocks";
include "annotations";
include "fetch/items"; # read_item
include "networks";
include "allow";

($before | split("\n")[0] // "" | if . == "" then null else fromjson | select(.configmap == $name) end // null) as $before
| [inputs | read_item] as $items
| if $items == [] then
    if $before then
      $before.good // {}
      | summary($name; $before.good // {}; [{reason: "ConfigMapNotFound", message: "it does not exist. What its last version protects stays protected"}];
          [select($before.closed) | "it does not exist, and its last version closed all"])
    else {} | summary($name; {}; []; ["it does not exist: make it, or take it out of CONFIGMAP"])
    end
  elif $items[0].object | type != "object" or ("\(.metadata.namespace)/\(.metadata.name)" != $name) then
    error("the list has another object than ConfigMap \($name)")
  else $items[0].object.data // {} | summary($name; $before.good // {}; []; [])
  end
