# Control groups: by them we know which processes are the cluster's, whatever has crashed.
#
# The kernel has two versions of them. /sys/fs/cgroup is one tree with version 2, and a tree per controller with version 1.

is_cgroup_v2() {
  [[ -f /sys/fs/cgroup/cgroup.controllers ]]
}

control_group_roots() {
  if is_cgroup_v2; then
    printf '/sys/fs/cgroup\n'
  else
    find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d
  fi
}

# The node's own programs are in the leaf `node`, beside kubelet's folder for pods: with version 2, a group that
# passes controllers on may hold no process itself.
make_control_groups() {
  local root
  for root in $(control_group_roots); do
    mkdir -p "$root$CGROUP_PATH/node"
  done
  ! is_cgroup_v2 || pass_controllers_on
}

pass_controllers_on() {
  local controller
  for controller in cpu cpuset memory pids hugetlb io; do
    if grep -qw "$controller" /sys/fs/cgroup/cgroup.controllers; then
      printf '+%s\n' "$controller" >/sys/fs/cgroup/cgroup.subtree_control
      printf '+%s\n' "$controller" >"/sys/fs/cgroup$CGROUP_PATH/cgroup.subtree_control"
    fi
  done
}

# With version 1 kubelet wants the groups of cpu and memory to be the same one, to tell its own use of them.
join_control_group() {
  local controller
  for controller in pids cpu memory; do
    printf '%s\n' "$BASHPID" >"$(node_control_group "$controller")/cgroup.procs"
  done
}

node_control_group() { # CONTROLLER: prints the folder in which the node's own programs are listed
  if is_cgroup_v2; then
    printf '/sys/fs/cgroup%s/node\n' "$CGROUP_PATH"
  else
    printf '/sys/fs/cgroup/%s%s/node\n' "$1" "$CGROUP_PATH"
  fi
}

control_group_folders() { # prints all that exist, innermost first
  local top
  for top in "/sys/fs/cgroup$CGROUP_PATH" /sys/fs/cgroup/*"$CGROUP_PATH"; do
    # Pods that end take folders away while find looks.
    [[ ! -d $top ]] || find "$top" -depth -type d 2>/dev/null || true
  done
}

all_pids() {
  local folder
  for folder in $(control_group_folders); do
    # It may have vanished since it was listed.
    cat "$folder/cgroup.procs" 2>/dev/null || true
  done | sort -u
}

pids_of() { # PROGRAM: prints the host's numbers for its processes, leaving out those in pods
  local procs pid name
  procs="$(node_control_group pids)/cgroup.procs"
  [[ -f $procs ]] || return 0
  while read -r pid; do
    # A process may end between the two reads. The kernel keeps 15 letters of a name.
    read -r name 2>/dev/null <"/proc/$pid/comm" || continue
    [[ $name != "${1:0:15}" ]] || printf '%s\n' "$pid"
  done <"$procs"
}

kill_all() {
  local deadline pids
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  pids="$(all_pids)"
  while [[ -n $pids ]]; do
    # Some are gone by now: they ended with the node's first process.
    xargs kill -KILL <<<"$pids" 2>/dev/null || true
    (($(uptime_seconds) < deadline)) || die 1 "these processes cannot be killed: ${pids//$'\n'/ }"
    sleep 0.05
    pids="$(all_pids)"
  done
}

remove_control_groups() {
  local deadline
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  # The kernel lets go of a group a moment after its last process.
  until control_group_folders | xargs --no-run-if-empty rmdir 2>/dev/null; do
    (($(uptime_seconds) < deadline)) || die 1 "control groups that stay busy: $(control_group_folders)"
    sleep 0.05
  done
}
