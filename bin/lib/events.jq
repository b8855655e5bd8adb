# Which Events are to be told: each problem, and that an Ingress is routed.
#
# input:  {items: [Ingress, ...]}, all that there are (jq -n: no input is an error)
# args:   $controller: who we are; $me: the name of this pod
#         $model: [the routing model that is live], which names the Ingresses that are ours
#         $first: [{"namespace/name of an Ingress": status}, ...] of those that got their first address
#         $told: [{events: {"namespace/name of an Event": when it was told last, in seconds},
#                  troubled: {"namespace/name of an Ingress": true if it had problems then}}], or [{}]
#         $most: the greatest number of Events to tell
# output: three lines:
#           how many Events are told now, and how many have to wait
#           what $told is once the others are told
#           a List of the others, as if each were told for the first time
#
# The API server forgets an Event after an hour. So each problem is told again
# every half hour, for as long as it exists.
include "items";

def half_an_hour: 1800;
def most_for_one_ingress: 20;

# input: text / output: a number that differs for different texts
def hash: reduce explode[] as $c (7; (. * 31 + $c) % 4294967291);

# input: {type, reason, message} / output: an Event about the Ingress
#
# Its name is made of what it says, so the API server denies a second one that
# says the same.
def event($ingress; $now):
  "\($ingress.metadata.uid) \(.type) \(.reason) \(.message)" as $all
  | $ingress.metadata as $its
  | {
      apiVersion: "v1", kind: "Event",
      metadata: {namespace: $its.namespace, name: "\($its.name[:240] | sub("[-.]+$"; "")).\($all | hash)"},
      involvedObject: {apiVersion: "networking.k8s.io/v1", kind: "Ingress", namespace: $its.namespace, name: $its.name, uid: $its.uid},
      type, reason, message,
      source: {component: $controller}, reportingComponent: $controller, reportingInstance: $me,
      count: 1, firstTimestamp: ($now | todate), lastTimestamp: ($now | todate)
    };

# input: [problem] of one Ingress / output: a Warning for each, but not for too many
def warnings:
  (.[:most_for_one_ingress][] | {type: "Warning", reason, message: .message[:1000]}),
  (length - most_for_one_ingress | select(. > 0)
   | {type: "Warning", reason: "MoreProblems", message: "and \(.) problems more, which the controller's log names"});

# input: the status of an Ingress, or null / output: what is said of it when it has no problem
def routed:
  [.loadBalancer.ingress[]? | .ip // .hostname] as $points
  | {type: "Normal", reason: "Routed",
     message: "all that it asks for is served\(if $points == [] then "" else ", at " + ($points | join(", ")) end)"};

(now | floor) as $now
| input
| ([$model[0].ingresses[]? | {(.): true}] | add // {}) as $is_ours
| ([.items[] | select($is_ours[key]) | {(key): .}] | add // {}) as $ours
| ($model[0].problems // [] | map(select(.ingress != null and $ours[.ingress] != null)) | group_by(.ingress)) as $troubled
| ($troubled | map({(.[0].ingress): true}) | add // {}) as $is_troubled
# Of the others it is told when the first address comes, and when the last problem has gone.
| ($told[0].troubled // {}) as $was_troubled
| ($first | add // {}) as $first
| [ $ours[] | select($is_troubled[key] | not) | select($was_troubled[key] or $first[key])
    | . as $ingress | ($first[key] // .status) | routed | event($ingress; $now) ] as $solved
| [ $troubled[] | $ours[.[0].ingress] as $ingress | warnings | event($ingress; $now) ] as $warnings
| ($told[0].events // {}) as $times
| ($solved + $warnings) as $all
| [ $all[] | select(($times[key] // 0) + half_an_hour <= $now) ] as $due
| ($due[:$most] | map({(key): $now}) | add // {}) as $new
| "\($due[:$most] | length) \($due[$most:] | length)",
  ( {troubled: ($is_troubled + ($due[$most:] | map(select(.type == "Normal") | .involvedObject | {"\(.namespace)/\(.name)": true}) | add // {})),
     events: ([$all[] | key | select($times[.]) | {(.): $times[.]}] | add // {} | . + $new)} | tojson ),
  ( {apiVersion: "v1", kind: "List", items: $due[:$most]} | tojson )
