# known-items - of a long list, only the items that are new are digested, and large Ingresses beside the passes
#
# A digest depends on its item alone. Beside 1,000 Ingresses, one that changes would cost the digest of them all, and so
# would one endpoint; and a namespace with thousands of hosts would cost everybody seconds.
#
# shellcheck shell=bash disable=SC2154 # folder is fetch's

# Prints a line for each item of a list: COMMAND's digest, or the remembered one if the item is unchanged. What is
# remembered is the last list's "items" and their "digests", line by line. (No digest is an empty line, or begins with
# "late".)
only_new_items() { # NAME COMMAND... <ITEMS
  local name=$1 list=$folder/known/$1 status=0
  local late=$list/late
  shift
  [[ -d $late ]] || mkdir -p "$late"
  if ! is_long; then
    forget_items
    "$@"
    return
  fi
  [[ $name != ingresses ]] || know_classes
  find_known
  [[ ! -s $list/large-items ]] || let_large_ones_wait "$@"
  "$@" <"$list/new-items" >"$list/new-digests" || status=$?
  : >"$list/new-items" # STATE_DIR is small, and the list may be large
  if ((status > 0)); then
    keep_progress
    return "$status"
  fi
  put_together
  [[ ! -s $late/known ]] || : >"$late/known"
}

# Writes "found", a line for each item: its digest if it is known, an empty one if it is new, "late" if it waits. From
# here until put_together has the new digests, none is remembered: they would be those of other items. The first time
# nothing waits, and of other lists nothing ever does. (A comma that no quote or bracket
# follows is one of a list in an annotation, whose entries take jq the longest: each counts as 400 bytes.)
find_known() { # <ITEMS
  local large=0
  if [[ $name == ingresses && -e $folder/digested/ingresses.digest ]]; then large=$large_bytes; fi
  [[ -e $late/known ]] || : >"$late/known"
  : >"$list/new-items"
  : >"$list/new-digests"
  : >"$list/large-items.new"
  awk -F '\t' -v items="$list/items" -v digests="$list/digests" -v new="$list/new-items" \
    -v large_ones="$list/large-items.new" -v large="$large" '
    BEGIN {
      while ((getline digest <digests) > 0 && (getline item <items) > 0)
        if (digest != "" && digest !~ /^late/) known[item] = digest
      close(items)
      close(digests)
      printf "" >digests
    }
    FILENAME != "-" { known[$1] = $2; next }
    { print >items }
    $0 in known { print known[$0]; next }
    large && length($0) + 400 * gsub(/,[^"{[\\]/, "&") >= large { print "late"; print >large_ones; next }
    { print ""; print >new }' "$late/known" - >"$list/found"
  [[ ! -s $list/large-items.new && ! -s $list/large-items ]] || mv -T "$list/large-items.new" "$list/large-items"
}

# Prints the digest of each item, and remembers them. Fails unless each new item has got one; or, if only HOW_MANY of
# the new digests are whole, remembers those. (An `exit` with status 0 would hide from gawk that the disk is full.)
put_together() { # [HOW_MANY]
  awk -v new="$list/new-digests" -v whole="${1-}" -v digests="$list/digests.new" '
    BEGIN { printf "" >digests }
    $0 == "" { if ((whole != "" && read++ >= whole) || (getline <new) <= 0) missing = 1 }
    { print >digests; sub(/^late\t?/, "") }
    $0 != ""
    END { if (whole == "" && (missing || (getline <new) > 0)) exit 1 }' "$list/found" || return
  mv -T "$list/digests.new" "$list/digests"
}

# If COMMAND was ended because it took too long, the next pass goes on where it was. (The last line may be cut.)
keep_progress() {
  put_together "$(wc -l <"$list/new-digests")" >/dev/null
}

# --- large items

# An Ingress with a thousand hosts takes jq 40 ms, and a namespace may have many: nobody else waits for that. They are
# digested beside the passes, and until then count as they were, by the last digest of that name. (If the list was cut,
# it is the last item that is not whole. So that one is looked at here, in case it is one that waits. To find an item's
# name as text is safe: the API server writes it first, and within a string each quote has a backslash.)
let_large_ones_wait() { # COMMAND...
  tail -n 1 "$list/items" | run_jq -n -R 'include "fetch/items"; inputs | read_item | empty'
  digest_late "$@" &>/dev/null &
  awk -v items="$list/items" '
    function value(field) {
      if (match(item, "\"" field "\":\"[^\"]*\"")) return substr(item, RSTART + length(field) + 4, RLENGTH - length(field) - 5)
    }
    FILENAME != "-" { if (match($0, /^[{]"ingress":"[^"]*"/)) before[substr($0, 13, RLENGTH - 13)] = $0; next }
    { getline item <items }
    $0 == "late" { $0 = "late\t" before[value("namespace") "/" value("name")] }
    { print }' "$folder/digested/ingresses.digest" - <"$list/found" >"$list/found.new"
  mv -T "$list/found.new" "$list/found"
}

# One at a time: what is new meanwhile gets the next turn. (When know_classes removes the folder, what is written here
# is gone as well. With `waiting` empty, run_jq takes none that the loop has prepared.)
digest_late() { # COMMAND...
  local status=0 waiting=''
  cd "$late"
  exec 9>lock
  flock -n 9 || return 0
  wait_for_all_of_them
  (cd "$OLDPWD" && renice -n 19 "$BASHPID" >/dev/null && "$@") <items >digests 2>errors || status=$?
  finished items digests >new
  mv -T new known
  rm items digests
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

# For the loop, before each pass: when they are digested, or who did it was killed, the list counts as not read.
take_late_digests() { # FOLDER
  local said='' late=$1/known/ingresses/late
  if [[ -e $late/over ]]; then
    said=$(<"$late/over")
    rm "$late/over"
  elif [[ -e $late/items ]] && flock -n "$late/lock" true; then
    rm "$late/items"
  else
    return 0
  fi
  : >"$1/digested/ingresses"
  [[ -z $said ]] || log "cannot digest a large Ingress: $said"
}

# --- what is forgotten

forget_items() {
  : >"$list/digests"
  : >"$list/items"
}

# Keeps the IngressClasses for the digest of the Ingresses. (If this pass fails and they change back, they would seem
# unchanged, but "classes" has what they were meanwhile: so they count as not read.)
note_classes() {
  local classes
  rm -f "$folder/digested/ingressclasses"
  classes=$(split_items ingressclasses) || exit # it has said why
  write_if_new "$folder/classes" "$classes"
}

# A digest also depends on the IngressClasses: what is known counts while these are as they were.
know_classes() {
  cmp -s "$folder/classes" "$folder/known-classes" && return
  forget_items
  rm -rf "$late"
  mkdir "$late"
  cp "$folder/classes" "$folder/known-classes"
}

# Prints each item that was digested, with its digest. (If COMMAND was ended, the last line may be cut.)
finished() { # ITEMS DIGESTS
  local number
  number=$(wc -l <"$2")
  paste <(head -n "$number" "$1") <(head -n "$number" "$2")
}

# For a short list, all that takes longer than it saves. Long is a list of many Ingresses, or with one that has
# thousands of hosts. (At the end of the file, read fails. What is digested only once is not remembered.)
is_long() {
  local start
  read -r -N "$large_bytes" start <"$folder/new/$name"
}

large_bytes=25000 # of an item: one with 150 hosts or more. (So each list with such an item is long.)
