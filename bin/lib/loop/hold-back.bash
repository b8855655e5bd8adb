# hold-back - in the loop: when it asks which namespace has to wait, and who pays for reloads; and pods that wait for
# the next reload
#
# next, live, now, again and pause are the loop's
# shellcheck shell=bash disable=SC2154,SC2034

source "$bin/hold-back" # hold_back, charge

reloads_paid=0 restless_until=0 owed_until=0
reload_cost=5 # seconds, as in hold-back.jq
addition_seconds=2

# A namespace that causes reloads without end has to wait, so that it cuts nobody's connections. hold-back decides
# which. It is asked only while some namespace owes too much, which is until restless_until. If all that is new has to
# wait, nothing is left to do, and the pass ends.
hold_back_the_restless() {
  ((now < restless_until)) || return 0
  : >>"$next/accounts"
  step hold_back "$next/accounts" "$now" <"$next/snapshot" >"$next/snapshot.held"
  mv -T "$next/snapshot.held" "$next/snapshot"
  is_new snapshot || exit 0
}

# Each pod of a rolling update that becomes ready would be a reload, and so is each that leaves. The first kind can
# wait, if its Service has pods enough: it goes with the next change of anything, or after addition_seconds. The file
# says since when one waits; it is empty if none does.
let_additions_wait() {
  local since=''
  if [[ -z $again && -e $live/snapshot ]] && only_adds_pods; then
    { read -r since <"$next/added"; } 2>/dev/null || true # it is the first
    [[ -n $since ]] || { since=$now && echo "$now" >"$next/added"; }
    ((now - since >= addition_seconds)) || exit 0
  fi
  [[ ! -s $next/added ]] || : >"$next/added"
}

# Whether all that is new are ready pods of EndpointSlices, each of which keeps two or more.
only_adds_pods() {
  local line differing old=() new=() i
  find_differing "$live/snapshot" "$next/snapshot"
  for line in "${differing[@]}"; do
    case $line in
      '< {"slice":'*) old+=("${line:2}") ;;
      '> {"slice":'*) new+=("${line:2}") ;;
      *) return 1 ;;
    esac
  done
  ((${#old[@]} == ${#new[@]} && ${#new[@]} > 0)) || return
  for i in "${!new[@]}"; do adds_pods "${old[i]}" "${new[i]}" || return; done
}

# All but the list of ready addresses is the same, and all of two or more are still there.
adds_pods() { # LINE_BEFORE LINE
  local start end ready address addresses
  [[ $1 =~ ^(.*\"ready\":\[)(.*)(\],\"ending\":.*)$ ]] || return
  start=${BASH_REMATCH[1]} ready=${BASH_REMATCH[2]} end=${BASH_REMATCH[3]}
  [[ $2 == "$start"*"$end" ]] || return
  IFS=, read -ra addresses <<<"$ready"
  ((${#addresses[@]} >= 2)) || return
  ready=${2#"$start"} ready=,${ready%"$end"},
  for address in "${addresses[@]}"; do [[ $ready == *",$address,"* ]] || return; done
}

# While something may wait, it goes live in time, however rare the passes are.
keep_accounts() {
  [[ ! -e $next/accounts.new ]] || take_accounts
  if { ((now < restless_until)) || [[ -s $next/added ]]; } && [[ $POLL_SECONDS != 0.* ]]; then pause=1; fi
}

# The new accounts include all that is live now: so "charged", the snapshot up to which everybody has been charged,
# becomes a second name of live/snapshot (which is replaced as a whole, never written to).
take_accounts() {
  mv -T "$next/accounts.new" "$next/accounts"
  read_accounts
  ln -f "$live/snapshot" "$next/charged" || rm -f "$next/charged" # the disk is full: the next change is free
}

# Sets restless_until and owed_until (see hold-back.jq).
read_accounts() {
  restless_until=0 owed_until=0
  [[ -s $next/accounts ]] || return 0
  read -r restless_until owed_until < <(run_jq -r 'include "loop/hold-back"; times' "$next/accounts") ||
    restless_until=0 owed_until=0 # jq has said why
}

# reloads_paid is when all reloads are paid. Nobody asks which namespace causes them before 10 are unpaid: for an
# ordinary cluster this costs nothing. And nobody waits for the question: it is asked when the change is live.
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
  # If it fails, it says why. (The loop itself calls it: so here it has a shell of its own.)
  if (step charge "$next/accounts" "$now" "$next/charged" "$live/snapshot"); then take_accounts; fi
}
