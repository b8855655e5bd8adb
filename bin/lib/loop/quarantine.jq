# In which order quarantine gives a snapshot's Ingresses to nginx, and what it says of those that it leaves out.
include "allow";

# input: the lines of a snapshot (jq -n -R)
# args:   $live: the lines of the snapshot that is live
#         $model: [the routing model that is live]
#         $found: [{"Ingress namespace/name": {summary, message}}, ...]: those that are left out already
# output: numbers: how many lines belong to 0, to 0 and 1, to 0 to 2; then the lines, without those that are left out
#           0  no Ingresses
#           1  Ingresses that are live as they are now: they passed nginx's test before, so others are probably guilty
#           2  new ones, or with something new
#           3  such as these of a namespace that has one which is left out: they may be many; nobody must wait for them
#         In each group, the oldest Ingress comes first.
def in_order($live; $model; $found):
  ($found | add // {}) as $found
  | ($found | map_values(.summary)) as $left_out
  | ([$found | keys[] | {(namespace): true}] | add // {}) as $suspects
  | ([$model[].problems[]? | select(.reason == "RejectedByNginx") | {(.of): true}] | add // {}) as $was_left_out
  | (reduce ($live | split("\n")[]) as $line ({}; .[$line] = true)) as $is_live
  | [ inputs
      | . as $line
      | fromjson
      | select(.whole | not)
      | (.of // "") as $key
      | select($left_out[$key] != $line)
      | { group: (if $key == "" then 0
            elif $is_live[$line] and ($was_left_out[$key] | not) then 1
            elif $suspects[$key | namespace] then 3
            else 2
            end),
          created, $key, $line } ]
  | sort_by(if .group == 0 then [0] else [.group, .created, .key] end)
  | ([range(3) as $group | map(select(.group <= $group)) | length] | map(tostring) | join(" ")), .[].line;

# input: the line of an Ingress / output: how it is left out: {"namespace/name": {summary, message}}
def left_out($message):
  {(fromjson.of): {summary: ., message: ($message[:200] | printable)}};
