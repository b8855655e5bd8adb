# What is not HTTP: the servers of nginx's `stream` (stream.conf.template is what stands around them).
include "quoting"; # in_quotes

# input: {protocol, port, service, servicePort, endpoints, decodes, encodes} / output: its upstream and server
#
# nginx gives each worker a socket of its own for UDP (reuseport), so that all of a client's datagrams get to one worker,
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
    "    set $service \("\(.service):\(.servicePort)" | in_quotes);",
    (select(.encodes) | "    proxy_protocol on;"),
    "    proxy_pass \($name);",
    "  }",
    "";

# input: a model / output: text of lines with all these blocks, after a line with its number of characters; or nothing
def streams:
  select((.streams // []) != [])
  | [.streams[] | stream_blocks] | join("\n") | "@STREAMS@ \(length)", .;
