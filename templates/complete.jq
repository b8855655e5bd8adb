# Is a snapshot complete?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# output: nothing if each list is whole, else a sentence for each doubt
include "kubernetes";

[inputs] as $documents
| if ($documents | length) != 1 then
    "the reads do not make one JSON document"
  else
    $documents[0]
    | (.ingresses | "ingresses: \(doubts("IngressList"))"),
      (.ingressClasses | "ingressClasses: \(doubts("IngressClassList"))"),
      (.services | "services: \(doubts("ServiceList"))"),
      (.endpointSlices | "endpointSlices: \(doubts("EndpointSliceList"))")
    | "the answer for " + .
  end
