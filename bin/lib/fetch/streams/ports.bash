# ports - on which ports of TCP and UDP services nobody can listen here: nginx would take nothing of a configuration
# that asks for one of them
#
# folder is of lists.bash, master and sockets_of are nginx.bash's
# shellcheck shell=bash disable=SC2154

source "$bin/lib/apply/nginx.bash" # nginx_runs, sockets_of

stream_module=/usr/lib/nginx/modules/ngx_stream_module.so # as in stream.conf.template
proc=/proc

# Writes ports.summary: {"unbound": {"TCP 9000": why}}, or nothing. It is written again if the ports differ, or who
# listens there.
find_unbound_ports() {
  local -A wanted=() listening=()
  local now_there master
  ! ports_are_same || return 0
  print_unbound >"$folder/last/ports.summary"
  printf '%s\n' "$now_there" >"$folder/ports"
}

# Sets wanted, listening, master and now_there.
ports_are_same() {
  local known=''
  master=''
  find_wanted tcp
  find_wanted udp
  find_listening
  nginx_runs || master=''
  now_there="$master ${!wanted[*]} ${!listening[*]} ${listening[*]}"
  { IFS= read -r known <"$folder/ports"; } 2>/dev/null && [[ -e $folder/last/ports.summary && $known == "$now_there" ]]
}

# Each entry of the summary begins with its port: {"port":9000,
find_wanted() { # tcp|udp
  local part parts=()
  [[ -e $folder/last/$1.summary ]] || return 0
  IFS='{' read -r -a parts <"$folder/last/$1.summary" || true # it is empty
  for part in "${parts[@]}"; do
    [[ $part != '"port":'* ]] || { part=${part#*:} && wanted["${1^^} ${part%%,*}"]=1; }
  done
}

# Sets listening: the sockets that listen on such a port. Of TCP's sockets, the kernel lists those first that listen
# (0A), and there may be very many others; UDP's have no client (07).
find_listening() {
  local file protocol address state inode port
  for file in tcp:0A tcp6:0A udp:07 udp6:07; do
    protocol=${file%%[6:]*} protocol=${protocol^^}
    [[ -e $proc/net/${file%:*} ]] || continue
    while read -r _ address _ state _ _ _ _ _ inode _; do
      [[ $address != local_address ]] || continue
      if [[ $state != "${file#*:}" ]]; then
        [[ $protocol == UDP ]] || break
        continue
      fi
      port="$protocol $((16#${address##*:}))"
      [[ ! -v wanted[$port] ]] || listening[$port]+=" socket:[$inode]"
    done <"$proc/net/${file%:*}"
  done
}

print_unbound() {
  local port socket why own first line=''
  own=$([[ -z $master ]] || sockets_of "$master")
  first=$(first_port_without_right)
  while IFS= read -r port; do
    why=''
    if [[ ! -e $stream_module ]]; then
      why="nginx has no $stream_module here: install libnginx-mod-stream"
    elif [[ -n ${listening[$port]-} ]]; then
      for socket in ${listening[$port]}; do
        [[ $'\n'$own$'\n' == *$'\n'"$socket"$'\n'* ]] || why='another program listens there'
      done
    elif ((${port#* } < first)); then
      why="ports below $first need a right that the controller does not have here (NET_BIND_SERVICE)"
    fi
    [[ -z $why ]] || line+=",\"$port\":\"$why\""
  done < <(printf '%s\n' "${!wanted[@]}" | sort)
  [[ -z $line ]] || printf '{"unbound":{%s}}\n' "${line#,}"
}

# CAP_NET_BIND_SERVICE is bit 10 (capabilities(7)).
first_port_without_right() {
  local name value first=1024
  read -r first <"$proc/sys/net/ipv4/ip_unprivileged_port_start" || true # a kernel without that has 1024
  while read -r name value; do
    [[ $name != CapEff: ]] || ((!(16#$value >> 10 & 1))) || first=0
  done <"$proc/self/status"
  echo "$first"
} 2>/dev/null
