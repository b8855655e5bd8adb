# upstream-hash-by, -subset, -subset-size, load-balance, service-upstream: which of a Service's pods gets a request.
#
# upstream-hash-by sends all requests for which a text is the same, such as "$request_uri", to one pod; when a pod goes
# or comes, only its share moves. With upstream-hash-by-subset: true it sends them to some of the pods, in turn: the
# pods are divided into subsets of upstream-hash-by-subset-size, of which each has an upstream. load-balance: ewma is
# nginx's nearest to it, the pod with the fewest open requests.
#
# service-upstream: true sends requests to the Service's own address (spec.clusterIPs) instead of those of its pods, so
# that kube-proxy, or the proxy of a service mesh, chooses the pod. While no pod is ready, the answer is a 503 all the
# same. A headless Service has no address, so its requests go to the pods. So they do where ENDPOINT_CIDRS says whom
# nginx may call: kube-proxy would go to all endpoints of the Service.
#
# With affinity, none of these count (no_effect in annotations.json).
#
# proxy-next-upstream and -tries are directives of nginx, which asks each server of an upstream once. Who allows three
# tries, and has one pod, wants it to be asked three times: so its upstream has it three times, but not more. (Not
# beside any of the annotations above.)
include "allow"; # is_ipv4, is_ipv6
include "annotations/claims";

# input:  {annotation: value}
# output: how many servers its upstream needs at least: each costs nginx memory, so not many
def tries: [.["proxy-next-upstream-tries"] // 3, 3] | min;

# input:  {annotation: value}
# output: {kind, balance}: what upstreams that need this have at the end of their names, and what they need; or null
#
# Names of upstreams do not differ by upper and lower case, so all but small letters are written as their numbers.
# ${request_uri} and $request_uri are the same, and so are $http_X_User and $http_x_user.
def wanted:
  if .["upstream-hash-by"] then
    (.["upstream-hash-by"] | gsub("\\$\\{?(?<name>[a-z]\\w*)\\}?"; "${\(.name | ascii_downcase)}")) as $hash
    | ".hash-\($hash | gsub("(?<sign>[^a-z0-9_])"; "-\(.sign | explode[0])-"))" as $kind
    | if .["upstream-hash-by-subset"] then
        (.["upstream-hash-by-subset-size"] // 3) as $subset
        | {kind: "\($kind).subset-\($subset)", balance: {$hash, $subset}}
      else {$kind, balance: {$hash}}
      end
  elif .["load-balance"] | IN("ewma", "default") then {kind: ".least-conn", balance: {method: "least_conn"}}
  elif (.["proxy-next-upstream"] or .["proxy-next-upstream-tries"])
    and .["proxy-next-upstream"] != "off" and tries > 1 then {kind: ".tries-\(tries)", balance: {tries: tries}}
  else null
  end;

# input:  an answered claim
# output: "ADDRESS:PORT" of its Service, or null if it has no address of its own
#
# Behind an address of one family, kube-proxy has pods of that family only. So it is the first of which there are some.
def service_address($context):
  def family: if is_ipv4 then "IPv4" elif is_ipv6 then "IPv6" else "" end;
  . as {$service, $port, port_name: $name}
  | [$context.slices[$service][]? | select(.ports[$name] and .ready + .ending != []).family] as $families
  | first(
      $context.services[$service].addresses[]?
      | select(family | IN($families[]))
      | if contains(":") then "[\(.)]:\($port)" else "\(.):\($port)" end) // null;

# How many headers, cookies and arguments upstream-hash-by of one namespace may read. Each is a variable of nginx, which
# compares each with all others when it reads its configuration: with 60,000 that took it 50 s.
def most_read: 20;

# input: {annotation: value} / output: the headers, cookies and arguments that it reads
def variables_read: .["upstream-hash-by"] // "" | [ascii_downcase | scan("(?:http|cookie|arg)_[a-z0-9_]+")] | unique;

# input: [answered claim] / output: the same; those that want another balancing have upstreams of their own
def claims($context; answer):
  [$context.options[] | variables_read] as $read
  | [$context.options[] | wanted] as $all_wanted
  | first_names($read; most_read) as $possible
  | def is_too_much:
      .upstream and .options
      and (own_namespace as $of | any($read[.options - 1][]; $possible[$of][.] | not));
  def wants_address: .upstream and annotations($context.options)["service-upstream"];
  telling(is_too_much;
    problem("LimitExceeded"; "upstream-hash-by has no effect: those of its namespace read more than \(most_read) different headers, cookies and arguments"))
  | telling(wants_address and $context.settings.ENDPOINT_CIDRS != "";
      annotation_refused("service-upstream has no effect, because ENDPOINT_CIDRS is set, and kube-proxy would go to any endpoint"))
  | def address: select(wants_address and $context.settings.ENDPOINT_CIDRS == "") | service_address($context) | values;
  def choosing: annotations($context.options) | if .["upstream-hash-by"] then "upstream-hash-by" else select(.["load-balance"] == "ewma") | "load-balance: ewma" end;
  telling((.balance | not) and [choosing] != [] and [address] != [];
    annotation_refused("\(choosing) has no effect beside service-upstream"))
  | map(
      when(.upstream and .options and (.balance | not) and (is_too_much | not);
        [ (address | {kind: ".address", balance: {address: .}}),
          $all_wanted[.options - 1] ][0] as $wanted
        | when($wanted; .upstream += $wanted.kind | .balance = $wanted.balance)));

# How many subsets there may be: each is an upstream of nginx with connections of its own.
def most_subsets: 20;

# input:  [endpoint]
# output: [endpoint] of each subset. They are of the same size: the last one has some of the first one's.
def subsets($size):
  . as $endpoints
  | ([$size, (length / most_subsets | ceil)] | max) as $size
  | range(0; length; $size) as $from
  | $endpoints[$from:$from + $size]
  | if $from == 0 then . else . + $endpoints[:$size - length] end;

# input:  an upstream
# output: whether it is the one for TLS of two, whose name ends with the scheme (proxy-ssl.jq, AUTO_HTTP)
def is_for_tls: .name | endswith(".https");

# input: an upstream that has subsets / output: an upstream for each of them
def subset_upstreams:
  . as $upstream
  | [.endpoints | subsets($upstream.balance.subset)] | to_entries[]
  | {name: "\($upstream.name | rtrimstr(".https")).\(.key + 1)\(if $upstream | is_for_tls then ".https" else "" end)",
     endpoints: .value};

# input: [upstream that has subsets] / output: lines for the http block: the subset of a text, always the same one
def subset_lines:
  to_entries[]
  | .key as $number
  | .value
  | [subset_upstreams.name] as $names
  | "  split_clients \"\(.balance.hash)\" $subset_\($number + 1) {",
    ($names[1:][] | "    \(10000 / ($names | length) | floor | . / 100)% \"\(.)\";"),
    "    * \"\($names[0])\";",
    "  }";

# input:  model
# output: the same with the directives of these upstreams; the type of upstream-hash-by lets in nothing that needs
#         quoting
#
# With a canary (canary.jq), whose requests have a variable of their own, the text sends them to one pod.
def model:
  [.upstreams[] | select(.balance.subset)] as $divided
  | ($divided | map(select(is_for_tls | not))) as $named
  | ($named | to_entries | map({(.value.name): "$subset_\(.key + 1)"}) | add // {}) as $targets
  | .upstreams |= map(
      if .balance.address then .endpoints = [.balance.address]
      elif .balance.hash then .lines += ["    hash \"\(.balance.hash)\" consistent;"]
      elif .balance.method then .lines += ["    \(.balance.method);"]
      elif .balance.tries then
        .endpoints as $pods
        | .endpoints = [range(0; .balance.tries; $pods | length) as $_ | $pods[]]
      else .
      end)
  | if $divided == [] then .
    else
      .upstreams += [$divided[] | subset_upstreams]
      | .lines += [$named | subset_lines]
      | each_location($targets[.upstream // ""] as $target | if $target then .target = $target else . end)
    end;
