# A snapshot with the objects of manifests: these take the place of those with their name.
#
# input:  the summaries of these objects, a line for each (jq -n)
# args:   $snapshot: the lines of the snapshot; $objects: the objects (objects.jq)
# output: the lines of the new snapshot
include "fetch/items"; # key

# input: a line / output: [kind, name], if it is about an object
def about:
  if .slice then ["EndpointSlice", .slice]
  elif .service then ["Service", .service]
  elif .streams then ["ConfigMap", .configMap]
  elif .configmap then ["ConfigMap", .configmap]
  elif .of then ["Ingress", (.of | ltrimstr("Ingress "))]
  elif .terminating then ["Namespace", .terminating]
  elif .certificate then [(if .certificate | contains("/configmaps/") then "ConfigMap" else "Secret" end), (.certificate | sub("/configmaps/"; "/"))]
  else empty
  end;

# input: an object / output: the same of it
def about_object: [.kind, if .kind == "Namespace" then .metadata.name else key end];

# input: the summary of an Ingress / output: the same; one that is in the cluster keeps its age
def with_age($created): if .of and (.created | startswith("not created yet")) then .created = ($created[.of] // .created) else . end;

[$objects[] | select(.metadata.name)] as $objects
| ($objects | map({(about_object | join(" ")): true}) | add // {}) as $is_replaced
| ($snapshot | map(select(.of) | {(.of): .created}) | add // {}) as $created
| def replaced: [about] | .[0] // [] | $is_replaced[join(" ")];
  [inputs | select(. != {}) | select((.certificate == null and .configmap == null) or replaced) | with_age($created)] as $new
  | [$snapshot[1:][] | select(.whole | not) | select(replaced | not)] + $new
  | $snapshot[0], (.[] | select(.configmap)), (.[] | select(.configmap | not)), # which route expects second
    {whole: true}
