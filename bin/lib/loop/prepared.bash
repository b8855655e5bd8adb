# prepared - jq for the loop, started before there is anything to do
#
# jq takes some 20 ms to read the programs of the Ingresses' summary, and again those of route: beside few Ingresses,
# most of what these steps take. So when a pass has used one, the loop starts it again, for the next change. It waits at
# once: jq opens its input, here a FIFO, when it has read its programs.
#
# The steps call run_jq (lib/common.bash). In the loop, that calls prepared_jq, which takes the one that waits if it was
# started with the same arguments, and the files that these name say what they said then. (Their times tell nothing: the
# wall clock may jump.) What jq prints becomes the variable that `into` names, if run_jq_into has set that.
#
# For each program, an sh stays that starts one jq after the other, each when a line comes from NAME.go, and then prints
# its status. (For this shell, which is larger, each start would take longer.)
#
# Files in $next/prepared, for each NAME.jq that is prepared: NAME.arguments; NAME.in and NAME.go, FIFOs; NAME.out and
# NAME.errors, what it prints; NAME.state, which says "waits" while the one that waits can be used, and then "used".
#
# next is the loop's, step_cpu_seconds is loop.bash's, half_of_memory nginx.bash's
# shellcheck shell=bash disable=SC2154

# Of each sh: its process, file descriptors for lines to it and for statuses from it, jq's arguments, and what the files
# that these name said.
declare -A starters=() go=() statuses=() started_with=() files_then=()
prepared=(ingresses route nginx) waiting='' jq_to_run=prepared_jq

prepared_jq() { # ARGUMENT...
  local name printed
  if [[ -n $waiting ]] && find_name "$@"; then
    if is_usable "$@"; then
      : >"$waiting/$name.state"
      feed "$name"
      return
    fi
    : >"$waiting/$name.state"
    printf '%s\0' "$@" >"$waiting/$name.arguments"
  fi
  if [[ -z ${into-} ]]; then
    bounded_jq "$@"
  else
    printed=$(limit_memory && exec jq "$@") || return
    printf -v "$into" '%s' "$printed"
  fi
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
  local arguments files state=''
  [[ -s $waiting/$name.state ]] && read -r state <"$waiting/$name.state" || return
  [[ $state == waits ]] && ! read -t 0 <&"${statuses[$name]}" || return
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

# Hands the input on to the one that waits, and prints what it prints. Its status comes when it has ended, however it
# did; if it never opened its input, the process that writes there would wait for ever.
feed() { # NAME <INPUT
  local text='' status='' feeder='' copied=0 fed=0
  if IFS= read -r -N "$short_bytes" text || [[ -z $text ]]; then
    { printf '%s' "$text" && exec cat; } <&0 >"$waiting/$1.in" &
    feeder=$!
  else
    feed_text "$1" "$text"
  fi
  read -r status <&"${statuses[$1]}" || log "what was prepared for $1.jq ended without a status"
  if [[ -n $feeder ]]; then
    kill "$feeder" 2>/dev/null || true # it has ended, as a rule
    wait "$feeder" || fed=$?
  fi
  take_output <"$waiting/$1.out" || copied=$?
  : >"$waiting/$1.out"
  [[ -z $status ]] || echo used >"$waiting/$1.state" || true # the disk is full
  [[ ! -s $waiting/$1.errors ]] || cat "$waiting/$1.errors" >&2
  [[ $status != 152 ]] || log "$1.jq took more than $step_cpu_seconds s of CPU time"
  ((copied == 0)) || return "$copied"                         # the disk is full
  [[ $status != 0 || $fed == @(0|141|143) ]] || return "$fed" # jq may not have got all of it (141 and 143: it did not want it)
  return "${status:-1}"
}

# Short text takes no process: this shell opens the FIFO for reading, too. So it need not wait for jq to open it, which
# may have been killed; the text waits there, and is jq's once it has taken some of it, or prints.
feed_text() { # NAME TEXT
  local fifo
  exec {fifo}<>"$waiting/$1.in"
  printf '%s' "$2" >&"$fifo"
  while read -t 0 <&"$fifo" && [[ ! -s $waiting/$1.out ]] && ! read -t 0 <&"${statuses[$1]}"; do nap 0.001; done
  exec {fifo}<&-
}

# (As with $(...), the newlines at the end do not count.)
take_output() { # <OUTPUT
  local lines=() all
  if [[ -z ${into-} ]]; then
    copy
    return
  fi
  mapfile -d '' -t lines
  all=${lines[0]-}
  while [[ ${all: -1} == $'\n' ]]; do all=${all%?}; done
  printf -v "$into" '%s' "$all"
}

# Starts those again that were used, or that no longer fit.
prepare_steps() {
  local name arguments files state
  for name in "${prepared[@]}"; do
    [[ -e $waiting/$name.arguments ]] || continue
    state='' # of none, or of one that does not fit, or was killed
    [[ ! -s $waiting/$name.state ]] || read -r state <"$waiting/$name.state"
    [[ $state != waits ]] || continue
    mapfile -d '' -t arguments <"$waiting/$name.arguments"
    read_files "${arguments[@]}"
    files_then[$name]=$files
    if [[ $state != used ]] || ! is_started_with "${arguments[@]}"; then
      dismiss "$name"
      start_sh "$name" "${arguments[@]}"
    fi
    echo waits >"$waiting/$name.state" || continue # the disk is full, and what is empty is not used
    echo >&"${go[$name]}"
  done
}

# With these arguments, and it has not ended: then there would be an end to read.
is_started_with() { # ARGUMENT...
  [[ ${started_with[$name]-} == "${*@Q}" ]] && ! read -t 0 <&"${statuses[$name]}"
}

# Ends an sh with its jq, and removes what is left in the FIFOs. (If only the sh was killed, its jq gets an end to
# read.)
dismiss() { # NAME
  local to from words=()
  [[ -z ${starters[$1]-} ]] || {
    mapfile -d '' -t words <"/proc/${starters[$1]}/cmdline"
    [[ ${words[*]} != "sh -c "*" $waiting/$1 "* ]] || end_with_children "${starters[$1]}"
  } 2>/dev/null || true # it has ended
  : <>"$waiting/$1.in"
  to=${go[$1]-} from=${statuses[$1]-}
  [[ -z $to ]] || exec {to}>&- {from}<&-
  rm -f "$waiting/$1".{in,go}
  mkfifo "$waiting/$1".{in,go}
}

start_sh() { # NAME ARGUMENT...
  local name=$1 to from
  exec {to}<>"$waiting/$name.go"
  go[$name]=$to
  exec {from}< <(start_one_after_the_other "$@")
  starters[$name]=$! statuses[$name]=$from
  shift
  started_with[$name]=${*@Q}
}

# (A bash takes a megabyte of memory, and there are three of them; an sh takes a fifth. It ends with the loop, when
# nobody else has its FIFO open. As long as jq has descriptor 3, the statuses do not end.)
start_one_after_the_other() { # NAME ARGUMENT...
  local descriptor
  limit_memory
  for descriptor in "${go[@]}"; do exec {descriptor}>&-; done
  # shellcheck disable=SC2016 # the dollar signs are for sh
  exec sh -c 'most=$1 && shift
    while read -r _; do
      (ulimit -S -t "$most"; exec jq "$@" "$0.in" </dev/null 3>&1 >"$0.out" 2>"$0.errors")
      echo "$?"
    done' "$waiting/$1" "$step_cpu_seconds" "${@:2}" <"$waiting/$1.go" 2>/dev/null
}

make_room_for_prepared() {
  local name
  waiting=$next/prepared
  rm -rf "$waiting"
  mkdir "$waiting"
  for name in "${prepared[@]}"; do mkfifo "$waiting/$name".{in,go}; done
}
