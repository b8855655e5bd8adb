# transport - how all lists are read at the same time, within READ_SECONDS, and the short ones without a process
#
# The lists of a small cluster are short: what reads them costs less than to start anything. Of a longer list, only the
# beginning is read here; a `cat` in the background reads the rest.
#
# lists, kinds, empty_lists, state and folder are of lists.bash
# shellcheck shell=bash disable=SC2154,SC2034

# Asks the pod's proxy for all lists at once, since the API server can answer side by side.
ask_for_all() {
  local name
  exec {alive}<>"$folder/alive"
  for name in "${empty_lists[@]}"; do take_items "$name" ']}'; done
  [[ -n $use_proxy ]] || return 0
  for name in "${!lists[@]}"; do
    if send_request "${lists[$name]}"; then asked[$name]=$proxy; fi
  done
}

# Takes a list of which the proxy has sent all in 16 KiB. Fails if it is longer, or not as it should be: then read_items
# goes on with what has been read, or asks a kubectl. If no answer begins in time, nothing comes of the others either.
take_short_list() { # NAME
  local status=0
  [[ -z $proxy_hangs ]] || return 0
  begun=${lists[$1]} body='' status_line=''
  [[ -v asked[$1] ]] || return
  proxy=${asked[$1]}
  read_answer || status=$?
  if ((status == 124)); then
    proxy_hangs=yes
    failed+=("cannot read $1: $(why_read_failed 124 /dev/null)")
    return
  fi
  [[ -n $is_all && $status_line == *' 200 '* ]] && is_whole_head "${kinds[$1]}List" "${body%%'['*}" || return
  exec {proxy}<&-
  take_items "$1" "${body#*'['}"
}

# Fails if the disk is full. (Of a short file, mapfile needs a quarter of read's time.)
take_items() { # NAME ITEMS
  local last=''
  [[ ! -e $folder/last/$1 ]] || mapfile -d '' -t last <"$folder/last/$1"
  if [[ $2 == "${last[0]-}" ]]; then
    state[$1]=same
  else
    printf '%s' "$2" >"$folder/new/$1" || return
    state[$1]=new
  fi
} 2>/dev/null

# Runs COMMAND in the background. FILE is NAME or NAME.summary: new/FILE is what it prints, error/NAME what it complains
# of. (If the call of a function is redirected, each process that it starts keeps what was standard output before.)
beside() { # FILE COMMAND...
  local name=${1%.summary}
  (
    is_beside=yes
    "${@:2}"
  ) >"$folder/new/$1" 2>"$folder/error/$name" &
  started[$name]=$!
}

# Waits for all that runs beside: one still running would write into the next pass's files. Then does THEN for each
# NAME; or the program ends, with a sentence for each that failed.
wait_for_all() { # read|use THEN
  local name status names=("${!started[@]}")
  [[ $1 != read ]] || end_those_that_hang
  for name in "${names[@]}"; do
    status=0
    wait "${started[$name]}" || status=$?
    [[ $status == 0 || $1 == read ]] || status=1
    ((status == 0)) || failed+=("cannot $1 $name: $(why_read_failed "$status" "$folder/error/$name")")
  done
  started=()
  ((${#failed[@]} == 0)) || die 1 "${failed[@]}"
  for name in "${names[@]}"; do "$2" "$name"; done
}

# Each process that reads has this pipe open for writing (the FIFO "alive"), so its end comes when the last of them has
# ended. This takes no process, and `wait` has no bound of time.
end_those_that_hang() {
  local said reading seconds=$((READ_SECONDS + 1))
  [[ -z $proxy_hangs ]] || seconds=1
  exec {reading}<"$folder/alive" {alive}>&-
  read_to_end "$reading" "$seconds" || kill "${started[@]}" 2>/dev/null || true # one may have just ended
  exec {reading}<&-
}

declare -A asked=() started=() # of each list: its connection to the proxy; the process that reads or summarises it
alive='' proxy_hangs='' failed=()
