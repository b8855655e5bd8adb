# limit-rps, limit-rpm, limit-connections, limit-burst-multiplier, limit-allowlist, limit-rate, limit-rate-after: how
# much one client may have of an Ingress. Each replica counts for itself; a client beyond its limit gets a 503, or the
# status that limit-req-status-code or limit-conn-status-code says (directives.jq).
#
# nginx counts in zones of shared memory, of which there cannot be any number. What tenants share in them:
#
# - Ingresses with the same rate share a zone: what is counted is an Ingress with a client's address. When a zone is
#   full, nginx forgets the client that has been silent longest: it may begin again, and nobody is turned away.
# - limit-connections has a zone for each of the first namespaces that use it, since nginx turns everybody away when
#   such a zone is full. The later namespaces share one.
#
# A zone keeps its rate and size as long as nginx runs, whatever a new configuration says, so its name tells both.
include "annotations/claims";
include "quoting";

def zone_size: "2m"; # some 16,000 clients
def most_rates: 50;
def own_zone_size: "512k"; # some 4,000 clients with requests at the same time
def most_own_zones: 50;

# input: {annotation: value} / output: for each rate, the name of its zone, its text, and how much a client may be ahead
def rates:
  (.["limit-burst-multiplier"] // 5) as $times
  | ([.["limit-rps"], "s"], [.["limit-rpm"], "m"]) as [$number, $unit]
  | select($number)
  | select($number > 0)
  | {zone: "\($number)_per_\($unit)_\(zone_size)", rate: "\($number)r/\($unit)", burst: ($number * $times)};

def is_counted: ([rates] != []) or (.["limit-connections"] // 0) > 0;

# input: [answered claim, the oldest Ingress first] / output: {"zone": true, ...}: those that there can be
#
# Each namespace has its first rate before any has its second: however many one asks for, the others have theirs.
def possible_rates($zones):
  reduce (.[] | select(.options and $zones[.options - 1] != [])) as $claim ({};
    ($claim | own_namespace) as $of | .[$of] += $zones[$claim.options - 1] - (.[$of] // []))
  | [to_entries[] | .value | to_entries[]] | sort_by(.key)
  | reduce .[].value as $zone ({}; if .[$zone] == null and length < most_rates then .[$zone] = true else . end);

# input: [answered claim, the oldest Ingress first] / output: {"namespace": name of the zone for limit-connections, ...}
def connection_zones($options):
  reduce (.[] | select((annotations($options)["limit-connections"] // 0) > 0) | own_namespace) as $of ({};
    if .[$of] then .
    elif length < most_own_zones then .[$of] = "connections_\($of)_\(own_zone_size)"
    else .[$of] = "connections_\(zone_size)"
    end);

# input: [answered claim, the oldest Ingress first] / output: the same; closed are those that cannot be limited
def claims($context; answer):
  [$context.options[] | [rates.zone]] as $zones
  | possible_rates($zones) as $is_possible
  | connection_zones($context.options) as $connections
  | map(
      if .options == null then .
      elif any($zones[.options - 1][]; $is_possible[.] | not) then
        closed("Ingresses have \(most_rates) different values of limit-rps and limit-rpm already, and its namespace has its share of them")
      elif speaks_grpc and (annotations($context.options)["limit-rate"] // 0) > 0 then
        closed("limit-rate is not possible with gRPC")
      elif (annotations($context.options)["limit-connections"] // 0) > 0 then .connections = $connections[own_namespace]
      else .
      end);

# input: model / output: the same with the zones
def model:
  number_networks("limit-allowlist"; "unlimited")
  | .options as $options
  | ([.servers[].locations[].options | values] | unique | map($options[. - 1])) as $used
  | .lines += [
      select(any($used[]; is_counted))
      | "  map $limited $limited_client { # nobody is counted where it is empty",
        "    \"\" \"\";",
        "    default \"$limited $binary_remote_addr\";",
        "  }",
        ([.servers[].locations[] | select(.options).connections | values] | unique[]
         | "  limit_conn_zone $limited_client zone=\(.):\(split("_")[-1]);"),
        ([$used[] | rates | "  limit_req_zone $limited_client zone=\(.zone):\(zone_size) rate=\(.rate);"] | unique[]),
        "  limit_req_log_level info; # the line of the request says it, too",
        "  limit_conn_log_level info;",
        "" ];

# input: a location / output: the directives that limit. nginx can hold back only an answer that it buffers.
def location:
  .set as $set
  | (select($set | is_counted)
     | (if $set.unlimited then
          "set $limited \"\"; if ($in_networks_\($set.unlimited) = \"\") { set $limited \(.of | object | in_quotes); } "
        else "set $limited \(.of | object | in_quotes); "
        end),
       ($set | rates | "limit_req zone=\(.zone)\(if .burst > 0 then " burst=\(.burst)" else "" end) nodelay; "),
       (.connections // empty | "limit_conn \(.) \($set["limit-connections"]); ")),
    (select(($set["limit-rate"] // 0) > 0)
     | "limit_rate \($set["limit-rate"])k; ",
       ($set["limit-rate-after"] // empty | "limit_rate_after \(.)k; "),
       (select($set["proxy-buffering"] != "on") | "proxy_buffering on; proxy_max_temp_file_size 0; "));
