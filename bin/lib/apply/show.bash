# show - what a new configuration changes, in words and as a diff
#
# shellcheck shell=bash disable=SC2154 # live is where the caller's live files are, new what apply has received

next_live=$STATE_DIR/scratch/apply # where files are written that are put in place at the end, all at once:
to_place=()
diff_lines=200  # the longest diff to print, and the most problems that are named
kept_lines=2000 # the longest diff to keep, for the page

# Sets changes, a line each: what changed from the live model to this one, its numbers, and the problems that came and
# went.
compare_models() { # MODEL
  run_jq_into changes -r -f "$bin/lib/apply/changes.jq" --argjson most "$diff_lines" "$live/model.json" "$1"
}

# Without the line in which every two configurations differ: the hash.
show_diff() {
  local color=never
  if [[ -z ${NO_COLOR-} && (-t 1 || -n ${CLICOLOR_FORCE-}) ]]; then color=always; fi
  diff -u -I config-hash --color="$color" --label live --label new \
    "$live/nginx.conf.old" "$live/nginx.conf" | show_first_lines ||
    ((PIPESTATUS[0] == 1)) || return # 1 means that there are differences
  to_place+=(diff)
}

show_first_lines() {
  local lines more
  mapfile -n "$kept_lines" lines
  printf '%s' "${lines[@]}" >"$next_live/diff"
  printf '%s' "${lines[@]:0:diff_lines}"
  more=$((${#lines[@]} - diff_lines))
  ((${#lines[@]} < kept_lines)) || more=$((more + $(wc -l)))
  ((more <= 0)) || printf '... and %d lines more\n' "$more"
}

# Shows what has changed, if it was put in place; and what compare_models says of the MODEL: "changed" goes before the
# diff, "problem" after it. The next call compares with this model, unless that failed; /metrics shows its numbers.
show() { # [MODEL]
  local changes='' word text problems=() numbers='' is_new='' number='' status=0
  [[ -e $new ]] || is_new=yes
  if (($# > 0)) && ! has_number; then is_new=yes; fi # perhaps process 1 made it live, which has no snapshot
  if (($# > 0)); then compare_models "$1" || status=1; fi
  while read -r word text; do
    case $word in
      changed)
        [[ -n $is_new ]] || continue
        log "new configuration: $text (change $((${number:-0} + 1)))"
        note_change "$((${number:-0} + 1))" "$text"
        ;;
      problem) problems+=("$text") ;;
      number) numbers+=$text$'\n' ;;
    esac
  done <<<"$changes"
  [[ -z $is_new ]] || show_diff || log 'the diff cannot be shown'
  log "${problems[@]}"
  if (($# > 0 && status == 0)); then keep_model "$1" "$numbers"; fi
  ((${#to_place[@]} == 0)) || mv -t "$live" "${to_place[@]/#/"$next_live/"}"
  return "$status"
}

# Sets number to that of the last change. Whether it is what is live, by the hash; if there is none, nobody counts.
has_number() {
  local its_hash='' hash
  { read -r _ number && read -r _ its_hash; } 2>/dev/null <"$live/change" || return 0 # it is the first
  read -r _ _ hash _ <"$live/nginx.conf"
  [[ $hash == "$its_hash" ]]
}

# Each configuration that became live has a number of this replica: the loop keeps it under that (lib/loop/changes).
note_change() { # NUMBER CAUSE
  local hash
  read -r _ _ hash _ <"$live/nginx.conf"
  printf 'number %s\nhash %s\ntime %(%s)T\ncause %s\n' "$1" "$hash" -1 "$2" >"$next_live/change"
  to_place+=(change)
}

keep_model() { # MODEL NUMBERS
  printf '%s' "$2" >"$next_live/numbers"
  copy <"$1" >"$next_live/model.json"
  to_place+=(numbers model.json)
}
