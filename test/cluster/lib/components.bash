# The programs that make a node a Kubernetes cluster: starting, stopping and asking them.

start_control_plane() {
  start_component etcd
  start_component containerd
  start_component kube-apiserver
  wait_for containerd 'answer from containerd' ctr version
  import_archive "$(cache_entry pause)/image.tar"
  wait_for kube-apiserver 'ready API server' kubectl get --raw /readyz
}

start_workers() {
  start_component kube-controller-manager
  start_component kube-scheduler
  start_component kubelet
  start_component kube-proxy
}

wait_until_ready() {
  wait_for kubelet 'ready node' node_is_ready
  wait_for kube-controller-manager 'default ServiceAccount' kubectl get serviceaccount default
  wait_for kube-proxy 'iptables rules for Services' services_are_routed
}

# Whoever asks wants a yes or a no, not each program's opinion.
is_ready() {
  node_exists && [[ -z "$(stopped_components)" ]] && services_are_routed && node_is_ready
} 2>/dev/null

node_is_ready() {
  [[ "$(kubectl get node "$NODE_NAME" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}')" == True ]]
}

# kube-proxy's rules for the API server's own Service are the first that it writes.
services_are_routed() {
  local rules
  rules="$(in_node iptables --wait -t nat -S KUBE-SERVICES)" && [[ $rules == *" ${SERVICE_SUBNET%.*}.1/32 "* ]]
}

stopped_components() { # prints the names of those that do not run
  local component
  local -a stopped=()
  for component in "${COMPONENTS[@]}"; do
    [[ -n "$(pids_of "$component")" ]] || stopped+=("$component")
  done
  printf '%s' "${stopped[*]}"
}

start_component() { # COMPONENT
  local name="$1" line
  local -a flags=()
  [[ -z "$(pids_of "$name")" ]] || return 0
  while read -r line; do
    [[ $line != --* ]] || flags+=("$line")
  done <"$STATE/run/config/$name.flags"
  say "starting $name"
  (
    join_control_group
    close_inherited_files
    cd /
    # The detour by setsid --fork makes the node's first process its parent, so nsenter need not stay.
    in_node setsid --fork "$name" "${flags[@]}" </dev/null >>"$(log_of "$name")" 2>&1
  )
}

on_component() { # VERB COMPONENT
  require_component "${2:-}"
  node_exists || die 1 'the cluster is not up. Start it: cluster up'
  "$1_component" "$2"
}

pause_component() { # COMPONENT
  signal_component STOP "$1"
}

resume_component() { # COMPONENT
  signal_component CONT "$1"
}

kill_component() { # COMPONENT
  signal_component KILL "$1"
}

signal_component() { # SIGNAL COMPONENT
  local -a pids
  mapfile -t pids <<<"$(pids_of "$2")"
  [[ -n ${pids[0]} ]] || die 1 "$2 does not run"
  run kill "-$1" "${pids[@]}"
}

print_logs() { # [COMPONENT]
  require_node
  if (($# > 0)); then
    require_component "$1"
    cat "$(log_of "$1")"
  else
    tail -n +1 "$STATE"/run/log/*.log
  fi
}

log_of() { # COMPONENT
  printf '%s/run/log/%s.log\n' "$STATE" "$1"
}

require_component() { # [NAME]
  [[ " ${COMPONENTS[*]} " == *" ${1:-none} "* ]] || die 2 "name one component of: ${COMPONENTS[*]}"
}

# With a limit from outside: a paused API server would hold kubectl for much longer than its own timeout says.
kubectl() { # ARGUMENT...
  KUBECACHEDIR="$STATE/kubectl-cache" timeout --kill-after 1 5 "$(cache_entry kubectl)/kubectl" --kubeconfig "$STATE/kubeconfig" "$@"
}
