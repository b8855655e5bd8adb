#!/usr/bin/env bash
# bash loses a signal that comes at the wrong moment of $( ): its trap is not run, but called a syntax error
#
# Software:      bash 5.2.15 (Debian bookworm); in 5.3.15 (Debian forky) all traps were run
# Behaviour:     A script has a trap for SIGTERM, and gets one while it expands `$(command)` or `<(command)`. Of such
#                signals, some in a hundred find bash between reading the command and running it. It then says "trap:
#                line 2: unexpected EOF while looking for matching `)'", though the trap has no parenthesis, does not run
#                it, and goes on: so a program that is told to end does not hear of it.
# Likely guess:  A trap is run as soon as the command in the foreground has ended, whatever that is.
# Source:        bash(1), SIGNALS: "If bash is waiting for a command to complete and receives a signal for which a trap has
#                been set, the trap will not be executed until the command completes."

source "${BASH_SOURCE[0]%/*}/lib.bash"
debian bash=5.2.15-2+b13
bash=$folder/root/bin/bash
"$bash" --version | head -n 1

cat >"$folder/script" <<'SCRIPT'
stop() { ran=yes; }
trap stop TERM
lost=0
for ((i = 0; i < 5000; i++)); do
  ran=''
  (kill -TERM "$$") &
  for _ in 1 2 3; do eval "$1"; done
  wait "$!"
  [[ -n $ran ]] || lost=$((lost + 1))
done
echo "lost $((lost > 0 ? 1 : 0))"
SCRIPT

# Prints whether signals were lost while this ran, and what bash said of it.
told() { # COMMAND
  "$bash" "$folder/script" "$1" 2>&1 | sed 's/^.*script: //; s/lost 0/none is lost/; s/lost 1/some are lost/' | sort -u | paste -sd ';'
}

# shellcheck disable=SC2016 # the dollar signs are for that script
{
  seen 'x=$(true)' "some are lost;trap: line 2: unexpected EOF while looking for matching \`)'" "$(told 'x=$(true)')"
  seen 'x=$((1 + 1))' 'none is lost' "$(told 'x=$((1 + 1))')"
}
verdict
