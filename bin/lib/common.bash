# common - the functions that all programs share: help, logging, failing, tracing, ringing, time
#
# shellcheck shell=bash

declare -A failures=()
# shellcheck disable=SC2034 # for those who source this
silence='' all_features='' jq_to_run=jq program=${0##*/} version=${BASH_INGRESS_VERSION:-development} # the Dockerfile sets it

# The comment at the top of a program is its help.
if [[ ${1-} == @(-h|--help) ]]; then
  sed -e 1d -e '/^#/! Q' -e 's/^# \?//' "$0"
  exit
fi

# What TRACE prints goes to what is standard error now, wherever that of a command goes.
if [[ -n ${TRACE-} && -z ${trace_to-} ]]; then exec {trace_to}>&2; fi

log() { # TEXT...   each TEXT is one line on standard error
  local text
  for text; do
    printf '%(%H:%M:%S)T %s: %s\n' -1 "$program" "$text" >&2
  done
}

die() { # STATUS TEXT...
  log "${@:2}"
  exit "$1"
}

# Runs COMMAND; with TRACE=1, prints it as well when it has ended, with its milliseconds.
cmd() { # COMMAND...
  if [[ -z ${TRACE-} ]]; then "$@"; else trace "$@"; fi
}

# (COMMAND sees these variables, so they have names that it does not use. Where jq looks for its programs is left out.)
trace() { # COMMAND...
  local trace_began=${EPOCHREALTIME/./} trace_status trace_text=${*//$'\n'/ }
  "$@"
  trace_status=$?
  [[ $1 != "$jq_to_run" ]] || trace_text="jq ${trace_text#* -L "$bin/lib" }"
  trace_text=${trace_text//"$STATE_DIR/"/\$STATE_DIR/}
  printf '[#] %s (%d ms)\n' "$trace_text" "$(((${EPOCHREALTIME/./} - trace_began) / 1000))" >&"$trace_to"
  return "$trace_status"
}

need() { # TOOL...
  local tool missing=()
  for tool; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  ((${#missing[@]} == 0)) ||
    die 2 "these programs are missing: ${missing[*]}. Install them (Debian's packages: kubectl or kubernetes-client, jq, nginx, openssl, gettext-base, diffutils) and try again."
}

# --- what takes no process for short files, as those of a small cluster are: there, to start one takes longer

short_bytes=65536

# Copies text from standard input to standard output. Long text goes through `cat`. (At the end of the input, read
# fails.)
copy() {
  local text='' is_all=''
  IFS= read -r -N "$short_bytes" text || is_all=yes
  printf '%s' "$text" || return
  [[ -n $is_all ]] || cat
}

print_files() { # FILE...
  local file
  for file; do copy <"$file"; done
}

# Sets text to what is in FILE. Fails if it is long; then text is its beginning.
read_short() { # FILE [BYTES]
  text=''
  ! IFS= read -r -N "${2:-$short_bytes}" text <"$1"
}

# Whether two files have the same bytes. One that is not there differs.
are_same() { # FILE OTHER_FILE
  local text one
  [[ -e $1 && -e $2 ]] || return
  if read_short "$1"; then
    one=$text
    read_short "$2" && [[ $one == "$text" ]]
  else
    cmp -s "$1" "$2"
  fi
}

# Sets differing to the lines that are in one of two files only, as diff shows them: after "< " or "> ".
find_differing() { # FILE OTHER_FILE
  local line text before=() after=()
  local -A where=()
  differing=()
  if ! read_short "$1" || ! read_short "$2"; then
    mapfile -t differing < <(diff "$1" "$2" | grep '^[<>]')
    return
  fi
  mapfile -t before <"$1"
  mapfile -t after <"$2"
  for line in "${after[@]}"; do where[" $line"]=new; done
  for line in "${before[@]}"; do
    [[ -n ${where[" $line"]-} ]] || differing+=("< $line")
    where[" $line"]=old
  done
  for line in "${after[@]}"; do
    [[ ${where[" $line"]} == old ]] || differing+=("> $line")
  done
}

# Gives a file another name; of a short one, makes a copy.
name_too() { # FILE OTHER_NAME
  local text
  if read_short "$1"; then printf '%s' "$text" >"$2"; else ln -f "$1" "$2"; fi
}

# Sets said to what comes from DESCRIPTOR, up to where OPTION of `read` says: -d DELIMITER or -N CHARACTERS. Status: 1
# if the end comes first; above 128 if that takes more than SECONDS. It takes no process, unlike `timeout`. (read's
# status is above 128 when the time is over; and when the wall clock jumps forward, and what has come is in part: then
# this goes on.)
read_in_time() { # SECONDS DESCRIPTOR OPTION...
  local part now end status
  said=''
  take_time
  end=$((now + $1))
  while true; do
    status=0 part=''
    IFS= read -r "${@:3}" -t "$1" part <&"$2" || status=$?
    said+=$part
    ((status > 128)) || return "$status"
    take_time
    ((now < end)) || return "$status"
  done
}

# The same until the end. Fails if that takes more than SECONDS.
read_to_end() { # DESCRIPTOR SECONDS
  read_in_time "$2" "$1" -d '' || (($? == 1))
}

# For a step that is run by hand, and not by the loop: all features of annotations are in use.
by_hand() { # TOOL...
  need "$@"
  [[ -z ${features_in_use-} ]] || return 0
  source "$bin/lib/annotations/features.bash"
  features_in_use=$(mktemp -d)
  all_features=$features_in_use
  trap 'rm -rf "$all_features"' EXIT
  write_features "$(<"$bin/lib/annotations/features.json")"
}

# For the loop, which sets durations to a file: notes how long something took, in microseconds. (The clock may jump.)
took() { # NAME BEGAN
  local microseconds=$((${EPOCHREALTIME/./} - $2))
  [[ -z ${durations-} ]] || echo "$1 $((microseconds > 0 ? microseconds : 0))" >>"$durations" || true # the disk is full
}

# jq, with the programs of lib. In the loop, features_in_use is a folder with the features that some Ingress uses, where
# jq looks first; and a jq that has read its programs may wait already (lib/loop/prepared.bash).
run_jq() { # JQ_ARGUMENT...
  cmd "$jq_to_run" -L "${features_in_use:-$bin/lib}" -L "$bin/lib" "$@"
}

# As NAME=$(run_jq JQ_ARGUMENT...). In the loop, jq may wait already: then this takes no process.
run_jq_into() { # NAME JQ_ARGUMENT...
  local into=$1 printed
  if [[ $jq_to_run == prepared_jq ]]; then
    run_jq "${@:2}"
  else
    printed=$(run_jq "${@:2}") || return
    printf -v "$into" '%s' "$printed"
  fi
}

# Ends the loop's pause, if it runs. (1<> opens the pipe without waiting for a reader.)
ring() {
  [[ ! -p $STATE_DIR/run/bell ]] || echo 1<>"$STATE_DIR/run/bell"
}

# A file that has this text already stays as it is: somebody may be reading it.
write_if_new() { # FILE TEXT
  [[ -e $1 && $(<"$1") == "$2" ]] || printf '%s\n' "$2" >"$1"
}

# Whole seconds since the machine started; the wall clock may jump.
uptime() {
  local now
  take_time
  echo "$now"
}

# The same for what runs every second: sets now, for "$(uptime)" takes a process.
take_time() {
  read -r now _ </proc/uptime
  now=${now%.*}
}

# Sleeps without a process: nothing comes out of this pipe, nor does it end, as it is open for writing, too. (No `wait`
# for what made it: it might wait for another child. See findings/bash-wait-loses-a-short-process.sh.)
nap() { # SECONDS
  [[ -n $silence ]] || exec {silence}<> <(:)
  read -r -t "$1" <&"$silence" || true
}

# For what ends again and again: prints 1 after 0, then 2, 4, 8, and 10 ever after.
longer_pause() { # SECONDS
  echo "$(($1 == 0 ? 1 : $1 < 8 ? $1 * 2 : 10))"
}

# Whether this failure of THING differs from its last one, times and ports aside: a failure is
# told when it begins or changes, not every second.
is_new_failure() { # THING TEXT
  local told=${failures[$1]-}
  failures[$1]=${2//[0-9]/}
  [[ ${failures[$1]} != "$told" ]]
}
