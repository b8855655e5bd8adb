# mirror-target, mirror-host, mirror-request-body: a Service gets a copy of each request, as a client would send it, and
# what it answers is dropped. The client hardly waits for it: connecting may take 1 s, the answer 2 s.
#
# The target is a Service of the Ingress's own namespace (or of one that all share), as in
# http://SERVICE.NAMESPACE.svc.cluster.local:80$request_uri (claims.jq). A name that nginx had to resolve could
# point anywhere, and if it could not be resolved, nginx would take no configuration.
#
# nginx answers a copy as a request within the request, and both share their variables: what differs is $uri. So the
# Host of copies is in a map by that, which is `volatile`: it is read again each time. (A `proxy_set_header` for each
# copy, or an `if`, would cost nginx 8 kB for each host.)
#
# nginx takes the whole body before it copies the request, so with copies of bodies they are as large as what is held
# of any (buffers.jq), and not of any size.
include "annotations/claims";
include "route/pods"; # has_pods, no_pods
include "quoting";

# input: mirror-target / output: {service, host, port, protocol, uri}, or nothing if it names no Service of the cluster
def target($addresses):
  capture("\\A(?<scheme>https?)://(?<host>\\[[^]]+\\]|[^/:$]+)(:(?<port>[0-9]+))?(?<path>/[^$]*)?(?<rest>[$].*)?\\z")
  | (.host | service_named($addresses)) as $service
  | select($service)
  | {
      $service, host,
      port: (.port // {http: "80", https: "443"}[.scheme] | tonumber),
      protocol: (if .scheme == "https" then "HTTPS" else null end),
      uri: (if .rest or .path == null then (.path // "" | rtrimstr("/")) + "$request_uri" else .path end)
    };

# input: a claim / output: a problem of it
def not_mirrored($reason; $message): problem($reason; "requests are not mirrored: \($message)");

# input: {annotation: value} / output: "on" if copies have the bodies, else "off"
def body_of_copies: if greatest_held_body then .["mirror-request-body"] // "on" else "off" end;

# input: a claim / output: a problem if its copies do not have the bodies that they are to have
def body_problem($set):
  select($set["mirror-request-body"] != "off" and ($set | body_of_copies) == "off")
  | annotation_refused(
      "requests are mirrored without their bodies: proxy-body-size is 0 or more than 8m, and that much of a body is not held here");

# input: an answered claim / output: the same with its target in .mirror, or with a problem beside it; $all_targets:
# {mirror-target: [what target says of it]}
def with_mirror($set; $context; $all_targets; answer):
  $all_targets[$set["mirror-target"]] as $targets
  | ([own_namespace] + $context.shared) as $namespaces
  | if $targets == [] or ($targets[0].service | split("/")[0] | IN($namespaces[]) | not) then
      ., not_mirrored("AnnotationRefused";
        "mirror-target must be a Service of the same namespace, such as http://SERVICE.\($namespaces[0]).svc$request_uri")
    elif speaks_grpc then
      ., not_mirrored("AnnotationRefused"; "the pods speak gRPC")
    else
      $targets[0] as $target
      | ($target | {service, port, protocol} | answer) as $answer
      | if $answer.upstream then
          (.also += [$answer]
           | .mirror = ($target
               | {uri, protocol, host: ($set["mirror-host"] // .host),
                  upstream: $answer.upstream, body: ($set | body_of_copies)})),
          body_problem($set),
          if $answer | has_pods($context.slices) then empty
          else
            not_mirrored("NoReadyEndpoints"; "Service \($answer.service) \($answer | no_pods($context.slices))")
          end
        else ., not_mirrored($answer.reason; $answer.message)
        end
    end;

# input: [answered claim] / output: the same with what is mirrored in .mirror
def claims($context; answer):
  ($context.services | service_addresses) as $addresses
  | ([$context.options[]["mirror-target"] | values] | unique | map({(.): [target($addresses)]}) | add) as $all_targets # many claims have the same
  | [ .[]
    | annotations($context.options) as $set
    | when(.upstream and $set["mirror-target"]; with_mirror($set; $context; $all_targets; answer)) ];

# input: {uri, protocol, host, upstream, body, number} / output: the location that sends the copies
#
# A client's path begins with "/", so no client gets there. It has no pages for errors, because they read variables
# that the request itself needs later.
def mirror_location:
  "    location = nginx-copies/\(.number) {",
  "      internal;",
  "      error_page 599 /;",
  "      proxy_connect_timeout 1s;",
  "      proxy_read_timeout 2s;",
  "      proxy_send_timeout 2s;",
  "      proxy_next_upstream off;",
  (if .body == "off" then "      proxy_set_body \"\";" else empty end),
  (if .protocol then "      proxy_ssl_name \(.upstream | certificate_name);" else empty end),
  "      proxy_pass \"\(if .protocol then "https" else "http" end)://\(.upstream | harmless)\(.uri | rtrimstr("$request_uri") | harmless)\(if .uri | endswith("$request_uri") then "$request_uri" else "" end)\";",
  "    }";

# input:  [{host, number}]
# output: lines for the http block: the Host of copies, and that they ask for no upgrade, as nginx would answer the
#         client with it. (A map that comes later in nginx.conf replaces one of the same name: so those of
#         headers.conf.template.)
def host_lines:
  map_lines("$uri"; "$copied_host"; "volatile;", (unique[] | "nginx-copies/\(.number) \(.host | in_quotes);")),
  map_lines("$upstream_vhost"; "$own_host"; "\"\" $request_host;", "default $upstream_vhost;"),
  map_lines("$copied_host"; "$pod_host"; "volatile;", "\"\" $own_host;", "default $copied_host;"),
  map_lines("$http_upgrade"; "$own_upgrade"; "~*h2c \"\";", "default $http_upgrade;"),
  map_lines("$copied_host"; "$upgrade"; "volatile;", "\"\" $own_upgrade;"),
  "";

# input:  model
# output: the same with these locations, and the number of its own in each .mirror; without those that have no ready pod
def model:
  ready as $ready
  | each_location(when(.mirror and (.upstream and $ready[.mirror.upstream] | not); del(.mirror)))
  | ([.servers[].locations[].mirror | values] | numbered) as $numbers
  | each_location(when(.mirror; .mirror.number = $numbers[.mirror | tojson]))
  | .servers |= map(.lines += [[.locations[].mirror | values] | unique[] | mirror_location])
  | .lines += [[.servers[].locations[].mirror | values | {host, number}] | select(. != []) | host_lines];

# input: a location / output: the directives that copy its requests
def location:
  .mirror // empty | "mirror nginx-copies/\(.number); mirror_request_body \(.body); ";
