# loop - what the loop does beside its passes: how a step runs, when a pass begins, what it tells, and what it watches
#
# live, next, again and status are the loop's
# shellcheck shell=bash disable=SC2154

# The steps are functions here, which saves starting their programs.
source "$bin/fetch"
source "$bin/route"
source "$bin/render"
source "$bin/apply"
source "$bin/lib/annotations/features.bash" # choose_features
source "$bin/lib/loop/hold-back.bash"       # let_additions_wait, hold_back_the_restless, keep_accounts, read_accounts, count_reload
source "$bin/lib/loop/durations.bash"       # note_durations
source "$bin/lib/loop/metrics.bash"         # write_metrics
source "$bin/lib/loop/prepared.bash"        # prepare_steps, make_room_for_prepared
source "$bin/lib/loop/quiet.bash"           # nothing_is_new, start_guard
source "$bin/lib/loop/changes/record.bash"  # record_change

shopt -s lastpipe # the last command of a pipeline takes no process of its own

export features_in_use=$next/features # where choose_features puts them
# pause: a ring ends it; rest: nothing does; back_off: what rest is after failures
admin=$STATE_DIR/admin bell='' hash='' served='' last_good_pass=0 pass_began=0 now=0 pause=1 rest=0 back_off=0
passes=0 failed_passes=0 failed_in_a_row=0 reloads=0 failed_reloads=0 prune_at='' pruned=''
rung=yes            # whether something has ended the pause
step_cpu_seconds=60 # for each process of a step: an object that keeps one busy for longer ends the pass

# --- the two names that level 1 knows

# If all that is new has to wait, the pass ends in one of the first two.
before_route() {
  echo hold-back >"$next/step"
  echo yes >"$next/held"
  let_additions_wait
  hold_back_the_restless
  : >"$next/held" # the pass has not ended here, which nothing_is_new wants to know
  choose_features "$next/snapshot"
}

after_pass() {
  if [[ $status == 10 ]]; then # nginx rejects the configuration
    failed_reloads=$((failed_reloads + 1))
    try go_live_without_rejected
  fi
  if [[ $status == 0 ]]; then tell_success; else tell_failure; fi
  note_durations
  [[ $status != 0 ]] || record_change
  stay_in_step
  prune_keys
  write_metrics
}

# --- steps

# Runs the function NAME of the program of that name (hold_back is in hold-back). Its variables and its `exit` are those
# of the pass, which has a shell of its own. The file "step" names the step that runs, for tell_failure; program is in
# each line of its log.
step() { # NAME [ARGUMENT...]
  local program=${1/_/-} began=${EPOCHREALTIME/./} status
  echo "$program" >"$next/step"
  ulimit -S -t "$step_cpu_seconds"
  [[ -z ${TRACE-} ]] || printf '%s:\n' "$program" >&"$trace_to"
  cmd "$@"
  status=$? # where `set -e` does not count, as in `if (step ...)`
  took "$program" "$began"
  return "$status"
}

# --- the start

begin() { # [--once]
  need kubectl jq nginx openssl envsubst diff cmp sed sort sha256sum timeout
  [[ $# == 0 || $1 == --once ]] || die 2 "the argument can only be --once, and not $1"
  if [[ $# == 1 && -z $given_state_dir ]]; then
    pass_elsewhere
    exit
  fi
  mkdir -p "$next" "$live" "$STATE_DIR/run"
  be_the_only_loop
  : >"$next/quarantine"
  [[ $# == 1 ]] || prepare_loop
}

# So that a live loop, as in the pod, is not disturbed.
pass_elsewhere() {
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  STATE_DIR=$folder/state "$0" --once
}

# The file names the loop by its process's number and start, as the number alone may be another's by now. (What the loop
# has started would hold a lock for longer than the loop lives.)
be_the_only_loop() {
  local pid='' start
  { read -r pid start <"$STATE_DIR/run/loop"; } 2>/dev/null || true # it is the first
  [[ -z $pid || $(start_of "$pid") != "$start" ]] ||
    die 1 "another loop, process $pid, works in STATE_DIR=$STATE_DIR: end that one, or set another STATE_DIR"
  echo "$$ $(start_of "$$")" >"$STATE_DIR/run/loop" || true # the disk is full: better two loops than none
}

# Prints when a process was started, which is the 22nd field (proc(5)); the second, its name, may have spaces.
start_of() { # PID
  local fields
  { fields=$(<"/proc/$1/stat"); } 2>/dev/null || return 0 # it has ended
  read -ra fields <<<"${fields##*) }"
  echo "${fields[19]}"
}

prepare_loop() {
  again=yes # the loop before may have been killed within apply
  set +m    # what the loop starts belongs to the loop's process group
  mkdir -p "$admin"
  rm -rf "$next/lists" "$STATE_DIR"/scratch/quarantine.* # of a loop that was killed
  make_room_for_prepared
  nap 0 # which makes the pipe that it sleeps on: so no step needs one of its own
  prepare_page
  half_of_memory=$(find_half_of_memory)
  exec {bell}<>"$STATE_DIR/run/bell"
  read_accounts
  find_served_hash
  start_guard
  hash=$served
  nginx_version=$(find_nginx_version)
  if is_older "$nginx_version" "$oldest_nginx"; then nginx_outdated=1; fi
  made_frame=$(program=render && derive_values </dev/null && make_frame)
  [[ $DOORBELL == on ]] || pause=0.1 # nobody rings for the first pass
}

# --- when a pass begins

# The bell (see doorbell) only ends the pause early. Rings before a pass begins are covered
# by that pass.
wait_for_ring() {
  prepare_steps
  ((rest == 0)) || sleep "$rest"
  rung=yes
  wait_for_bell || rung=''
  while read -t 0 <&"$bell" && read -r -t 1 <&"$bell"; do rung=yes; done # `read -t 0` only looks whether there is a line
  begin_pass
}

# Fails when the time is over, which read's status says if it is above 128. After any other, the bell cannot be read:
# sleep then, or the loop would not pause at all.
wait_for_bell() {
  local status=0
  read -r -t "$pause" <&"$bell" || status=$?
  ((status == 0 || status > 128)) || sleep "$pause"
  ((status == 0))
}

begin_pass() {
  take_time
  pass_began=$now passes=$((passes + 1))
  take_late_summaries "$next/lists"
  [[ ! -e $next/accounts.new ]] || rm "$next/accounts.new" # of a pass that failed
  end_quarantine
}

# --- quarantine

# Once more, without the Ingresses that nginx rejects. Each is left out until its line of the snapshot changes; and at
# the first change after a minute all are given another chance: another object may have mended them. What was searched
# is what goes live, not a newer snapshot: an Ingress that changes all the time could bring a new fault with each.
go_live_without_rejected() {
  echo quarantine >"$next/step"
  "$bin/quarantine" "$next/quarantine" <"$next/snapshot" >"$next/quarantine.new"
  [[ -s $next/quarantine ]] || uptime >"$next/quarantined-at" # those that are in it keep their time
  mv -T "$next/quarantine.new" "$next/quarantine"
  go_live
}

end_quarantine() {
  local since=0
  [[ -s $next/quarantine ]] || return 0
  read -r since <"$next/quarantined-at" || true # the disk was full
  ((now - since < 60)) || : >"$next/quarantine"
}

# --- what became of a pass

tell_success() {
  printf -v last_good_pass '%(%s)T' -1
  if [[ -n ${failures[pass]-} ]]; then
    log 'the pass succeeds again'
    prune_at=${prune_at:-$now} # until now, the live snapshot still named keys of before
  fi
  failures[pass]='' failed_in_a_row=0 back_off=0 pause=$POLL_SECONDS again=''
  keep_accounts
  take_time
  rest=$(((now - pass_began) / 4)) # after a long pass, so that a storm of events cannot keep the loop busy all the time
  [[ ! -s $next/log ]] || copy <"$next/log" >&2
  [[ -e $admin/ready ]] || echo 'ready' >"$admin/ready" || true # on a full disk it is empty, which is enough
}

# The loop sees at once that the API server is back, for which nobody rings. But what nginx
# could not do now it may not be able to do for long, and each try costs it something.
tell_failure() {
  local said step
  step=$(<"$next/step") || step=fetch
  failed_passes=$((failed_passes + 1)) failed_in_a_row=$((failed_in_a_row + 1)) pause=1
  [[ $step != apply ]] || failed_reloads=$((failed_reloads + 1)) again=yes # what is in place may not be what $live/snapshot says
  back_off=$((back_off == 0 ? 1 : back_off < 16 ? back_off * 2 : 30))
  [[ $step != fetch ]] || back_off=0
  rest=$back_off
  said=$(<"$next/log")
  [[ $status != 152 ]] || said+="$step took more than $step_cpu_seconds s of CPU time"
  said=${said:-$step failed without a message; is $STATE_DIR full?}
  is_new_failure pass "$said" || return 0
  printf '%s\n' "$said" >&2
  log "this pass failed in $step; the configuration stays as it is"
}

# --- what nginx serves

# nginx may have been started just before its file was replaced: then it has to load it.
stay_in_step() {
  local wanted
  find_served_hash
  read -r _ _ wanted _ <"$live/nginx.conf" || return 0 # nothing is live yet
  if [[ -n $served && $served != "$hash" ]]; then
    count_reload
    hash=$served prune_at=${prune_at:-$((now + 2))}
  fi
  [[ -n $served && $served != "$wanted" ]] || return 0 # without an answer, nginx is being started, or very busy
  try step apply <"$live/nginx.conf"
  cat "$next/log" >&2
  # Apply may have gone back to an older file: so the next pass makes the wanted one again.
  [[ $status == 0 ]] || pause=1 again=yes
}

# Soon after a reload, or when a key file is new: it may belong to nobody by then. And again while there is something to
# prune. (Each key of a Secret has a "-" in its name, default.pem has none.)
prune_keys() {
  local edition=''
  { read -r edition <"$STATE_DIR/keys/edition"; } 2>/dev/null || true # nobody has looked for Secrets yet
  [[ $edition == "$pruned" ]] || pruned=$edition prune_at=${prune_at:-$((now + 2))}
  [[ -n $prune_at ]] && ((now >= prune_at && failed_in_a_row == 0)) || return 0  # what was read may not be live yet
  ! compgen -G "$STATE_DIR/keys/*-*" >/dev/null || "$bin/prune-keys" || return 0 # and again in the next pass
  prune_at=''
  [[ ! -s $STATE_DIR/keys/unused ]] || prune_at=$(($(uptime) + CLIENT_HEADER_TIMEOUT))
}
