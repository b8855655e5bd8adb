# Odd objects of all four kinds, always the same for the same seed and batch: mostly what the API server stores.
#
# args:   $seed, $batch; $count: how many objects
#         $certificate, $key: a key pair in PEM form
# output: create, replace, apply or delete; and a List of objects in the namespace "tenant"
#
# "NESTED-300" and so on are marks, which the shell replaces by so many levels of nesting: jq can write 256.
#
# Each function below has a key as its input, a text that says which value is wanted: "3/rules/0/host". What it gives is
# decided by the key alone.
include "tenants";

# nginx's words, jq's, what ends something in a configuration, in a log or on a terminal; and what has no end. (Here, they
# are made only once.)
["", " ", "-", "*", "null", "true", "NaN", "0", "-1", "1e400", "server", "location", "upstream", "default_server", "_", "localhost", "~^", "$host",
  "${HOME}", "{{ . }}", "$(id)", "`id`", "%s%n", "\"", "'", "\\", "; }", "\"; } server { listen 1; }", "#", "a\nb", "a\r\nb: c", "a\tb", "\u0000", "\u001b[2J", "\u007f",
  "é", "\u009b2J", "\u202egnp", "😀", "\ufffe", "\u2028", "..", "/../..", "//", "%2e%2e", "{\"metadata\":{", "},{\"metadata\":{\"name\":\"x\"", "]}", "{\"whole\":true}",
  "xn--a", ("a" * 64), ("ab." * 80), ("x" * 3000)] as $odd
| ["server", "location", "if", "default", "null", "0", "1-2-3", ("n" * 63)] as $odd_names
| ["a", "localhost", "0", "1.2", "server", "default", ("a." * 120 + "a"), ("a" * 63), ("a" * 100), "*.com", "xn--a.example"] as $odd_hosts
| ["", "*", "*.*.a", "1.2.3.4", "A", "a_b"] as $bad_hosts
| ["/", "/a", "/a/", "/a/b", "/A", "/.well-known/acme-challenge/x", "/*", "/(a)", "/a=b&c", ("/" + "p" * 1023), ("/" + "p" * 1025)] as $paths
| ["true", "false", "HTTPS", "GRPC", "0.0.0.0/0,::/0", "10.0.0.0/8", "*", "e2e,tenant", "bash", ("10.0.0.1," * 1100), ("x" * 100000)] as $annotation_values
| ["-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n-----END RSA PRIVATE KEY-----\n",
  $certificate + $key, $key + $certificate, ($certificate * 50), $certificate[:200], $key[:100], "", "\n",
  ($key | gsub("PRIVATE"; "PUBLIC")), ($certificate | gsub("\n"; "\r\n")), ("-----BEGIN CERTIFICATE-----\n" * 5000), ("x" * 400000)] as $pem
|

# --- chance

def next: . * 48271 % 2147483647; # Lehmer's generator; a product is less than 2^53
def roll: reduce ("\($seed)/\($batch)/\(.)" | explode[]) as $letter (7; (. * 31 + $letter) % 2147483647) | next | next | next;
def roll($sides): roll % $sides;
def pick($list): $list[roll($list | length)];
def below($name): "\(.)/\($name)";

# output: one of the good values; in an object of eight, maybe one of the bad ones, which the API server refuses
def pick($good; $bad): pick($good + if split("/")[0] | below("bad") | roll(8) == 0 then $bad else [] end);

# output: f, which has a key of its own as its input, in one of so many cases; else nothing
def rarely($cases; f): if below("?") | roll($cases) == 0 then f else empty end;

# output: [f, f, ...], mostly few
def some(f):
  . as $key | (below("number") | pick([0, 1, 1, 1, 2, 2, 3, 5])) as $number | [range($number) | . as $n | $key | below($n) | f];

# output: the same, but very many if this is the field of its object that has them: one object in ten has such a field
def many($most; $field; f):
  . as $key
  | (split("/")[0] | below("many") | pick(["rules", "paths", "hosts", "ports", "endpoints"] + [range(20)])) as $has_many
  | (if $has_many == $field and (test("/[1-9][0-9]*/") | not) then $most else below("number") | pick([1, 1, 1, 2, 3]) end) as $number
  | [range($number) | . as $n | $key | below($n) | f];

# --- values

def odd: pick($odd);

def name: # of an object: few, so that they meet
  if below("odd") | roll(8) == 0 then pick($odd_names; ["a.b", "A", "n." * 120 + "n"]) else "o\(roll(40))" end;

def host:
  (below("kind") | roll(16)) as $kind
  | if $kind < 8 then "h\(roll(40)).tenant.example"
    elif $kind == 8 then pick(["*.tenant.example", "*.example", "*.a", "*.h1.tenant.example"])
    elif $kind == 9 then pick($odd_hosts; $bad_hosts + $odd)
    elif $kind == 10 then pick(["many-1.example", "many-2.example", "secure.example", "*.example"])
    elif $kind == 11 then colliding_hosts(0; 30)[roll(30)]
    else "x\(roll(1000)).example"
    end;

# output: {path, pathType}; what is odd is let in mostly as ImplementationSpecific
def path_and_type:
  if below("odd") | roll(5) == 0 then {path: ("/" + odd), pathType: "ImplementationSpecific"}
  elif below("odder") | roll(20) == 0 then {path: "/a\(odd)", pathType: "Prefix"}
  else {path: pick($paths + ["/p\(roll(500))"]; ["", "a"]), pathType: below("type") | pick(["Exact", "Prefix", "Prefix", "ImplementationSpecific"]; ["Regex", null])}
  end;

def number: pick([80, 80, 80, 8080, 443, 1, 65535]; [0, -5, 65536, 99999, 2147483647, -2147483648, 1.5, 1e30, null, "80"]);
def slice_number: pick([80, 80, 8080, 1, 65535, 0, -5, 65536, 99999, 2147483647, -2147483648, null]; [1.5, 1e30, "80"]);
def port_name: pick(["http", "web", "a", "a-b-c", "server", "x0"]; ["", "0", ("n" * 16)] + $odd);

def backend_of:
  {service: {name: below("name") | name, port: below("port") | (if roll(3) == 0 then {name: port_name} else {number: number} end)}} as $service
  | {resource: {apiGroup: "example.com", kind: "Bucket", name: "files"}} as $resource
  | pick([$service, $service, $service, $service, $service, $resource]; [{}, null, $service + $resource, {service: {}}]);

def annotations:
  some({
    (below("name") | pick(["ingressclass.kubernetes.io/is-default-class", "bash-ingress.local/share-host-with", "bash-ingress.local/other",
       ("nginx.ingress.kubernetes.io/" + pick(["whitelist-source-range", "denylist-source-range", "backend-protocol", "ssl-redirect", "force-ssl-redirect", "auth-url",
         "server-snippet", "rewrite-target", "x", ("y" * 60)])), "a", "a/b"])):
    (below("value") | if roll(3) == 0 then odd else pick($annotation_values) end)
  }) | add // {};

def labels:
  some({(below("name") | pick(["a", "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by", "app"])): below("value") | pick(["", "a", "o1", "o2", "vvvvvvvvvvvvvvvv"])}) | add // {};

def nested: pick(["NESTED-300", "NESTED-4990", "NESTED-5200", "NESTED-9000"]);

def metadata: {
  name: below("name") | name, annotations: below("annotations") | annotations, labels: below("labels") | labels
} + ( rarely(12; {managedFields: [{manager: below("manager") | odd[:100] | gsub("[^ -~]"; ""), operation: pick(["Update", "Apply"]), apiVersion: "v1", time: "2026-01-01T00:00:00Z", fieldsType: "FieldsV1",
        fieldsV1: {"f:spec": below("depth") | nested}}]}) // {} )
  + ( rarely(30; {ownerReferences: [{apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "00000000-0000-0000-0000-00000000000\(roll(10))"}]}) // {} );

# --- the four kinds

def an_ingress: {
  apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: metadata,
  spec: {
    ingressClassName: below("class") | pick(["bash", "bash", "bash", "bash", "bash", "bash", "bash", null, "other"]; ["", "A"]),
    defaultBackend: below("default") | pick([null, null, backend_of]),
    rules: below("rules") | many(1200; "rules"; {
      host: below("host") | (if roll(30) == 0 then null else host end),
      http: below("http") | pick([{paths: many(1500; "paths"; {
        backend: below("backend") | backend_of} + path_and_type)}]; [null, {}, {paths: []}])}),
    tls: below("tls") | some({
      secretName: below("secret") | pick([name, name, name, null]; $odd),
      hosts: below("hosts") | pick([many(2000; "hosts"; host)])})
  }};

def a_service: {
  apiVersion: "v1", kind: "Service", metadata: metadata,
  spec: (
    {ports: below("ports") | many(300; "ports"; {
      name: "\(below("name") | port_name)\(split("/")[-1])", port: (split("/")[-1] | tonumber + 80), protocol: below("protocol") | pick([null, "TCP", "TCP", "TCP", "UDP", "SCTP"]; ["HTTP"]),
      targetPort: below("target") | pick([null, 8080, "web"]; [0, -1] + $odd), appProtocol: below("application") | pick([null, null, "http", "kubernetes.io/h2c"]; $odd)})}
    + (below("kind") | pick([{}, {}, {}, {clusterIP: "None"}, {type: "ExternalName", externalName: pick(["localhost", "kubernetes.default.svc", "169.254.169.254"])}];
        [{type: "ExternalName"}, {clusterIP: "10.0.0.1"}, {type: "Odd"}]))
    + (below("selector") | pick([{}, {selector: {}}, {selector: {a: "a"}}, {selector: {app: "backend"}}])))
  };

def address($type):
  "10.9.\(below("a") | roll(256)).\(below("b") | roll(256))" as $ipv4
  | if $type == "IPv4" then pick([$ipv4, $ipv4, $ipv4, $ipv4, "10.244.0.1", "192.0.2.1", "255.255.255.255"]; ["0.0.0.0", "127.0.0.1", "169.254.169.254", "224.0.0.1", "010.1.1.1", "1.2.3"] + $odd)
    elif $type == "IPv6" then pick(["2001:db8::\(roll(9999))", "fd00::1"]; ["2001:db8:0:0:0:0:0:1", "::ffff:10.0.0.1", "::1", "fe80::1%eth0"] + $odd)
    else pick(["a\(roll(9)).example", "169.254.169.254"]; ["localhost"] + $odd)
    end;

def an_endpointslice:
  (below("type") | pick(["IPv4", "IPv4", "IPv4", "IPv6", "FQDN"]; ["IPv5"])) as $type
  | { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice",
      metadata: (metadata | .labels["kubernetes.io/service-name"] = .name), addressType: $type,
      ports: below("ports") | many(100; "ports"; {
        name: "\(below("name") | port_name)\(split("/")[-1])", port: below("port") | slice_number, protocol: below("protocol") | pick([null, "TCP", "UDP"])}),
      endpoints: below("endpoints") | many(1000; "endpoints"; {
        addresses: below("addresses") | [address($type)],
        conditions: below("conditions") | pick([null, {}, {ready: true}, {ready: false}, {ready: null}, {ready: false, serving: true, terminating: true}, {ready: true, terminating: true}]),
        hostname: below("hostname") | pick([null, null, "a"]; $odd), nodeName: below("node") | pick([null, "node"]; $odd), zone: below("zone") | pick([null, "a"] + $odd)}) };

def pem($right): if below("right") | roll(2) == 0 then $right else pick($pem) end;

def a_secret: {
  apiVersion: "v1", kind: "Secret", metadata: metadata,
  type: below("type") | pick(["kubernetes.io/tls", "kubernetes.io/tls", "kubernetes.io/tls", "Opaque", "example.com/other", "\u001b[2J"]),
  data: ({"tls.crt": below("certificate") | pem($certificate) | @base64, "tls.key": below("key") | pem($key) | @base64}
    + (below("more") | pick([{}, {}, {"other": odd | @base64}]; [{"tls.crt": "not base64"}, {"tls.crt": null}])))
  };

# --- a batch

("verb" | pick(["create", "create", "create", "apply", "apply", "apply", "replace", "replace", "delete", "delete"])),
list(range($count) | "\(.)" | roll(10) as $kind
  | if $kind < 4 then an_ingress elif $kind < 6 then a_service elif $kind < 8 then an_endpointslice else a_secret end; "tenant")
