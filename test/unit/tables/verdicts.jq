# Random Ingresses for verdicts, always the same for the same number: most have a host of their own; right and wrong
# values of annotations, names that nobody knows, paths that are refused, other classes. All Services and Secrets that
# they name are there.
#
# args:   $first, $count: Ingresses number $first and on; $examples: [tables/examples.json]; $classes: the IngressClassList
# output: lists as test/fixtures/snapshot takes them; and .asks: a line "namespace/name<tab>host<tab>path" for each path

include "random"; # random, pick
include "more"; # more

def wrong_values: "wrong; value", "", "true", "off", "-1", "$uri", "10.0.0.0/33";

def unknown:
  {"made-up": "yes"}, {"whitelist-source-ranges": "10.0.0.0/8"}, {"configuration-snippet": "deny all;"},
  {"enable-opentelemetry": "true"}, {"ssl-passthrough": "true"}, {"auth-type": "digest", "auth-secret": "users"},
  {"proxy-read-timeout": "600s"}, {"permanent-redirect": "https://a.example$uri"}, {"auth-url": "https://login.elsewhere.example/"},
  {"proxy-cookie-path": "/ \"/; HttpOnly; Secure\""}, {"connection-proxy-header": "close"}, {"proxy-body-size": "0"},
  {"rewrite-target": "/x/$1"}, {"use-regex": "true"};

def annotations($n):
  ([$examples[0] | to_entries[] | select(.value) | .key as $name | .value | if type == "object" then . else {($name): .} end]) as $right
  | [ range([0, 1, 1, 2, 3][random($n; 1) % 5]) as $i
      | random($n; 10 + $i) % 10
      | if . < 4 then pick($n; 20 + $i; $right)
        elif . < 6 then {(pick($n; 30 + $i; $examples[0] | keys)): pick($n; 40 + $i; [wrong_values])}
        elif . < 8 then pick($n; 50 + $i; [unknown])
        else pick($n; 60 + $i; [more])
        end ]
  | add // {}
  | with_entries(.key |= (if random($n; 70) % 7 == 0 then "bash-ingress.local/" else "nginx.ingress.kubernetes.io/" end) + .);

def paths:
  {path: "/", pathType: "Prefix"}, {path: "/", pathType: "ImplementationSpecific"}, {path: "/api", pathType: "ImplementationSpecific"},
  {path: "/x/y", pathType: "Prefix"}, {path: "/z/", pathType: "Prefix"}, {path: "/exact", pathType: "Exact"},
  {path: "/app(/|$)(.*)", pathType: "ImplementationSpecific", ask: "/app/x"}, {path: "/a b", pathType: "Prefix", ask: "/a%20b"};

def ingress($n):
  {
    apiVersion: "networking.k8s.io/v1", kind: "Ingress",
    metadata: {namespace: pick($n; 3; ["demo", "demo", "demo", "other"]), name: "i\($n)", creationTimestamp: (946684800 + $n | todate), annotations: annotations($n)},
    spec: ({rules: [
        {host: "r\(if random($n; 4) % 6 == 0 then $n - 1 else $n end).example",
         http: {paths: ([range(1 + random($n; 5) % 3) as $p | pick($n; 80 + $p; [paths])] | unique_by(.path)
           | map(. + {backend: {service: {name: pick($n; 6; ["apple", "banana"]), port: pick($n; 7; [{number: 80}, {name: "http"}])}}}))}}]}
      + if random($n; 8) % 3 == 0 then {tls: [{hosts: ["r\($n).example"], secretName: "pair"}]} else {} end
      + pick($n; 9; [{ingressClassName: "bash"}, {ingressClassName: "bash"}, {ingressClassName: "bash"}, {ingressClassName: "bash"},
          {ingressClassName: "bash"}, {ingressClassName: "bash"}, {ingressClassName: "bash"}, {ingressClassName: "another"}, {}]))
  };

# (Two of the wrong values are names.)
def secrets($namespace; $hosts):
  ("users", "ca", "pair", "headers", "true", "off") as $name
  | {secret: "\($namespace)/\($name)", use: "auth-file", file: "users.file.htpasswd"}, {secret: "\($namespace)/\($name)", use: "auth-map", file: "users.map.htpasswd"},
    {secret: "\($namespace)/\($name)", use: "ca", file: "default.pem", pair: true}, {secret: "\($namespace)/\($name)", file: "default.pem", algorithm: "rsa", names: $hosts},
    {secret: "\($namespace)/configmaps/\($name)", use: ("answer-headers", "question-headers"), headers: {"X-A": "b"}};

[range($first; $first + $count) | ingress(.)] as $ingresses
| [("demo", "other") as $namespace | ("apple", "banana", "cherry") as $name | {$namespace, $name}] as $services
| {
    ingresses: {items: ($ingresses | map(del(.spec.rules[].http.paths[].ask)))},
    ingressClasses: $classes,
    services: {items: [$services[] | {metadata: ., spec: {type: "ClusterIP", ports: [{name: "http", port: 80}, {name: "https", port: 443}]}}]},
    endpointSlices: {items: [$services | to_entries[] | {
      metadata: (.value | {namespace, name: "\(.name)-1", labels: {"kubernetes.io/service-name": .name}}), addressType: "IPv4",
      ports: [{name: "http", port: 8080}, {name: "https", port: 8080}],
      endpoints: [{addresses: ["127.77.0.\(.key % 3 + 1)"], conditions: {ready: true}}]}]},
    certificates: [("demo", "other") as $namespace | secrets($namespace; [range($first - 1; $first + $count) | "r\(.).example"])],
    asks: [$ingresses[] | .metadata as $metadata | .spec.rules[] | .host as $host | .http.paths[]
      | "\($metadata.namespace)/\($metadata.name)\t\($host)\t\(.ask // .path)"]
  }
