# Is a snapshot complete?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# output: nothing if each list is whole, else a sentence for each doubt
#
# What a list must have, by the Kubernetes API conventions (lists and paging):
# the kind that was asked for, an array of items, a resourceVersion, and no
# continue token, which would say that this is only the first page.

def doubts($kind):
  if type != "object" then "it is no object"
  elif .kind != $kind then "its kind is \(.kind | tojson), not \($kind)"
  elif (.items | type) != "array" then "it has no items"
  elif (.metadata.resourceVersion // "") == "" then "it has no resourceVersion"
  elif (.metadata.continue // "") != "" then "it is only the first page of a longer one"
  else empty
  end;

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
