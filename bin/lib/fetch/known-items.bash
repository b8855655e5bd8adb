# known-items - of a long list, only the items that are new are summarised
#
# A summary depends on its item alone. Beside 1,000 Ingresses, one that changes would cost the summaries of them all,
# and so would one endpoint.
#
# shellcheck shell=bash disable=SC2154 # folder is of lists.bash

source "${BASH_SOURCE[0]%/*}/late.bash" # large_bytes, let_large_ones_wait

# Prints a line for each item of a list: COMMAND's summary, or the remembered one if the item is unchanged. What is
# remembered is the last list's "items" and their "summaries", line by line. (No summary is an empty line, or begins
# with "late".)
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
  "$@" <"$list/new-items" >"$list/new-summaries" || status=$?
  : >"$list/new-items" # STATE_DIR is small, and the list may be large
  if ((status > 0)); then
    keep_progress
    return "$status"
  fi
  put_together
  [[ ! -s $late/known ]] || : >"$late/known"
}

# Writes "found", a line for each item: its summary if it is known, an empty one if it is new, "late" if it waits. From
# here until put_together has the new summaries, none is remembered: they would be those of other items. The first time
# nothing waits, and of other lists nothing ever does. (A comma that no quote or bracket follows is one of a list in an
# annotation, whose entries take jq the longest: each counts as 400 bytes.)
find_known() { # <ITEMS
  local large=0
  if [[ $name == ingresses && -e $folder/last/ingresses.summary ]]; then large=$large_bytes; fi
  [[ -e $late/known ]] || : >"$late/known"
  : >"$list/new-items"
  : >"$list/new-summaries"
  : >"$list/large-items.new"
  awk -F '\t' -v items="$list/items" -v summaries="$list/summaries" -v new="$list/new-items" \
    -v large_ones="$list/large-items.new" -v large="$large" '
    BEGIN {
      while ((getline summary <summaries) > 0 && (getline item <items) > 0)
        if (summary != "" && summary !~ /^late/) known[item] = summary
      close(items)
      close(summaries)
      printf "" >summaries
    }
    FILENAME != "-" { known[$1] = $2; next }
    { print >items }
    $0 in known { print known[$0]; next }
    large && length($0) + 400 * gsub(/,[^"{[\\]/, "&") >= large { print "late"; print >large_ones; next }
    { print ""; print >new }' "$late/known" - >"$list/found"
  [[ ! -s $list/large-items.new && ! -s $list/large-items ]] || mv -T "$list/large-items.new" "$list/large-items"
}

# Prints the summary of each item, and remembers them. Fails unless each new item has got one; or, if only HOW_MANY of
# the new summaries are whole, remembers those. (An `exit` with status 0 would hide from gawk that the disk is full.)
put_together() { # [HOW_MANY]
  awk -v new="$list/new-summaries" -v whole="${1-}" -v summaries="$list/summaries.new" '
    BEGIN { printf "" >summaries }
    $0 == "" { if ((whole != "" && read++ >= whole) || (getline <new) <= 0) missing = 1 }
    { print >summaries; sub(/^late\t?/, "") }
    $0 != ""
    END { if (whole == "" && (missing || (getline <new) > 0)) exit 1 }' "$list/found" || return
  mv -T "$list/summaries.new" "$list/summaries"
}

# If COMMAND was ended because it took too long, the next pass goes on where it was. (The last line may be cut.)
keep_progress() {
  put_together "$(wc -l <"$list/new-summaries")" >/dev/null
}

# --- what is forgotten

forget_items() {
  : >"$list/summaries"
  : >"$list/items"
}

# A summary also depends on the IngressClasses: what is known counts while these are as they were.
know_classes() {
  cmp -s "$folder/classes" "$folder/known-classes" && return
  forget_items
  rm -rf "$late"
  mkdir "$late"
  cp "$folder/classes" "$folder/known-classes"
}

# For a short list, all that takes longer than it saves. Long is a list of many Ingresses, or with one that has
# thousands of hosts. (At the end of the file, read fails. What is summarised only once is not remembered.)
is_long() {
  local start # only whether there is so much
  read -r -N "$large_bytes" start <"$folder/new/$name"
}
