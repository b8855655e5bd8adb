# features - which files of lib/annotations/features route and render load: those that an Ingress uses
#
# Each costs jq some 3 ms, in both programs. Run by hand, they load all.
#
# shellcheck shell=bash disable=SC2154 # bin is of settings, features_in_use of the loop

# Lets them read these files of lib without the lines of the features that the snapshot does not use. (If one were
# missing, they would fail: what it protects is never open. The names of jq have "_" where those of files have "-".)
choose_features() { # <SNAPSHOT
  local uses file name unused=-
  uses=$(grep -o '"uses":\["[^]]*') && uses=$(sort -u <<<"$uses") || true # none
  [[ ! -e $features_in_use/uses || $uses != "$(<"$features_in_use/uses")" ]] || return 0
  for file in "$bin"/lib/annotations/features/*.jq; do
    name=${file##*/} name=${name%.jq}
    [[ $uses == *"\"$name\""* ]] || unused+="|$name"
  done
  mkdir -p "$features_in_use/annotations"
  rm -f "$features_in_use/uses" # until all is written
  for file in features feature-files; do
    sed -E "/\"(annotations\/features\/)?($unused)\"| (${unused//-/_})::/d" "$bin/lib/annotations/$file.jq" >"$features_in_use/annotations/$file.jq"
  done
  [[ -n $uses ]] || : >"$features_in_use/annotations/feature-files.jq"
  printf '%s\n' "$uses" >"$features_in_use/uses"
}
