# manifests - objects in files, which may not be in the cluster yet, as a snapshot has them
#
# Used in this order, with a FOLDER of the caller's, which only its owner may read and which goes when the caller ends:
#
#   read_manifests FOLDER FILE...               a FILE is YAML or JSON, a folder of such, or "-" for standard input
#   with_manifests FOLDER <SNAPSHOT >SNAPSHOT   the snapshot with these objects in the place of those of their name
#   empty_snapshot | with_manifests FOLDER      these objects alone, with the settings in effect
#
# Then FOLDER/objects has a line for each object, as objects.jq says, and FOLDER/new/others those that decide nothing
# here. Each summary, that of a Secret too, is made by the programs that the controller uses.
#
# shellcheck shell=bash disable=SC2154 # bin and the settings are of settings, the words of lists of lists.bash

source "$bin/lib/fetch/lists.bash" # programs, in_order, arguments, define_arguments, within_cidrs

read_manifests() { # FOLDER FILE...
  folder=$1
  umask 077
  mkdir -p "$folder"/{new,last,error}
  rm -f "$folder"/new/*
  touch "$folder"/new/{namespaces,services,endpointslices,ingressclasses,ingresses,secrets,configmaps,others}
  print_objects "${@:2}" >"$folder/objects.json"
  run_jq -n -r -f "$bin/lib/check/manifests/objects.jq" "$folder/objects.json" >"$folder/lines" ||
    die 2 "cannot use ${*:2}: jq says above why"
  awk -F '\t' -v folder="$folder/new" '{ print $2 >(folder "/" $1) }' "$folder/lines"
  cut -f 2 "$folder/lines" >"$folder/objects"
}

# kubectl reads YAML, as for `kubectl apply`. A patch that changes nothing prints what was read, and --local asks no
# cluster; `create --dry-run=client` does.
print_objects() { # FILE...
  local file files=()
  for file; do files+=(--filename "$file"); done
  kubectl patch --local --recursive "${files[@]}" --type merge --patch '{}' --output json 2>"$folder/error/kubectl" ||
    die 2 "cannot read $*: $(sed -n '$ s/^error: //p' "$folder/error/kubectl")"
}

empty_snapshot() {
  routing_settings
  echo '{"whole":true}'
}

with_manifests() { # FOLDER <SNAPSHOT
  local name
  folder=$1
  cat >"$folder/snapshot"
  find_classes >"$folder/classes"
  define_arguments
  for name in "${in_order[@]}"; do
    within_cidrs summarise_objects "$name" >"$folder/last/$name.summary"
  done
  summarise_named
  cat "$folder"/last/*.summary | run_jq -n -c -f "$bin/lib/check/manifests/merge.jq" \
    --slurpfile snapshot "$folder/snapshot" --slurpfile objects "$folder/objects"
}

summarise_objects() { # NAME
  run_jq -n -R -c -f "${programs[$1]}" "${arguments[@]}" "$folder/new/$1"
}

# The IngressClasses of the cluster, if the loop of this folder has noted them, and those of the files. (Which Ingresses
# of the snapshot are ours is decided already.)
find_classes() {
  cat "$STATE_DIR/scratch/loop/lists/classes" 2>/dev/null || true # there is no loop here
  cat "$folder/new/ingressclasses"
}

# What `certificates` finds of the Secrets and ConfigMaps in the files, and what list-secrets.jq makes of it: the same
# programs, but the API server is these files. (Private keys go to FOLDER/state/keys.)
summarise_named() {
  : >"$folder/last/secrets.summary"
  [[ -s $folder/new/secrets || -s $folder/new/configmaps ]] || return 0
  mkdir -p "$folder/state/last"
  { grep '^{"of":' "$folder/snapshot" || (($? == 1)); } >"$folder/state/last/ingresses.summary" # there may be none
  cat "$folder/last/ingresses.summary" >>"$folder/state/last/ingresses.summary"
  (find_named) >"$folder/last/secrets.summary"
}

# shellcheck disable=SC2317,SC2034 # what certificates calls, and edition is of secrets.bash
find_named() {
  local given=$folder edition=known
  export STATE_DIR=$given/state
  folder=$STATE_DIR
  source "$bin/certificates"             # main
  source "$bin/lib/secrets/secrets.bash" # print_list
  start_proxy() { true; }
  read_items() { # PATH KIND
    paste -s -d , "$given/new/secrets" | sed 's/$/]}/'
  }
  read_path() { # PATH
    local namespace kind name
    IFS=/ read -r _ _ _ _ namespace kind name <<<"$1"
    grep -F "{\"metadata\":{\"name\":\"$name\",\"namespace\":\"$namespace\"," "$given/new/$kind" ||
      fail "Error from server (NotFound): $kind \"$name\" not found"
  }
  main "$folder/last/ingresses.summary"
  print_list "$(date -u '+%F %TZ')" | tail -n +2
}
