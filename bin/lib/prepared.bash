# prepared - jq for the loop, started before there is anything to do
#
# jq takes some 20 ms to read the programs of the Ingresses' digest, and again those of route: beside few Ingresses, most
# of what these steps take. So when a pass has used one, the loop starts it again, for the next change. It waits at
# once: jq opens its input, here a FIFO, when it has read its programs.
#
# The steps call `jq` as they do anywhere. In the loop it is this function, which takes the one that waits if it was
# started with the same arguments, and no file that these name has changed since.
#
# Files in $next/prepared, for each NAME.jq that is prepared: NAME.arguments; NAME.in, the FIFO; NAME.since, while the
# one that waits can be used; when it has ended, NAME.status and NAME.errors.
#
# shellcheck shell=bash disable=SC2154 # next is the loop's, step_cpu_seconds is loop.bash's

jq() { # ARGUMENT...
  local name
  if [[ -n $waiting ]] && find_name "$@"; then
    if is_usable "$@"; then
      rm "$waiting/$name.since"
      feed "$name"
      return
    fi
    rm -f "$waiting/$name.since"
    printf '%s\0' "$@" >"$waiting/$name.arguments"
  fi
  run_jq "$@"
}

# If what an object comes to takes too much memory, it is jq that ends, and not nginx.
run_jq() ( # ARGUMENT...
  ulimit -S -v "$jq_memory"
  exec jq "$@"
)

# Sets name. Fails if this program is not worth it.
find_name() { # ARGUMENT...
  while (($# > 1)) && [[ $1 != -f ]]; do shift; done
  name=${2##*/} name=${name%.jq}
  [[ " ${prepared[*]} " == *" $name "* ]]
}

is_usable() { # ARGUMENT...
  local since=$waiting/$name.since arguments argument
  [[ -e $since && ! -e $waiting/$name.status ]] || return
  mapfile -d '' -t arguments <"$waiting/$name.arguments"
  [[ ${arguments[*]@Q} == "${*@Q}" ]] || return
  for argument; do
    [[ ! -e $argument || $since -nt $argument ]] || return
  done
}

# Hands the input on to the one that waits, and prints what it prints. The end of the output comes when it has
# ended, however it did; if it never opened its input, who writes there would wait for ever.
feed() { # NAME <INPUT
  local status=''
  cat <&0 >"$waiting/$1.in" &
  cat <&"${outputs[$1]}"
  kill "$!" 2>/dev/null || true # it has ended, as a rule
  [[ ! -s $waiting/$1.errors ]] || cat "$waiting/$1.errors" >&2
  read -r status <"$waiting/$1.status" || log "what was prepared for $1.jq ended without a status"
  return "${status:-1}"
}

# Starts those again that were used, or that no longer fit.
prepare_steps() {
  local name arguments output
  for name in "${prepared[@]}"; do
    [[ -e $waiting/$name.arguments && ! -e $waiting/$name.since ]] || continue
    dismiss "$name"
    mapfile -d '' -t arguments <"$waiting/$name.arguments"
    : >"$waiting/$name.since"
    exec {output}< <(wait_for_input "$name" "${arguments[@]}")
    outputs[$name]=$output
  done
}

# Without input, one that still waits ends.
dismiss() { # NAME
  local output=${outputs[$1]-}
  [[ -n $output ]] || return 0
  [[ -e $waiting/$1.status ]] || feed "$1" </dev/null &>/dev/null || true # its complaint is of no interest
  exec {output}<&-
  rm -f "$waiting/$1.status"
}

wait_for_input() { # NAME ARGUMENT...
  local status=0
  ulimit -S -t "$step_cpu_seconds"
  run_jq "${@:2}" "$waiting/$1.in" 2>"$waiting/$1.errors" || status=$?
  echo "$status" >"$waiting/$1.status"
}

make_room_for_prepared() {
  local name
  waiting=$next/prepared
  rm -rf "$waiting"
  mkdir "$waiting"
  for name in "${prepared[@]}"; do mkfifo "$waiting/$name.in"; done
}

jq_memory=unlimited   # in KiB
declare -A outputs=() # of each that was started: a file descriptor to read from
prepared=(ingresses route nginx) waiting=''
