# prepared - jq for the loop, started before there is anything to do
#
# jq takes some 20 ms to read the programs of the Ingresses' summary, and again those of route: beside few Ingresses,
# most of what these steps take. So when a pass has used one, the loop starts it again, for the next change. It waits at
# once: jq opens its input, here a FIFO, when it has read its programs.
#
# The steps call run_jq (lib/common.bash). In the loop, that calls prepared_jq, which takes the one that waits if it was
# started with the same arguments, and the files that these name say what they said then. (Their times tell nothing: the
# wall clock may jump.)
#
# Files in $next/prepared, for each NAME.jq that is prepared: NAME.arguments; NAME.in, the FIFO; NAME.waits, which
# says yes while the one that waits can be used; when it has ended, NAME.status and NAME.errors.
#
# next is the loop's, step_cpu_seconds is loop.bash's, half_of_memory nginx.bash's
# shellcheck shell=bash disable=SC2154

declare -A outputs=() files_then=() # of each that was started: a file descriptor to read from; what its files said
prepared=(ingresses route nginx) waiting='' jq_to_run=prepared_jq

prepared_jq() { # ARGUMENT...
  local name
  if [[ -n $waiting ]] && find_name "$@"; then
    if is_usable "$@"; then
      : >"$waiting/$name.waits"
      feed "$name"
      return
    fi
    : >"$waiting/$name.waits"
    printf '%s\0' "$@" >"$waiting/$name.arguments"
  fi
  bounded_jq "$@"
}

bounded_jq() ( # ARGUMENT...
  limit_memory
  exec jq "$@"
)

# If what an object comes to takes too much, it is jq that ends, and not nginx.
limit_memory() {
  ulimit -S -v "${half_of_memory:-unlimited}" 2>/dev/null || true # there are narrower bounds already
}

# Sets name. Fails if this program is not worth it.
find_name() { # ARGUMENT...
  while (($# > 1)) && [[ $1 != -f ]]; do shift; done
  (($# > 1)) || return # it is in no file
  name=${2##*/} name=${name%.jq}
  [[ " ${prepared[*]} " == *" $name "* ]]
}

is_usable() { # ARGUMENT...
  local arguments files
  [[ -s $waiting/$name.waits && ! -s $waiting/$name.status ]] || return
  mapfile -d '' -t arguments <"$waiting/$name.arguments"
  [[ ${arguments[*]@Q} == "${*@Q}" ]] || return
  read_files "$@"
  [[ $files == "${files_then[$name]}" ]]
}

# Sets files: what is in the files that are named. Of the features' folder, one file says which these are.
read_files() { # ARGUMENT...
  local argument text
  files=''
  for argument; do
    [[ ! -d $argument ]] || argument+=/uses
    [[ -f $argument ]] || continue
    IFS= read -r -d '' text <"$argument" || true # it ends with the file
    files+=$argument:$text
  done
}

# Hands the input on to the one that waits, and prints what it prints. The end of the output comes when it has
# ended, however it did; if it never opened its input, the `copy` that writes there would wait for ever.
feed() { # NAME <INPUT
  local status='' copied=0 fed=0
  copy exec <&0 >"$waiting/$1.in" &
  copy <&"${outputs[$1]}" || copied=$?
  kill "$!" 2>/dev/null || true # it has ended, as a rule
  wait "$!" || fed=$?
  [[ ! -s $waiting/$1.errors ]] || cat "$waiting/$1.errors" >&2
  read -r status <"$waiting/$1.status" || log "what was prepared for $1.jq ended without a status"
  [[ $status != 152 ]] || log "$1.jq took more than $step_cpu_seconds s of CPU time"
  ((copied == 0)) || return "$copied"                         # the disk is full
  [[ $status != 0 || $fed == @(0|141|143) ]] || return "$fed" # jq may not have got all of it (141 and 143: it did not want it)
  return "${status:-1}"
}

# Starts those again that were used, or that no longer fit.
prepare_steps() {
  local name arguments files output
  for name in "${prepared[@]}"; do
    [[ -e $waiting/$name.arguments && ! -s $waiting/$name.waits ]] || continue
    dismiss "$name"
    mapfile -d '' -t arguments <"$waiting/$name.arguments"
    read_files "${arguments[@]}"
    files_then[$name]=$files
    echo yes >"$waiting/$name.waits" || continue # the disk is full, and what is empty is not used
    exec {output}< <(wait_for_input "$name" "${arguments[@]}")
    outputs[$name]=$output
  done
}

# Without input, one that still waits ends.
dismiss() { # NAME
  local output=${outputs[$1]-}
  [[ -n $output ]] || return 0
  [[ -s $waiting/$1.status ]] || feed "$1" </dev/null &>/dev/null || true # its complaint is of no interest
  exec {output}<&-
  outputs[$1]='' # what is started next may get its number
  : >"$waiting/$1.status"
}

# (A bash that waits for jq takes a megabyte of memory, and there are three of them; an sh takes a fifth.)
wait_for_input() { # NAME ARGUMENT...
  ulimit -S -t "$step_cpu_seconds"
  limit_memory
  # shellcheck disable=SC2016 # the dollar signs are for sh
  exec sh -c 'jq "$@"; echo "$?" >"$0"' "$waiting/$1.status" "${@:2}" "$waiting/$1.in" 2>"$waiting/$1.errors"
}

make_room_for_prepared() {
  local name
  waiting=$next/prepared
  rm -rf "$waiting"
  mkdir "$waiting"
  for name in "${prepared[@]}"; do mkfifo "$waiting/$name.in"; done
}
