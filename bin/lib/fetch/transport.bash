# transport - how all lists are read at the same time, within READ_SECONDS, and the short ones by a single process
#
# One process reads, and another bounds its time: in_time. (In the loop, one that stays does that: see quiet.bash.) The
# lists of a small cluster are short: to read one costs less than to start anything. Of a longer list, only the
# beginning is read there; a `cat` in the background reads the rest.
#
# lists, kinds, empty_lists, state and folder are of lists.bash
# shellcheck shell=bash disable=SC2154,SC2034

declare -A asked=() started=() # of each list: its connection to the proxy; the process that reads or summarises it
waiting_for='' failed=()

# --- one process bounds the time

# Runs COMMAND, which prints "NAME same" or "NAME new": that becomes state[NAME]. Ends the program unless there is a
# word about each list: COMMAND has said why.
in_time() { # COMMAND
  local said='' before='' name word
  state=()
  if [[ -n ${guard-} ]] && kill -0 "$guard" 2>/dev/null; then
    run_guarded "$1"
  else
    run_beside_this "$1"
  fi
  while read -r name word; do
    state[${name:-none}]=$word
    [[ $word != hangs ]] || tell_hanging "$name"
  done <<<"$before$said"
  [[ -v state[over] ]] ||
    die 1 'cannot read the lists: the process that reads them has ended; is there not enough memory?'
  for name in "${!lists[@]}"; do [[ -v state[$name] ]] || exit 1; done
}

# The guard ends a proxy that hangs; then kubectl is asked, which has a bound of its own. (If COMMAND fails, the pass
# ends here.)
run_guarded() { # COMMAND
  local is_timed=yes
  trap 'echo ends >&"$reading"' EXIT
  echo begins >&"$reading"
  "$1" >"$folder/words"
  echo ends >&"$reading"
  trap - EXIT
  said=$(<"$folder/words")$'\nover'
}

# In a process of its own.
run_beside_this() { # COMMAND
  local from
  exec {from}< <(tell_when_over "$1")
  if ! read_to_end "$from" "$((READ_SECONDS + 1))"; then
    before=$said
    kill "$!" 2>/dev/null || true                    # it may have just ended
    read_to_end "$from" 2 || kill -KILL "$!" || true # it says what has failed, unless it is frozen
  fi
  exec {from}<&-
}

tell_hanging() { # NAME
  end_proxy
  die 1 "cannot read $1: $(why_read_failed 124 /dev/null)"
}

tell_when_over() { # COMMAND
  is_timed=yes
  trap end_those_that_hang TERM
  trap 'echo over' EXIT
  "$1"
}

# After SIGTERM. If no answer has begun, `read` would go on, and nothing comes of the lists after this one either.
end_those_that_hang() {
  kill "${started[@]}" 2>/dev/null || true # some may have ended
  [[ -n $waiting_for ]] || return 0
  echo "$waiting_for hangs"
  exit 1
}

# --- the other one reads

# Asks the pod's proxy for all lists at once, since the API server can answer side by side.
ask_for_all() {
  local name
  for name in "${empty_lists[@]}"; do take_items "$name" ']}'; done
  [[ -n $use_proxy ]] || return 0
  for name in "${!lists[@]}"; do
    if send_request "${lists[$name]}"; then asked[$name]=$proxy; fi
  done
}

# Takes a list of which the proxy sends all in 16 KiB. Fails if it is longer, or not as it should be: then read_items
# goes on with what has been read, or asks a kubectl.
take_short_list() { # NAME
  begun=${lists[$1]} body='' status_line=''
  [[ -v asked[$1] ]] || return
  waiting_for=$1 proxy=${asked[$1]}
  read_answer
  waiting_for=''
  [[ -n $is_all && $status_line == *' 200 '* ]] && is_whole_head "${kinds[$1]}List" "${body%%'['*}" || return
  take_items "$1" "${body#*'['}"
}

# Fails if the disk is full. (Of a short file, mapfile needs a quarter of read's time.)
take_items() { # NAME ITEMS
  local last=''
  [[ ! -e $folder/last/$1 ]] || mapfile -d '' -t last <"$folder/last/$1"
  if [[ $2 == "${last[0]-}" ]]; then
    echo "$1 same"
  else
    printf '%s' "$2" >"$folder/new/$1" 2>/dev/null || return
    echo "$1 new"
  fi
}

# --- side by side

# Runs COMMAND in the background. FILE is NAME or NAME.summary: new/FILE is what it prints, error/NAME what it complains
# of. (If the call of a function is redirected, each process that it starts keeps what was standard output before.)
beside() { # FILE COMMAND...
  local name=${1%.summary}
  "${@:2}" >"$folder/new/$1" 2>"$folder/error/$name" &
  started[$name]=$!
}

# Waits for all that runs beside: one still running would write into the next pass's files. Then does THEN for each
# NAME; or the program ends, with a sentence for each that failed.
wait_for_all() { # read|use THEN
  local name status names=("${!started[@]}")
  for name in "${names[@]}"; do
    status=0
    wait "${started[$name]}" || status=$?
    [[ $status == 0 || $1 == read ]] || status=1 # no time is over
    ((status == 0)) || failed+=("cannot $1 $name: $(why_read_failed "$status" "$folder/error/$name")")
  done
  started=()
  ((${#failed[@]} == 0)) || die 1 "${failed[@]}"
  if [[ $1 == read ]] && are_all_same "${names[@]}"; then
    printf '%s same\n' "${names[@]}"
  else
    for name in "${names[@]}"; do "$2" "$name"; done
  fi
}

# Mostly, all long lists are: then one process finds that, and not one for each.
are_all_same() { # NAME...
  (($# > 1)) && diff -q --from-file="$folder/last" "${@/#/"$folder/new/"}" &>/dev/null
}
