# Helpers of lead.bats and succession.bats: real processes, and a kubectl that plays
# the API server and keeps one Lease in a file.
load helpers

setup() {
  common_setup
  export API=$dir/api LEASE_SECONDS=6 PATH="$dir/path:$PATH"
  mkdir -p "$API" "$dir/path"
  stand_in >"$dir/path/kubectl"
  chmod +x "$dir/path/kubectl"
  printf '#!/bin/sh\necho "$*" >>"%s/did.$POD_NAME"\n' "$dir" >"$dir/work"
  chmod +x "$dir/work"
  pids=()
}

teardown() {
  local pid
  for pid in "${pids[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true # it may have ended
    forget_clock "$pid"
  done
  common_teardown
}

# As the API server: one writer at a time, and only for who knows the newest version.
stand_in() {
  echo '#!/usr/bin/env bash'
  cat <<'KUBECTL'
refuse() { echo "Error from server ($1): no" >&2 && exit 1; }
version() { sed -nE 's/.*"resourceVersion": ?"([^"]*)".*/\1/p' "$1"; } # a jq would take ten times as long
exec 9>"$API/lock"
flock 9
[[ ! -e $API/down ]] || { echo >>"$API/refused" && refuse ServiceUnavailable; }
echo "$1 ${POD_NAME-}" >>"$API/requests"
case $1 in
  get) [[ -s $API/lease ]] && cat "$API/lease" || refuse NotFound ;;
  create) [[ ! -s $API/lease ]] || refuse AlreadyExists ;;
  replace) [[ $(version "$5") == $(version "$API/lease") ]] || refuse Conflict ;;
esac
[[ $1 != get ]] || exit 0
[[ ! -e $API/unwritten ]] || exit 0
jq -c --arg version "$(wc -l <"$API/requests")" '.metadata.resourceVersion = $version' "$5" >"$API/new"
mv "$API/new" "$API/lease"
cat "$API/lease"
KUBECTL
}

start_replica() { # NAME [COMMAND...]
  "${by_clock[@]}" env POD_NAME="$1" STATE_DIR="$dir/$1" "$bin/lead" "$dir/$1.file" "${@:2}" >"$dir/$1.log" 2>&1 3>&- &
  pids+=("$!")
}

leads() { # NAME
  [[ $(holder) == "$1" && -s $dir/did.$1 ]]
}

holds() { # NAME
  [[ $(holder) == "$1" ]]
}

holder() {
  sed -nE 's/.*"holderIdentity": ?"([^"]*)".*/\1/p' "$API/lease" # asked again and again: jq would take the CPU
}

has_renewed() { # TIMES NAME
  (($(grep -c "replace $2" "$API/requests") >= $1))
}

somebody_leads() {
  leads "$(holder)"
}

times_done() { # NAME
  cat "$dir/did.$1" 2>/dev/null | wc -l
}

has_done_more() { # TIMES NAME
  (($(times_done "$2") > $1))
}

has_looked_more() { # TIMES NAME
  (($(grep -c "get $2" "$API/requests") > $1))
}

leads_again() { # NAME
  (($(grep -c "$1 leads now" "$dir/$1.log") == 2))
}

renewed_since() { # TIME
  [[ $(renew_time) != "$1" ]]
}

renew_time() {
  sed -nE 's/.*"renewTime": ?("[^"]*").*/\1/p' "$API/lease"
}
