# A snapshot of manifests with what they do not have, because somebody else makes it: the Services that Ingresses name,
# pods of Services, Secrets, and ConfigMaps. So what a verdict says is the Ingress's own doing.
#
# input:  the lines of a snapshot (jq -n)
# args:   $claims: those of the Ingresses among them, as text; $configmaps: the ConfigMaps that are there
# output: its lines, with lines for what is not there: these have assumed: true
include "secrets/wanted-secrets"; # wishes
include "secrets/named"; # is_headers, key_of_use
include "secrets/config-maps"; # headers
include "annotations/header-values";
include "annotations/claims"; # service_named
include "quoting";
include "allow"; # namespace

# input: a URL in an annotation / output: {service, port} of the Service that it names, or nothing
def named_by_url:
  capture("\\A(?<scheme>https?)://(?<host>[a-z0-9.-]+)(:(?<port>[0-9]+))?")
  | (.host | service_named({})) as $service
  | select($service)
  | {$service, port: (.port // {http: "80", https: "443"}[.scheme] | tonumber), certain: (.host | test("[.]svc([.]|\\z)"))};

# input: the summary of an Ingress / output: {service: "namespace/name", port} of each that it names
def services:
  (.of | namespace) as $of
  | (.claims[] | select(.service) | {service, port}),
    ( .options.set // {}
      | (.["default-backend"] // empty | {service: "\($of)/\(.)", port: 80}),
        ( .["auth-url", "mirror-target"] // empty | named_by_url
          | select(.certain or (.service | namespace) == $of) | {service, port} ) );

# input: [{service, port}] of one Service / output: its summary. Ports by name have numbers that no other has.
def service:
  (map(.port) | unique) as $ports
  | [$ports[] | numbers] as $numbers
  | (first(range(8080; 20000) | select(IN($numbers[]) | not)) - 1) as $free
  | ([$ports[] | strings] | to_entries | map({port: ($free + 1 + .key), name: .value})) as $named
  | ($named + [$numbers[] | {port: ., name: "port-\(.)"}]) as $all
  | {service: .[0].service,
     ports: {numbers: ($all | map({"\(.port)": .}) | add), names: ($all | map({(.name): .}) | add)},
     family: "IPv4", assumed: true};

# input: the summary of a Service / output: that of an EndpointSlice of it, whose only pod is ready
def slice:
  {slice: "\(.service)-assumed", service, family: (.family // "IPv4"),
   ports: ([.ports.numbers[]?, .ports.names[]? | select(.protocol | not) | {(.name): 8080}] | add // {}),
   ready: [if .family == "IPv6" then "[2001:db8::1]" else "192.0.2.1" end], ending: [], assumed: true};

# input: {secret, use} / output: its line. $hosts are those of each Secret in a spec.tls.
def secret($hosts; $is_there):
  {certificate: .secret, assumed: true}
  + if .use == "pair" then {file: "assumed.pem", algorithm: "rsa", names: ($hosts[.secret] // []), notAfter: "9999"}
    elif .use | is_headers then
      .use as $use
      | {use} + ($is_there[.secret] // {data: {"X-Assumed": "assumed"}} | headers($use))
    elif .use == "ca" then {use, file: "assumed.ca.pem", pair: true, notAfter: "9999"}
    else {use, file: "assumed.\(.use | ltrimstr("auth-")).htpasswd"}
    end;

[inputs] as $lines
| [$lines[] | select(.of)] as $ingresses
| ($lines | map(select(.service and (.slice | not)) | {(.service): .}) | add // {}) as $services
| ($lines | map(select(.slice) | {(.service): true}) | add // {}) as $has_slices
| [ ($lines[0].settings.DEFAULT_BACKEND // "" | capture("\\A(?<service>[^:]+):(?<port>.+)\\z") | .port |= (tonumber? // .)), ($ingresses[] | services) ] | group_by(.service) | map(select($services[.[0].service] | not) | service) as $assumed
| ([ $ingresses[] | (.of | namespace) as $of | ([.claims[].host] | unique - [""]) as $own | .tls[]
     | {secret: "\($of)/\(.secretName)", hosts: (.hosts // [] | if . == [] then $own else . end)} ]
   | group_by(.secret) | map({(.[0].secret): (map(.hosts[]) | unique)}) | add // {}) as $hosts
| ($configmaps | map({("\(.metadata.namespace)/configmaps/\(.metadata.name)"): .}) | add // {}) as $is_there
| $lines[:-1][], $assumed[],
  ([$services[], $assumed[]][] | select((.external or $has_slices[.service]) | not) | slice),
  (wishes($claims; ""; "") | unique[] | secret($hosts; $is_there)),
  $lines[-1]
