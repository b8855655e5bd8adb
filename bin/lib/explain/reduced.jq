# The part of a routing model that some hosts can reach, for an nginx that only explains: whom it would ask is a socket.
#
# input:  the model (route.jq)
# args:   $questions: what is asked (questions.jq); $folder: of the sockets
# output: the same model with the servers for these hosts, and those whose paths are asked for logins. Each location has
#         its place in the whole model in .at, "SERVER.LOCATION". The endpoint of each upstream is a socket,
#         $folder/NUMBER, with its number in the whole model.
#
# What nginx counts (rates, connections) is left out: one question is never too many. So is what is not HTTP, and what a
# ConfigMap says of proxies, processes and logs: here the client's address is that of the question, and explain has a
# log of its own. Where TLS is passed on, the place stands for the Service's port, which nginx writes into that log.

# input: a host / output: the names of the servers that nginx may choose for it
def names: ., (select(contains(".")) | "*" + .[index("."):]), "";

# input: a server / output: its hosts
def hosts: .host, .others[]?;

# input: model; $wanted is {host: true} / output: its servers with one of these hosts
def chosen($wanted): [.servers[]? | select(any(hosts; $wanted[.]))];

# input: [server] / output: the hosts whose paths say who is let in
def asked: [.[].locations[].asks.host | values];

# input: [host] / output: {"name of a server": true}
def wanted: map(names | {(.): true}) | add // {};

[$questions[].host] as $hosts
| ($hosts + (chosen($hosts | wanted) | asked) | wanted) as $wanted
| .servers |= ([ . // [] | to_entries[] | .key as $server | .value | select(any(hosts; $wanted[.]))
    | .locations |= [to_entries[] | .value + {at: "\($server).\(.key)"} | if .passed then .passed.port = .at else . end]
    | .at = $server ])
| ([.servers[].locations | .. | strings] | unique | map({(.): true}) | add // {}) as $is_named
| ([.servers[] | .. | objects | .options | numbers] | unique | map({("\(.)"): true}) | add // {}) as $is_used
| .upstreams |= [ . // [] | to_entries[] | .key as $number | .value | select($is_named[.name | rtrimstr(".https")] or $is_named[.name]) # AUTO_HTTP adds it
    | .endpoints = ["unix:\($folder)/\($number)"]
    | if .balance.address then .balance.address = .endpoints[0] else . end
    | if .balance.subset then del(.balance) else . end ]
| .options |= [ . // [] | to_entries[]
    | if $is_used["\(.key + 1)"] then .value | del(.["limit-rps", "limit-rpm", "limit-connections", "limit-rate"]) else {} end ]
| .certificates |= map(select($wanted[.host]))
| del(.streams)
| if .configured then
    .configured.settings |= with_entries(select(.key | IN("TRUSTED_PROXIES", "PROXY_PROTOCOL", "FORWARDED_FOR_HEADER", "ACCESS_LOG") | not))
    | .configured.directives |= with_entries(select(.key | IN("access_log", "error_log", "worker_connections", "worker_processes", "worker_rlimit_nofile") | not))
  else .
  end
