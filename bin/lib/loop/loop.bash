# loop - what the loop does beside its passes: when one begins, what it tells, and what it watches
#
# shellcheck shell=bash

source "$bin/hold-back"         # hold_back, charge
source "$bin/lib/loop/prepared.bash" # prepare_steps, make_room_for_prepared

# For each process of a step: an object that keeps one busy for longer ends the pass, and the log names the step.
step_cpu_seconds=60

prepare_loop() {
  again=yes # the loop before may have been killed within apply
  set +m    # what the loop starts belongs to the loop's process group
  mkdir -p "$STATE_DIR/run" "$admin"
  rm -rf "$next/lists" "$STATE_DIR"/scratch/quarantine.* # of a loop that was killed
  make_room_for_prepared
  half_of_memory=$(find_half_of_memory)
  exec {bell}<>"$STATE_DIR/run/bell"
  read_accounts
  find_served_hash
  hash=$served
  nginx_version=$(find_nginx_version)
  made_frame=$(program=render && make_frame)
  [[ $DOORBELL == on ]] || pause=0.1 # nobody rings for the first pass
}

# --- when a pass begins

# The bell (see doorbell) only ends the pause early. Rings before a pass begins are covered
# by that pass. (read's status is above 128 when the time is over. After any other, the bell cannot be read: sleep then,
# or the loop would not pause at all.)
wait_for_ring() {
  prepare_steps
  ((rest == 0)) || sleep "$rest"
  read -r -t "$pause" <&"$bell" || { (($? > 128)) || sleep "$pause"; }
  while read -t 0 <&"$bell" && read -r -t 1 <&"$bell"; do :; done # `read -t 0` only looks whether there is a line
}

begin_pass() {
  take_time
  pass_began=$now passes=$((passes + 1))
  take_late_summaries "$next/lists"
  end_quarantine
}

# --- namespaces that change something all the time

# A namespace that causes reloads without end has to wait, so that it cuts nobody's connections. hold-back decides
# which. It is asked only while some namespace owes too much, which is until restless_until.
hold_back_the_restless() {
  [[ ! -e $next/accounts.new ]] || rm "$next/accounts.new" # of a pass that failed
  if ((now >= restless_until)) || ! is_new snapshot; then return; fi
  : >>"$next/accounts"
  step hold_back "$next/accounts" "$now" <"$next/snapshot" >"$next/snapshot.held"
  mv -T "$next/snapshot.held" "$next/snapshot"
}

# While somebody owes too much, something may wait: it goes live after 5 s, however rare the passes are.
keep_accounts() {
  [[ ! -e $next/accounts.new ]] || take_accounts
  if ((now < restless_until)) && [[ $POLL_SECONDS != 0.* ]]; then pause=1; fi
}

# The new accounts include all that is live now: so "charged", the snapshot up to which everybody has been charged,
# becomes a second name of live/snapshot (which is replaced as a whole, never written to).
take_accounts() {
  mv -T "$next/accounts.new" "$next/accounts"
  read_accounts
  ln -f "$live/snapshot" "$next/charged" || rm -f "$next/charged" # the disk is full: the next change is free
}

# Sets restless_until and owed_until (see lib/loop/accounts.jq).
read_accounts() {
  restless_until=0 owed_until=0
  [[ -s $next/accounts ]] || return 0
  read -r restless_until owed_until < <(jq -r -L "$bin/lib" 'include "loop/accounts"; times' "$next/accounts") ||
    restless_until=0 owed_until=0 # jq has said why
}

# reloads_paid is when all reloads are paid. Nobody asks who causes them before 10 are unpaid: for an ordinary cluster
# this costs nothing. And nobody waits for the question: it is asked when the change is live.
count_reload() {
  reloads=$((reloads + 1))
  reloads_paid=$(((reloads_paid > now ? reloads_paid : now) + reload_cost))
  if ((reloads_paid - now > 10 * reload_cost || now < owed_until)); then
    charge_for_reload
  elif [[ -e $next/charged ]]; then
    rm -f "$next/charged" "$next/accounts"
  fi
}

charge_for_reload() {
  [[ -e $next/charged ]] || ln "$live/snapshot" "$next/charged" || return 0 # the disk is full
  : >>"$next/accounts" || return 0
  # If it fails, it says why.
  if step charge "$next/accounts" "$now" "$next/charged" "$live/snapshot"; then take_accounts; fi
}

# --- quarantine

# If nginx rejects the configuration (status 10 of apply): once more without the Ingresses
# that are the reason. Each is left out until its digest changes; and at the first change
# after a minute all are given another chance: another object may have mended them.
retry_without_rejected() {
  failed_reloads=$((failed_reloads + 1))
  try pass_without_rejected
}

# What was searched is what goes live, not a newer snapshot: who changes a guilty Ingress all the time would bring a new
# fault with each. (Other functions named fetch and hold_back_the_restless are for this shell only: `try` starts one.)
pass_without_rejected() {
  echo quarantine >"$next/step"
  mv -T "$next/snapshot" "$next/searched"
  "$bin/quarantine" "$next/quarantine" <"$next/searched" >"$next/quarantine.new"
  [[ -s $next/quarantine ]] || uptime >"$next/quarantined-at" # those that are in it keep their time
  mv -T "$next/quarantine.new" "$next/quarantine"
  fetch() { cat "$next/searched"; }
  hold_back_the_restless() { :; } # which is done already
  pass
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
  [[ ! -s $next/log ]] || cat "$next/log" >&2
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
  [[ -n $prune_at ]] && ((now >= prune_at && failed_in_a_row == 0)) || return 0  # what was read last may not be live yet
  ! compgen -G "$STATE_DIR/keys/*-*" >/dev/null || "$bin/prune-keys" || return 0 # and again in the next pass
  prune_at=''
  [[ ! -s $STATE_DIR/keys/unused ]] || prune_at=$(($(uptime) + CLIENT_HEADER_TIMEOUT))
}

# --- metrics: a file that nginx serves on the admin port

# In the Prometheus text format. nginx puts in its own numbers (SSI, "echo"). Better without
# numbers than without routes: so a full disk is no error here.
write_metrics() {
  local -A number=([ingresses]=0 [problems]=0 [quarantined]=0 [leader]=0 [failed_publications]=0)
  read_numbers "$live/numbers"
  read_numbers "$STATE_DIR/run/leader"
  {
    metric counter polls_total 'Passes of the loop: reads of all lists.' "$passes"
    metric counter failed_polls_total 'Passes that changed nothing because a step failed.' "$failed_passes"
    metric counter reloads_total 'Configurations that became live.' "$reloads"
    metric counter failed_reloads_total 'Configurations that nginx did not take.' "$failed_reloads"
    metric gauge failed_polls_in_a_row 'Passes that failed since the last one that succeeded.' "$failed_in_a_row"
    metric gauge last_good_poll_timestamp_seconds 'Time of the last pass that succeeded.' "$last_good_pass"
    metric gauge ingresses 'Ingresses of our class.' "${number[ingresses]}"
    metric gauge problems 'Parts of Ingresses that are not served as they say.' "${number[problems]}"
    metric gauge quarantined_ingresses 'Ingresses that are not served because nginx rejects them.' "${number[quarantined]}"
    metric gauge leader 'Whether this replica writes the status of the Ingresses, and Events.' "${number[leader]}"
    metric counter failed_publications_total 'Passes of publish that failed.' "${number[failed_publications]}"
    metric gauge build_info 'The version of bash-ingress, and of nginx.' 1 "{version=\"$version\",nginx=\"$nginx_version\"}"
    metric gauge config_info 'The live configuration.' 1 "{hash=\"$hash\"}"
    metric gauge nginx_connections_active 'Open client connections.' '<!--# echo var="connections_active" -->'
    metric gauge nginx_connections_reading 'Connections on which a request is read.' '<!--# echo var="connections_reading" -->'
    metric gauge nginx_connections_writing 'Connections on which an answer is written.' '<!--# echo var="connections_writing" -->'
    metric gauge nginx_connections_waiting 'Connections that wait for a request.' '<!--# echo var="connections_waiting" -->'
  } >"$admin/metrics.new" && mv -T "$admin/metrics.new" "$admin/metrics" || true
} 2>/dev/null

# Lines `NAME NUMBER`. (The file may just be written for the first time.)
read_numbers() { # FILE
  local name value
  [[ -s $1 ]] || return 0
  while read -r name value; do number[$name]=$value; done <"$1"
}

metric() { # counter|gauge NAME HELP VALUE [LABELS]
  printf '# HELP bash_ingress_%s %s\n# TYPE bash_ingress_%s %s\nbash_ingress_%s%s %s\n' "$2" "$3" "$2" "$1" "$2" "${5-}" "$4"
}

# pause: a ring ends it; rest: nothing does; back_off: what rest is after failures
admin=$STATE_DIR/admin bell='' hash='' last_good_pass=0 pass_began=0 now=0 pause=1 rest=0 back_off=0
passes=0 failed_passes=0 failed_in_a_row=0 reloads=0 reloads_paid=0 restless_until=0 owed_until=0
failed_reloads=0 prune_at='' pruned='' again='' served=''
reload_cost=5 # seconds, as in lib/loop/accounts.jq
