#!/usr/bin/env bash
# bash's wait does not know some short process substitutions: it waits for another child, and its status is -1
#
# Software:      bash 5.2.15 (Debian bookworm)
# Behaviour:     After `exec {fd}< <(command)`, `wait "$!"` has the command's status. Of a command that ends at once, some in
#                a thousand are forgotten before `wait` looks for them. Then `wait` waits until another child of this shell
#                ends, or returns at once if there is none, and $? is -1. So a program that also has a child that stays can
#                hang for as long as that stays, and one that trusts the status takes a success for a failure.
#                Let the command print its status at the end of its output instead, and leave the reaping to bash, which
#                does it without `wait`. A job in the background, `command &`, is not concerned.
# Likely guess:  `wait PID` waits for that process and nothing else, and tells its status, or 127 if it is no child.
# Source:        bash(1), process substitution: "the process id ... is available as $!", and wait: "If id specifies a
#                non-existent process or job, the return status is 127".

source "${BASH_SOURCE[0]%/*}/lib.bash"
echo "bash $BASH_VERSION"

# Each waits for such a process until one is forgotten, a hundred thousand at the most, and prints what happens then.
statuses() { # <( ) | &
  set +e
  local i fd status
  for ((i = 0; i < 100000; i++)); do
    if [[ $1 == '&' ]]; then
      (exit 3) &
    else
      exec {fd}< <(exit 3)
      read -r -u "$fd" _
      exec {fd}<&-
    fi
    wait "$!"
    status=$?
    if ((status != 3)); then echo "$status" && return; fi
    [[ $1 != '&' || $i -lt 20000 ]] || break
  done
  echo 'always 3'
}

with_another_child() {
  set +e
  local i fd other
  sleep 3 &
  other=$!
  for ((i = 0; i < 100000; i++)); do
    exec {fd}< <(exit 3)
    read -r -u "$fd" _
    exec {fd}<&-
    wait "$!"
    (($? == 3)) || break
    kill -0 "$other" 2>/dev/null || {
      sleep 3 &
      other=$!
    }
  done
  kill -0 "$other" 2>/dev/null && echo 'it goes on at once' || echo 'until the other child has ended'
}

seen 'wait after <( )' '-1' "$(statuses '<( )' 2>/dev/null)"
seen 'with another child, it waits' 'until the other child has ended' "$(with_another_child 2>/dev/null)"
seen 'wait after &' 'always 3' "$(statuses '&' 2>/dev/null)"
verdict
