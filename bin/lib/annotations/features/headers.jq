# upstream-vhost, x-forwarded-prefix, connection-proxy-header: headers that the pods get.
#
# A location with a proxy_set_header of its own would lose all others: so these are set for all, from variables.
#
# Whoever says connection-proxy-header: close wants a connection for each request, perhaps as the pod lets a login count
# for a connection (NTLM). A connection that nginx keeps may be another client's, so it must not be used here: such
# requests have an upstream of their own, which keeps none.
include "annotations/claims";
include "quoting";

# output: what the names of these upstreams have in them; "_" is in no name of the cluster
def not_kept: ".not_kept";

# input: [answered claim] / output: the same; those that want a connection for each request have such an upstream
def claims($context; answer):
  map(when(.upstream and annotations($context.options)["connection-proxy-header"] == "close" and (speaks_grpc | not);
    .upstream += not_kept));

# input:  model
# output: the same with what the pods get as X-Forwarded-Prefix, instead of the map of headers.conf.template; and these
#         upstreams keep no connection
#
# Only if a location sets the variable: nginx rejects a map of one that it does not know.
def model:
  .options as $options
  | .upstreams |= map(when("\(.name)." | contains(not_kept + "."); .lines += ["    keepalive_requests 1;"]))
  | .lines += [
      select(any(.servers[].locations[]; annotations($options)["x-forwarded-prefix"]))
      | map_lines("$is_believed"; "$believed_prefix"; "1 $http_x_forwarded_prefix;"),
        map_lines("$forwarded_prefix"; "$path_prefix"; "\"\" $believed_prefix;", "default $forwarded_prefix;"),
        "" ];

# input: x-forwarded-prefix / output: it as a quoted nginx string, in which $1 to $9 count
def prefix: [match("\\$[1-9]|[^$]+"; "g").string | if startswith("$") then . else harmless end] | "\"\(add)\"";

# input:  a location
# output: its upstream-vhost as a quoted nginx string: $service_name and its like are what they are for it
def vhost:
  {
    "$service_name": (.service | split("/")[1]),
    "$service_port": "\(.port)",
    "$namespace": (.service | split("/")[0]),
    "$ingress_name": (.of | split("/")[1])
  } as $constants
  | [ .set["upstream-vhost"] | match("\\$[a-z_]+|\\$[{][a-z_]+[}]|[^$]+"; "g").string | gsub("[{}]"; "")
      | if . == "$host" then "${plain_host}" else $constants[.] // . | harmless end ]
  | "\"\(add)\"";

# input:  a location
# output: the directives that set the variables. $1 to $9 are the groups of a path that is a regular expression; else,
#         they are empty.
def location:
  (.head // "" | select(startswith("~* ")) // null) as $expression
  | (select(.set["upstream-vhost"] and .service) | "set $upstream_vhost \(vhost); "),
    ( .set["x-forwarded-prefix"] // empty
      | if contains("$") | not then "set $forwarded_prefix \(in_quotes); "
        elif $expression then
          # no line end
          "if ($uri \($expression)) { set $forwarded_prefix \(prefix); } if ($uri ~ \"[\\x00-\\x1f\\x7f]\") { set $forwarded_prefix \"\"; } "
        else "set $forwarded_prefix \(gsub("\\$[1-9]"; "") | in_quotes); "
        end ),
    (.set["connection-proxy-header"] // empty | "set $connection_header \(in_quotes); ");
