# Is a snapshot complete, and does it say anything new?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# args:   $known: [the last snapshot that was complete], or []
# output: a sentence for each doubt; else "same" if the same routing follows as from $known; else nothing
include "kubernetes";

# input: an Ingress / output: what of it decides: all but its status, and what changes with that
def deciding: [.spec, (.metadata | .namespace, .name, .uid, .creationTimestamp, .annotations)];

# input: a snapshot / output: whether all that decides is as in $known; what is most often different is compared first
def says_nothing_new:
  . as $new
  | $known[0] // empty
  | (.ingresses.items | length) == ($new.ingresses.items | length)
    and all("endpointSlices", "services", "ingressClasses", "certificates"; . as $key | $known[0][$key] == $new[$key])
    and [.ingresses.items[] | deciding] == [$new.ingresses.items[] | deciding];

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
