# drain - the workers that a reload replaces: when they stop taking connections, and how many may stay
#
# A reload starts new workers; each old one ends when its last request has. These functions
# want master, nginx's main process (see nginx_runs), and keep old_workers, those that are replaced.
#
# shellcheck shell=bash

# Sets found: nginx's workers that do this, the oldest first. The kernel lists them by age.
find_workers() { # working|leaving
  local children=() worker
  found=()
  read -r -a children 2>/dev/null <"/proc/$master/task/$master/children" || true # a kernel without CONFIG_PROC_CHILDREN; or no line end
  for worker in "${children[@]}"; do
    ! does "$1" "$worker" || found+=("$worker")
  done
}

# A worker says in its title what it does.
does() { # working|leaving WORKER
  local title
  read -r -d '' title 2>/dev/null <"/proc/$2/cmdline" || return # it has just ended
  case $title in
    *'shutting down'*) [[ $1 == leaving ]] ;;
    *'worker process'*) [[ $1 == working ]] ;;
    *) false ;;
  esac
}

# Before a reload: which workers it will replace, and room for them.
expect_replacement() {
  [[ -e $STATE_DIR/run/replaced ]] || : >"$STATE_DIR/run/replaced"
  find_workers working
  old_workers=("${found[@]}")
  make_room "${#old_workers[@]}"
}

# A worker that was replaced stays until its last request has ended, with all its
# memory. If a reload would make too many of them, it waits for the oldest, and ends
# it when it has had its time. So only long requests are cut.
make_room() { # WORKERS_TO_REPLACE
  local end=$(($(uptime) + least_seconds + reload_seconds))
  local most=$((DRAINING_WORKERS > 2 * $1 ? DRAINING_WORKERS - $1 : $1)) # so that at least those of the last reload may stay
  while find_workers leaving && ((${#found[@]} > most && $(uptime) <= end)); do
    end_if_due "${found[0]}"
    sleep 0.1
  done
}

end_if_due() { # WORKER
  local since
  since=$(sed -n "s/^$1 //p" "$STATE_DIR/run/replaced" | tail -n 1)
  if [[ -z $since ]]; then
    remember_replaced "$1" # apply was killed before it could
  elif (($(uptime) - since >= least_seconds)); then
    log "too many replaced workers still have requests: ending the oldest, $1"
    kill -TERM "$1" 2>/dev/null || true # it may have just ended
  fi
}

# From now on they count as replaced. Of earlier ones, those that are still there stay in the list.
remember_replaced() { # WORKER...
  local worker since now
  now=$(uptime)
  {
    while read -r worker since; do
      [[ ! -e /proc/$worker ]] || echo "$worker $since"
    done <"$STATE_DIR/run/replaced"
    for worker; do echo "$worker $now"; done
  } >"$STATE_DIR/run/replaced.new"
  mv -T "$STATE_DIR/run/replaced.new" "$STATE_DIR/run/replaced"
}

# nginx gives its new workers 0.1 s to start before it tells the old ones to take no
# more connections: till then, most go to the old ones. It need not be so long: as soon
# as all the new ones run, we say the same (SIGQUIT, as nginx does). If an old one ends at
# once, nginx hears of it only after those 0.1 s, and does not start it again.
# Fails if none of the new ones runs yet.
retire_old_workers() {
  local worker new=0
  ((${#old_workers[@]} > 0)) || return 0
  find_workers working
  for worker in "${found[@]}"; do
    [[ " ${old_workers[*]} " == *" $worker "* ]] || new=$((new + 1))
  done
  ((new < ${#old_workers[@]})) || kill -QUIT "${old_workers[@]}" 2>/dev/null || true # they may have heard it
  ((new > 0))
}

# Until no new connection gets the old configuration.
wait_for_old_workers() {
  local end=$(($(uptime) + reload_seconds)) worker
  for worker in "${old_workers[@]}"; do
    while does working "$worker" && (($(uptime) <= end)); do
      retire_old_workers || true
      sleep 0.01
    done
  done
}

found=() old_workers=() least_seconds=10
