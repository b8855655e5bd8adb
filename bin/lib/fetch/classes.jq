# Which Ingresses are ours, by their class; and which of them cannot be named in nginx.conf.
include "fetch/items"; # read_item
include "allow"; # is_name, quoted

# input:  the items of the IngressClassList, one on each line
# output: {named: {"name of an IngressClass": true, ...} of those that are ours, unnamed: whether an Ingress without a
#         class is ours}
#
# A class is ours if its spec.controller says so. The class $class is also ours while it does not exist: deleting it by
# mistake must not take every route away.
def our_classes($class; $controller):
  [split("\n")[] | select(. != "") | read_item | .object | values] as $all
  | [$all[] | select(.spec.controller == $controller)] as $ours
  | {
      named: ([$ours[].metadata.name] + if any($all[]; .metadata.name == $class) then [] else [$class] end
        | map({(.): true}) | add),
      unnamed: any($ours[]; .metadata.annotations["ingressclass.kubernetes.io/is-default-class"] == "true")
    };

# input: an Ingress / output: whether it is ours. The field counts before the annotation of before Kubernetes 1.18.
def is_ours($our_classes):
  (.spec.ingressClassName // .metadata.annotations["kubernetes.io/ingress.class"]) as $named
  | if $named == null then $our_classes.unnamed else $our_classes.named[$named] end;

# input: an Ingress / output: a problem if its name is none; else nothing
#
# The API server checks names already; but they go into nginx.conf, so they are checked again.
def refused_name:
  .metadata
  | select((.namespace | is_name) and (.name | is_name) | not)
  | {problem: {reason: "NameRefused",
     message: "the Ingress with namespace \(.namespace | quoted) and name \(.name | quoted) is not served"}};
