# show - what a new configuration changes, in words and as a diff
#
# shellcheck shell=bash disable=SC2154 # live is where the caller's live files are

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

# What was said of the model, `WORD TEXT` a line: "changed" goes before the diff, "problem" after it.
show() { # IS_NEW [CHANGES]
  local word text problems=()
  while read -r word text; do
    case $word in
      changed) [[ -z $1 ]] || log "new configuration: $text" ;;
      problem) problems+=("$text") ;;
    esac
  done <<<"${2-}"
  [[ -z $1 ]] || show_diff || log 'the diff cannot be shown'
  log "${problems[@]}"
}

diff_lines=200 # the longest diff to print, and the most problems that are named
