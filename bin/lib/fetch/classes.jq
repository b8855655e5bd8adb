# Which Ingresses are ours: by their class.

# output: {"name of an IngressClass": true, ...} of those that are ours
#
# A class is ours if its spec.controller says so. The class $class is also ours while it does not exist: deleting it by
# mistake must not take every route away.
def our_classes($all; $class; $controller):
  ([$all[] | select(.spec.controller == $controller) | .metadata.name]
    + if any($all[]; .metadata.name == $class) then [] else [$class] end)
  | map({(.): true}) | add // {};

# output: whether an Ingress without a class is ours
def default_is_ours($all; $controller):
  any($all[];
    .spec.controller == $controller
    and .metadata.annotations["ingressclass.kubernetes.io/is-default-class"] == "true");

# input: an Ingress / output: whether it is ours. The field counts before the annotation of before Kubernetes 1.18.
def is_ours($ours; $default):
  (.spec.ingressClassName // .metadata.annotations["kubernetes.io/ingress.class"]) as $named
  | if $named == null then $default else $ours[$named] end;
