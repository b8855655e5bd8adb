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
  local files=("$live"/{change,snapshot,model.json,nginx.conf})
  [[ -d $kept_changes ]] || (umask 077 && mkdir "$kept_changes")
  [[ ! -e $live/nginx.conf.old ]] || files+=("$live/nginx.conf.old")
  mkdir "$1" && ln -t "$1" "${files[@]}" || return
  [[ -e $1/nginx.conf.old ]] || : >"$1/nginx.conf.old" # it is the first
  printf '%s' "$took_lines" >"$1/took"
  [[ ! -s $next/quarantine ]] || cp "$next/quarantine" "$1" # which is written to
}

# Beside the next passes: what takes longer. What is not finished when the loop ends is finished after the next change.
finish_changes() {
  local folder previous='' numbers
  renice -n 10 "$BASHPID" >/dev/null || true # if it can wait, no change waits for it
  [[ -d $page ]] || mkdir -p "$page" || return 0
  remember_settings || return 0
  find_numbers
  for folder in "${numbers[@]}"; do
    [[ -e $kept_changes/$folder/settings.json ]] || finish_change "$kept_changes/$folder" "$previous"
    previous=$kept_changes/$folder
  done
  remove_oldest
  list_for_page
}

# Sets numbers, the oldest first: as the indices of an array are.
find_numbers() {
  local folder is_there=()
  for folder in "$kept_changes"/[1-9]*; do is_there[${folder##*/}]=yes; done
  numbers=("${!is_there[@]}")
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
  local before=$1/snapshot.old line
  [[ -e $before ]] || before=/dev/null
  diff "$before" "$1/snapshot" >"$1/objects" || (($? == 1))
  diff -U 1 -I config-hash "$1/nginx.conf.old" "$1/nginx.conf" >"$1/nginx" || (($? == 1))
  run_jq -c -f "$bin/lib/loop/changes/page.jq" --rawfile change "$1/change" --rawfile took "$1/took" \
    --rawfile objects "$1/objects" --rawfile nginx "$1/nginx" "$1/model.json" >"$1/page" || return
  { IFS= read -r line && printf '%s\n' "$line" >"$1/entry" && copy >"$page/new"; } <"$1/page" && mv -T "$page/new" "$page/${1##*/}.json"
  rm "$1/objects" "$1/nginx" "$1/page"
}

list_for_page() {
  local number numbers entries=()
  find_numbers
  for number in "${numbers[@]}"; do
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
  local numbers bytes lines
  find_numbers
  while ((${#numbers[@]} > 1)); do
    mapfile -t lines < <(du -s -b -c "$kept_changes" "$page") # the total comes last
    bytes=${lines[-1]%%[^0-9]*}
    ((${#numbers[@]} > most_changes || bytes > most_bytes)) || return 0
    rm -rf "${kept_changes:?}/${numbers[0]}" "$page/${numbers[0]}.json"
    numbers=("${numbers[@]:1}")
  done
}
