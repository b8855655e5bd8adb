# Helpers for every part: words to the user, time, and waiting.

say() { # WORDS...
  printf '%s: %s\n' "${PROGRAM:-cluster}" "$*" >&2
}

die() { # EXIT_CODE WORDS...
  say "${@:2}"
  exit "$1"
}

# A change to the machine is printed as it is made.
run() { # COMMAND...
  printf '  %s\n' "$*" >&2
  "$@"
}

# Not bash's SECONDS: that follows the wall clock, which may jump.
uptime_seconds() {
  local seconds
  read -r seconds _ </proc/uptime
  printf '%s\n' "${seconds%.*}"
}

wait_for() { # COMPONENT WHAT COMMAND...: until the command succeeds; ends the program if the component cannot get there
  local component="$1" what="$2" deadline
  deadline=$(($(uptime_seconds) + WAIT_SECONDS))
  until "${@:3}" >/dev/null 2>&1; do
    [[ -n "$(pids_of "$component")" ]] || blame "$component" "$component ended while waiting for $what"
    (($(uptime_seconds) < deadline)) || blame "$component" "no $what within $WAIT_SECONDS s"
    sleep 0.1
  done
}

blame() { # COMPONENT WORDS...
  local log
  log="$(log_of "$1")"
  say "${*:2}. The last lines of $log:"
  tail -n 15 "$log" >&2
  exit 1
}

# Locks the checkout's folder, which needs no file that somebody would have to remove.
one_at_a_time() {
  exec {LOCK}<"$HERE"
  flock --nonblock "$LOCK" || {
    say 'waiting for another `cluster` command of this checkout'
    flock "$LOCK"
  }
}

# So that no background process keeps a caller's pipe open (bats waits for its file descriptor 3) or our lock.
close_inherited_files() {
  local file
  for file in "/proc/$BASHPID/fd/"*; do
    file="${file##*/}"
    ((file <= 2)) || exec {file}>&-
  done
}
