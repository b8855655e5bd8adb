# record - in the loop: what became live is kept under its number, for `changes` and the page
#
# Each folder changes/NUMBER has further names for files that are live, or were: so to keep one costs a millisecond, and
# memory only when it is live no more. The oldest go when there are too many, or they take too much room.
#
# next, live and made_frame are the loop's, took_lines is of durations.bash
# shellcheck shell=bash disable=SC2154

kept_changes=$STATE_DIR/changes most_changes=30 most_bytes=$((16 * 1024 * 1024)) recorded='' finishing='' page=$STATE_DIR/admin/page

# `apply` has given the live configuration its number.
record_change() {
  local number=''
  { read -r _ number <"$live/change"; } 2>/dev/null || return 0 # nothing is live yet
  if [[ $number != "$recorded" && ! -e $kept_changes/$number ]]; then
    keep_change "$kept_changes/$number" || log "cannot keep change $number; is $STATE_DIR full?"
  fi
  if [[ $number != "$recorded" ]] && ! kill -0 "$finishing" 2>/dev/null; then
    recorded=$number
    finish_changes &
    finishing=$!
  fi
}

# (The folder is private: annotations have values that may be secret.)
keep_change() { # FOLDER
  [[ -d $kept_changes ]] || (umask 077 && mkdir "$kept_changes")
  mkdir "$1" && ln -t "$1" "$live"/{change,snapshot,model.json,nginx.conf} || return
  ln -t "$1" "$live/nginx.conf.old" 2>/dev/null || : >"$1/nginx.conf.old" # it is the first
  printf '%s' "$took_lines" >"$1/took"
  [[ ! -s $next/quarantine ]] || cp "$next/quarantine" "$1" # which is written to
}

# Beside the next passes: what takes longer. What is not finished when the loop ends is finished after the next change.
finish_changes() {
  local folder previous=''
  renice -n 10 "$BASHPID" >/dev/null || true # if it can wait, no change waits for it
  mkdir -p "$page" && remember_settings || return 0
  for folder in $(numbered_changes); do
    [[ -e $kept_changes/$folder/settings.json ]] || finish_change "$kept_changes/$folder" "$previous"
    previous=$kept_changes/$folder
  done
  remove_oldest
  list_for_page
}

# Prints the numbers, the oldest first.
numbered_changes() {
  (cd "$kept_changes" && printf '%s\n' [0-9]* | sort -n)
}

finish_change() { # FOLDER [FOLDER_BEFORE]
  [[ -z $2 ]] || ln -T "$2/snapshot" "$1/snapshot.old"
  write_for_page "$1"
  ln -T "$kept_changes/settings.json" "$1/settings.json"
}

# --- for the page: what may be shown of each change, in a file of its own, and all of them in a list

prepare_page() {
  mkdir -p "$page"
  cp "$TEMPLATES_DIR/page.html" "$page/index.html" || log 'there is no page: TEMPLATES_DIR has no page.html'
}

write_for_page() { # FOLDER
  local before=$1/snapshot.old
  [[ -e $before ]] || before=/dev/null
  diff "$before" "$1/snapshot" >"$1/objects" || (($? == 1))
  diff -U 1 -I config-hash "$1/nginx.conf.old" "$1/nginx.conf" >"$1/nginx" || (($? == 1))
  run_jq -c -f "$bin/lib/loop/changes/page.jq" --rawfile change "$1/change" --rawfile took "$1/took" \
    --rawfile objects "$1/objects" --rawfile nginx "$1/nginx" "$1/model.json" >"$1/page" || return
  head -n 1 "$1/page" >"$1/entry"
  tail -n +2 "$1/page" >"$page/new" && mv -T "$page/new" "$page/${1##*/}.json"
  rm "$1/objects" "$1/nginx" "$1/page"
}

list_for_page() {
  local number entries=()
  for number in $(numbered_changes); do
    [[ ! -s $kept_changes/$number/entry ]] || entries+=("$(<"$kept_changes/$number/entry")")
  done
  local IFS=,
  printf '[%s]\n' "${entries[*]}" >"$page/new"
  mv -T "$page/new" "$page/changes.json"
}

# What render reads beside the model. Templates of a user's own are kept whole; those of this version are everywhere.
remember_settings() {
  local own=()
  [[ ! -e $kept_changes/settings.json || $(<"$kept_changes/settings-of") != "$$" ]] || return 0
  [[ $TEMPLATES_DIR -ef $bin/../templates ]] || own=("$TEMPLATES_DIR"/*)
  for file in "${own[@]}"; do jq -n -c --rawfile text "$file" --arg name "${file##*/}" '{($name): $text}'; done |
    jq -n -c --arg version "$version" '{$version, settings: [$ARGS.positional[] | {(.): $ENV[.]}] | add,
      templates: ([inputs] | add)}' --args "${setting_names[@]}" >"$kept_changes/settings.new"
  mv -T "$kept_changes/settings.new" "$kept_changes/settings.json" && echo "$$" >"$kept_changes/settings-of"
}

remove_oldest() {
  local numbers bytes
  mapfile -t numbers < <(numbered_changes)
  while ((${#numbers[@]} > 1)); do
    read -r bytes _ < <(du -s -b -c "$kept_changes" "$page" | tail -n 1)
    ((${#numbers[@]} > most_changes || bytes > most_bytes)) || return 0
    rm -rf "${kept_changes:?}/${numbers[0]}" "$page/${numbers[0]}.json"
    numbers=("${numbers[@]:1}")
  done
}
