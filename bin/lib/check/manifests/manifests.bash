# manifests - objects in files, which may not be in the cluster yet, as a snapshot has them
#
# Used in this order, with a FOLDER of the caller's, which only its owner may read and which goes when the caller ends:
#
#   read_manifests FOLDER FILE...               a FILE is YAML or JSON, a folder of such, or "-" for standard input
#   with_manifests FOLDER <SNAPSHOT >SNAPSHOT   the snapshot with these objects in the place of those of their name
#   add_ingresses_of_cluster FOLDER <INGRESSES  before: the cluster's, a line each, which a ConfigMap in FILE changes
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
  [[ -z $CONFIGMAP ]] || summarise_operators_configmap >"$folder/last/configmap.summary"
  define_arguments
  for name in "${in_order[@]}"; do
    if [[ $name == tcp || $name == udp ]]; then find_streams "$name" || continue; fi
    within_cidrs summarise_objects "$name" >"$folder/last/$name.summary"
  done
  summarise_named
  cat "$folder"/last/*.summary | run_jq -n -c -f "$bin/lib/check/manifests/merge.jq" \
    --slurpfile snapshot "$folder/snapshot" --slurpfile objects "$folder/objects"
}

summarise_objects() { # NAME
  run_jq -n -R -c -f "${programs[$1]}" "${arguments[@]}" "$folder/new/$1"
}

# --- the ConfigMaps that settings name: they count if the files have them, else as the snapshot has them

# Prints the ConfigMap of this name, if the files have it.
print_configmap() { # NAMESPACE/NAME
  grep -F "{\"metadata\":{\"name\":\"${1#*/}\",\"namespace\":\"${1%/*}\"," "$folder/objects" | grep -F '"kind":"ConfigMap"'
}

# Fails if the files do not have that of TCP_SERVICES, or UDP_SERVICES.
find_streams() { # tcp|udp
  local setting=${1^^}_SERVICES
  print_configmap "${!setting}" >"$folder/new/$1"
}

# Prints the summary of that of CONFIGMAP; nothing if nobody has it.
summarise_operators_configmap() {
  local before summary
  before=$(grep -m 1 '^{"configmap":' "$folder/snapshot" || true) # it is the first time
  if print_configmap "$CONFIGMAP" >"$folder/new/configmap"; then
    summary=$(summarise_its_keys)
    summarise_its_keys # once more, with the ConfigMaps that it names
  else
    printf '%s' "${before:+$before$'\n'}"
  fi
}

summarise_its_keys() {
  run_jq -n -R -c -f "$bin/lib/annotations/configmap/configmap.jq" --arg name "$CONFIGMAP" --arg before "$before" \
    --rawfile add_headers <(named_headers add-headers) --rawfile proxy_set_headers <(named_headers proxy-set-headers) \
    "$folder/new/configmap"
}

# Prints "read" and the ConfigMap that a key names; if the files do not have it, with what the snapshot says of it.
named_headers() { # KEY
  local name=''
  [[ -n ${summary-} ]] || return 0
  find_name_of "$1" "$summary"
  [[ -n $name ]] || return 0
  { print_configmap "$name" || jq -c --arg key "$1" --arg name "$name" 'select(.names[$key] == $name and .headers[$key])
    | {metadata: ($name | split("/") | {namespace: .[0], name: .[1]}), data: .headers[$key]}' <<<"$before"; } >"$folder/new/$1"
  [[ ! -s $folder/new/$1 ]] || { echo read && cat "$folder/new/$1"; }
}

# Where the files have that of CONFIGMAP, the Ingresses of the cluster count as if the files had them, too: its keys are
# defaults of their annotations.
add_ingresses_of_cluster() { # FOLDER <INGRESSES
  local folder=$1
  [[ -n $CONFIGMAP ]] && print_configmap "$CONFIGMAP" >/dev/null || return 0
  jq -c --slurpfile given "$folder/new/ingresses" '(.metadata | [.namespace, .name]) as $name
    | select(any($given[].metadata; [.namespace, .name] == $name) | not) | {metadata, kind: "Ingress"} + .' >"$folder/live"
  cat "$folder/live" >>"$folder/new/ingresses"
  cat "$folder/live" >>"$folder/objects"
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
