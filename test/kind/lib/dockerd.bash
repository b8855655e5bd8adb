# A dockerd of our own: processes and mounts in namespaces of its own, so that all of them end together. Its network is the
# machine's, because the machine's ports lead to the node.

others_docker_answers() {
  [[ ${DOCKER_HOST-} != "unix://$SOCKET" ]] && command -v docker >/dev/null && docker info >/dev/null 2>&1
}

is_up() {
  our_docker info >/dev/null 2>&1
}

our_docker() { # ARGUMENT...
  "$(cache_entry docker)/usr/bin/docker" --host "unix://$SOCKET" "$@"
}

start_dockerd() {
  say 'starting dockerd'
  mkdir -p "$STATE" "$DATA"
  remember_host
  make_control_groups
  start_first_process
  run_inside dockerd --host "unix://$SOCKET" --data-root "$DATA" --exec-root "$STATE/exec" --pidfile "$STATE/dockerd.pid" \
    --storage-driver overlay2 --mtu "$MTU" --oom-score-adjust 0 --cgroup-parent "$CGROUP_PATH/containers" \
    --exec-opt native.cgroupdriver=cgroupfs --add-runtime "able=$HERE/runc" --default-runtime able \
    --userland-proxy-path "$(cache_entry docker)/usr/sbin/docker-proxy"
  wait_until_dockerd_answers
}

wait_until_dockerd_answers() {
  local deadline
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  until is_up; do
    if (($(uptime_seconds) >= deadline)) || [[ -z $(pids_of dockerd) ]]; then
      say "dockerd does not answer. The last lines of $STATE/dockerd.log:"
      tail -n 15 "$STATE/dockerd.log" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# When the first process of a process namespace ends, the kernel ends all others, and nobody holds the mounts any more.
start_first_process() {
  local deadline
  (
    join_control_group
    close_inherited_files
    cd /
    exec setsid --fork unshare --mount --pid --fork --mount-proc --propagation private \
      "$(of_cluster cache_entry pause)/pause" </dev/null >"$STATE/pause.log" 2>&1
  )
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  until [[ -n $(pids_of pause) ]]; do
    (($(uptime_seconds) < deadline)) || die 1 "the first process did not start: $(<"$STATE/pause.log")"
    sleep 0.01
  done
}

run_inside() { # COMMAND...
  local folder
  folder=$(cache_entry docker)
  (
    join_control_group
    close_inherited_files
    cd /
    nsenter --target "$(pids_of pause)" --mount --pid -- setsid --fork \
      env PATH="$folder/usr/bin:$folder/usr/sbin:$PATH" "$@" </dev/null >>"$STATE/dockerd.log" 2>&1
  )
}

# Those of earlier inputs, unless a node still has them: each takes more than a gigabyte.
remove_old_node_images() {
  local name
  for name in $(our_docker images --format '{{.Repository}}:{{.Tag}}' bash-ingress-node); do
    if [[ $name != "$(node_image)" && -z $(our_docker ps --all --quiet --filter "ancestor=$name") ]]; then
      our_docker rmi "$name" >/dev/null
    fi
  done
}

# Also what a crash has left: each part looks for itself what there is.
remove_everything() {
  remove_containers
  kill_all
  remove_control_groups
  restore_host
  if [[ -d $STATE ]]; then rm -rf --one-file-system "$STATE"; fi
}

# While dockerd still answers, it removes itself what it added to the machine for them.
remove_containers() {
  is_up || return 0
  local containers
  say 'removing the containers and dockerd'
  containers=$(our_docker ps --all --quiet)
  [[ -z $containers ]] || xargs "$(cache_entry docker)/usr/bin/docker" --host "unix://$SOCKET" rm --force --volumes <<<"$containers" >/dev/null
  our_docker network prune --force >/dev/null
  end_dockerd
}

end_dockerd() {
  local deadline
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  kill "$(pids_of dockerd)"
  while [[ -n $(pids_of dockerd) ]] && (($(uptime_seconds) < deadline)); do sleep 0.1; done
}
