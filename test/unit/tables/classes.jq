# A row of the table of classes: IngressClasses, and one Ingress for "class.example".
#
# input:  a snapshot
# args:   $classes: NAME=CONTROLLER[,default] ..., where the controller "ours" is the one that we are, or "none"
#         $ingress: FIELD=VALUE ..., where a field is class or annotation, or "neither"
# output: the snapshot with these

# input: text of words with "=" / output: [["name", "value"], ...]
def pairs: [split(" ")[] | select(contains("=")) | split("=")];

.ingressClasses.items = [
  $classes | pairs[]
  | (.[1] | split(",")) as [$controller, $default]
  | {
      metadata: {name: .[0], annotations: {"ingressclass.kubernetes.io/is-default-class": "\($default == "default")"}},
      spec: {controller: (if $controller == "ours" then "bash-ingress.local/controller" else "example.com/\($controller)" end)}
    }
]
| ($ingress | pairs | map({(.[0]): .[1]}) | add // {}) as $fields
| .ingresses.items = [{
    metadata: {namespace: "demo", name: "class", annotations: (if $fields.annotation then {"kubernetes.io/ingress.class": $fields.annotation} else {} end)},
    spec: {
      ingressClassName: $fields.class,
      rules: [{host: "class.example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]
    }
  }]
