# Which Events are told: each problem of an Ingress or a ConfigMap, and that there is none any more; and how they are
# written.
#
# input:  if $print is "due": {items: [Ingress, ...]}, all that there are (jq -n: no input is an error)
#         if it is "writes": the List of Events that are due, then the EventLists of those that exist
# args:   $print; the others are for "due":
#         $controller: the name of this controller; $me: the name of this pod
#         $model: [the routing model that is live], which names the Ingresses that are ours
#         $configmaps: [{kind, metadata: {namespace, name, uid}}, ...] of those that settings name
#         $first: [{"namespace/name of an Ingress": status}, ...] of those that got their first address
#         $told: [{events: {"namespace/name of an Event": when it was told last, in seconds},
#                  troubled: {"Ingress namespace/name": true if it had problems then}}], or [{}]
#         $most: the greatest number of Events to tell
# output: if $print is "due", three lines:
#           how many Events are told now, and how many have to wait
#           what $told is once they are told
#           a List of the Events that are told now, as if each were told for the first time
#         if it is "writes": "create LIST" and "replace LIST", each if there is something in it.
#         A repeated Event is counted, not multiplied.
#
# The API server forgets an Event after an hour. So each problem is told again
# every half hour, for as long as it exists.
include "fetch/items";

def half_an_hour: 1800;

# input: text / output: a number that differs for different texts
def hash: reduce explode[] as $c (7; (. * 31 + $c) % 4294967291);

# input: {type, reason, message} / output: an Event about an object of the list of Ingresses, or a ConfigMap
#
# The name is made of the Event's words, so there is one Event for the same words,
# whichever replica tells them.
def event($object; $now):
  "\($object.metadata.uid) \(.type) \(.reason) \(.message)" as $all
  | $object.metadata as $its
  | {
      apiVersion: "v1", kind: "Event",
      metadata: {namespace: $its.namespace, name: "\($its.name[:240] | sub("[-.]+$"; "")).\($all | hash)"},
      involvedObject: (
        (if $object.kind == "ConfigMap" then {apiVersion: "v1", kind: "ConfigMap"}
         else {apiVersion: "networking.k8s.io/v1", kind: "Ingress"}
         end)
        + ($its | {namespace, name, uid} | with_entries(select(.value)))),
      type, reason, message,
      source: {component: $controller}, reportingComponent: $controller, reportingInstance: $me,
      count: 1, firstTimestamp: ($now | todate), lastTimestamp: ($now | todate)
    };

# input: [problem] of one object / output: a Warning for each (limits.jq sees to it that there are not many)
def warnings: .[] | {type: "Warning", reason, message: .message[:1000]};

# input: the status of an Ingress, or null / output: what an Event says of an Ingress without problems
def routed:
  [.loadBalancer.ingress[]? | .ip // .hostname] as $points
  | {type: "Normal", reason: "Routed",
     message: "all that it asks for is served\(if $points == [] then "" else ", at " + ($points | join(", ")) end)"};

# output: what an Event says of a ConfigMap without problems
def followed: {type: "Normal", reason: "Followed", message: "all that it says counts"};

# input: an object / output: what claims and problems are .of
def of: "\(.kind // "Ingress") \(key)";

# input: "ConfigMap namespace/name", which may not exist / output: the same as an object
def as_object: capture("\\A(?<kind>ConfigMap) (?<namespace>[^/]+)/(?<name>.+)\\z") | {kind, metadata: {namespace, name}};

# input: {items: [Ingress]} / output: the three lines
def due:
  (now | floor) as $now
  | .items as $items
  | ([$model[0].claimants[]? | {(.): true}] | add // {}) as $is_ours
  | [$items[] | select($is_ours[of])] as $ingresses
  | ($model[0].problems // [] | map(select(.of))) as $problems
  | ([$problems[].of | as_object] + $configmaps | map({(of): .}) | add // {}) as $its_configmaps
  | ($its_configmaps + ($ingresses | map({(of): .}) | add // {})) as $ours
  | ($problems | map(select($ours[.of])) | group_by(.of)) as $troubled
  | ($troubled | map({(.[0].of): true}) | add // {}) as $is_troubled
  # An Ingress without problems has an Event when it gets its first address, or when its last problem is solved.
  | ($told[0].troubled // {}) as $was_troubled
  | ($first | add // {}) as $first
  | [ $ours[] | select($is_troubled[of] | not) | select($was_troubled[of] or (.kind != "ConfigMap" and $first[key]))
      | . as $object | (if .kind == "ConfigMap" then followed else $first[key] // .status | routed end)
      | event($object; $now) ] as $solved
  | [ $troubled[] | $ours[.[0].of] as $object | warnings | event($object; $now) ] as $warnings
  | ($told[0].events // {}) as $times
  | ($solved + $warnings) as $all
  # (One that was told later than now was told while the clock was ahead.)
  | [ $all[] | select(($times[key] // 0) as $told | $told + half_an_hour <= $now or $told > $now) ] as $due
  | ($due[:$most] | map({(key): $now}) | add // {}) as $new
  | "\($due[:$most] | length) \($due[$most:] | length)",
    ( {troubled: (
         $is_troubled
         + ( $due[$most:]
             | map(select(.type == "Normal") | .involvedObject | {"\(.kind) \(.namespace)/\(.name)": true})
             | add // {} )),
       events: ([$all[] | key | select($times[.]) | {(.): $times[.]}] | add // {} | . + $new)} | tojson ),
    ( {apiVersion: "v1", kind: "List", items: $due[:$most]} | tojson );

# input: [Event, or what one becomes] / output: a line, unless there are none
def write($verb): select(. != []) | "\($verb) \({apiVersion: "v1", kind: "List", items: .} | tojson)";

# input: [the Events that are due, and those that exist, in one list or more]
def writes:
  map(.items // error("the answer is not a list of Events"))
  | .[0] as $due
  | ([.[1:][][] | {(key): .}] | add // {}) as $existing
  | [ $due[] | . + {before: $existing[key]} ]
  | ( map(select(.before == null) | del(.before)) | write("create") ),
    ( map(select(.before) | . as {$before, $lastTimestamp, $reportingInstance}
        | $before
          + {apiVersion: "v1", kind: "Event", count: (($before.count // 1) + 1), $lastTimestamp, $reportingInstance}
        | del(.metadata.managedFields))
      | write("replace") );

if $print == "due" then input | due else [inputs] | writes end
