# known-items - of a long list, only the items that are new are digested
#
# A digest depends on its item alone. Beside 1,000 Ingresses, one that changes would cost the digest of them all, and
# a namespace with thousands of hosts would cost everybody seconds.
#
# shellcheck shell=bash disable=SC2154 # folder is fetch's

# Prints a line for each item: COMMAND's digest, or the remembered one if the item is unchanged. (In the file "found", an
# empty line stands for a new item.)
only_new_items() { # COMMAND... <ITEMS
  local known=$folder/known status=0
  if ! is_long; then
    : >"$known"
    "$@"
    return
  fi
  know_classes
  : >"$folder/new-items"
  tee "$folder/items" | awk -F '\t' -v new="$folder/new-items" '
    FILENAME != "-" { known[$1] = $2; next }
    $0 in known { print known[$0]; next }
    { print ""; print >new }' "$known" - >"$folder/found"
  "$@" <"$folder/new-items" >"$folder/new-digests" || status=$?
  if ((status > 0)); then
    keep_progress
    return "$status"
  fi
  awk -v new="$folder/new-digests" '
    $0 == "" { if ((getline <new) <= 0) { missing = 1; exit } }
    { print }
    END { left_over = (getline <new) > 0; exit (missing || left_over) }' "$folder/found" | tee "$folder/digests"
  paste "$folder/items" "$folder/digests" >"$known" || forget_known # no line of JSON has a tab in it
}

# A digest also depends on the IngressClasses: what is known counts while these are as they were.
know_classes() {
  cmp -s "$folder/classes" "$folder/known-classes" && return
  : >"$known"
  cp "$folder/classes" "$folder/known-classes"
}

# If COMMAND was ended because it took too long, the next pass goes on where it was. (Its last line may be cut.)
keep_progress() {
  local finished
  finished=$(wc -l <"$folder/new-digests")
  paste <(head -n "$finished" "$folder/new-items") <(head -n "$finished" "$folder/new-digests") >>"$known" || forget_known
}

# The disk is full: what was written in part must not be taken for what is known. That costs the next digest its time.
forget_known() {
  : >"$known"
}

# For a short list, all that takes longer than it saves. Long is a list of many Ingresses, or with one that has thousands
# of hosts. (At the end of the file, read fails. What is digested only once is not remembered.)
is_long() {
  local start
  read -r -N 50000 start <"$folder/new/ingresses"
}
