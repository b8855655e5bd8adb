# What servers need beyond a host, its locations and one port: to save memory, TLS and IPv6, and against redirects of
# nginx's own.
include "quoting"; # in_quotes, as_expression

# input:  model
# output: the same; servers that differ in nothing but the host are one. It has .names, as one that has .others does
#
# nginx needs some 40 KiB for a server, twice during a reload, and an Ingress may have a thousand hosts for one path.
# Names of a server that has .others are expressions: what nginx rejects may be its table of names (shut.jq).
def merged:
  def content:
    if .others or .host == "" or (.host | startswith("*.")) then .host
    else delpaths([["host"]]) | tojson
    end;
  def one: # input: [server] that differ in nothing else
    .[0] + {names: (
      if .[0].others then [.[].host, .[0].others[]] | map(if . == "" then "_" else as_expression end)
      else map(.host | in_quotes)
      end | join("\n      "))};
  .servers |= (
    [ . // [] | group_by(.locations[0].of)[]
      | if length == 1 then . else group_by(content)[] end # most Ingresses have one host
      | if length > 1 or .[0].others then one else .[0] end ]
    | sort_by((.others | not), .host));

# input:  the directive by which a server listens for HTTP
# output: the same for HTTPS as well, over IPv6, too, and with the PROXY protocol if that is spoken. Behind what
#         passes TLS on (stream-blocks.jq), that has the port for HTTPS, and hands over what it does not pass on
def on_all_ports($behind):
  ltrimstr("    listen \($ENV.HTTP_PORT)") as $options
  | (if $ENV.PROXY_PROTOCOL == "on" then " proxy_protocol" else "" end + $options) as $options_of_ports
  | (("", "[::]:") as $address
     | "    listen \($address)\($ENV.HTTP_PORT)\($options_of_ports)",
       (select($behind | not) | "    listen \($address)\($ENV.HTTPS_PORT) ssl\($options_of_ports)")),
    (select($behind) | "    listen unix:\($ENV.STATE_DIR)/run/https.sock ssl\($options)");

# input: a path / output: it, and all paths above it, the longest first: "/a/b" => "/a/b", "/a", "/"
def path_and_above:
  . as $path
  | $path, (indices("/") | reverse[] | select(. > 0) | $path[:.]), "/"; # no join, which takes long for many elements

# input:  a server
# output: the same with locations for /foo where only /foo/ is a path, with the answer of the next path above it
#
# nginx would redirect /foo to an Exact /foo/ of its own accord (see "location" in the documentation of
# ngx_http_core_module).
def against_redirects:
  def is_exact_folder: .pathType == "Exact" and .path != "/" and (.path | endswith("/")) and (.head | not);
  if any(.locations[]; is_exact_folder) then
    (.locations | map({(.path): .}) | add) as $taken
    | (.locations | map(select(.pathType != "Exact") | {(.path): .}) | add // {}) as $below
    | .locations += [
        .locations[] | select(is_exact_folder)
        | (.path | rtrimstr("/")) as $path
        | select($taken[$path] | not)
        | first($path | path_and_above | $below[.] // empty)
        | .head = "= \($path | in_quotes)" ]
  else .
  end;
