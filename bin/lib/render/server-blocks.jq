# What nginx needs besides servers for hosts and locations for paths: to save memory, and against redirects of its own.
include "quoting"; # in_quotes

# input: [server] / output: the same with .hosts; those that differ in nothing but the host are one
#
# nginx needs some 40 KiB for a server, twice during a reload, and an Ingress may have a thousand hosts for one path.
def merged:
  def content:
    if .others or .host == "" or (.host | startswith("*.")) then .host
    else delpaths([["host"]]) | tojson
    end;
  [ group_by(.locations[0].ingress)[]
    # most Ingresses have one host
    | if length == 1 then .[0] else group_by(content)[] | .[0] + {hosts: map(.host)} end ]
  | sort_by((.others | not), .host);

# input: a path / output: it, and all paths above it, the longest first: "/a/b" => "/a/b", "/a", "/"
def path_and_above:
  . as $path
  | $path, (indices("/") | reverse[] | select(. > 0) | $path[:.]), "/"; # no join, which takes long for many elements

# input:  [location] of a server
# output: blocks for /foo where only /foo/ is a path; $exact is {"path": true} for its Exact paths, and `answer` gives
#         the directives of a location
#
# nginx would redirect /foo to /foo/ of its own accord (see "location" in the documentation of
# ngx_http_core_module). So /foo has a block of its own, with the answer of the next path above it.
def blocks_against_redirects($exact; answer):
  (map(select(.pathType != "Exact") | {(.path): .}) | add // {}) as $below
  | .[] | select(.pathType == "Exact" and .path != "/" and (.path | endswith("/")) and (.head | not))
  | (.path | rtrimstr("/")) as $path
  | select(($exact[$path] or $below[$path]) | not)
  | first($path | path_and_above | $below[.] // empty)
  | "    location = \($path | in_quotes) { \(answer) }";
