# features - which files of lib/features route and render load: those that an Ingress uses
#
# Each costs jq some 3 ms, in both programs. Run by hand, they load all.
#
# shellcheck shell=bash disable=SC2154 # bin is of settings, features_in_use of the loop

# Lets them read a lib/features.jq without the lines of the features that the snapshot does not use. (If one were
# missing, they would fail: what it protects is never open.)
choose_features() { # <SNAPSHOT
  local uses file name unused=- chosen=$features_in_use/features.jq
  uses=$(grep -o '"uses":\["[^]]*') || true # none
  [[ ! -e $chosen || $uses != "$(<"$features_in_use/uses")" ]] || return 0
  for file in "$bin"/lib/features/*.jq; do
    name=${file##*/} name=${name%.jq}
    [[ $uses == *"\"$name\""* ]] || unused+="|$name"
  done
  mkdir -p "$features_in_use"
  sed -E "/\"(features\/)?($unused)\"| ($unused)::/d" "$bin/lib/features.jq" >"$chosen"
  printf '%s\n' "$uses" >"$features_in_use/uses"
}
