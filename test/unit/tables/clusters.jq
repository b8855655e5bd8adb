# Random clusters and how they change, always the same for the same numbers.
#
# args:   $first, $count: clusters number $first and on; $changes: how often each changes
#         $pairs: [{crt, key}], the key pairs that Secrets can have, in base64
# output: what the API server says, a line each (jq -r): "NAME LIST" for each list, and then "new" if this is another
#         cluster, or "changed" if it is the one before after a change

include "random"; # random, pick
def some($n; $purpose; $list): [range(random($n; $purpose) % ($list | length + 1)) as $i | $list[$i]];

def host($n; $purpose): pick($n; $purpose; [null, "*.a.example", "x.a.example", "a.example", "b.example", "c.example", "no host"]);

def backend($n; $purpose):
  {service: {name: pick($n; $purpose; ["s0", "s1", "s2", "s3"]), port: pick($n; $purpose + 1; [{number: 80}, {number: 80}, {name: "web"}, {number: 81}])}};

def ingress($n):
  {metadata: {name: "i\($n)", namespace: pick($n; 1; ["a", "b", "c"]), uid: "u\($n)", resourceVersion: "\($n)", creationTimestamp: "2026-01-0\(random($n; 2) % 9 + 1)T00:00:00Z",
     annotations: pick($n; 3; [{}, {}, {}, {"kubernetes.io/ingress.class": "bash"}, {"nginx.ingress.kubernetes.io/ssl-redirect": "true"},
       {"nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.0/8"}, {"nginx.ingress.kubernetes.io/backend-protocol": "GRPC"}, {"nginx.ingress.kubernetes.io/auth-url": "x"}])},
   spec: {ingressClassName: pick($n; 4; ["bash", "bash", "bash", "other", "third", null]),
     defaultBackend: pick($n; 5; [null, null, null, backend($n; 6)]),
     tls: pick($n; 8; [null, null, [{secretName: pick($n; 9; ["t0", "t1", "t2"]), hosts: [host($n; 10) // "d.example"]}], [{secretName: "t0"}]]),
     rules: [range(1 + random($n; 11) % 3) as $r | {host: host($n; 20 + $r), http: {paths: [range(1 + random($n; 30 + $r) % 3) as $p | (40 + 10 * $r + $p) as $purpose
       | {path: pick($n; $purpose; ["/", "/x", "/x/", "/x/y", "/x y"]), pathType: pick($n; 100 + $purpose; ["Prefix", "Exact", "ImplementationSpecific"]),
          backend: backend($n; 200 + 2 * $purpose)}]}}]}};

def service($n; $namespace; $name):
  {metadata: {$name, $namespace, resourceVersion: "\($n)"},
   spec: {type: pick($n; 1; ["ClusterIP", "ClusterIP", "ClusterIP", "ExternalName"]), ipFamilies: pick($n; 3; [["IPv4"], ["IPv6", "IPv4"], null]), ports: pick($n; 2; [[{port: 80}], [{name: "web", port: 80}], [{name: "web", port: 81}, {name: "y", port: 80}]])}};

def slice($n; $namespace; $service; $name):
  {metadata: {name: "\($service)-\($name)", $namespace, resourceVersion: "\($n)", labels: {"kubernetes.io/service-name": $service}}, addressType: pick($n; 1; ["IPv4", "IPv4", "IPv6"]),
   ports: pick($n; 2; [[{name: "", port: 8080}], [{name: "web", port: 8080}], [{name: "web", port: 8081}, {name: "y", port: 8082}]]),
   endpoints: [range(random($n; 3) % 4) as $e | {addresses: [pick($n; 10 + $e; ["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1"])],
     conditions: pick($n; 20 + $e; [{}, {ready: true}, {ready: false}, {ready: false, serving: true, terminating: true}])}]};

def secret($n; $namespace; $name):
  {metadata: {$name, $namespace, uid: "\($namespace)-\($name[1:])", resourceVersion: "\($n)"}, type: "kubernetes.io/tls",
   data: (pick($n; 1; $pairs) | {"tls.crt": .crt, "tls.key": .key})};

def class($n; $name): {metadata: {$name, resourceVersion: "\($n)", annotations: pick($n; 1; [{}, {"ingressclass.kubernetes.io/is-default-class": "true"}])},
  spec: {controller: pick($n; 2; ["bash-ingress.local/controller", "bash-ingress.local/controller", "example.com/other"])}};

def namespaces: "a", "b", "c";
def services: "s0", "s1", "s2", "s3";

def cluster($n):
  {ingresses: [range(2 + random($n; 1) % 7) as $i | ingress($n + $i)],
   ingressclasses: some($n; 2; [class($n; "bash"), class($n + 1; "other"), class($n + 2; "third")]),
   namespaces: some($n; 3; [{metadata: {name: pick($n; 4; ["a", "b", "c"])}}]),
   services: ([namespaces as $namespace | services as $name | {$namespace, $name}] | to_entries | map(select(random($n + .key; 5) % 4 > 0) | service($n + .key; .value.namespace; .value.name))),
   endpointslices: ([namespaces as $namespace | services as $service | {$namespace, $service}] | to_entries
     | map(.key as $key | .value as $of | range(random($n + $key; 6) % 3) | slice($n + 3 * $key + .; $of.namespace; $of.service; .))),
   secrets: ([namespaces as $namespace | ("t0", "t1", "t2") as $name | {$namespace, $name}] | to_entries | map(select(random($n + .key; 7) % 3 > 0) | secret($n + .key; .value.namespace; .value.name)))};

# input: a list / output: the same with another item in the place of a random one
def with_another(another; $n): if length == 0 then . else .[random($n; 50) % length] |= another end;
def without_one($n): if length == 0 then . else del(.[random($n; 51) % length]) end;

# input: a cluster / output: the same after a change of kind $what, of which there are kinds
def kinds: 19;
def changed($n; $what):
  if $what == 0 then .ingresses += [ingress($n)]
  elif $what == 1 then .ingresses |= without_one($n)
  elif $what == 2 then .ingresses |= with_another(ingress($n); $n)
  elif $what == 3 then .ingresses |= with_another(.spec = ingress($n).spec; $n)
  elif $what == 4 then .ingresses |= with_another(.metadata.annotations = ingress($n).metadata.annotations; $n)
  elif $what == 5 then .ingresses |= with_another(.metadata.resourceVersion = "\($n)" | .status = {loadBalancer: {ingress: [{ip: "192.0.2.\($n % 250)"}]}}; $n)
  elif $what == 6 then .services |= with_another(service($n; .metadata.namespace; .metadata.name); $n)
  elif $what == 7 then .services |= without_one($n)
  elif $what == 8 then .endpointslices |= with_another(.endpoints = slice($n; "a"; "s"; 0).endpoints; $n)
  elif $what == 9 then .endpointslices |= with_another(.endpoints[]?.zone = "zone-\($n)"; $n)
  elif $what == 10 then .endpointslices |= without_one($n)
  elif $what == 11 then .ingressclasses |= with_another(class($n; .metadata.name); $n)
  elif $what == 12 then .ingressclasses |= without_one($n)
  elif $what == 13 then .namespaces = some($n; 53; [{metadata: {name: pick($n; 54; ["a", "b", "c"])}}])
  elif $what == 14 then .secrets |= with_another(secret($n; .metadata.namespace; .metadata.name); $n)
  elif $what == 15 then .secrets |= without_one($n)
  elif $what == 16 then (.ingresses, .services, .endpointslices, .secrets) |= reverse
  elif $what == 17 then .ingresses = []
  else . # only the lists' own resourceVersions are new
  end;

def kind: {ingresses: "Ingress", ingressclasses: "IngressClass", namespaces: "Namespace", services: "Service", endpointslices: "EndpointSlice", secrets: "Secret"}[.];
def answers($n): to_entries[] | "\(.key) \({kind: "\(.key | kind)List", apiVersion: "v1", metadata: {resourceVersion: "\($n)"}, items: .value} | tojson)";

range($first; $first + $count) as $number
| ($number * 1000) as $n
| foreach range($changes + 1) as $i (null;
    if $i == 0 then cluster($n)
    else changed($n + $i; ($number * $changes + $i) % kinds) # all kinds in turn
      | if random($n + $i; 60) % 3 == 0 then changed($n + 100 + $i; random($n + $i; 61) % kinds) else . end # perhaps two between two passes
    end;
    answers($n + $i), if $i == 0 then "new" else "changed" end)
