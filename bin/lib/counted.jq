# Repeated Events are counted, not multiplied.
#
# input:  a List of Events to tell, then the EventList of those that exist
# output: "create LIST" and "replace LIST", each if there is something in it

# input: [Event]
def command($verb): select(. != []) | "\($verb) \({apiVersion: "v1", kind: "List", items: .} | tojson)";

[inputs | .items // error("the answer is no list")] as [$wanted, $existing]
| ($existing | map({("\(.metadata.namespace)/\(.metadata.name)"): .}) | add // {}) as $existing
| [ $wanted[] | . + {before: $existing["\(.metadata.namespace)/\(.metadata.name)"]} ]
| ( map(select(.before == null) | del(.before)) | command("create") ),
  ( map(select(.before) | . as {$before, $lastTimestamp, $reportingInstance}
      | $before + {apiVersion: "v1", kind: "Event", count: (($before.count // 1) + 1), $lastTimestamp, $reportingInstance}
      | del(.metadata.managedFields))
    | command("replace") )
