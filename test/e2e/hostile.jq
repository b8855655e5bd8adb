# An Ingress for each character that the API server might let into a path, an annotation or a reference,
# and one for each that was published against ingress-nginx.
#
# input:  a snapshot with the Ingresses of test/unit/tables: hostile.jq, and cves.jq after it
# output: a List of Ingresses in the namespace e2e, for the Service backend
#
# Each has the host NAME.example, and a path /good.

def backend: {service: {name: "backend", port: {number: 80}}};
def is_wanted: test("\\A([0-9]+-(path-(exact|prefix|implementationspecific)|backend-protocol|secret|resource)|cve-[0-9]+)\\z");

(.cves | map(select(.reason == null) | {(.host | rtrimstr(".example")): true}) | add // {}) as $harmless # here, the API server makes the uid
| {apiVersion: "v1", kind: "List", items: [
  .ingresses.items[]
  | select(.metadata.name | is_wanted and ($harmless[.] | not))
  | "hostile-\(.metadata.name)" as $name
  | {
      apiVersion: "networking.k8s.io/v1", kind: "Ingress",
      metadata: {namespace: "e2e", $name, annotations: .metadata.annotations},
      spec: (.spec
        | .rules[0].host = "\($name).example"
        | .rules[0].http.paths |= (.[0].path = "/good" | map(.backend = backend)))
    } ]}
