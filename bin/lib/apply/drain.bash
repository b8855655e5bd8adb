# drain - the workers that a reload replaces: when they stop taking connections, and how many may stay
#
# A reload starts new workers; each old one ends when its last request has. These functions
# need master, nginx's main process (see nginx_runs), and keep old_workers, those that are replaced.
#
# shellcheck shell=bash

# At most draining_workers at once, and more than few_workers only if there is memory for them.
found=() old_workers=() reload_began=0 least_seconds=10 idle_seconds=6 few_workers=8 draining_workers=256

# Sets found: nginx's workers that do this, the oldest first. The kernel lists them by age.
find_workers() { # working|leaving
  local children=() worker
  found=()
  # The file has no line end, and a kernel without CONFIG_PROC_CHILDREN no such file: then none is found.
  read -r -a children 2>/dev/null <"/proc/$master/task/$master/children" || true
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
  reload_began=${EPOCHREALTIME/./}
}

# A worker that was replaced stays until its last request has ended, with all its memory. If a
# reload would make too many of them, it waits: most leave by themselves within some seconds,
# those with long requests do not. Only if these alone are too many, some are ended: first, those that
# serve only namespaces which cause reloads all the time (see hold-back).
make_room() { # WORKERS_TO_REPLACE
  local now end since=() sockets=() restless=''
  take_time
  end=$((now + least_seconds + reload_seconds))
  while find_workers leaving && ! is_room_for "$1" && ((now <= end)); do
    know_ages
    end_some "$1"
    nap 0.02
    take_time
  done
}

# At least those of the last reload may stay; and a few, without a look at the memory.
is_room_for() { # WORKERS
  ((${#found[@]} <= $1)) && return
  ((${#found[@]} + $1 <= draining_workers)) || return
  ((${#found[@]} + $1 <= few_workers)) || ! memory_is_short
}

# Sets since: when each worker of found was replaced.
know_ages() {
  local worker time
  local -A known=()
  while read -r worker time; do known[$worker]=$time; done <"$STATE_DIR/run/replaced"
  since=()
  for worker in "${found[@]}"; do
    [[ -v known[$worker] ]] || remember_replaced "$worker" # apply was killed before it could
    since+=("${known[$worker]-$now}")
  done
}

# Without long requests, a worker leaves when keepalive_min_timeout is over.
some_may_leave() { # WORKERS_TO_REPLACE
  local time old=0
  for time in "${since[@]}"; do
    ((now - time < idle_seconds)) || old=$((old + 1))
  done
  ((old < ${#since[@]} && old + $1 <= draining_workers))
}

# Ends as many as there are too many, or, for want of memory, as the reload replaces. Of those that have had their
# time: the oldest whose requests all go to namespaces that cause reloads all the time; without such a one, the oldest.
end_some() { # WORKERS_TO_REPLACE
  local i worker had_time=() restless_ones=() too_many=$((${#found[@]} + $1 - draining_workers))
  ((0 < too_many && too_many < $1)) || too_many=$1
  find_neighbours
  for i in "${!found[@]}"; do
    ((now - since[i] < least_seconds)) || had_time+=("${found[i]}")
  done
  if [[ $restless == yes ]]; then
    for worker in "${had_time[@]}"; do
      serves_neighbours "$worker" || restless_ones+=("$worker")
    done
  fi
  if ((${#restless_ones[@]} > 0)); then
    end_workers 'the oldest that serves only namespaces with constant reloads' "${restless_ones[@]:0:too_many}"
  elif ! some_may_leave "$1"; then
    end_workers 'the oldest' "${had_time[@]:0:too_many}"
  fi
}

# And waits until they have gone, which takes some milliseconds: or the next look would find them once more.
end_workers() { # WHICH WORKER...
  local worker cut
  for worker in "${@:2}"; do
    cut=$(count_clients "$worker")
    log "too many replaced workers still have requests: ending $1, $worker, with $cut connections of clients"
    kill -TERM "$worker" 2>/dev/null || true # it may have just ended
    count_cut "$cut"
  done
  for worker in "${@:2}"; do
    while [[ -e /proc/$worker ]] && ((now <= end)); do
      nap 0.01
      take_time
    done
  done
}

# Prints how many open (01) connections of clients it has; those of TCP services, too, by the ports that are live.
count_clients() { # WORKER
  local ports port address state inode
  printf -v ports '%04X|%04X' "$HTTP_PORT" "$HTTPS_PORT"
  if [[ -n $TCP_SERVICES ]]; then
    while read -r port; do printf -v ports '%s|%04X' "$ports" "$port"; done < <(jq '.streams[]?.port' "$live/model.json")
  fi
  sockets_of "$1" | grep -cxF -f <(while read -r _ address _ state _ _ _ _ _ inode _; do
    [[ $state != 01 || ! ${address##*:} =~ ^($ports)$ ]] || echo "socket:[$inode]"
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)) || true # it fails if it counts 0
}

# For /metrics: the number of connections that were cut, in all.
count_cut() { # NUMBER
  local before=0
  [[ ! -s $STATE_DIR/run/cut ]] || read -r _ before <"$STATE_DIR/run/cut"
  echo "cut_connections $((before + $1))" >"$STATE_DIR/run/cut.new"
  mv -T "$STATE_DIR/run/cut.new" "$STATE_DIR/run/cut"
}

# Sets restless: whether somebody causes reloads all the time; and sockets: the connections of this
# pod to pods of other namespaces.
find_neighbours() {
  local accounts=$STATE_DIR/scratch/loop/accounts pod remote state inode
  local -A pods=()
  [[ -z $restless ]] || return 0 # it is known
  restless=no
  [[ -s $accounts ]] || return 0
  while read -r pod; do pods[$pod]=1; done < <(run_jq -r -f "$bin/lib/apply/neighbours.jq" \
    --slurpfile accounts "$accounts" --argjson now "$now" "$live/model.json")
  if ((${#pods[@]} > 0)); then restless=yes; fi
  while read -r _ _ remote state _ _ _ _ _ inode _; do
    [[ ! -v pods[$remote] || $state != 01 ]] || sockets+=("socket:[$inode]") # 01: it is open
  done < <(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
}

serves_neighbours() { # WORKER
  sockets_of "$1" | grep -xF -f <(printf '%s\n' "${sockets[@]}") >/dev/null
}

# Whether three quarters of the pod's memory are in use, or will be with the workers of one reload more;
# the rest is for jq, which reads whole lists. Without a limit, there is always enough.
memory_is_short() {
  local limit used size
  read_memory
  [[ $limit != max ]] || return
  # In pages, and the workers of a reload share most of them.
  read -r _ size _ <"/proc/${old_workers[0]-self}/statm" || size=0
  ((used + size * 4096 > limit / 4 * 3))
}

# From now on they count as replaced. Of earlier ones, those that are still there stay in the list.
remember_replaced() { # WORKER...
  local worker since now lines=''
  take_time
  while read -r worker since; do
    [[ ! -e /proc/$worker ]] || lines+="$worker $since"$'\n'
  done <"$STATE_DIR/run/replaced"
  for worker; do lines+="$worker $now"$'\n'; done
  printf '%s' "$lines" >"$STATE_DIR/run/replaced.new" && # a full disk, or a kill, leaves the list of before
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
  local now end worker
  take_time
  end=$((now + reload_seconds))
  took reload "$reload_began"
  remember_replaced "${old_workers[@]}" || log "cannot note which workers are replaced; is $STATE_DIR full?"
  for worker in "${old_workers[@]}"; do
    while does working "$worker" && ((now <= end)); do
      retire_old_workers || true
      nap 0.01
      take_time
    done
  done
}
