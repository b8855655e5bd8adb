# What is not HTTP: the servers of nginx's `stream` (stream.conf.template is what stands around them).
include "quoting"; # in_quotes

# input: {protocol, port, service, servicePort, endpoints, decodes, encodes} / output: its upstream and server
#
# nginx gives each worker a socket of its own for UDP (reuseport): so all of a client's datagrams get to one worker,
# and so to one pod.
def stream_blocks:
  "\(.protocol | ascii_downcase).\(.port)" as $name
  | (if .protocol == "UDP" then " udp reuseport" elif .decodes then " proxy_protocol" else "" end) as $options
  | "  upstream \($name) {",
    (.endpoints[] | "    server \(in_quotes) max_fails=0;"),
    "  }",
    "  server {",
    "    listen \(.port)\($options);",
    "    listen [::]:\(.port)\($options);",
    "    set $entrance \("\(.protocol) port \(.port)" | in_quotes);",
    "    set $service \("\(.service):\(.servicePort)" | in_quotes);",
    (select(.encodes) | "    proxy_protocol on;"),
    "    proxy_pass \($name);",
    "  }",
    "";

# --- TLS that pods end (ssl-passthrough)
#
# One server has the port for HTTPS. It reads the name in the handshake, and gives the connection as it is to another
# server of this nginx (`pass`): to that of HTTPS, or to a second one here, which connects it with a pod. So the servers
# of HTTPS see the client's address as if the port were theirs.

# input: a host / output: the same as a key of a map of names in small letters
def host_key: in_quotes;

# input: [network] / output: lines of nginx, a value for all that are in them
def networks($variable): "  geo $\($variable) {", "    default \"\";", (.[] | "    \(.) 1;"), "  }";

# output: the sockets of the two
def https: "unix:\($ENV.STATE_DIR)/run/https.sock";
def passed_on: "unix:\($ENV.STATE_DIR)/run/passed.sock";

# input: {allow, deny} / output: where a client gets that may come or not; $number tells this host from others
def guard($number):
  (select(.allow) | .allow | networks("passed_allow_\($number)")),
  (select(.deny) | .deny | networks("passed_deny_\($number)")),
  "  map \"\(if .deny then "$passed_deny_\($number)" else "" end)|\(if .allow then "$passed_allow_\($number)" else "1" end)\" $passed_if_\($number) {",
  "    default \(https);", "    \"|1\" \(passed_on);", "  }";

# input: [{host, of}] / output: two maps from the name to a value, the first for wildcards, which stand for one label
def by_name($variable; $default; value):
  "  map $wildcard_name $wildcard_\($variable) {", "    default \($default);",
  (.[] | select(.host | startswith("*")) | "    \(.host | host_key) \(value);"), "  }",
  "  map $ssl_preread_server_name $\($variable) {", "    default $wildcard_\($variable);",
  (.[] | select(.host | startswith("*") | not) | "    \(.host | host_key) \(value);"), "  }";

# input: a model with .passed, and perhaps with .passed_blocked: [network] whose clients get to no such host
# output: lines
def passed_blocks:
  ([.upstreams[]? | {(.name): .endpoints}] | add // {}) as $endpoints
  | (.passed | to_entries | map(.value + {number: (.key + 1)})) as $passed
  | ([$passed[].host | select(startswith("*")) | {(.[1:]): true}] | add // {}) as $wildcards
  | ([$passed[] | {(.host): true}] | add // {}) as $is_passed
  # below a wildcard that is passed on, a host of its own is not
  | [ .servers[].host | select($is_passed[.] | not) | select($wildcards[sub("\\A[^.]*"; "")]) | {host: .} ] as $others
  | "  map $ssl_preread_server_name $wildcard_name {", "    default \"\";", "    \"~^[^.]+(?<name_above>[.].+)$\" \"*$name_above\";", "  }",
    ($passed[] | select(.allow or .deny) | guard(.number)),
    ($passed + $others | by_name("passed_to"; https;
       if .number == null then https elif .allow or .deny then "$passed_if_\(.number)" else passed_on end)),
    ($passed | by_name("passed_service"; "\"\""; "\(.service):\(.port)" | in_quotes)),
    ($passed | by_name("passed_upstream"; "\"\""; "passed." + .upstream | in_quotes)),
    (select(.passed_blocked) | (.passed_blocked | networks("passed_blocked")),
       "  map $passed_blocked $passed_if_not_blocked {", "    default \(https);", "    \"\" $passed_to;", "  }"),
    ($passed | map(.upstream) | unique[]
     | "  upstream \("passed." + . | in_quotes) {", ($endpoints[.][] | "    server \(in_quotes) max_fails=0;"), "  }"),
    "  server {",
    (("", "[::]:") | "    listen \(.)\($ENV.HTTPS_PORT)\(if $ENV.PROXY_PROTOCOL == "on" then " proxy_protocol" else "" end);"),
    "    ssl_preread on;", "    preread_timeout \($ENV.CLIENT_HEADER_TIMEOUT)s;", "    access_log off;",
    "    pass \(if .passed_blocked then "$passed_if_not_blocked" else "$passed_to" end);", "  }",
    "  server {",
    "    listen \(passed_on);",
    "    ssl_preread on;",
    # (`set` comes before the handshake is read: what it asks for of the name in it would stay empty.)
    "    set $entrance \"TLS passed on\";", "    set $service \"\";",
    "    proxy_pass $passed_upstream;", "  }", "";

# input: a model / output: text of lines with all these blocks, after a line with its number of bytes; or nothing
# (jq's join would take seconds for 5,000 hosts: allow.jq.)
def streams:
  (if .passed then [passed_blocks] else ["  map \"\" $passed_service { default \"\"; }", ""] end) as $passed
  | select(.passed or (.streams // []) != [])
  | $passed + [.streams[]? | stream_blocks] | map(. + "\n") | add | "@STREAMS@ \(utf8bytelength - 1)", .[:-1];
