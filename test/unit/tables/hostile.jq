# Each character that has no business in a configuration, in each field that it could get there by.
#
# input:  a snapshot
# output: the snapshot with an Ingress for each, and with .cases: [{ingress, host, reason, answer, shown}], what is
#         expected of each: a problem for that reason (null: none), the status that its good path /good answers,
#         and the text as the problem must show it
#
# The Ingress demo/7-service has character number 7 in the name of a Service, and the host 7-service.example.

def characters:
  (range(33), range(127; 160) | [.] | implode), # control characters, space and DEL
  ("\"'`{}[]<>^|\\;#$%?" | split("")[]),
  "é", "\u2028", "\u202e", "\u2066", "\ufeff", "\u0301", "😀", "\ufffd",
  "\n}", "\r\n", "\\\"", "\\n", "${STATE_DIR}", "$host", "%0a", "%2e%2e", "\u0000;",
  "x; } location / { root /; } #", "x\" { return 200 canary; } location \"/";

def path($path; $service): {$path, pathType: "Exact", backend: {service: {name: $service, port: {name: "web"}}}};
def service($name): {metadata: {namespace: "demo", $name}, spec: {ports: [{name: "web", port: 80}]}};
def slice($name; $address; $port):
  {metadata: {namespace: "demo", $name, labels: {"kubernetes.io/service-name": $name}}, addressType: "IPv4",
   ports: [{name: $port, port: 8080}], endpoints: [{addresses: [$address]}]};
def annotated($name; $value): .metadata.annotations = {("nginx.ingress.kubernetes.io/\($name)"): $value};
def another($path): .spec.rules[0].http.paths += [$path];

# input: an Ingress with one good path / output: {ingress, reason, ...} for each field
def fields($id; $text):
  (("Exact", "Prefix", "ImplementationSpecific") as $type
    | {name: "path-\($type | ascii_downcase)", reason: "PathRefused", ingress: another(path("/\($text)"; "good") + {pathType: $type})}),
  {name: "host", reason: "HostRefused", ingress: (.spec.rules += [{host: "x\($text).example", http: {paths: [path("/"; "good")]}}])},
  {name: "service", reason: "ServiceRefused", ingress: another(path("/odd"; "good\($text)"))},
  {name: "port", reason: "ServicePortNotFound", ingress: another(path("/odd"; "good") | .backend.service.port.name = $text)},
  (("ssl-redirect", "force-ssl-redirect") as $name
    | {$name, reason: "ProtectionNotAvailable", answer: 503, ingress: annotated($name; $text)}),
  {name: "backend-protocol", reason: "AnnotationRefused", ingress: annotated("backend-protocol"; $text)},
  {name: "annotation", reason: "AnnotationNotSupported", ingress: annotated($text; "x")},
  ( {name: "snippet", ingress: annotated("configuration-snippet"; $text), unseen: true}
    + if $text | IN(" ", "\t", "\n", "\r", "\r\n") then {reason: null} else {reason: "ProtectionNotAvailable", answer: 503} end ),
  {name: "class", reason: null, answer: 404, ingress: (.spec.ingressClassName = $text)},
  {name: "old-class", reason: null, answer: 404, ingress: (del(.spec.ingressClassName) | .metadata.annotations["kubernetes.io/ingress.class"] = $text)},
  {name: "secret", reason: "SecretRefused", ingress: (.spec.tls = [{hosts: [], secretName: "x\($text)"}])},
  {name: "tls-host", reason: "HostRefused", ingress: (.spec.tls = [{hosts: ["x\($text)"], secretName: "good"}])},
  {name: "tls-unused-host", reason: null, ingress: (.spec.tls = [{hosts: [$text]}])},
  {name: "version", reason: null, ingress: (.metadata.resourceVersion = $text | .metadata.uid = $text)},
  {name: "age", reason: null, ingress: (.metadata.creationTimestamp = $text)},
  ("resource" | {name: ., reason: "ResourceBackendNotServed", unseen: true}) + {ingress: (.spec.defaultBackend = {resource: {kind: $text, name: $text}})},
  ("address" | {name: ., reason: "NoReadyEndpoints", unseen: true, service: service("\($id)-\(.)"), slice: slice("\($id)-\(.)"; "127.77.0.1\($text)"; "web")})
    + {ingress: another(path("/odd"; "\($id)-address"))},
  ("slice-port" | {name: ., reason: "NoReadyEndpoints", unseen: true, service: service("\($id)-\(.)"), slice: slice("\($id)-\(.)"; "127.77.0.1"; "web\($text)")})
    + {ingress: another(path("/odd"; "\($id)-slice-port"))},
  ("protocol" | {name: ., reason: null, service: (service("\($id)-\(.)") | .spec.ports[0].appProtocol = $text), slice: slice("\($id)-\(.)"; "127.77.0.1"; "web")})
    + {ingress: another(path("/odd"; "\($id)-protocol"))};

# input: a case / output: the same, finished
def finished($id; $text):
  "\($id)-\(.name)" as $name
  | {answer: 200} + .
  | .ingress.metadata.name = $name
  | .ingress.spec.rules[0].host = "\($name).example"
  | .expected = {ingress: "demo/\($name)", reason, answer, host: "\($name).example",
      shown: (if .unseen or .reason == null then "" else $text | tojson | .[1:-1] | [explode[] | if . < 32 or . > 126 then 63 else . end] | implode | .[:40] end)};

{metadata: {namespace: "demo", creationTimestamp: "2027-01-01T00:00:00Z"},
 spec: {ingressClassName: "bash", rules: [{http: {paths: [path("/good"; "good")]}}]}} as $good
| [ [characters] | to_entries[] | .key as $id | .value as $text | $good | fields($id; $text) | finished($id; $text) ] as $cases
| .ingresses.items += [$cases[].ingress]
| .services.items += [service("good"), $cases[].service | values]
| .endpointSlices.items += [slice("good"; "127.77.0.1"; "web"), $cases[].slice | values]
| .certificates = [{secret: "demo/good", algorithm: "ECDSA", file: "default.pem", notAfter: "9999", names: []}]
| .cases = [$cases[].expected]
