# A balancer as a cloud would have: HAProxy on this machine, in front of the nodes. It passes on connections and asks
# nobody twice. It has the machine's address in the nodes' network, so nodes and pods can be clients, too.

# Each server is a worker's PORT. Whether it gets connections is what GET PATH at its HEALTH_PORT says, every 2 s.
start_balancer() { # PORT HEALTH_PORT PATH [SERVER_OPTION...]
  stop_balancer
  BALANCER=$(address_towards "$(address_of_node "$LEAVING")")
  statistics=127.0.0.1:$(free_port)
  haproxy_configuration "$@" >"$BATS_TEST_TMPDIR/haproxy.cfg"
  haproxy -db -f "$BATS_TEST_TMPDIR/haproxy.cfg" >"$BATS_TEST_TMPDIR/haproxy.log" 2>&1 3>&- &
  balancer=$!
  wait_for 10 servers_are UP UP
}

# retries 0: packets that a cloud sent to a dead node are lost, too. tcp-ut: a server that acknowledges nothing for
# 3 s is gone for this connection; without that, it would be kept until `timeout server`.
haproxy_configuration() { # PORT HEALTH_PORT PATH [SERVER_OPTION...]
  local node
  cat <<CONFIGURATION
global
  log stdout format raw local0 notice
defaults
  mode tcp
  log global
  retries 0
  timeout connect 1s
  timeout client 60s
  timeout server 60s
listen http
  bind $BALANCER:80
  balance roundrobin
  option httpchk GET $3
  default-server check port $2 inter 2s fall 2 rise 1 tcp-ut 3s ${*:4}
$(for node in $(workers); do echo "  server $node $(address_of_node "$node"):$1"; done)
listen statistics
  bind $statistics
  mode http
  stats enable
  stats uri /
CONFIGURATION
}

stop_balancer() {
  [[ -z ${balancer-} ]] || kill "$balancer"
  balancer=
}

# prints: NAME STATUS CONNECTIONS of each server
servers() {
  curl -s --max-time 2 "http://$statistics/;csv" |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
      $1 == "http" && $2 != "FRONTEND" && $2 != "BACKEND" { print $2, $column["status"], $column["scur"] }'
}

servers_are() { # STATUS...   of the workers, by their names
  [[ $(servers | sort | cut -d ' ' -f 2 | xargs) == "$*" ]]
}

has_connections() { # NODE
  (($(servers | sed -n "s/^$1 [^ ]* //p") > 0))
}

workers() {
  kubectl get nodes -l '!node-role.kubernetes.io/control-plane' -o 'jsonpath={.items[*].metadata.name}'
}

address_of_node() { # NODE
  kubectl get node "$1" -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}'
}

# prints: the address of this machine that others see when it connects to that one
address_towards() { # ADDRESS
  ip -o route get "$1" | sed -n 's/.* src \([^ ]*\).*/\1/p'
}
