# Random Ingresses, always the same for the same seed.
#
# args:   $seed, $count, $batch: Ingresses number $batch * $count and on
# output: a snapshot with them, and with .expected: the number of `location`s that they must come to
#
# What may pass is decided here once more, in another way than in allow.jq.

["a", "b", "Z", "0", "/", "/", "/x", "-", ".", "..", "_", "~", "!", "&", "(", ")", "*", "+", ",", "=", ":", "@", "//", "/.", "/..", "/./"] as $good_parts
| ([range(32) | [.] | implode] + ["\"", "'", ";", "{", "}", "\\", "$", "#", "%", "?", " ", "|", "^", "`", "<", ">", "[", "]", "\u007f", "\u009b", "é", "\u202e", "😀",
  "$host", "${STATE_DIR}", "\"; } evil on; #", "\n evil on;\n", "%2e%2e%2f", "\\\"", "*/", "\" { evil on; } location \"/"]) as $bad_parts
| ($good_parts + $bad_parts) as $all_parts
|
def next: . * 48271 % 2147483647; # Lehmer's generator; a product is less than 2^53
def random($i; $purpose): ($seed * 7919 + $i * 613 + $purpose * 104729) % 2147483647 | next | next | next;
def pick($i; $purpose; $list): $list[random($i; $purpose) % ($list | length)];

# Seven of eight paths have good parts only, but these may make a bad path.
def path($i): # ours, for Ingress $i
  (random($i; 1) % 6) as $length
  | [range($length) as $n | pick($i; 10 + $n; if random($i; 2) % 8 == 0 then $all_parts else $good_parts end)]
  | (if random($i; 3) % 16 == 0 then "" else "/" end) + add;
def host($i):
  random($i; 4) % 20
  | if . == 0 then "x\(pick($i; 5; $bad_parts)).example"
    elif . == 1 then null
    elif . == 2 then "*.h\(random($i; 6) % 50).example"
    else "h\(random($i; 6) % 50).example"
    end;
def type($i): pick($i; 7; ["Exact", "Prefix", "ImplementationSpecific"]);
def text($i; $purpose): [range(random($i; $purpose) % 3) as $n | pick($i; $purpose + $n; $bad_parts)] | add // "x";

def ingress($i):
  {metadata: {namespace: "fuzz", name: "i\($i)", creationTimestamp: "\(random($i; 8))", resourceVersion: text($i; 30),
     annotations: {"nginx.ingress.kubernetes.io/backend-protocol": pick($i; 40; ["HTTP", "https", "GRPC", "GRPCS", text($i; 41)]), (text($i; 50)): text($i; 60)}},
   spec: {ingressClassName: "bash",
     tls: pick($i; 70; [null, [], [{secretName: text($i; 71), hosts: [text($i; 75)]}], [{secretName: "good", hosts: [text($i; 79), host($i)]}]]),
     rules: pick($i; 80; [[{host: host($i), http: {paths: [{path: path($i), pathType: type($i), backend: pick($i; 81;
       [range(4) | {service: {name: "good", port: {number: 80}}}] + [{service: {name: text($i; 82), port: {name: text($i; 86)}}}, {resource: {name: "x"}}, {}, null])}]}}, {}, {http: null}]])}};

def is_good_path:
  (explode - ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!&()*+,=:@/" | explode)) == []
  and startswith("/") and ((. + "/" | split("/")[1:-1]) as $elements
    | all($elements[:-1][]; . != "") and all($elements[]; . != "." and . != ".."));
def is_good_host: . == null or (explode - ("*.0123456789abcdefghijklmnopqrstuvwxyz" | explode)) == [];

# input: [{host, path, exact}] of one host / output: how many blocks nginx needs for them
def locations:
  map(select(.exact).path) as $exact
  | (map(select(.exact | not).path) - ["/"]) as $prefixes
  | ([$exact[] | select(. != "/" and endswith("/")) | rtrimstr("/")] - $exact - $prefixes) as $against_redirects
  | [$exact, $prefixes, $prefixes - $exact, $against_redirects | length] | add
    + 1; # "/": as a Prefix, or for what no path matches

[range($batch * $count; ($batch + 1) * $count) | ingress(.)] as $ingresses
| {
    ingresses: {items: $ingresses}, ingressClasses: {items: []},
    services: {items: [{metadata: {namespace: "fuzz", name: "good"}, spec: {ports: [{port: 80}]}}]},
    endpointSlices: {items: [{metadata: {namespace: "fuzz", name: "good", labels: {"kubernetes.io/service-name": "good"}},
      addressType: "IPv4", ports: [{name: "", port: 8080}], endpoints: [{addresses: ["127.77.0.1"]}]}]},
    certificates: [{secret: "fuzz/good", algorithm: "RSA", file: "default.pem", notAfter: "9999", names: []}],
    expected: ([ $ingresses[].spec.rules[0] | select(.host | is_good_host) | .host as $host | .http.paths[]
      | (if .path == "" then "/" else .path end) as $path | select($path | is_good_path)
      | (.pathType == "Exact") as $exact
      | {host: ($host // ""), path: (if $exact or $path == "/" then $path else $path | rtrimstr("/") end), $exact} ]
      | unique
      | ( [{host: "", paths: []}] + (group_by(.host) | map({host: .[0].host, paths: .}))
          | group_by(.host) | map(map(.paths) | add | locations) | add ) as $with_paths
      | ( [.[].host] | unique ) as $hosts
      | $with_paths + ([$ingresses[].spec.rules[].host | select(. != null and is_good_host)] | unique | . - $hosts | length))
  }
