# Routing model in, nginx upstreams and servers out: who serves what is decided already.
#
# input:  the model that route.jq describes; {} (no servers) while nothing is known yet
# output: lines of text for the http block of nginx.conf
# $ENV:   HTTP_PORT, HTTPS_PORT, PROXY_PROTOCOL, STATE_DIR
# In a text, jq replaces \(...) only: $nginx_says and its like are nginx's variables, from the templates (answers,
# proxying and headers.conf.template); $of_scheme is from features/proxy-ssl.jq.
#
# At a first reading, skip certificates, and what features add (`with_features`): the fields `lines`, `head`,
# `directives`, `target`, `rewrite`, `tls_target` and `tls_name`.

include "annotations/features"; # with_features
include "annotations/feature-files";
include "render/server-blocks"; # merged, blocks_against_redirects
include "render/certificate-maps"; # certificate_maps, certificate_directives
include "quoting"; # in_quotes, harmless, certificate_name

# input: an upstream / output: its block
#
# max_fails=0: which pods can serve is for Kubernetes to say. keepalive: in test/bench/tuning,
# with 32, 64 busy clients got a third fewer answers per second; 128 gained nothing, and cost 10 MB
# for 1,000 upstreams. keepalive_timeout: many servers close an idle connection after 5 s,
# perhaps just when a request is on its way, so nginx must close it first.
def upstream_block:
  "  upstream \(.name | in_quotes) {",
  (.endpoints[] | "    server \(in_quotes) max_fails=0;"),
  .lines[]?,
  "    keepalive 64;",
  "    keepalive_timeout 4s;",
  "  }",
  "";

# input: a location with an upstream / output: the name for which its pods have a certificate; as a rule, the Service's
def service_name:
  .tls_target // (.tls_name | values | in_quotes) // (.upstream | certificate_name);

# input:  a location with an upstream
# output: the directives that pass a request on, by the protocol that the pods speak
def pass_on:
  .upstream as $name | (.target // ($name | harmless)) as $to # .target: a variable that has the name
  | if .protocol == "HTTPS" then "proxy_ssl_name \(service_name); proxy_pass \"https://\($to)\";"
    elif .protocol == "AUTO_HTTP" then "proxy_ssl_name \(service_name); proxy_pass \"$scheme://\($to)$of_scheme\";"
    elif .protocol == "GRPC" then "grpc_pass \"grpc://\($to)\";"
    elif .protocol == "GRPCS" then "grpc_ssl_name \(service_name); grpc_pass \"grpcs://\($to)\";"
    else "proxy_pass \"http://\($to)\";"
    end;

# input:  a location that nginx itself answers
# output: what it says. Why a path is closed is for its owner, in the Ingress's Events and the log: an annotation may
#         hold what not everybody should read, such as a password.
def message_for_clients:
  if .reason == "ProtectionNotAvailable" then
    "\(if .status == 500 then "500 Internal Server Error" else "503 Service Temporarily Unavailable" end): \(.message | split(": ")[0]) (its Events say why)"
  else .message end;

# input: such a location / output: message_for_clients as a sentence, for a quoted nginx string
def sentence: "\(message_for_clients | split("\"") | join("'")): path \(.path) of Ingress \(.ingress)." | harmless;

# input: a location / output: the directives that answer
def answer:
  if .ingress then "set $ingress \(.ingress | in_quotes); " else "" end
  + (.directives // "")
  + if .redirect then "if ($client_scheme = http) { return 308 https://$host$moved_uri; } " else "" end
  + if .upstream then (.rewrite // "") + pass_on
    elif .status then "return \(.status) \"\(sentence)\\n\";"
    else "return 404 \"No rule of an Ingress matches host $host and path $uri.\\n\";"
    end;

# input: a location / output: its blocks; $exact is {"path": true} for the Exact paths of its server
#
# Kubernetes compares path elements, nginx characters: "location /foo" would also be for /foobar. So Prefix /foo becomes
# two: "= /foo" for itself, unless there is an Exact /foo, as nginx takes no second one; and "/foo/" for all below it.
def location_blocks($exact):
  "{ \(answer) }" as $block
  | if .head then "    location \(.head) \($block)" # of a feature
    elif .pathType == "Exact" then "    location = \(.path | in_quotes) \($block)"
    elif .path == "/" then "    location / \($block)" # Prefix "/" and Default
    else
      (if $exact[.path] then empty else "    location = \(.path | in_quotes) \($block)" end),
      "    location \(.path + "/" | in_quotes) \($block)"
    end;

# input: a host / output: its name for nginx
#
# In an Ingress, "*" stands for one label, in nginx for any number: so it becomes a regular expression. So does each
# name of a server that has $others: what nginx rejects may be its table of names (shut.jq).
def server_name($others):
  if . == "" then "_"
  elif $others or startswith("*.") then "\"~^\(harmless | gsub("[.]"; "[.]") | sub("^[*]"; "[^.]+"))$\""
  else in_quotes
  end;

# input: a server / output: its block; $tls are the directives for TLS
#
# Only the default server has the directives for TLS: nginx uses those at each handshake, and others would only take
# memory.
def server_block($tls):
  ((if $ENV.PROXY_PROTOCOL == "on" then " proxy_protocol" else "" end) + (if .host == "" then " default_server" else "" end)) as $listen_options
  | (.locations | map(select(.pathType == "Exact") | {(.path): true}) | add // {}) as $exact
  | "  server {",
    "    listen \($ENV.HTTP_PORT)\($listen_options);",
    "    listen \($ENV.HTTPS_PORT) ssl\($listen_options);",
    "    listen [::]:\($ENV.HTTP_PORT)\($listen_options);",
    "    listen [::]:\($ENV.HTTPS_PORT) ssl\($listen_options);",
    "    server_name \(.others as $others | [(.hosts // [.host])[], $others[]?] | map(server_name($others)) | join("\n      "));",
    (if .host == "" then $tls[] else empty end),
    "    if ($nginx_says) { return 400 $nginx_says; }",
    .lines[]?,
    (.locations[] | location_blocks($exact)),
    (.locations | blocks_against_redirects($exact; answer)), # nginx would redirect /foo to an Exact /foo/
    "  }",
    "";

input # and not `.`: no input at all must be an error
| with_features
| (.certificates // []) as $certificates
| [$certificates | certificate_directives("")] as $tls
| (.upstreams[]? | upstream_block),
  .lines[]?,
  (.defaultCertificate // "default.pem" | . as $default | $certificates | certificate_maps($default)),
  (.servers // [] | merged[] | server_block($tls))
