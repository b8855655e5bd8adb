# The objects of manifests, with what the API server would add: a namespace, a time of creation, the data of a Secret.
#
# input:  the objects, as kubectl prints them (jq -n)
# output: "LIST<tab>OBJECT" for each: the name of its list (lib/fetch/lists.bash), or secrets, configmaps, or others if
#         it decides nothing here. It begins with its metadata, and that with the name and the namespace.

# input: an object / output: the list that it is of
def list:
  { "networking.k8s.io/v1": {Ingress: "ingresses", IngressClass: "ingressclasses"},
    "v1": {Service: "services", Secret: "secrets", ConfigMap: "configmaps", Namespace: "namespaces"},
    "discovery.k8s.io/v1": {EndpointSlice: "endpointslices"}
  }["\(.apiVersion)"]["\(.kind)"] // "others";

# input: an object; $number is its place in the files
# output: the same. It is younger than all that have been created, as letters sort behind digits, and than those before
#         it. (The uid and resourceVersion name the files of a Secret.)
def completed($number):
  .metadata |=
    { name, namespace: (.namespace // "default"), uid: "\($number)", resourceVersion: "1",
      creationTimestamp: (.creationTimestamp // "not created yet, number \("0000\($number)"[-5:]) of the files") }
    + (. // {} | del(.name, .namespace, .uid, .resourceVersion, .creationTimestamp))
  | if .metadata.name | type != "string" then error("a \(.kind) has no metadata.name") else {metadata} + . end;

# input: a Secret / output: the same with its .stringData in its .data, as the API server keeps it
def with_data: .data = (.data // {}) + (.stringData // {} | map_values(tostring | @base64)) | del(.stringData);

[inputs] | to_entries
| map(.value |= {list: list, object: .} | . + .value
    | if .list == "others" then . else .key as $key | .object |= completed($key + 1) end
    | if .list == "secrets" then .object |= with_data else . end)
| map(.name = if .list == "others" then .key else .object.metadata | [.namespace, .name] end)
| group_by([.list, .name]) | map(.[-1]) | sort_by(.key)[] # of one name, the last counts, as after `kubectl apply`
| select(.list != "namespaces" or .object.status.phase == "Terminating") # fetch reads no others
| "\(.list)\t\(.object | tojson)"
