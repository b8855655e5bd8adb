# record - in the loop: what became live is kept under its number, for `changes` and the page
#
# Each folder changes/NUMBER has further names for files that are live, or were: so to keep one costs a millisecond, and
# memory only when it is live no more. The oldest go when there are too many, or they take too much room.
#
# next, live and made_frame are the loop's, took_lines is of durations.bash
# shellcheck shell=bash disable=SC2154

kept_changes=$STATE_DIR/changes most_changes=30 most_bytes=$((16 * 1024 * 1024)) recorded='' finishing=''
page=$STATE_DIR/admin/page drawn=$next/page

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

# Links all that is live, which one process does. (The folder is private: annotations have values that may be secret.)
keep_change() { # FOLDER
  [[ -d $kept_changes ]] || mkdir -m 700 "$kept_changes"
  cp -rlT "$live" "$1" || return
  [[ -e $1/nginx.conf.old ]] || : >"$1/nginx.conf.old" # it is the first
  printf '%s' "$took_lines" >"$1/took"
  [[ ! -s $next/quarantine ]] || cp "$next/quarantine" "$1" # which is written to
}

# Beside the next passes: what takes longer. What is not finished when the loop ends is finished after the next change.
finish_changes() {
  local folder previous='' numbers finished=() jq_to_run=patient_jq
  [[ -d $page && -d $drawn ]] || mkdir -p "$page" "$drawn" || return 0
  remember_settings || return 0
  find_numbers
  for folder in "${numbers[@]/#/$kept_changes/}"; do
    if [[ ! -s $folder/settings.json ]]; then
      draw_for_page "$folder" "$previous"
      finished+=("$folder")
    fi
    previous=$folder
  done
  remove_oldest
  list_for_page
  mv -t "$page" "$drawn"/*.json # the list is the last one
  for folder in "${finished[@]}"; do
    [[ ! -d $folder ]] || name_too "$kept_changes/settings.json" "$folder/settings.json"
  done
}

# If it can wait, no change waits for it.
patient_jq() ( # ARGUMENT...
  limit_memory
  exec nice -n 10 jq "$@"
)

# Sets numbers, the oldest first: as the indices of an array are.
find_numbers() {
  local folder is_there=()
  for folder in "$kept_changes"/[1-9]*; do is_there[${folder##*/}]=yes; done
  numbers=("${!is_there[@]}")
}

# --- for the page: what may be shown of each change, in a file of its own, and all of them in a list

prepare_page() {
  mkdir -p "$page"
  cp "$TEMPLATES_DIR/page.html" "$page/index.html" || log 'there is no page: TEMPLATES_DIR has no page.html'
}

draw_for_page() { # FOLDER [FOLDER_BEFORE]
  local differing line nginx=$1/diff
  [[ -e $nginx ]] || nginx=/dev/null
  find_differing "${2:-/dev/null}${2:+/snapshot}" "$1/snapshot"
  printf '%s\n' "${differing[@]}" >"$drawn/objects"
  run_jq -c -f "$bin/lib/loop/changes/page.jq" --rawfile change "$1/change" --rawfile took "$1/took" \
    --rawfile objects "$drawn/objects" --rawfile nginx "$nginx" "$1/model.json" >"$drawn/both" || return
  { IFS= read -r line && printf '%s\n' "$line" >"$1/entry" && copy >"$drawn/${1##*/}.json"; } <"$drawn/both"
}

list_for_page() {
  local number numbers line entries=()
  find_numbers
  for number in "${numbers[@]}"; do
    { IFS= read -r line <"$kept_changes/$number/entry"; } 2>/dev/null && entries+=("$line") || true # it has none
  done
  local IFS=,
  printf '[%s]\n' "${entries[*]}" >"$drawn/changes.json"
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

# (While nginx.conf is short, those that are kept cannot take too much.)
remove_oldest() {
  local numbers bytes lines text is_short=''
  find_numbers
  ! read_short "$live/nginx.conf" "$((most_bytes / most_changes / 8))" || is_short=yes
  while ((${#numbers[@]} > 1)); do
    bytes=0
    if [[ -z $is_short ]]; then
      mapfile -t lines < <(du -s -b -c "$kept_changes" "$page") # the total comes last
      bytes=${lines[-1]%%[^0-9]*}
    fi
    ((${#numbers[@]} > most_changes || bytes > most_bytes)) || return 0
    rm -rf "${kept_changes:?}/${numbers[0]}" {"$page","$drawn"}"/${numbers[0]}.json"
    numbers=("${numbers[@]:1}")
  done
}
