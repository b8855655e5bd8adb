# The node: a set of namespaces with a first process in them, a control group, a folder, and a cable to the host.
#
# When its first process ends, the kernel ends all others of the node, and with them go its mounts, its network and
# its iptables rules. So nothing that happens inside can outlive the node.

node_exists() {
  [[ -n "$(pids_of pause)" ]]
}

require_node() {
  [[ -f $STATE/address ]] || die 1 'the cluster is not up. Start it: cluster up'
}

make_node() {
  make_control_groups
  make_folders
  start_first_process
  enter_folders
  pretend_kernel_settings
  plug_cable_in
  close_node_to_the_world
}

remove_node() {
  kill_all
  unplug_cable
  remove_control_groups
  remove_folders
}

enter_node() { # [COMMAND...]
  require_node
  (($# > 0)) || set -- TERM="${TERM:-dumb}" PS1='node:\w# ' bash --norc
  in_node --chdir=/ "$@"
}

# Runs a command inside the node. It gets a new environment: the caller's proxies and KUBECONFIG are none of its business.
in_node() { # COMMAND...
  nsenter --target "$(pids_of pause)" --mount --net --pid -- \
    env --ignore-environment PATH="/run/programs/kubernetes:/run/programs/containerd:/usr/sbin:/usr/bin:/sbin:/bin" "$@"
}

start_first_process() {
  say 'making the node: namespaces, folders, a link'
  (
    join_control_group
    close_inherited_files
    cd /
    exec setsid --fork unshare --mount --net --pid --fork --mount-proc --propagation slave \
      "$(cache_entry pause)/pause" </dev/null >"$STATE/run/log/pause.log" 2>&1
  )
  local deadline
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  until node_exists; do
    (($(uptime_seconds) < deadline)) || die 1 "the node's first process did not start: $(<"$STATE/run/log/pause.log")"
    sleep 0.01
  done
}

# Inside, the node's own folders lie over /run and /var. So every program finds its usual paths, short enough for
# sockets, and nothing is written to the host's.
make_folders() {
  mkdir -p "$STATE"/{run/{lock,config/cni,log,pki,kernel,programs/{kubernetes,containerd}},var/{lib,log,tmp}}
  chmod 700 "$STATE"
  ln -s /run "$STATE/var/run"
}

enter_folders() {
  in_node mount --make-rshared /
  in_node mount --bind "$(cache_entry kubernetes)" "$STATE/run/programs/kubernetes"
  in_node mount --bind "$(cache_entry containerd)" "$STATE/run/programs/containerd"
  in_node mount --rbind "$STATE/run" /run
  in_node mount --rbind "$STATE/var" /var
}

remove_folders() {
  rm -rf --one-file-system "$STATE"
  remove_home_if_empty
}

# kubelet insists on these settings of the whole machine's kernel, and would write them. It finds files instead that
# already say what it wants; the kernel, and so the host, never hears of it.
pretend_kernel_settings() {
  local setting file
  for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file="$STATE/run/kernel/${setting//[\/=]/-}"
    printf '%s\n' "${setting#*=}" >"$file"
    in_node mount --bind "/run/kernel/${file##*/}" "/proc/sys/${setting%=*}"
  done
}
