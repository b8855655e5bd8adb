# late - large Ingresses are summarised beside the passes
#
# An Ingress with a thousand hosts takes jq 40 ms, and a namespace may have many: nobody else waits for that. Until
# they are summarised, they count as they were, by the last summary of that name.
#
# folder is of lists.bash; name, list and late are those of only_new_items
# shellcheck shell=bash disable=SC2154

large_bytes=25000 # of an item: one with 150 hosts or more. (So each list with such an item is long.)

# If the list was cut, it is the last item that is not whole. So that one is looked at here, in case it is one that
# waits. (To find an item's name as text is safe: the API server writes it first, and within a string each quote has a
# backslash.)
let_large_ones_wait() { # COMMAND...
  tail -n 1 "$list/items" | run_jq -n -R 'include "fetch/items"; inputs | read_item | empty'
  summarise_late "$@" &>/dev/null &
  awk -v items="$list/items" '
    function value(field) {
      if (match(item, "\"" field "\":\"[^\"]*\"")) return substr(item, RSTART + length(field) + 4, RLENGTH - length(field) - 5)
    }
    FILENAME != "-" { if (match($0, /^[{]"of":"Ingress [^"]*"/)) before[substr($0, 16, RLENGTH - 16)] = $0; next }
    { getline item <items }
    $0 == "late" { $0 = "late\t" before[value("namespace") "/" value("name")] }
    { print }' "$folder/last/ingresses.summary" - <"$list/found" >"$list/found.new"
  mv -T "$list/found.new" "$list/found"
}

# One at a time: what is new meanwhile gets the next turn. (When know_classes removes the folder, what is written here
# is gone as well. With `waiting` empty, run_jq takes none that the loop has prepared.)
summarise_late() { # COMMAND...
  local status=0 waiting=''
  cd "$late"
  exec 9>lock
  flock -n 9 || return 0
  wait_for_all_of_them
  (cd "$OLDPWD" && renice -n 19 "$BASHPID" >/dev/null && "$@") <items >summaries 2>errors || status=$?
  finished items summaries >new
  mv -T new known
  rm items summaries
  exec 9>&- # first, as the next turn may come as soon as this one is over
  if ((status > 0)); then tail -n 1 errors; fi >over
  ring
}

# Until no other has come for a second, but not for long: a pass with many of them is long, and one is enough.
wait_for_all_of_them() {
  local i
  for i in 1 2 3; do
    cp "$list/large-items" items
    sleep 1
    ! cmp -s "$list/large-items" items || break
  done
}

# For the loop, before each pass: when they are summarised, or what did that was killed, the list counts as not read.
take_late_summaries() { # FOLDER
  local said='' late=$1/known/ingresses/late
  if [[ -e $late/over ]]; then
    said=$(<"$late/over")
    rm "$late/over"
  elif [[ -e $late/items ]] && flock -n "$late/lock" true; then
    rm "$late/items"
  else
    return 0
  fi
  : >"$1/last/ingresses"
  [[ -z $said ]] || log "cannot summarise a large Ingress: $said"
}

# Prints each item that was summarised, with its summary. (If COMMAND was ended, the last line may be cut.)
finished() { # ITEMS SUMMARIES
  local number
  number=$(wc -l <"$2")
  paste <(head -n "$number" "$1") <(head -n "$number" "$2")
}
