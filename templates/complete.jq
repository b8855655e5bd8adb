# Is a snapshot complete, and does it say anything new?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# args:   $known: [the last snapshot that was complete], or []
# output: a sentence for each doubt; else "same" if the same routing follows as from $known; else nothing
include "kubernetes";

# input: a snapshot / output: it without what changes with each address that `publish` writes
def deciding:
  .ingresses.items |= map(del(.status, .metadata.resourceVersion, .metadata.managedFields));

# input: a snapshot / output: whether it differs from $known in that only
def says_nothing_new:
  $known != [] and del(.ingresses) == ($known[0] | del(.ingresses)) and deciding == ($known[0] | deciding);

[inputs] as $documents
| if ($documents | length) != 1 then
    "the reads do not make one JSON document"
  else
    $documents[0]
    | [ (.ingresses | "ingresses: \(doubts("IngressList"))"),
        (.ingressClasses | "ingressClasses: \(doubts("IngressClassList"))"),
        (.services | "services: \(doubts("ServiceList"))"),
        (.endpointSlices | "endpointSlices: \(doubts("EndpointSliceList"))") ] as $doubts
    | ($doubts[] | "the answer for " + .),
      if $doubts == [] and says_nothing_new then "same" else empty end
  end
