# show - what a new configuration changes, in words and as a diff
#
# shellcheck shell=bash disable=SC2154 # live is where the caller's live files are, new what apply has received

diff_lines=200 # the longest diff to print, and the most problems that are named

# Prints, a line each: what changed from the live model to this one, its numbers, and the problems that came and went.
compare_models() { # MODEL
  run_jq -r -f "$bin/lib/apply/changes.jq" --argjson most "$diff_lines" "$live/model.json" "$1"
}

# Without the line in which every two configurations differ: the hash.
show_diff() {
  local color=never
  if [[ -z ${NO_COLOR-} && (-t 1 || -n ${CLICOLOR_FORCE-}) ]]; then color=always; fi
  diff -u -I config-hash --color="$color" --label live --label new \
    "$live/nginx.conf.old" "$live/nginx.conf" | show_first_lines ||
    ((PIPESTATUS[0] == 1)) # which means that there are differences
}

show_first_lines() {
  local lines more=0
  mapfile -n "$diff_lines" lines
  printf '%s' "${lines[@]}"
  ((${#lines[@]} < diff_lines)) || more=$(wc -l)
  ((more == 0)) || printf '... and %d lines more\n' "$more"
}

# Shows what has changed, if it was put in place; and what compare_models says of the MODEL: "changed" goes before the
# diff, "problem" after it. The next call compares with this model, unless that failed; /metrics shows its numbers.
show() { # [MODEL]
  local changes='' word text problems=() numbers='' is_new='' status=0
  [[ -e $new ]] || is_new=yes
  if (($# > 0)); then changes=$(compare_models "$1") || { status=1 changes=''; }; fi
  while read -r word text; do
    case $word in
      changed) [[ -z $is_new ]] || log "new configuration: $text" ;;
      problem) problems+=("$text") ;;
      number) numbers+=$text$'\n' ;;
    esac
  done <<<"$changes"
  [[ -z $is_new ]] || show_diff || log 'the diff cannot be shown'
  log "${problems[@]}"
  if (($# > 0 && status == 0)); then keep_model "$1" "$numbers"; fi
  return "$status"
}

keep_model() { # MODEL NUMBERS
  printf '%s' "$2" >"$live/numbers"
  cp "$1" "$live/model.json.new"
  mv -T "$live/model.json.new" "$live/model.json"
}
