# What a tenant makes, in compact form: expressions such as `ingress("one"; ["one.example"])`.

# output: a List of the objects, in the namespace
def list(objects; $namespace): {apiVersion: "v1", kind: "List", items: [objects | .metadata.namespace = $namespace]};

def backend: {service: {name: "backend", port: {number: 80}}};
def path($path; $type): {$path, pathType: $type, backend: backend};

# output: an Ingress with a rule for each host, each with the same paths
def ingress($name; $hosts; $paths):
  {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: {$name},
   spec: {ingressClassName: "bash", rules: [$hosts[] | {host: ., http: {paths: $paths}}]}};
def ingress($name; $hosts): ingress($name; $hosts; [path("/"; "Prefix")]);

# input: an Ingress / output: the same, with entries of spec.tls
def with_tls(entries): .spec.tls = [entries];

def service($name): {apiVersion: "v1", kind: "Service", metadata: {$name}, spec: {ports: [{port: 80}]}};

def slice($name; $addresses; $port):
  {apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: {$name, labels: {"kubernetes.io/service-name": $name}},
   addressType: "IPv4", ports: [{name: "", $port}], endpoints: [$addresses[] | {addresses: [.]}]};

# output: a Secret whose values are text
def secret($name; $type; $values): {apiVersion: "v1", kind: "Secret", metadata: {$name}, type: $type, stringData: $values};
def tls_secret($name; $certificate; $key): secret($name; "kubernetes.io/tls"; {"tls.crt": $certificate, "tls.key": $key});

# output: hosts whose hash in nginx is the same: it is made with h * 31 + c, where "an" and "c0" come to the same
def colliding_hosts($from; $to):
  [range($from; $to) as $number | [range(12) as $bit | ["an", "c0"][($number / pow(2; $bit) | floor) % 2]] | add + ".example"];

# input: an object / output: the same, with a mark that the shell replaces by 5,200 levels
def nested: .metadata.managedFields = [{manager: "tenant", operation: "Update", apiVersion, time: "2026-01-01T00:00:00Z", fieldsType: "FieldsV1", fieldsV1: {"f:spec": "NESTED"}}];
