# Routing model in, haproxy.cfg out: the same decisions, said to another proxy.
#
# input: the model that route.jq describes
# args:  $port: where it listens for HTTP
#
# What annotations ask for is not here: a path of an Ingress that has some is closed. What a ConfigMap says
# is not here either: with one, there is no configuration.

# input: text / output: it between quotes in which HAProxy replaces nothing
def in_quotes: "'" + gsub("'"; "'\\''") + "'";

# input: a host / output: the condition of its requests; a wildcard stands for one label
def of_host:
  if . == "" then ""
  elif startswith("*.") then "{ var(txn.host) -m reg ^[^.]+\(.[1:] | gsub("[.]"; "\\.") | gsub("(?<c>\\\\)"; "\\\(.c)"))$ }"
  else "{ var(txn.host) -m str \(in_quotes) }"
  end;

# input: a location / output: the conditions of its path, one of which is enough
def of_path:
  if .pathType == "Exact" then "{ path -m str \(.path | in_quotes) }"
  elif .path == "/" then ""
  else "{ path -m str \(.path | in_quotes) }", "{ path -m beg \(.path + "/" | in_quotes) }"
  end;

# input: a location / output: the name of the backend that answers
def target:
  if .options or .protocol or .redirect then "closed"
  elif .upstream then .upstream
  elif .status then "unavailable"
  else "nobody"
  end;

# What a ConfigMap says may protect every host: without it, nothing is served.
if .configured then error("a ConfigMap has settings, which are not available here: unset CONFIGMAP") else . end
| "global",
"  maxconn 4096",
"defaults",
"  mode http",
"  timeout connect 2s",
"  timeout client 300s",
"  timeout server 300s",
"frontend http",
"  bind :\($port)",
"  http-after-response set-header Server haproxy",
# HAProxy compares paths as they came: what could be read as another one is refused
"  http-request deny deny_status 400 if { path -m reg '//|%|/[.][.]?(/|$)' }",
"  http-request set-var(txn.host) req.hdr(host),field(1,:),lower",
# in the model's order the longest path comes first; hosts: exact ones, then wildcards, then any
( .servers // [] | sort_by([.host == "", (.host | startswith("*"))])[]
  | .host as $host
  | .locations[] | target as $to | of_path as $path
  | [($host | of_host), $path] | map(select(. != "")) | join(" ")
  | "  use_backend \($to)\(if . == "" then "" else " if " + . end)" ),
"  default_backend nobody",
"backend nobody",
"  http-request return status 404 content-type text/plain string \"No rule of an Ingress matches.\"",
"backend unavailable",
"  http-request return status 503 content-type text/plain string \"503 Service Temporarily Unavailable\"",
"backend closed",
"  http-request return status 503 content-type text/plain string \"closed: what its annotations ask for is not available here\"",
( .upstreams[]?
  | "backend \(.name)", "  balance roundrobin",
    (.endpoints | to_entries[] | "  server pod-\(.key) \(.value)") )
