# Is a snapshot complete?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# output: a sentence for each doubt
include "kubernetes";

[inputs]
| if length != 1 then
    "the reads do not make one JSON document"
  else
    .[0]
    | "the answer for " +
      ( (.ingresses | "ingresses: \(doubts("IngressList"))"),
        (.ingressClasses | "ingressClasses: \(doubts("IngressClassList"))"),
        (.terminatingNamespaces | "terminatingNamespaces: \(doubts("NamespaceList"))"),
        (.services | "services: \(doubts("ServiceList"))"),
        (.endpointSlices | "endpointSlices: \(doubts("EndpointSliceList"))") )
  end
