# What each key of a ConfigMap comes to.
#
# keys.json has a row for each key of ingress-nginx 1.15.1 (config.go and configmap.go of its controller, and its
# documentation):
#
#   type       what its value may be: flag, number, size, seconds, text, list (with commas between), networks, or
#              patterns (a list of texts and regular expressions)
#   like       the annotation whose values it takes (annotations.json), instead of a type
#   pattern, possible, min, max    as in annotations.json
#   protects   it restricts who gets in, how, or how often, or whose word counts. A wrong value counts as the last good
#              one; without that, nothing is served
#   frees      each element of the list frees something: so what is wrong with one is only that it frees nothing
#   annotation the annotation whose default it is: it counts for each Ingress that does not say otherwise
#   setting    the setting of the environment that is its default (bin/settings)
#   default    of others: the setting that counts without the key
#   directive, unit    the directive of nginx that it is, and what follows its value
#   part       parts.jq says what it comes to, perhaps together with others
#   no_effect  it is accepted, and there is nothing to do, as `about` says
#   missing    it cannot be had here: who asks for it has a problem; `about` says what to do instead
#   about      what it does, or why not
#
# $ENV: DEFAULT_ANNOTATIONS, and the settings that are defaults of keys
include "annotations/configmap/parts"; # parts, as_argument
include "annotations/configmap/headers"; # headers_of_data
include "annotations/configmap/log";
include "annotations/configmap/blocks"; # pattern
include "annotations"; # flag, size, typed, row, understood, trimmed
include "networks"; # networks
include "allow"; # quoted
import "annotations/configmap/keys" as $keys;
import "annotations" as $table;
import "annotations/features/dropped-headers" as $dropped;

# --- one key

# input: a row / output: the row that has its type
def grammar: if .like then $table::table[0][.like] | if .alias then $table::table[0][.alias] else . end else . end;

# input: text / output: its elements
def list_elements: split(",") | map(trimmed | select(. != ""));

# input: text such as 5m / output: seconds; nothing if it is none
def seconds:
  capture("\\A(?<number>0|[1-9][0-9]{0,7})(?<unit>[smhd]?)\\z")
  | (.number | tonumber) * {"": 1, s: 1, m: 60, h: 3600, d: 86400}[.unit];

# input: the elements of a list / output: {value: those that are right, dropped: the others}; or {} if that is too long
def right_elements($row):
  if length > 100 or any(.[]; length > 1024) then {}
  else
    {value: map(select($row.pattern == null or test("\\A(\($row.pattern))\\z")))} as $right
    | $right + {dropped: (. - $right.value)}
  end;

# The same of texts and regular expressions.
def right_patterns:
  if length > 1000 then {} else {value: map(select(pattern.entry)), dropped: map(select(pattern.wrong))} end;

# output: what the type of a row lets in, for a sentence
def allowed:
  {seconds: "times such as 30s or 5m",
   patterns: "texts, and regular expressions behind ~ or ~*, with commas between"}[.type] // possible;

# input:  the value of a key, text
# output: {value: what it means; null: nothing is said}, perhaps with dropped: [element]; or {} if it is wrong
#
# As ingress-nginx has it, an empty number is 0 and an empty flag false. A number is decimal, without zeros before it.
def meaning($row):
  if $row.type == "flag" then [if . == "" then false else flag end] | if . == [] then {} else {value: .[0]} end
  elif $row.type == "number" then
    if . == "" then "0" else . end
    | if test("\\A(0|[1-9][0-9]{0,9})\\z") then
        tonumber | if . >= ($row.min // 0) and . <= ($row.max // infinite) then {value: .} else {} end
      else {}
      end
  elif .[:4096] | test("\\A\\s*\\z") then {value: null}
  elif length > 65536 then {}
  elif $row.type == "networks" then
    [list_elements | join(",") | networks] | if . == [] then {} else {value: .[0]} end
  elif $row.type == "list" and ($row | has("part")) then list_elements | right_elements($row)
  elif $row.type == "patterns" then list_elements | right_patterns
  elif $row.type == "seconds" then [trimmed | seconds] | if . == [] then {} else {value: .[0]} end
  elif $row.type == "size" and (trimmed | test("\\A(0|[1-9][0-9]*)[bkmg]?\\z"; "i") | not) then {}
  else
    (if $row.type == "text" and $row.pattern == null then $row + {pattern: "[ -~]*"} else $row end) as $row
    | [typed($row)] | if . == [] then {} else {value: .[0]} end
  end;

# input: text of a key that is the default of an annotation / output: what is wrong with it there, or null
def wrong_as_annotation($name): {name: $name, value: ., row: ($name | row)} | understood | .wrong;

# input: what is judged / output: whether some elements of a list are wrong
def has_dropped: (.means.dropped // []) != [];

# input:  {key, value: text}
# output: the same with .row, and .means, which is {value} or {}; .wrong is what it allows then
def judged:
  $keys::keys[0][.key] as $row
  | if $row == null then .
    else
      ($row | grammar) as $grammar
      | .row = $row | .type = $grammar.type
      | .means = (.value | if type == "string" then meaning($grammar) else {} end)
      | if .means.value != null and $row.annotation and ($row.like or $row.type == "networks") then
          if .value != "" and (.value | wrong_as_annotation($row.annotation)) then .means = {} else . end
        else .
        end
      | if .means == {} or has_dropped then
          .allowed = ($grammar | allowed)
        else .
        end
    end;

# input: what is judged / output: whether it asks for something
def asks: .means.value != null and .means.value != false;

# --- all keys

# input:  [what is judged]; $good: the last good values of those that protect
# output: the same; a wrong value of those that protect is its last good one, with .kept
def with_last_good($good):
  map(
    if .row.protects and (.row.missing | not) and (.means == {} or (has_dropped and (.row.frees | not))) then
      if $good[.key] then .allowed as $allowed | . + ({key, value: $good[.key]} | judged) + {kept: true, was: .value, $allowed}
      else .means = {} | .closes = true
      end
    else .
    end);

# input: something judged / output: what is wrong with it, as the middle of a sentence
def wrong_value: "\(.key) is \(.was // .value | quoted)\(if .allowed then "; allowed: \(.allowed)" else "" end)";

# input: something judged / output: {reason, message} if it has a problem
def problem:
  if .row == null then {reason: "ConfigMapKeyUnknown", message: "\(.key | quoted) is no key of ingress-nginx"}
  elif .kept then {reason: "ConfigMapValueRefused", message: "\(wrong_value). Its last good value holds: \(.value | quoted)"}
  elif .closes then empty
  elif .row.missing then
    select(.row.protects | not) | select(.means == {} or asks)
    | {reason: "ConfigMapKeyNotSupported", message: "\(.key) is not supported: \(.row.about)"}
  elif .row.no_effect then empty
  elif .means == {} then {reason: "ConfigMapValueRefused", message: "\(wrong_value). Its default holds"}
  elif has_dropped then
    {reason: "ConfigMapValueRefused",
     message: "\(.key) has \(.means.dropped[:5] | map(quoted) | join(", ")), which is left out; allowed: \(.allowed)"}
  else empty
  end;

# input: something judged / output: why nothing must be served, if so
def obstacle:
  if .closes then wrong_value
  elif .row.missing and .row.protects and (.means == {} or asks) then "\(.key) is not supported: \(.row.about)"
  else empty
  end;

# --- the ConfigMaps that two of the keys name

# input:  {key: value}
# output: {names: {key: "namespace/name"}, headers: {key: {name: text}}, problems, obstacles}
#
# $named is {key: [the items of the list that has it, or of an empty one]} of those that were read; $before is what was
# found of them last. What is not read yet will be, before this counts (configmap.bash).
def named_headers($named; $before):
  with_entries(select((.key | IN("add-headers", "proxy-set-headers")) and .value != null)) as $names
  | [ $names | to_entries[] | .key as $key | .value as $name
      | select($named[$key])
      | (if $named[$key] == [] then {wrong: "it does not exist"}
         elif "\($named[$key][0].metadata | .namespace)/\($named[$key][0].metadata.name)" != $name then error("the list has another object than ConfigMap \($name)")
         else $named[$key][0].data // {} | headers_of_data($key; $dropped::dropped[0])
         end)
      | . + {$key, $name} ] as $found
  | {$names,
     headers: ($found | map({(.key): (.headers // $before[.key])} | select(.[] != null)) | add // {}),
     problems: [ $found[]
       | if .wrong then select($before[.key]) | "\(.key) names ConfigMap \(.name): \(.wrong). The last good headers hold"
         elif .left_out != [] then "\(.key) names ConfigMap \(.name): \(.left_out | join(", ")) is left out, since nginx says that itself"
         else empty
         end
       | {reason: "ConfigMapValueRefused", message: .} ],
     obstacles: [$found[] | select(.wrong and $before[.key] == null) | "\(.key) names ConfigMap \(.name): \(.wrong)"]};

# input: {key: {name: text}} / output: PROXY_SET_HEADERS
def proxy_set_headers: .["proxy-set-headers"] | to_entries | map("\(.key): \(.value)\n") | add // "";

# input: the data of ConfigMap $name, {key: text} / output: its summary (configmap.jq); $good is as for with_last_good
def summary($name; $good; $problems; $obstacles; $named; $headers):
  (to_entries | map(judged) | with_last_good($good)) as $all
  | ([$all[] | select(.row and (.row.missing or .row.no_effect | not) and .means != {})]) as $counting
  | ($counting | map({(.key): .means.value}) | add // {} | parts) as $parts
  | ($counting | map({(.key): .means.value}) | add // {} | named_headers($named; $headers)) as $said
  | ($obstacles + [$all[] | obstacle] + $said.obstacles) as $obstacles
  | ($problems + [$all[] | problem] + $parts.problems + $said.problems
     + [$obstacles[] | {reason: "ProtectionNotAvailable", message: "\(.). Nothing is served until that is mended"}]) as $problems
  | {
      configmap: $name, uses: ["configmap"],
      settings: (
        [$counting[] | select(.row.setting and .means.value != null)
         | {(.row.setting): (.means.value | if . == true then "on" elif . == false then "off" else tostring end)}] | add // {}
        | . + $parts.settings
          + if $said.headers["proxy-set-headers"] then {PROXY_SET_HEADERS: ($said.headers | proxy_set_headers)} else {} end),
      annotations: (
        [$counting[] | select(.row.annotation)
         | {(.row.annotation): (if .means.value == null then null
             elif .type == "flag" or .type == "number" then "\(.means.value)"
             elif .type == "networks" then .means.value | join(",")
             else .value | trimmed end)}] | add // {}
        | . + $parts.annotations),
      directives: (
        [$counting[] | select(.row.directive and .means.value != null)
         | {(.row.directive): "\(.row.directive) \(.means.value | as_argument)\(.row.unit // "");"}] | add // {}
        | . + $parts.directives),
      parts: ($parts.parts + if $said.headers["add-headers"] then {added: $said.headers["add-headers"]} else {} end),
      names: $said.names, headers: $said.headers,
      keys: [$counting[].key],
      good: ([$all[] | select(.row.protects and (.row.missing | not) and .means != {}) | {(.key): .value}] | add // {}),
      closed: (if $obstacles == [] then null
               else "closed, because a protection is not available here: ConfigMap \($name): \($obstacles[:5] | join("; "))"
               end),
      $problems
    };
