# TCP and UDP services: which port goes to which pods, over the wire, with real nginx; and the loop, which follows.
load helpers

setup() {
  common_setup
  export TCP_SERVICES=infra/tcp UDP_SERVICES=infra/udp
  set_free_ports tcp other_tcp udp
  start_servers
}
teardown() {
  common_teardown
  # shellcheck disable=SC2086 # there may be none
  kill -KILL ${listener-} 2>/dev/null || true
}

# What pods play here: TCP and UDP at 127.77.0.1 and .2, each says its name and whom it sees; port 7001 speaks the PROXY
# protocol.
start_servers() {
  cat >"$dir/servers.conf" <<CONF
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
pid $dir/servers.pid;
error_log $dir/servers.log;
events {}
stream {
  server { listen 127.77.0.1:7000; return "redis-1 for \$remote_addr\n"; }
  server { listen 127.77.0.2:7000; return "redis-2 for \$remote_addr\n"; }
  server { listen 127.77.0.1:7001 proxy_protocol; return "redis-1 for \$proxy_protocol_addr\n"; }
  server { listen 127.77.0.1:5300 udp; return "dns-1"; }
  server { listen 127.77.0.2:5300 udp; return "dns-2"; }
}
CONF
  nginx -e stderr -c "$dir/servers.conf"
}

# The lists of the fixture with two Services: redis (TCP 6379 to 7000, and "proxy" to 7001), and dns, which has port 53
# for TCP and for UDP. The entries of the ConfigMaps are "TCP PORT VALUE" or "UDP PORT VALUE".
with_streams='
  def service($name; $ports): {metadata: {namespace: "demo", name: $name}, spec: {ports: $ports}};
  def slice($name; $ports; $addresses): {
    metadata: {namespace: "demo", name: "\($name)-a", labels: {"kubernetes.io/service-name": $name}},
    addressType: "IPv4", $ports, endpoints: [$addresses[] | {addresses: [.], conditions: {ready: true}}]};
  def config_map($name; $protocol): {items: [{metadata: {namespace: "infra", $name},
    data: ([$entries | split("\n")[] | split(" ") | select(.[0] == $protocol) | {(.[1]): .[2]}] | add)}]};
  .services.items += [
    service("redis"; [{name: "redis", port: 6379}, {name: "proxy", port: 6380}]),
    service("dns"; [{name: "dns", port: 53, protocol: "UDP"}, {name: "dns-tcp", port: 53}])]
  | .endpointSlices.items += [
    slice("redis"; [{name: "redis", port: 7000}, {name: "proxy", port: 7001}]; $redis | split(" ")),
    slice("dns"; [{name: "dns", port: 5300, protocol: "UDP"}, {name: "dns-tcp", port: 7000}]; ["127.77.0.1"])]
  | .tcp = config_map("tcp"; "TCP") | .udp = config_map("udp"; "UDP")'

# Serves the fixture rules with these entries; redis has these pods.
serve_entries() { # PODS ENTRY...
  snapshot_of_entries "$@" | serve_snapshot
}

snapshot_of_entries() { # PODS ENTRY...
  snapshot rules "$with_streams" --arg redis "$1" --arg entries "$(printf '%s\n' "${@:2}")"
}

# Prints what a server says that sends first.
connect() { # PORT
  local said=''
  { IFS= read -r -t 5 said <&7; } 2>/dev/null 7<>"/dev/tcp/127.0.0.1/$1" || true
  printf '%s\n' "$said"
}

ask_udp() { # PORT
  local said=''
  exec 7<>"/dev/udp/127.0.0.1/$1"
  printf x >&7
  IFS= read -r -t 2 -N 5 said <&7 || true
  exec 7<&-
  printf '%s\n' "$said"
}

is_refused() { # PORT
  ! { : <>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null
}

@test "a TCP port goes to the pods of its Service, which is named by number or name, and a UDP port to those for UDP" {
  serve_entries 127.77.0.1 "TCP $tcp demo/redis:6379" "TCP $other_tcp demo/redis:redis" "UDP $udp demo/dns:53" "UDP $other_tcp demo/dns:dns" "TCP $udp demo/dns:53"
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$tcp")"
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$other_tcp")"
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$udp")"
  assert_equal dns-1 "$(ask_udp "$udp")"
  assert_equal dns-1 "$(ask_udp "$other_tcp")"
  assert_equal '' "$(problems | grep -i configmap)"
  start_pods
  assert_equal apple "$(who_answers fruit.example /apple)"
}

@test "without TCP or UDP services, nginx.conf says nothing of streams" {
  serve_entries 127.77.0.1
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" $'\nstream'
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" load_module
}

@test "all pods of a Service are asked" {
  serve_entries '127.77.0.1 127.77.0.2' "TCP $tcp demo/redis:6379"
  wait_for 10 says_both
}

says_both() {
  local said
  said=$(connect "$tcp")$(connect "$tcp")$(connect "$tcp")$(connect "$tcp")
  [[ $said == *redis-1* && $said == *redis-2* ]]
}

@test "each connection has a line in the log, and so has each client of UDP" {
  serve_entries 127.77.0.1 "TCP $tcp demo/redis:6379" "UDP $udp demo/dns:53"
  connect "$tcp"
  ask_udp "$udp"
  wait_for 10 grep -q "127.0.0.1 TCP port $tcp, 0 bytes in and 22 out in .* s, status 200, by demo/redis:6379, pod 127.77.0.1:7000" "$dir/access.log"
  wait_for 10 grep -q "127.0.0.1 UDP port $udp, 1 bytes in and 5 out in .* s, status 200, by demo/dns:53, pod 127.77.0.1:5300" "$dir/access.log"
}

@test "the PROXY protocol: a pod that speaks it learns the client's address, also from a trusted load balancer" {
  TRUSTED_PROXIES=127.0.0.1 serve_entries 127.77.0.1 "TCP $tcp demo/redis:proxy::PROXY" "TCP $other_tcp demo/redis:6380:proxy:PROXY"
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$tcp")"
  exec 7<>"/dev/tcp/127.0.0.1/$other_tcp"
  printf 'PROXY TCP4 192.0.2.7 127.0.0.1 5000 443\r\n' >&7
  IFS= read -r -t 5 said <&7
  exec 7<&-
  assert_equal 'redis-1 for 192.0.2.7' "$said"
}

@test "what the PROXY protocol says counts only from a trusted proxy" {
  serve_entries 127.77.0.1 "TCP $tcp demo/redis:6380:PROXY:PROXY"
  exec 7<>"/dev/tcp/127.0.0.1/$tcp"
  printf 'PROXY TCP4 192.0.2.7 127.0.0.1 5000 443\r\n' >&7
  IFS= read -r -t 5 said <&7
  exec 7<&-
  assert_equal 'redis-1 for 127.0.0.1' "$said"
}

@test "an entry that is wrong costs only itself, and is a problem" {
  LIMITS=ingress_problems=20 serve_entries 127.77.0.1 "TCP $tcp demo/redis:6379" 'TCP 70000 demo/redis:6379' 'TCP port demo/redis:6379' 'TCP 09000 demo/redis:6379' \
    'TCP 9001 redis:6379' 'TCP 9002 demo/redis' 'TCP 9003 demo/redis:6379:HTTP' 'TCP 9004 demo/none:1' 'TCP 9005 demo/redis:1' 'TCP 9006 demo/dns:dns' \
    'UDP 9007 demo/redis:6379' 'UDP 9010 demo/dns:53:PROXY' "TCP $HTTP_PORT demo/redis:6379" "TCP $ADMIN_PORT demo/redis:6379" "UDP $HTTPS_PORT demo/dns:53" 'TCP 9008 demo/redis:x;y' 'TCP 9009 demo/apple";x:80'
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$tcp")"
  assert_equal dns-1 "$(ask_udp "$HTTPS_PORT")" # which is ours for TCP only
  run problems
  while IFS= read -r problem; do
    assert_contains "$output" "$problem"
  done <<END
EntryRefused: ConfigMap infra/tcp: its key "70000" is not a port
EntryRefused: ConfigMap infra/tcp: its key "port" is not a port
EntryRefused: ConfigMap infra/tcp: its key "09000" is not a port
EntryRefused: ConfigMap infra/tcp: TCP port "9001": "redis:6379" does not begin with namespace/name of a Service
EntryRefused: ConfigMap infra/tcp: TCP port "9002": "demo/redis" has no port of the Service, by number or name
EntryRefused: ConfigMap infra/tcp: TCP port "9003": "demo/redis:6379:HTTP" has something other than PROXY behind the port of the Service
ServiceNotFound: ConfigMap infra/tcp: TCP port 9004 is not listened on: Service demo/none does not exist
ServicePortNotFound: ConfigMap infra/tcp: TCP port 9005 is not listened on: Service demo/redis has no port 1
ServicePortNotTCP: ConfigMap infra/tcp: TCP port 9006 is not listened on: port dns of Service demo/dns is not TCP
ServicePortNotUDP: ConfigMap infra/udp: UDP port 9007 is not listened on: port 6379 of Service demo/redis is not UDP
EntryRefused: ConfigMap infra/udp: UDP port "9010": "demo/dns:53:PROXY" has a PROXY, which is for TCP only
PortTaken: ConfigMap infra/tcp: TCP port $HTTP_PORT is not listened on: the controller itself listens there
PortTaken: ConfigMap infra/tcp: TCP port $ADMIN_PORT is not listened on: the controller itself listens there
EntryRefused: ConfigMap infra/tcp: TCP port "9008": "demo/redis:x;y" has no port of the Service, by number or name
EntryRefused: ConfigMap infra/tcp: TCP port "9009": "demo/apple\";x:80" does not begin with namespace/name of a Service
END
}

@test "a Service without a ready pod is not listened on: its clients are refused, and the others are served" {
  snapshot rules "$with_streams | .endpointSlices.items[-2].endpoints[].conditions.ready = false" --arg redis 127.77.0.1 \
    --arg entries "TCP $tcp demo/redis:6379"$'\n'"TCP $other_tcp demo/dns:53" | serve_snapshot
  is_refused "$tcp"
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$other_tcp")"
  assert_contains "$(problems)" "NoReadyEndpoints: ConfigMap infra/tcp: TCP port $tcp is not listened on: Service demo/redis has no ready endpoint for port 6379"
}

@test "a ConfigMap that does not exist is a problem" {
  snapshot rules >"$dir/snapshot"
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_contains "$(problems | tr '\n' ';')" 'ConfigMap infra/tcp: it does not exist;EntryRefused: ConfigMap infra/udp: it does not exist'
}

# The cluster has this ConfigMap now.
config_map_is() { # tcp|udp ENTRY...
  jq -n -c '{kind: "ConfigMapList", apiVersion: "v1", metadata: {resourceVersion: "1"}, items: [{metadata: {namespace: "infra", name: $name},
    data: ([$ARGS.positional[] | split(" ") | {(.[0]): .[1]}] | add // {})}]}' --arg name "$1" --args "${@:2}" >"$api/new"
  mv "$api/new" "$api/configmaps-metadata.name=$1"
}

streams_of_api=${with_streams%% | .tcp = *}

start_with_entries() { # TCP_ENTRY...
  start_api rules "$streams_of_api" --arg redis 127.77.0.1
  config_map_is tcp "$@"
  config_map_is udp "$udp demo/dns:53"
  start_controller
}

is_answered() { # PORT TEXT
  [[ $(connect "$1") == "$2"* ]]
}

@test "the controller follows: entries that come, change and go; a pod that moves; and HTTP routes stay as they are" {
  start_pods
  start_with_entries "$tcp demo/redis:6379"
  wait_for 30 is_answered "$tcp" redis-1
  assert_equal dns-1 "$(ask_udp "$udp")"
  config_map_is tcp "$tcp demo/redis:6379" "$other_tcp demo/dns:53"
  wait_for 30 is_answered "$other_tcp" redis-1
  wait_for 30 logged "new configuration: opened TCP port $other_tcp"
  cluster_is rules "$streams_of_api" --arg redis 127.77.0.2
  wait_for 30 is_answered "$tcp" redis-2
  assert_equal 'redis-1 for 127.0.0.1' "$(connect "$other_tcp")"
  config_map_is tcp "$other_tcp demo/dns:53"
  wait_for 30 is_refused "$tcp"
  wait_for 30 logged "new configuration: closed TCP port $tcp"
  assert_equal apple "$(who_answers fruit.example /apple)"
  assert_equal dns-1 "$(ask_udp "$udp")"
}

# Runs a program that listens on PORT.
take_port() { # PORT
  printf 'pid %s; error_log %s; events {} http { access_log off;\n%s\nserver { listen 127.0.0.1:%s; return 200 "mine\\n"; } }\n' \
    "$dir/taker.pid" "$dir/taker.log" "$(temp_paths "$dir/taker")" "$1" >"$dir/taker.conf"
  nginx -e stderr -c "$dir/taker.conf"
}

@test "a port that another program has costs only its entry, until that ends: routes and other ports are followed" {
  start_pods
  take_port "$tcp"
  start_with_entries "$tcp demo/redis:6379" "$other_tcp demo/redis:6379"
  wait_for 30 is_answered "$other_tcp" redis-1
  wait_for 30 logged "ConfigMap infra/tcp: TCP port $tcp is not listened on: another program listens there .PortNotAvailable"
  assert_equal mine "$(curl -s "http://127.0.0.1:$tcp/")"
  cluster_is rules "$streams_of_api | .ingresses.items[0].spec.rules[0].host = \"other.example\"" --arg redis 127.77.0.2
  wait_for 30 served other.example /apple apple
  wait_for 30 is_answered "$other_tcp" redis-2
  assert_equal 0 "$(metric failed_reloads_total)"
  kill -TERM "$(<"$dir/taker.pid")"
  wait_for 30 is_answered "$tcp" redis-2
}

@test "a port that needs a right which is not there costs only its entry" {
  start_pods
  (($(</proc/sys/net/ipv4/ip_unprivileged_port_start) > 1023)) || skip 'any user may have any port here'
  start_api rules "$streams_of_api" --arg redis 127.77.0.1
  config_map_is tcp "$tcp demo/redis:6379" '22 demo/redis:6379'
  config_map_is udp
  use_quick_kubectl
  setpriv --bounding-set -net_bind_service --inh-caps -net_bind_service "$bin/fetch" >"$dir/snapshot"
  "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_equal "[$tcp]" "$(jq -c '[.streams[].port]' "$dir/model.json")"
  assert_contains "$(problems)" 'TCP port 22 is not listened on: ports below 1024 need a right that the controller does not have here (NET_BIND_SERVICE)'
}

# A client of "$tcp" that says something only after the reloads.
hold_connection() { # PORT
  exec 8<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET /held HTTP/1.1\r\nHost: fruit.example\r\nConnection: close\r\n' >&8
}

finish_connection() {
  printf '\r\n' >&8
  timeout 10 cat <&8
  exec 8<&-
}

reloaded() { # REFERENCE
  (($(metric reloads_total) > $1))
}

@test "a reload cuts no connection: neither one for other routes, nor one that takes its own entry away" {
  start_pods
  start_with_entries "$tcp demo/apple:80"
  wait_for 30 eval '! is_refused "$tcp"'
  hold_connection "$tcp"
  reloads=$(metric reloads_total)
  cluster_is rules "$streams_of_api | .ingresses.items[0].spec.rules[0].host = \"other.example\"" --arg redis 127.77.0.1
  wait_for 30 reloaded "$reloads"
  config_map_is tcp
  wait_for 30 is_refused "$tcp"
  assert_contains "$(finish_connection)" 'GET /held'
}

@test "WORKER_SHUTDOWN_TIMEOUT bounds such a connection" {
  start_pods
  export WORKER_SHUTDOWN_TIMEOUT=1
  start_with_entries "$tcp demo/apple:80"
  wait_for 30 eval '! is_refused "$tcp"'
  hold_connection "$tcp"
  config_map_is tcp
  wait_for 30 is_refused "$tcp"
  began=${EPOCHREALTIME/./}
  assert_equal '' "$(timeout 10 cat <&8)" # until it is cut
  ((${EPOCHREALTIME/./} - began < 8000000))
}

@test "a container that is restarted serves HTTP at once, also where another program has taken a port meanwhile" {
  start_pods
  start_with_entries "$tcp demo/redis:6379"
  wait_for 30 is_answered "$tcp" redis-1
  stop_controller
  take_port "$tcp"
  start_controller
  assert_equal apple "$(who_answers fruit.example /apple)"
  wait_for 30 logged "TCP port $tcp is not listened on: another program listens there"
}

# --- real servers, whose pods move while clients are connected

# Starts Redis as that pod.
start_redis() { # ADDRESS
  redis-server --bind "$1" --port 7777 --save '' --dir "$dir" --daemonize yes --pidfile "$dir/redis-$1.pid" >/dev/null 3>&-
  wait_for 15 redis-cli -h "$1" -p 7777 ping
}

redis() { # ARGUMENT...
  redis-cli -p "$tcp" "$@"
}

redis_says() { # TEXT ARGUMENT...
  [[ $(redis "${@:2}" 2>&1) == *"$1"* ]]
}

# The second pod does not know the key.
redis_has_moved() {
  local said
  said=$(redis get pod) && [[ -z $said ]]
}

redis_moves() { # ADDRESS
  cluster_is rules "$streams_of_api | .endpointSlices.items[-2].ports[0].port = 7777" --arg redis "$1"
}

@test "a blocked client of Redis stays connected while routes change and while its Service moves to another pod; new ones get there" {
  start_redis 127.77.0.1
  start_redis 127.77.0.2
  start_api rules "$streams_of_api | .endpointSlices.items[-2].ports[0].port = 7777" --arg redis 127.77.0.1
  config_map_is tcp "$tcp demo/redis:redis"
  config_map_is udp
  start_controller
  wait_for 30 redis_says PONG ping
  redis set pod first
  redis blpop list 60 >"$dir/said" 3>&- &
  wait_for 20 redis_says cmd=blpop client list
  cluster_is rules "$streams_of_api | .endpointSlices.items[-2].ports[0].port = 7777 | .ingresses.items[0].spec.rules[0].host = \"other.example\"" --arg redis 127.77.0.1
  wait_for 30 served other.example /apple 'Service demo/apple' # which has no pod here
  redis_moves 127.77.0.2
  wait_for 30 redis_has_moved
  redis-cli -h 127.77.0.1 -p 7777 rpush list held
  wait "$!"
  assert_contains "$(<"$dir/said")" held
  kill "$(<"$dir/redis-127.77.0.1.pid")"
  redis_says PONG ping
}

# Prints what a DNS server says of here.example: a query (RFC 1035, section 4.1) is sent as it is.
lookup() {
  local said=''
  exec 7<>"/dev/udp/127.0.0.1/$udp"
  printf '\x12\x34\x01\0\0\1\0\0\0\0\0\0\4here\7example\0\0\1\0\1' >&7
  said=$(timeout 3 dd bs=512 count=1 status=none <&7 | od -An -tu1 | tr -s ' \n' ' ')
  exec 7<&-
  [[ $said == *' 192 0 2 '* ]] && sed -E 's/.*(192 0 2 [0-9]+).*/\1/; s/ /./g' <<<"$said"
}

is_found() { # ADDRESS
  [[ $(lookup) == "$1" ]]
}

# Starts a DNS server as that pod, which says so.
start_dns() { # ADDRESS ANSWER
  dnsmasq --no-resolv --no-hosts --bind-interfaces --listen-address="$1" --port=5353 --pid-file="$dir/dns-$1.pid" --user=root --conf-file=/dev/null --address="/here.example/$2"
}

@test "a DNS server is asked by UDP, also while it moves to another pod" {
  start_dns 127.77.0.1 192.0.2.1
  start_dns 127.77.0.2 192.0.2.2
  dns_is_at() { # start_api|cluster_is ADDRESS
    "$1" rules "$streams_of_api"' | .endpointSlices.items[-1] |= (.ports[0].port = 5353 | .endpoints[0].addresses = [$dns])' --arg redis 127.77.0.1 --arg dns "$2"
  }
  dns_is_at start_api 127.77.0.1
  config_map_is tcp
  config_map_is udp "$udp demo/dns:dns"
  start_controller
  wait_for 30 is_found 192.0.2.1
  dns_is_at cluster_is 127.77.0.2
  lost=0
  for ((i = 0; i < 200; i++)); do
    answer=$(lookup) || lost=$((lost + 1))
    [[ $answer != 192.0.2.2 ]] || break
    sleep 0.05
  done
  assert_equal 192.0.2.2 "$answer"
  ((lost <= 1)) # an answer that comes while its worker is replaced
}
