# What the Kubernetes objects say, in the words of the API and nothing more.
include "allow";

# input: anything / output: a refusal: why a part of an Ingress is not served as it says
def refusal($ingress; $reason; $message): {ingress: $ingress, reason: $reason, message: $message};

# input: an object / output: "namespace/name"
def key: "\(.metadata.namespace)/\(.metadata.name)";

# input: an object / output: a sort key that puts the oldest first, then by namespace/name
def age: [.metadata.creationTimestamp, .metadata.namespace, .metadata.name];

# input: a list / output: why it may not be the whole list of that kind, as the end of a sentence; nothing if it is whole
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

# input: a snapshot / output: {"bash": true, ...}: the names of the IngressClasses that are ours
#
# A class is ours if its spec.controller says so. The class $class is also ours
# while it does not exist: deleting it by mistake must not take every route away.
def our_classes($class; $controller):
  (.ingressClasses.items | map(select(.metadata.name == $class)) | length == 0) as $missing
  | [ .ingressClasses.items[] | select(.spec.controller == $controller) | .metadata.name ]
  | if $missing then . + [$class] else . end
  | map({(.): true}) | add // {};

# input: a snapshot / output: whether an Ingress without a class is ours (IngressClass, "is-default-class")
def default_class_is_ours($controller):
  any(.ingressClasses.items[];
    .spec.controller == $controller
    and .metadata.annotations["ingressclass.kubernetes.io/is-default-class"] == "true");

# input: a snapshot / output: [Ingress that we serve, ...], the oldest first
#
# A namespace that is being deleted keeps its Ingresses until its pods have ended (since Kubernetes 1.33), which may
# be half a minute. They give way to all others, whatever their age.
def our_ingresses($class; $controller):
  our_classes($class; $controller) as $ours
  | default_class_is_ours($controller) as $default
  | ([.terminatingNamespaces.items[]? | {(.metadata.name): true}] | add // {}) as $ending
  | [ .ingresses.items[]
      | (.spec.ingressClassName // .metadata.annotations["kubernetes.io/ingress.class"]) as $named
      | select(if $named == null then $default else $ours[$named] end)
    ]
  | sort_by($ending[.metadata.namespace] // false, age);

# input: a Service / output: {numbers: {"80": ServicePort, ...}, names: {"web": ServicePort, ...}}
#
# A number may stand there for TCP and for UDP: then TCP is meant.
def ports:
  [.spec.ports[]?]
  | map(select((.protocol // "TCP") != "TCP")) + map(select((.protocol // "TCP") == "TCP")) # of the same, the last counts
  | {numbers: (map({"\(.port)": .}) | add // {}), names: (map(select(.name) | {(.name): .}) | add // {})};

# input: a snapshot / output: {"namespace/name": Service, with what `ports` says of it, ...}
def services_by_key:
  .services.items | map({(key): (. + {ports: ports})}) | add // {};

# input: a snapshot / output: {"namespace/name of the Service": [EndpointSlice, ...], ...}
def slices_by_service:
  def service: .metadata.labels["kubernetes.io/service-name"];
  .endpointSlices.items
  | map(select(service)) | group_by("\(.metadata.namespace)/\(service)")
  | map({("\(.[0].metadata.namespace)/\(.[0] | service)"): sort_by(.metadata.name)}) | add // {};

# input: [EndpointSlice, ...] of one Service / output: {"name of a port": [{port, addressType, endpoints}, ...], ...}
#
# The slice's port of the same name has the pods' port: a Service's targetPort
# may be a name that means another number in each pod, and so in each slice.
def endpoints_by_port:
  [ .[] | . as {$addressType, $endpoints} | .ports[]? | select(.port | is_port)
    | {name: (.name // ""), port, $addressType, $endpoints} ]
  | group_by(.name) | map({(.[0].name): .}) | add // {};

# input: {port, addressType, endpoints} / output: its "address:port"s, of the endpoints that pass
def addresses(passes):
  . as {$port, $addressType}
  | .endpoints[]? | select(passes) | .addresses[]?
  | if $addressType == "IPv4" and is_ipv4 then "\(.):\($port)"
    elif $addressType == "IPv6" and is_ipv6 then "[\(.)]:\($port)"
    else empty
    end;

# input: [{port, addressType, endpoints}, ...] / output: ["address:port", ...], but not many more than $most
#
# Ready endpoints (no condition counts as ready); if there is none, those that
# end but still serve, as kube-proxy does (EndpointConditions in discovery.k8s.io/v1).
def endpoints($most):
  [ limit($most + 1; .[] | addresses(.conditions.ready != false)) ] as $ready
  | if ($ready | length) > 0 then $ready
    else [ limit($most + 1; .[] | addresses(.conditions.serving == true and .conditions.terminating == true)) ]
    end
  | unique;
