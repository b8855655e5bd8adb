# Routing model in, nginx upstreams and servers out: who serves what is decided already.
#
# input:  the model that route.jq describes; {} (no servers) while nothing is known yet
# output: lines of text for the http block of nginx.conf
# $ENV:   HTTP_PORT; what is included needs other settings, too
#
# In a text, jq replaces \(...) only: $nginx_says and its like are nginx's variables, from the templates.
#
# What an Ingress asks for beyond hosts, paths and Services is not here. The words that the includes name add it to the
# model, as text: directives, head and pass of a location, names and tls of a server, lines of any. They leave a plain
# location as it is.

include "annotations/features"; # with_features
include "annotations/feature-files";
include "render/server-blocks"; # merged, on_all_ports, against_redirects
include "render/location-blocks"; # redirected, by_protocol, for_clients
include "render/certificate-maps"; # with_certificates
include "render/stream-blocks"; # streams
include "quoting"; # in_quotes, harmless, as_expression, sentence

# input: an upstream / output: its block
#
# max_fails=0: which pods can serve is for Kubernetes to say. keepalive: in test/bench/tuning, with
# `keepalive 32`, 64 busy clients got a third fewer answers per second; 128 gained nothing, and cost
# 10 MB for 1,000 upstreams. keepalive_timeout: many servers close an idle connection after 5 s,
# perhaps just when a request is on its way, so nginx must close it first.
def upstream_block:
  "  upstream \(.name | in_quotes) {",
  (.endpoints[] | "    server \(in_quotes) max_fails=0;"),
  .lines[]?, "    keepalive \(.connections // 64);", "    keepalive_timeout \(.idle_seconds // 4)s;", "  }", "";

# input: a location / output: the directives that answer
def answer:
  (if .of then "set $ingress \(.of | object | in_quotes); " else "" end) + (.directives // "")
  + if .upstream then .pass // "proxy_pass \"http://\(.upstream | harmless)\";"
    elif .status then "return \(.status) \"\(sentence)\\n\";"
    else "return 404 \"No rule of an Ingress matches host $host and path $uri.\\n\";"
    end;

# input: a location / output: what its blocks begin with; $exact is {"path": true} for the Exact paths of its server
#
# Kubernetes compares path elements, nginx characters: "location /foo" would also be for /foobar. So Prefix /foo becomes
# two: "= /foo" for itself, unless there is an Exact /foo, as nginx takes no second one; and "/foo/" for all below it.
def heads($exact):
  if .head then .head
  elif .pathType == "Exact" then "= \(.path | in_quotes)"
  elif .path == "/" then .path # Prefix "/" and Default
  else (if $exact[.path] then empty else "= \(.path | in_quotes)" end), (.path + "/" | in_quotes)
  end;

# input: a host / output: its name for nginx
#
# In an Ingress, "*" stands for one label, in nginx for any number: so it becomes a regular expression.
def server_name: if . == "" then "_" elif startswith("*.") then as_expression else in_quotes end;

# input: a server / output: its block. ($nginx_says refuses requests that go round in circles: answers.conf.template.)
def server_block:
  (.locations | map(select(.pathType == "Exact") | {(.path): true}) | add // {}) as $exact | .behind as $behind
  | "  server {",
    ("    listen \($ENV.HTTP_PORT)\(if .host == "" then " default_server" else "" end);" | on_all_ports($behind)),
    "    server_name \(.names // (.host | server_name));", .tls[]?,
    "    if ($nginx_says) { return 400 $nginx_says; }", .lines[]?,
    (.locations[] | "    location \(heads($exact)) { \(redirected | by_protocol | for_clients | answer) }"),
    "  }", "";

(input | with_features | with_certificates | merged) as $model # input and not `.`: no input at all must be an error
| ($model | streams), ($model.upstreams[]? | upstream_block), $model.lines[]?,
  ($model.servers[]? | against_redirects | server_block)
