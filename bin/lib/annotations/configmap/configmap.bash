# configmap - the ConfigMap that CONFIGMAP names, in fetch: its summary, and what its keys change there
#
# folder, lists, kinds, state and arguments are of lists.bash
# shellcheck shell=bash disable=SC2154,SC2034

# It is read as one more list, of which the API server gives that object only: so it is gone if that list is empty, and
# not if a read has failed.
add_configmap_to_lists() {
  [[ -n $CONFIGMAP ]] || return 0
  kinds[configmap]=ConfigMap
  lists[configmap]="/api/v1/namespaces/${CONFIGMAP%/*}/configmaps?fieldSelector=metadata.name=${CONFIGMAP#*/}"
}

# A new one decides what each Ingress comes to: its keys are defaults of annotations. So these are all summarised again.
# (If this pass fails later, they count as not read until they are.)
note_configmap() {
  local summary
  [[ -n $CONFIGMAP ]] || return 0
  if [[ ${state[configmap]} == new || ! -e $folder/last/configmap.summary ]]; then
    [[ ${state[configmap]} == new ]] || cp "$folder/last/configmap" "$folder/new/configmap"
    summary=$(summarise_configmap 2>&1) || die 1 "cannot use ConfigMap $CONFIGMAP: $summary"
    forget_ingresses
    printf '%s\n' "$summary" >"$folder/new/configmap.summary"
    (cd "$folder/new" && exec mv -t ../last configmap.summary configmap)
  fi
  export_for_secrets
}

# (What it says in the live snapshot are the last good values of keys that protect.)
summarise_configmap() {
  split_items configmap |
    run_jq -n -R -c -f "$bin/lib/annotations/configmap/configmap.jq" --arg name "$CONFIGMAP" --arg before "$(configmap_line)"
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
