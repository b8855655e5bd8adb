# Random combinations of annotations, always the same for the same number: Ingresses with some of them each, for few
# hosts, and Services of which some have no ready pod, and one is outside of the cluster; in every other cluster, a
# ConfigMap of the operator's with keys of ingress-nginx.
#
# args:   $first, $count: clusters number $first and on; $examples: [tables/examples.json]; $classes: the IngressClassList
# output: lists as test/fixtures/snapshot takes them, and .settings: {NAME: value}, a line for each cluster

include "random"; # random, pick
include "more"; # more

def annotations($n):
  ([$examples[0] | to_entries[] | select(.value) | .key as $name | .value | objects // {($name): .}] + [more, more, more]) as $all
  | [range(1 + random($n; 1) % 4) as $i | pick($n; 10 + $i; $all)] | add
  | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .);

# output: what keys of the operator's ConfigMap may say together
def keys:
  {"block-cidrs": "192.0.2.0/24"}, {"block-user-agents": "~*badbot, evil"}, {"block-referers": "~evil"},
  {"force-ssl-redirect": "true"}, {"force-ssl-redirect": "true", "http-redirect-code": "301", "no-tls-redirect-locations": "/x"}, {"ssl-redirect": "false"},
  {"global-auth-url": "http://apple.demo.svc/", "no-auth-locations": "/x,/z"}, {"custom-http-errors": "404,503"},
  {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.1"}, {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "127.0.0.1", "forwarded-for-header": "X-Client"},
  {"access-log-path": "off"}, {"skip-access-log-urls": "/x"}, {"log-format-upstream": "$remote_addr said"}, {"error-log-level": "info"},
  {"whitelist-source-range": "10.0.0.0/8, 127.0.0.0/8"}, {"denylist-source-range": "192.0.2.7"}, {"hide-headers": "X-A"}, {"server-tokens": "true"},
  {"worker-processes": "2", "max-worker-connections": "4096"}, {"keep-alive": "10"}, {"proxy-body-size": "1m"}, {"upstream-keepalive-connections": "4"}, {"use-gzip": "true"},
  {"proxy-buffering": "on"}, {"hsts": "false"}, {"enable-modsecurity": "true"}, {"proxy-read-timeout": "wrong"}, {"compute-full-forwarded-for": "false"};

def settings($n):
  (if $n % 2 == 0 then {CONFIGMAP: "ing/keys"} else {} end)
  + (if random($n; 71) % 3 == 0 then {DEFAULT_BACKEND: pick($n; 72; ["demo/banana:80", "demo/cherry:http", "demo/missing:80"])} else {} end)
  + {EXTERNAL_NAMES: "out.example"};

def ingress($n; $i):
  pick($n; 2; [null, "a.example", "b.example", "*.c.example"]) as $host
  | annotations($n) as $annotations
  | ($annotations["nginx.ingress.kubernetes.io/ssl-passthrough"] == "true") as $passed
  | {
      metadata: {namespace: pick($n; 3; ["demo", "demo", "demo", "other"]), name: "i\($i)", creationTimestamp: "2001-01-01T00:00:0\($i)Z", $annotations},
      spec: ({ingressClassName: "bash", rules: [
        {http: {paths: [range(1 + random($n; 4) % 3) as $p | {path: pick($n; 20 + $p; ["/", "/x", "/x/y", "/oauth2", "/(.*)", "/z/"]), pathType: pick($n; 30 + $p; ["Prefix", "Exact"]),
          backend: {service: (pick($n; 40 + $p; ["apple", "apple", "banana", "banana", "cherry", "cherry", "missing", "outside"])
            | {name: ., port: {number: (if $passed then 443 elif . == "outside" then 8080 else 80 end)}})}}]}}
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
    settings: settings($number),
    configmap: {items: [{metadata: {namespace: "ing", name: "keys"}, data: ([range(1 + random($number; 73) % 4) as $i | pick($number; 80 + $i; [keys])] | add)}]},
    outside: [("demo", "other") as $namespace | {outside: "\($namespace)/outside", name: "out.example"} + pick($number; 74; [{addresses: ["10.1.0.1"]}, {addresses: ["10.1.0.1"]}, {why: "out.example does not resolve"}])],
    services: {items: [(("demo", "other") as $namespace | {metadata: {$namespace, name: "outside"}, spec: {type: "ExternalName", externalName: "out.example"}}), ($services[] | {metadata: ., spec: {type: "ClusterIP", ports: [{name: "http", port: 80}, {name: "https", port: 443}]}})]},
    endpointSlices: {items: [$services | to_entries[] | .key as $key | {
      metadata: (.value | {namespace, name: "\(.name)-1", labels: {"kubernetes.io/service-name": .name}}), addressType: "IPv4", ports: [{name: "http", port: 8080}, {name: "https", port: 8443}],
      endpoints: [range(pick($number; 50 + $key; [0, 0, 1, 2])) | {addresses: ["10.1.\($key).\(. + 1)"], conditions: {ready: true}}]}]},
    certificates: [("demo", "other") as $namespace | select(random($number; 60) % 4 > 0) | secrets($namespace)]
  }
