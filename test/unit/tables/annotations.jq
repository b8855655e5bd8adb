# A table's annotations, each row on an Ingress of its own, in place of the Ingresses of a snapshot.
#
# input:  a snapshot
# args:   $rows: lines of columns with tabs between: NUMBER, NAME=VALUE; NAME=VALUE; ..., ...
# output: the snapshot with an Ingress for each row, for the host row-NUMBER.example

.ingresses.items = [
  $rows | split("\n")[] | select(. != "") | split("\t") as [$number, $annotations]
  | {
      metadata: {
        namespace: "demo", name: "annotated-row-\($number)", creationTimestamp: "2001-01-01T00:00:00Z",
        annotations: ($annotations | split("; ") | map(select(. != "-") | index("=") as $at
          | {("nginx.ingress.kubernetes.io/" + .[:$at]): (.[$at + 1:] | split("\\n") | join("\n") | split("\\t") | join("\t") | split("\\0") | join("\u0000"))}) | add // {})
      },
      spec: {
        ingressClassName: "bash",
        defaultBackend: {service: {name: "cherry", port: {number: 80}}},
        rules: [{host: "row-\($number).example", http: {paths: [
          {path: "/prefix", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}},
          {path: "/exact", pathType: "Exact", backend: {service: {name: "apple", port: {number: 80}}}}
        ]}}]
      }
    }
]
