# outside - when the names of ExternalName Services are resolved, and how long a pass waits for it
#
# `resolve` asks beside the passes, again every minute, and only while there is such a Service that EXTERNAL_NAMES
# allows. What it found counts from the next pass on, for which it rings.
#
# folder is of lists.bash; patience is of secrets.bash
# shellcheck shell=bash disable=SC2154

resolve_seconds=60 retry_seconds=10 # if some name did not resolve

summarise_outside() {
  local now names=''
  if [[ -z $EXTERNAL_NAMES ]] || ! grep -q '"external":' "$folder/last/services.summary"; then
    : >"$folder/last/outside.summary"
    return
  fi
  take_time
  list_outside
  if names_are_due; then
    ask_for_names
    list_outside
  fi
}

# Prints nothing, unless something is new. Sets names: those to resolve.
list_outside() {
  local sum known='' inputs=("$folder/last/services.summary" "$folder/last/endpointslices.summary")
  [[ -e $folder/answers ]] || : >"$folder/answers"
  sum=$(cat "$folder/answers" "${inputs[@]}" | cksum)
  { read -r known && read -r names; } 2>/dev/null <"$folder/outside" || true # the first time, there is none
  [[ $known != "$sum" ]] || return 0
  print_outside "${inputs[@]}" >"$folder/outside.new" || die 1 'cannot tell where ExternalName Services lead: jq says above why'
  read -r names <"$folder/outside.new"
  tail -n +2 "$folder/outside.new" >"$folder/new/outside.summary"
  mv -t "$folder/last" "$folder/new/outside.summary"
  printf '%s\n' "$sum" "$names" >"$folder/outside"
}

print_outside() { # SUMMARY...
  run_jq -n -r -f "$bin/lib/fetch/outside/outside.jq" --arg names "$EXTERNAL_NAMES" --arg cidrs "$EXTERNAL_CIDRS" \
    --arg pods "$ENDPOINT_CIDRS" --arg own "$(own_addresses)" --rawfile answers "$folder/answers" \
    --slurpfile services <(grep '"external":' "$folder/last/services.summary") "$@"
}

# Prints the addresses of this pod: the kernel lists those of IPv4 in a table of routes, those of IPv6 without colons.
own_addresses() {
  {
    awk '/[|]--/ { address = $2 } /host LOCAL/ { print address }' /proc/net/fib_trie | sort -u
    [[ ! -e /proc/net/if_inet6 ]] || sed -E 's/^(.{32}).*/\1/; s/.{4}/&:/g; s/:$//' /proc/net/if_inet6
  } | paste -sd ' '
}

names_are_due() {
  local asked='' for_names=''
  [[ -n $names ]] || return
  { read -r asked && read -r for_names; } 2>/dev/null <"$folder/asked" || true
  [[ $names == "$for_names" ]] || return 0
  ((now - asked >= resolve_seconds)) || { ((now - asked >= retry_seconds)) && grep -qvF ' ' "$folder/answers"; }
}

# A pass waits for new names, but not for long, and not again while somebody's names take so long. (read's status is
# above 128 when the time is over. Nothing comes; the pipe ends when all are asked.)
ask_for_names() {
  local beside for_names=''
  { read -r _ && read -r for_names; } 2>/dev/null <"$folder/asked" || true
  printf '%s\n' "$now" "$names" >"$folder/asked"
  exec {beside}< <(run_resolve)
  if [[ $names == "$for_names" ]]; then
    rm -f "$folder/names-are-late"
  elif [[ ! -e $folder/names-are-late ]]; then
    read -r -t "$(patience)" <&"$beside" || (($? <= 128)) || : >"$folder/names-are-late"
  fi
  exec {beside}<&-
}

# One at a time: what is new meanwhile is asked for in the next pass.
run_resolve() {
  exec 9>"$folder/resolving"
  flock -n 9 || {
    rm -f "$folder/asked"
    return 0
  }
  nice -n 5 "$bin/resolve" >"$folder/answers.new" 9>&- <<<"${names// /$'\n'}" || return 0
  [[ -d $folder/new ]] || return 0 # a fetch that was run alone has taken its folder away
  mv -T "$folder/answers.new" "$folder/answers"
  ring
}
