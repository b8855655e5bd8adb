# What a look by name asks for: the Secrets and ConfigMaps of which nothing is known yet, and the Secrets that the watch
# heard of. Of all others, what is known stays; a look at everything mends what the watch has missed.
#
# args:   those of wanted-secrets.jq, and $found: what was found so far (lines)
#         $times: lines "SECONDS NAMESPACE/NAME", when they were last asked for by name; $began: when this look began
#         $changed: the names that the watch heard of (lines)
#         $asked: "all" if this look is at everything, and only needs to know which names the watch has to listen for
# output: "wanted NAMESPACE/NAME" of each Secret;
#         "all" if this look has to be at everything, as the names are many;
#         otherwise "ask NAMESPACE/NAME" reads one by its name, and "asked SECONDS NAMESPACE/NAME" and "found ..." are
#         what is known of the others
include "secrets/wanted-secrets"; # wishes, by_secret, fact, present, lines
include "secrets/named"; # here and below: what the includes need (the rule of includes, bin/README.md)
include "allow";

# More than this are read faster in the list.
def asked_a_look: 100;

# The bound of missing-secrets.jq, which counts those that the list does not have: only that one can tell.
def asked_a_namespace: 50;

# Nothing rings for a ConfigMap.
def seconds_before_asked_again: 4;

def is_config_map: contains("/configmaps/");

# input: what was found / output: whether it needs no other look
def is_settled($present):
  . as $it
  | .id == null or (fact($facts) | . != null and (.reason != null or $present[$it.id]));

([$found | lines | fromjson] | group_by(.certificate) | map({(.[0].certificate): .}) | add // {}) as $known
| ([$times | lines | split(" ") | {(.[1]): (.[0] | tonumber)}] | add // {}) as $times
| ([$changed | lines | {(.): true}] | add // {}) as $changed
| present($files) as $present
| wishes($claims; $default; $namespace)
| by_secret
| to_entries
| map(.key as $name
    | ($known[$name] // []) as $its
    | ([$its[] | .use // "pair"]) as $uses
    | {$name, $its,
       ask: ($changed[$name] and all($its[]; .reason != "LimitExceeded")
         or ($uses != ["*"] and .value - $uses != [])
         or any($its[]; is_settled($present) | not)
         or ($name | is_config_map) and ($began - ($times[$name] // -9) | fabs) >= seconds_before_asked_again)})
| (.[].name | select(is_config_map | not) | "wanted \(.)"),
  if $asked == "all"
      or (map(select(.ask)) | length) > asked_a_look
      or any(map(select(.ask or $times[.name]) | .name | split("/")[0]) | group_by(.)[]; length > asked_a_namespace) then
    "all"
  else
    .[]
    | if .ask then "ask \(.name)"
      else
        (.name as $name | $times[$name] | values | "asked \(.) \($name)"),
        "found \(.its[] | tojson)"
      end
  end
