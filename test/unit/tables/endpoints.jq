# The tables of ports and endpoints: for each row a Service, its EndpointSlices, and an Ingress.
#
# input:  a snapshot
# args:   $rows: lines of columns with tabs between: NUMBER, SERVICE, BACKEND, SLICE; SLICE; ...
# output: the snapshot with these; row 1 is Service and Ingress demo/pods-row-1, for the host pods.row-1
#
#   SERVICE   [NAME=]NUMBER[/PROTOCOL] ... [headless|selectorless|ExternalName] [FAMILY[,FAMILY]], or "none"
#   BACKEND   number or name of the port that the Ingress asks for
#   SLICE     [IPv4|IPv6|FQDN ][NAME=]PORT[/PROTOCOL] ...: ENDPOINT ENDPOINT ...
#   ENDPOINT  ADDRESS[,CONDITION...]: ready unless it is notready, unknown, serving, terminating; or "ends", which says
#             nothing of serving

# input: [NAME=]VALUE / output: {name, value}
def named: capture("\\A((?<name>[a-z]+)=)?(?<value>.*)\\z") | .name = (.name // "");

# input: SERVICE / output: a Service
def service($name):
  [split(" ")[] | select(test("\\AIPv"))] as $families
  | [split(" ")[] | select(test("\\AIPv") | not) | select(test("[0-9]"))] as $ports
  | {
      metadata: {namespace: "demo", name: $name},
      spec: {
        type: (if contains("ExternalName") then "ExternalName" else "ClusterIP" end),
        clusterIP: (if contains("headless") then "None" else "10.96.0.77" end),
        selector: (if contains("selectorless") then null else {app: "pods"} end),
        ports: [$ports[] | named | (.value | split("/")) as [$port, $protocol]
          | {name, port: ($port | tonumber), protocol: ($protocol // "TCP")}]
      } + if $families == [] then {} else {ipFamilies: ($families[0] | split(","))} end
    };

# input: ENDPOINT / output: one of an EndpointSlice
def endpoint:
  split(",") as [$address] | (split(",")[1:] | map({(.): true}) | add // {}) as $is
  | {addresses: [$address], conditions: (
      if $is.unknown then {}
      elif $is.ends then {ready: false, terminating: true}
      else {ready: ($is.notready or $is.terminating | not), serving: ($is.serving // ($is.notready | not)), terminating: ($is.terminating // false)}
      end)};

# input: SLICE / output: an EndpointSlice
def slice($name; $number):
  capture("\\A((?<type>IPv4|IPv6|FQDN) )?(?<port>[^:]+):(?<endpoints>.*)\\z")
  | {
      metadata: {namespace: "demo", name: "\($name)-\($number)", labels: {"kubernetes.io/service-name": $name}},
      addressType: (.type // "IPv4"),
      ports: [.port | split(" ")[] | named | (.value | split("/")) as [$port, $protocol]
        | {name, port: ($port | fromjson)} + if $protocol then {protocol: ($protocol | if . == "null" then null else . end)} else {} end],
      endpoints: [.endpoints | split(" ")[] | select(. != "") | endpoint]
    };

# input: BACKEND / output: an Ingress
def ingress($name; $host):
  {
    metadata: {namespace: "demo", name: $name},
    spec: {
      ingressClassName: "bash",
      rules: [{host: $host, http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {
        name: $name, port: (if test("\\A[0-9]+\\z") then {number: tonumber} else {name: .} end)}}}]}}]
    }
  };

[$rows | split("\n")[] | select(. != "") | split("\t") | {name: "pods-row-\(.[0])", host: "pods.row-\(.[0])", columns: .[1:4]}] as $rows
| .services.items = [$rows[] | .name as $name | .columns[0] | select(. != "none") | service($name)]
| .ingresses.items = [$rows[] | .name as $name | .host as $host | .columns[1] | ingress($name; $host)]
| .endpointSlices.items =
    [$rows[] | .name as $name | .columns[2] | select(. != "none") | split("; ") | range(length) as $i | .[$i] | slice($name; $i)]
