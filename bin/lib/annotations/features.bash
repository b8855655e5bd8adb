# features - which files of lib/annotations/features route and render load: those that an Ingress uses
#
# Each costs jq some 3 ms, in both programs. Run by hand, they load all (by_hand, in common.bash).
#
# shellcheck shell=bash disable=SC2154 # bin is of settings, features_in_use of the loop

# Lets them load the features that the snapshot uses. (If one were missing, they would fail: what it protects is never
# open.)
choose_features() { # SNAPSHOT
  local uses='' text use
  if read_short "$1"; then
    while [[ $text =~ '"uses":["'[^]]* ]]; do
      use=${BASH_REMATCH[0]}
      text=${text#*"$use"}
      [[ $'\n'$uses == *$'\n'"$use"$'\n'* ]] || uses+=$use$'\n'
    done
    uses=${uses%$'\n'}
  else
    uses=$(sort -u <(grep -o '"uses":\["[^]]*' "$1")) # grep fails if there are none
  fi
  [[ ! -e $features_in_use/uses || $uses != "$(<"$features_in_use/uses")" ]] || return 0
  rm -f "$features_in_use/uses" # until all is written
  write_features "$uses"
  printf '%s\n' "$uses" >"$features_in_use/uses"
}

# Writes the program of the features whose names are in TEXT, in quotes: annotations/features.jq, and feature-files.jq.
write_features() { # TEXT
  local file
  mkdir -p "$features_in_use/annotations"
  for file in features feature-files; do
    grep -rH '^include ' "$bin/lib/annotations/features" |
      jq -n -R -r -L "$bin/lib" -f "$bin/lib/annotations/features-program.jq" --arg file "$file" --arg uses "$1" \
        >"$features_in_use/annotations/$file.jq"
  done
}
