# The node's network: a cable to the host, whose other end is the node's only way out, and leads no further.

plug_cable_in() {
  local subnet
  subnet="$(choose_subnet)"
  printf '%s.2\n' "$subnet" >"$STATE/address"
  run ip link add "$LINK" type veth peer name eth0 netns "$(pids_of pause)"
  run ip address add "$subnet.1/30" dev "$LINK"
  run ip link set "$LINK" up
  in_node ip link set lo up
  in_node ip address add "$subnet.2/30" dev eth0
  in_node ip link set eth0 up
  in_node ip route add default via "$subnet.1"
  set_in_node net/ipv4/ip_forward 1
  # Refusals (see below) are ICMP messages, of which the kernel would send only a few per second.
  set_in_node net/ipv4/icmp_ratelimit 0
}

# Only the host is out there. A refusal at once (say, for an image that would have to be pulled) beats a timeout.
close_node_to_the_world() {
  local chain host
  host="$(node_address)"
  host="${host%.2}.1"
  for chain in OUTPUT FORWARD; do
    in_node iptables --wait -A "$chain" -o eth0 ! -d "$host" -j REJECT
  done
}

set_in_node() { # SETTING VALUE: of the node's own network, not of the host's
  printf '%s\n' "$2" | in_node tee "/proc/sys/$1" >/dev/null
}

unplug_cable() {
  # Without its peer in the node the link is gone, but perhaps not yet.
  [[ ! -e /sys/class/net/$LINK ]] || ip link delete "$LINK" 2>/dev/null || [[ ! -e /sys/class/net/$LINK ]]
}

node_address() {
  cat "$STATE/address"
}

choose_subnet() { # prints the first three numbers of a /24 that the host has no route into
  local pool offset third
  for pool in $SUBNET_POOLS; do
    for offset in {0..31}; do
      third=$(((16#${ID:0:4} + offset) % 254 + 1))
      ! subnet_is_free "$pool.$third.0/24" || {
        printf '%s.%d\n' "$pool" "$third"
        return
      }
    done
  done
  die 1 "no free subnet in $SUBNET_POOLS: name another with SUBNET_POOLS, such as 192.168"
}

subnet_is_free() { # SUBNET
  local routes
  routes="$(ip -4 route show root "$1" && ip -4 route show match "$1")"
  [[ -z "$(grep -v '^default' <<<"$routes")" ]]
}
