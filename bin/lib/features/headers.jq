# upstream-vhost, x-forwarded-prefix, connection-proxy-header: headers that the pods get.
#
# A location with a proxy_set_header of its own would lose all others: so these are set for all, from variables.
include "quoting";

# input: model / output: the same with the header that is not set otherwise
def model:
  if any(.options[]; .["x-forwarded-prefix"]) then
    .lines += ["  proxy_set_header X-Forwarded-Prefix $forwarded_prefix;", "  grpc_set_header X-Forwarded-Prefix $forwarded_prefix;", ""]
  else .
  end;

# input: a location / output: the directives that set the variables
def location:
  (.set["upstream-vhost"] // "" | if . == "" then "" else "set $upstream_vhost \(string); " end)
  + (.set["x-forwarded-prefix"] // "" | if . == "" then "" else "set $forwarded_prefix \(string); " end)
  + (.set["connection-proxy-header"] // "" | if . == "" then "" else "set $connection_header \(string); " end);
