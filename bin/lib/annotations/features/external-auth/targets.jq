# Whom nginx asks: what auth-url names.
include "annotations/features/external-auth/kept-answers"; # keeps
include "annotations/claims";
include "route/ownership"; # namespace
include "quoting";
include "allow";

# input: an auth-url / output: {scheme, host, port, path}
def url:
  capture("\\A(?<scheme>https?)://(?<host>\\[[^]]+\\]|[^/?:]+)(:(?<port>[0-9]+))?(?<path>.*)\\z")
  | .path |= (if startswith("/") then . else "/" + . end)
  | .host |= ascii_downcase
  | .port = if .port then .port | tonumber elif .scheme == "https" then 443 else 80 end;

# input:  [claim or location of a host, in the order in which they count]
# output: the same by their paths, for `serving`
def by_path:
  def of(choose): map(select(choose) | {(.path): .}) | reverse | add // {};
  {exact: of(.pathType == "Exact"), prefix: of(.pathType | IN("Prefix", "Default")),
    expressions: any(.[]; .pathType == "RegularExpression")};

# input: what by_path says / output: what of it serves $path, or null: Exact before Prefix, and the longest first
#
# Regular expressions are not asked: to try them all for each auth-url would take too long. (A rule's path has 64
# elements at most.)
def serving($path):
  . as {$exact, $prefix}
  | ($path | split("/")) as $elements
  | $exact[$path]
    // first(range([$elements | length, 66] | min; 1; -1) as $many | $prefix[$elements[:$many] | join("/")] | values)
    // $prefix["/"];

# input: a claim's auth-url / output: whom nginx asks, or {wrong: why nobody}
#
#   {host: ""}             the host of the Ingress itself, by its own rules     https://$host/oauth2/auth
#   {host: "a.example"}    another host, with rules of the namespace            https://a.example/oauth2/auth
#   {upstream, ...}        a Service                                            http://auth.demo.svc.cluster.local/check
#                          or one of whose pods this is the address             http://10.244.0.7:8080/check
#
# Namespaces are the Ingress's own and those of SHARED_NAMESPACES; and for its own host, the one that it belongs to
# ($owners): a guest may ask the owner, but no guest's path may answer for the owner's. $hosts is {host: {namespaces:
# {name: true}, open: what by_path says of the claims without auth-url}}. Only the model says for certain who serves a
# host's path: so it is looked up once more there.
def target($claim; $context; $addresses; $pods; $hosts; $owners; answer):
  def by_rules($host; $shown):
    (.path | split("?")[0]) as $path
    | if $hosts[$host].open | serving($path) then {host: $shown}
      else {wrong: "no rule without auth-url serves \($path) of host \($host); regular expressions are not asked"}
      end;
  url as $url
  | ([$claim.of | namespace] + $context.shared) as $namespaces
  | ($url.host | service_named($addresses)) as $service
  | ($service != null and ($service | namespace | IN($namespaces[]))) as $is_near
  | (if $is_near and $context.services[$service] then {$service, port: $url.port}
     else [$pods[$url | "\(.host):\(.port)"] | .[$namespaces[]]? | values][0]
     end) as $found
  | if ($url.host | startswith("$")) or $url.host == $claim.host then
      $url | by_rules($claim.host; "") + {$namespaces, owner: $owners[$claim.host]}
    elif $found then
      $found + {protocol: (if $url.scheme == "https" then "HTTPS" else null end)}
      | answer
      | if .upstream then . else {wrong: .message} end
    elif any($namespaces[]; $hosts[$url.host].namespaces[.]) then $url | by_rules($url.host; $url.host) + {$namespaces}
    elif $is_near then {wrong: "Service \($service) does not exist"}
    elif $service and $context.services[$service] then
      {wrong: "Service \($service) is in a namespace that is neither the Ingress's own nor one of SHARED_NAMESPACES"}
    else
      {wrong: "\($url.host | quoted) is neither a host with rules of namespace \($namespaces[0]) or of one in SHARED_NAMESPACES, nor a Service there, such as http://auth.\($namespaces[0]).svc.cluster.local"}
    end;

# input: {"namespace/name of a Service": [summary of an EndpointSlice]} / output: {"address:port" of a pod: {namespace:
# {service, port}}}; $services are the Services
#
# Of several Services, the first by name. (UDP is not asked.) A port of a Service without a name is found by its number.
def by_address($services):
  reduce (to_entries | sort_by(.key)[]) as {key: $service, value: $slices} ({};
    ($service | namespace) as $of
    | reduce ($slices[] | (.ready[]?, .ending[]?) as $address | .ports // {} | to_entries[] | select(.key | contains("/") | not) | {$address} + .) as $it (.;
        ( if $it.key != "" then $it.key
          else [$services[$service].ports.numbers // {} | keys_unsorted[0] | values | tonumber][0]
          end ) as $port
        | .["\($it.address):\($it.value)"][$of] //= {$service, $port}));

# input: a location with .asks / output: {upstream, protocol} of whom nginx asks, or {wrong: why nobody}
#
# What protects the path that is asked does not count for the question. So a path of the host's owner, if that is
# another namespace, is asked only if it has no annotations, its host asks for no client certificates, and $path cannot
# mean another path: nobody resolves or decodes it to one (..%2f), and its host has no regular expressions, which
# `serving` does not know.
def who_is_asked($host; $locations; $upstreams; $options):
  .asks as $asks
  | .options as $number
  | if $asks.upstream then $asks
    else
      (if $asks.host == "" then $host else $asks.host end) as $host
      | ($options[.options - 1]["auth-url"] | url.path | split("?")[0]) as $path
      | ($locations[$host].expressions or ($path | path_refusal) != null) as $is_doubtful
      | $locations[$host] | serving($path)
      | if .upstream == null then {wrong: "no pod serves \($path) of host \($host)"}
        elif .asks then {wrong: "\($path) of host \($host) is itself behind auth-url"}
        elif speaks_grpc then {wrong: "\($path) of host \($host) speaks gRPC"}
        elif (.of | namespace | IN($asks.namespaces[]) | not)
          and ((.of | namespace) != $asks.owner or .options or .client or $is_doubtful) then
          {wrong: "\($path) of host \($host) is another namespace's"}
        else {upstream, protocol, service}
        end
    end
  | if .upstream == null or $upstreams[.upstream] then .
    elif $options[$number - 1] | keeps then {upstream: "nobody"} # so that kept answers count
    else {wrong: "Service \(.service) has no ready endpoint"}
    end;
