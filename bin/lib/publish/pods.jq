# The summary of this controller's pods.
#
# input:  the PodList of its namespace, read with `inputs` (jq -n), so that an empty answer is an error
# args:   $me: the name of this pod
# output: {mine: whether the list has this pod, others: how many other pods of ours are not ending,
#          ready: [the addresses of the ready ones], nodes: [the addresses of their nodes]}
#
# Ours are the pods with all labels of this pod, except those that tell the versions of a
# Deployment or DaemonSet apart.

def ends: .metadata.deletionTimestamp != null or .status.phase == "Failed" or .status.phase == "Succeeded";
def is_ready: (ends | not) and any(.status.conditions[]?; .type == "Ready" and .status == "True");

[inputs]
| if length == 1 and .[0].kind == "PodList" then .[0].items else error("the answer is not a PodList") end
| [.[] | select(.metadata.name == $me)] as $mine
| ( $mine[0].metadata.labels // {}
    | del(.["pod-template-hash"], .["controller-revision-hash"], .["pod-template-generation"])
    | to_entries ) as $labels
| map(select(.metadata.labels as $has | $mine != [] and all($labels[]; $has[.key] == .value)))
| {
    mine: ($mine != []),
    others: (map(select(.metadata.name != $me and (ends | not))) | length),
    ready: (map(select(is_ready) | .status.podIP // empty) | unique),
    nodes: (map(select(is_ready) | .status.hostIP // empty) | unique)
  }
