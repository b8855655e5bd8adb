# Rows of the table of classes: their IngressClasses, which are the same in all, and an Ingress for each.
#
# input:  a snapshot
# args:   $rows: lines of columns with tabs between: NUMBER, CLASSES, INGRESS, ...
# output: the snapshot with these; the Ingress of row 7 is for the host class-7.example
#
#   CLASSES  NAME=CONTROLLER[,default] ..., where the controller "ours" is the one that we are, or "none"
#   INGRESS  FIELD=VALUE ..., where a field is class or annotation, or "neither"

# input: text of words with "=" / output: [["name", "value"], ...]
def pairs: [split(" ")[] | select(contains("=")) | split("=")];

[$rows | split("\n")[] | select(. != "") | split("\t")] as $rows
| .ingressClasses.items = [
  $rows[0][1] | pairs[]
  | (.[1] | split(",")) as [$controller, $default]
  | {
      metadata: {name: .[0], annotations: {"ingressclass.kubernetes.io/is-default-class": "\($default == "default")"}},
      spec: {controller: (if $controller == "ours" then "bash-ingress.local/controller" else "example.com/\($controller)" end)}
    }
]
| .ingresses.items = [
  $rows[] | "class-\(.[0])" as $name
  | (.[2] | pairs | map({(.[0]): .[1]}) | add // {}) as $fields
  | {
      metadata: {namespace: "demo", $name, annotations: (if $fields.annotation then {"kubernetes.io/ingress.class": $fields.annotation} else {} end)},
      spec: {
        ingressClassName: $fields.class,
        rules: [{host: "\($name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]
      }
    }
]
