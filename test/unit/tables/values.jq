# An Ingress for each row of annotations.json and each value, and one that has no annotation: "plain".
#
# input:  the lists of a cluster
# args:   $table: [the rows]; $which: "all" of them, or those that are "typed"; $values: [value]
# output: the lists with Ingresses "NAME-NUMBER", for the host NAME-NUMBER.example, in place of its own

[$table[0] | to_entries[] | select($which == "all" or (.value.type and .value.alias == null)) | .key] as $names
| .ingresses.items = [
    {name: "plain", annotations: {}},
    ($names[] as $name | $values | to_entries[] | {name: "\($name)-\(.key)", annotations: {"nginx.ingress.kubernetes.io/\($name)": .value}})
    | {
        metadata: (. + {namespace: "demo", creationTimestamp: "2001-01-01T00:00:00Z"}),
        spec: {
          ingressClassName: "bash",
          rules: [{host: "\(.name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]
        }
      }
  ]
