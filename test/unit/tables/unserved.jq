# What is not served, in as many ways as there are; and beside it what is served, though it may not look so.
#
# input:  the lists of a cluster
# output: the lists with Ingresses "served-..." and "unserved-..." in place of its own, the oldest first

def backend($service; $port): {service: {name: $service, port: ($port | if type == "number" then {number: .} else {name: .} end)}};
def apple: backend("apple"; 80);
def path($path; $type; $backend): {$path, pathType: $type, $backend};
def at($host; paths): {spec: {rules: [{$host, http: {paths: [paths]}}]}};
def at($host): at($host; path("/"; "Prefix"; apple));
def without_paths($host): {spec: {rules: [{$host}]}};
def with($annotations): . + {annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/\(.)"))};
def canary($more): with({canary: "true", "canary-weight": "100"} + $more);
def in_namespace($namespace): . + {$namespace};
def default($backend): .spec.defaultBackend = $backend;
def tls($entry): .spec.tls = [$entry];

def cases: {
  # hosts and paths
  "served-plain": at("plain.example"),
  "unserved-no-paths": without_paths("no-paths.example"),
  "unserved-one-host-of-two": {spec: {rules: [at("one.example").spec.rules[0], {host: "two.example"}]}},
  "served-no-paths-beside-others": without_paths("plain.example"),
  "served-no-paths-but-default": (without_paths("default.example") | default(apple)),
  "unserved-default-taken": (without_paths("default.example") | default(apple)),
  "served-default-for-nothing": (at("plain.example"; path("/served"; "Prefix"; apple)) | default(apple)),
  "unserved-path-refused": at("refused.example"; path("/"; "Prefix"; apple), path("/a;b"; "Prefix"; apple)),
  "unserved-host-refused": {spec: {rules: [at("fine.example").spec.rules[0], at("not_fine").spec.rules[0]]}},
  "unserved-path-taken": at("plain.example"),
  "unserved-host-taken": (at("plain.example"; path("/shop"; "Prefix"; apple)) | in_namespace("shop")),
  "served-prefix": at("same.example"; path("/app"; "Prefix"; apple)),
  "unserved-expression": (at("same.example"; path("/app"; "Prefix"; backend("cherry"; 80))) | with({"rewrite-target": "/"})),
  "served-expression": (at("same-root.example"; path("/"; "Prefix"; apple)) | with({"rewrite-target": "/x"})),
  "unserved-prefix": at("same-root.example"),
  # Services
  "unserved-no-service": at("no-service.example"; path("/"; "Prefix"; backend("absent"; 80))),
  "unserved-no-port": at("no-port.example"; path("/"; "Prefix"; backend("apple"; 81))),
  "unserved-no-port-of-name": at("no-port-of-name.example"; path("/"; "Prefix"; backend("apple"; "web"))),
  "unserved-udp": at("udp.example"; path("/"; "Prefix"; backend("udp"; 53))),
  "unserved-external": at("external.example"; path("/"; "Prefix"; backend("external"; 80))),
  "unserved-no-pods": at("no-pods.example"; path("/"; "Prefix"; backend("empty"; 80))),
  "unserved-resource": at("resource.example"; path("/"; "Prefix"; {resource: {kind: "Bucket", name: "b"}})),
  "unserved-default-without-service": (without_paths("default-without.example") | default(backend("absent"; 80))),
  # redirects
  "served-redirect": (without_paths("redirect.example") | with({"permanent-redirect": "https://new.test$request_uri"})),
  "served-rewrite": (without_paths("rewrite.example") | with({"rewrite-target": "https://new.test/"})),
  "unserved-redirect-for-few": (without_paths("few.example") | with({"permanent-redirect": "https://new.test", "allowlist-source-range": "10.0.0.0/8"})),
  "unserved-wrong-redirect": (without_paths("wrong.example") | with({"temporal-redirect": "new.test"})),
  "served-www": (at("moved.example") | with({"from-to-www-redirect": "true"})),
  "unserved-www-taken": (at("www.plain.example") | with({"from-to-www-redirect": "true"})),
  "unserved-www-of-wildcard": (at("*.plain.example") | with({"from-to-www-redirect": "true"})),
  "served-alias": (at("alias.example") | with({"server-alias": "a.alias.example,alias.example"})),
  "served-same-alias": (at("alias.example"; path("/b"; "Prefix"; apple)) | with({"server-alias": "a.alias.example"})),
  "unserved-alias-of-rule": (at("alias-of-rule.example") | with({"server-alias": "plain.example,b.alias.example"})),
  "unserved-alias-of-other": (at("alias-of-other.example") | with({"server-alias": "a.alias.example"})),
  "unserved-many-aliases": (at("many.example") | with({"server-alias": ([range(21) | "a\(.).many.example"] | join(","))})),
  "served-app-root": (at("root.example"; path("/app"; "Prefix"; apple)) | with({"app-root": "/app"})),
  "unserved-second-app-root": (at("root.example"; path("/two"; "Prefix"; apple)) | with({"app-root": "/two"})),
  "served-exact-root": at("exact.example"; path("/"; "Exact"; apple)),
  "unserved-app-root-taken": (at("exact.example"; path("/app"; "Prefix"; apple)) | with({"app-root": "/app"})),
  "unserved-wrong-app-root": (at("wrong-root.example") | with({"app-root": "app"})),
  # annotations
  "unserved-wrong-value": (at("value.example") | with({"proxy-body-size": "much"})),
  "unserved-unsupported": (at("unsupported.example") | with({"tls-acme": "true"})),
  "unserved-closed": (at("closed.example") | with({"auth-type": "digest"})),
  "unserved-mirror": (at("mirror.example") | with({"mirror-target": "http://absent.demo.svc"})),
  "unserved-default-backend": (at("fallback.example") | with({"default-backend": "absent"})),
  # canaries
  "served-canary": (at("plain.example"; path("/"; "Prefix"; backend("cherry"; 80))) | canary({})),
  "unserved-canary-taken": (at("plain.example"; path("/"; "Prefix"; backend("banana"; "web"))) | canary({})),
  "unserved-canary-alone": (at("alone.example") | canary({})),
  "served-canary-without-change": (at("plain.example") | canary({})),
  "served-canary-of-nothing": (at("alias.example"; path("/b"; "Prefix"; backend("cherry"; 80))) | canary({"canary-weight": "0"})),
  "unserved-canary-unclear": (at("plain.example") | with({canary: "perhaps"})),
  "unserved-canary-not-protected": (at("alias.example"; path("/"; "Prefix"; backend("cherry"; 80))) | canary({"allowlist-source-range": "10.0.0.0/8"})),
  "unserved-canary-of-closed": (at("closed.example"; path("/"; "Prefix"; backend("cherry"; 80))) | canary({})),
  "unserved-canary-without-service": (at("root.example"; path("/app"; "Prefix"; backend("absent"; 80))) | canary({})),
  "served-canary-of-no-service": (at("no-service.example") | canary({})),
  "served-canary-of-no-pods": (at("no-pods.example") | canary({})),
  "unserved-canary-of-resource": (at("resource.example") | canary({})),
  "unserved-canary-of-redirect": (at("moved-away.example"; path("/"; "Prefix"; backend("cherry"; 80))) | canary({})),
  "unserved-canary-of-host-taken": (at("plain.example"; path("/shop"; "Prefix"; backend("other"; 80))) | in_namespace("shop") | canary({})),
  "unserved-canary-of-login": (at("login.example"; path("/"; "Prefix"; backend("cherry"; 80))) | canary({})),
  "unserved-login": (at("login.example") | with({"auth-type": "basic", "auth-secret": "absent"})),
  "served-moved-away": (at("moved-away.example") | with({"temporal-redirect": "https://new.test"})),
  # certificates
  "served-default-certificate": (at("default-certificate.example") | tls({hosts: ["default-certificate.example"]})),
  "unserved-no-secret": (at("no-secret.example") | tls({hosts: ["no-secret.example"], secretName: "absent"})),
  "unserved-secret-of-other-host": (at("other-host.example") | tls({hosts: ["other-host.example"], secretName: "named"})),
  "unserved-secret-for-no-host": ({spec: {defaultBackend: apple}} | tls({secretName: "nameless"}))
};

.certificates = [{secret: "demo/named", file: "a.pem", algorithm: "RSA", names: ["named.example"]}, {secret: "demo/nameless", file: "b.pem", algorithm: "RSA", names: []}]
| .services.items += [
    {metadata: {namespace: "demo", name: "udp"}, spec: {ports: [{port: 53, protocol: "UDP"}]}},
    {metadata: {namespace: "demo", name: "external"}, spec: {type: "ExternalName", ports: [{port: 80}]}},
    {metadata: {namespace: "demo", name: "empty"}, spec: {ports: [{port: 80}]}},
    {metadata: {namespace: "shop", name: "other"}, spec: {ports: [{port: 80}]}} ]
| .ingresses.items = [
    cases | to_entries | to_entries[]
    | (.key + 946684800 | todate) as $created
    | .value as {$key, $value}
    | {
        metadata: {namespace: ($value.namespace // "demo"), name: $key, uid: $key, resourceVersion: "1", creationTimestamp: $created,
          annotations: ($value.annotations // {})},
        spec: ({ingressClassName: "bash"} + $value.spec)
      }
  ]
