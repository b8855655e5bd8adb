# configmap - the ConfigMap that CONFIGMAP names, in fetch: its summary, and what its keys change there
#
# folder, lists, kinds, state and arguments are of lists.bash
# shellcheck shell=bash disable=SC2154,SC2034

naming_keys=(add-headers proxy-set-headers)

# It is read as one more list, of which the API server gives that object only: so it is gone if that list is empty, and
# not if a read has failed.
add_configmap_to_lists() {
  [[ -n $CONFIGMAP ]] || return 0
  kinds[configmap]=ConfigMap
  lists[configmap]="/api/v1/namespaces/${CONFIGMAP%/*}/configmaps?fieldSelector=metadata.name=${CONFIGMAP#*/}"
}

# The ConfigMaps that two of its keys name are lists, too: those that the last summary has.
add_named_configmaps() {
  local key summary name
  [[ -n $CONFIGMAP && -e $folder/last/configmap.summary ]] || return 0
  summary=$(<"$folder/last/configmap.summary")
  for key in "${naming_keys[@]}"; do
    find_name_of "$key" "$summary"
    [[ -z $name ]] || add_named_configmap "$key" "$name"
  done
}

add_named_configmap() { # KEY NAMESPACE/NAME
  kinds[$1]=ConfigMap
  lists[$1]="/api/v1/namespaces/${2%/*}/configmaps?fieldSelector=metadata.name=${2#*/}"
}

# Sets name: of the ConfigMap that KEY names, or nothing.
find_name_of() { # KEY SUMMARY
  local names='"names":\{[^}]*"'$1'":"([-a-z0-9.]+/[-a-z0-9.]+)"'
  name=''
  [[ ! $2 =~ $names ]] || name=${BASH_REMATCH[1]}
}

# A new one decides what each Ingress comes to: its keys are defaults of annotations. So these are all summarised again.
# (If this pass fails later, they count as not read until they are.)
note_configmap() {
  local summary key name file
  [[ -n $CONFIGMAP ]] || return 0
  if is_configmap_new; then
    for file in configmap "${naming_keys[@]}"; do
      [[ ${state[$file]-} != same ]] || cp "$folder/last/$file" "$folder/new/$file"
    done
    summary=$(summarise_configmap 2>&1) || die 1 "cannot use ConfigMap $CONFIGMAP: $summary"
    if read_named_configmaps; then
      summary=$(summarise_configmap 2>&1) || die 1 "cannot use ConfigMap $CONFIGMAP: $summary"
    fi
    forget_ingresses
    printf '%s\n' "$summary" >"$folder/new/configmap.summary"
    for file in configmap.summary configmap "${naming_keys[@]}"; do
      [[ ! -e $folder/new/$file ]] || mv -T "$folder/new/$file" "$folder/last/$file"
    done
  fi
  export_for_secrets
}

is_configmap_new() {
  local key
  [[ -e $folder/last/configmap.summary ]] || return 0
  for key in configmap "${naming_keys[@]}"; do [[ ${state[$key]-} != new ]] || return 0; done
  return 1
}

# Reads those that the summary names and that were not read in this pass. Fails if there are none.
read_named_configmaps() {
  local key path status=1
  for key in "${naming_keys[@]}"; do
    path=${lists[$key]-}
    find_name_of "$key" "$summary"
    [[ -n $name ]] || continue
    add_named_configmap "$key" "$name"
    [[ ${lists[$key]} != "$path" ]] || continue
    (read_items "${lists[$key]}" ConfigMapList) >"$folder/new/$key" 2>"$folder/error/$key" ||
      die 1 "cannot read ConfigMap $name, which $key names: $(why_read_failed "$?" "$folder/error/$key")"
    status=0
  done
  return "$status"
}

# (What it says in the live snapshot are the last good values of keys that protect.)
summarise_configmap() {
  split_items configmap |
    run_jq -n -R -c -f "$bin/lib/annotations/configmap/configmap.jq" --arg name "$CONFIGMAP" \
      --arg before "$(configmap_line)" --rawfile add_headers <(named_items add-headers) \
      --rawfile proxy_set_headers <(named_items proxy-set-headers)
}

named_items() { # KEY
  [[ -e $folder/new/$1 && -v lists[$1] ]] || return 0
  echo read
  split_items "$1"
}

configmap_line() {
  local line=''
  [[ -s $STATE_DIR/live/snapshot ]] || return 0
  while IFS= read -r line; do # it is the second
    [[ $line != '{"configmap":'* ]] || break
    [[ $line == '{"settings":'* ]] || return 0
  done <"$STATE_DIR/live/snapshot"
  printf '%s' "$line"
}

forget_ingresses() {
  rm -f "$folder/known-classes"
  if [[ ${state[ingresses]} != new ]]; then
    mv -T "$folder/last/ingresses" "$folder/new/ingresses"
  fi
  rm -f "$folder/last/ingresses"
  state[ingresses]=new
}

# What `certificates` lets in of other ConfigMaps depends on this one.
export_for_secrets() {
  local allowed='"ALLOWED_RESPONSE_HEADERS":"([^"]*)"' summary
  summary=$(<"$folder/last/configmap.summary")
  [[ ! $summary =~ $allowed ]] || export ALLOWED_RESPONSE_HEADERS=${BASH_REMATCH[1]}
}
