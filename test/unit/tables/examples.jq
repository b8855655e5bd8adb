# An Ingress for each annotation with a value as an example, for the host ANNOTATION.example, in place of those of a cluster.
#
# args: $examples: [{annotation: value, or {annotation: value} of all that it takes, or null if it takes more than an Ingress}]

.ingresses.items = [
  $examples[0] | to_entries[] | select(.value)
  | {
      metadata: {namespace: "demo", name: .key, creationTimestamp: "2001-01-01T00:00:00Z", annotations: ((.value | objects) // {(.key): .value} | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))},
      spec: {
        ingressClassName: "bash",
        rules: [{host: "\(.key).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]}}]
      }
    }
]
