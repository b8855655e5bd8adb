# What dockerd and a node change on the machine itself, and how it becomes again what it was.

# Docker forwards packets. A node is privileged, and its kubelet and systemd set what they want of the kernel.
SYSCTLS='^(net\.ipv4\.ip_forward|net\.ipv[46]\.conf\..*\.(forwarding|accept_redirects)|vm\.(overcommit_memory|panic_on_oom)|kernel\.(panic|panic_on_oops|sysrq|core_pattern|keys\..*)|fs\.(protected_.*|file-max|nr_open))$'

remember_host() {
  # Some may be read by nobody. ip_forward comes first, as writing it sets others.
  sysctl -a --pattern "$SYSCTLS" 2>/dev/null | sort_forward_first >"$STATE/sysctls"
  bridges >"$STATE/bridges"
  iptables-save >"$STATE/iptables"
  ip6tables-save >"$STATE/ip6tables"
}

sort_forward_first() {
  awk '/ip_forward/ { print; next } { others = others $0 "\n" } END { printf "%s", others }'
}

restore_host() {
  [[ -f $STATE/ip6tables ]] || return 0
  local traces
  traces=$(traces_of_docker)
  remove_rules iptables "$traces"
  remove_rules ip6tables "$traces"
  remove_bridges
  restore_sysctls
}

restore_sysctls() {
  local name value
  while IFS=' =' read -r name value; do
    # The setting of a device that is gone is gone, too.
    [[ $(sysctl -n "$name" 2>/dev/null || echo "$value") == "$value" ]] || run sysctl -q -w "$name=$value"
  done <"$STATE/sysctls"
}

bridges() {
  ip -o link show type bridge | awk -F ': ' '{ print $2 }' | sort
}

new_bridges() {
  bridges | grep -E '^(docker0|br-[0-9a-f]{12})$' | comm -23 - "$STATE/bridges"
}

# prints: patterns, one a line, of which each rule of Docker's has one: its chains, its bridges, its bridges' subnets
traces_of_docker() {
  local bridge
  printf 'DOCKER\n'
  for bridge in $(new_bridges); do
    printf '%s\n' "$bridge"
    ip -o addr show dev "$bridge" | awk '{ print $4 }' | sed -nE 's#^([0-9]+\.[0-9]+\.).*/16$# \1#p'
  done
}

# In one transaction, so that rules which others added meanwhile stay. FORWARD gets its policy of before.
remove_rules() { # IPTABLES TRACES
  local policy rules
  policy=$(sed -n 's/^:FORWARD \([A-Z]*\) .*/\1/p' "$STATE/$1" | tail -n 1)
  rules=$("$1-save")
  [[ -n $rules ]] || return 0 # no table was ever made
  grep --invert-match --fixed-strings --file <(printf '%s\n' "$2") <<<"$rules" |
    sed "s/^:FORWARD DROP /:FORWARD ${policy:-ACCEPT} /" | "$1-restore"
}

remove_bridges() {
  local bridge
  for bridge in $(new_bridges); do
    run ip link delete "$bridge"
  done
}
