# Random combinations of annotations, always the same for the same number: Ingresses with some of them each, for few
# hosts, and Services of which some have no ready pod.
#
# args:   $first, $count: clusters number $first and on; $examples: [tables/examples.json]; $classes: the IngressClassList
# output: lists as test/fixtures/snapshot takes them, a line for each cluster

include "random"; # random, pick
include "more"; # more

def annotations($n):
  ([$examples[0] | to_entries[] | select(.value) | .key as $name | .value | objects // {($name): .}] + [more, more, more]) as $all
  | [range(1 + random($n; 1) % 4) as $i | pick($n; 10 + $i; $all)] | add
  | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .);

def ingress($n; $i):
  pick($n; 2; [null, "a.example", "b.example", "*.c.example"]) as $host
  | {
      metadata: {namespace: pick($n; 3; ["demo", "demo", "demo", "other"]), name: "i\($i)", creationTimestamp: "2001-01-01T00:00:0\($i)Z", annotations: annotations($n)},
      spec: ({ingressClassName: "bash", rules: [
        {http: {paths: [range(1 + random($n; 4) % 3) as $p | {path: pick($n; 20 + $p; ["/", "/x", "/x/y", "/oauth2", "/(.*)", "/z/"]), pathType: pick($n; 30 + $p; ["Prefix", "Exact"]),
          backend: {service: {name: pick($n; 40 + $p; ["apple", "banana", "cherry", "missing"]), port: {number: 80}}}}]}}
        + if $host then {$host} else {} end]}
        + if $host and random($n; 5) % 3 == 0 then {tls: [{hosts: [$host]}]} else {} end)
    };

def secrets($namespace):
  {secret: "\($namespace)/users", use: "auth-file", file: "users.file.htpasswd"}, {secret: "\($namespace)/users", use: "auth-map", file: "users.map.htpasswd"},
  {secret: "\($namespace)/ca", use: "ca", file: "default.pem"}, {secret: "\($namespace)/pair", file: "default.pem", algorithm: "ec", names: ["a.example"]},
  {secret: "\($namespace)/configmaps/headers", use: ("answer-headers", "question-headers"), headers: {"X-A": "b", "Content-Type": "text/x"}};

range($first; $first + $count) as $number
| [("demo", "other") as $namespace | ("apple", "banana", "cherry") as $name | {$namespace, $name}] as $services
| {
    ingresses: {items: [range(1 + random($number; 6) % 6) as $i | ingress($number * 10 + $i; $i)]},
    ingressClasses: $classes,
    services: {items: [$services[] | {metadata: ., spec: {type: "ClusterIP", ports: [{name: "http", port: 80}, {name: "https", port: 443}]}}]},
    endpointSlices: {items: [$services | to_entries[] | .key as $key | {
      metadata: (.value | {namespace, name: "\(.name)-1", labels: {"kubernetes.io/service-name": .name}}), addressType: "IPv4", ports: [{name: "http", port: 8080}, {name: "https", port: 8443}],
      endpoints: [range(pick($number; 50 + $key; [0, 0, 1, 2])) | {addresses: ["10.1.\($key).\(. + 1)"], conditions: {ready: true}}]}]},
    certificates: [("demo", "other") as $namespace | select(random($number; 60) % 4 > 0) | secrets($namespace)]
  }
