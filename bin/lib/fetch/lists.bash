# lists - which lists decide the routing, what summarises them, and where a fetch leaves them for the next
#
# shellcheck shell=bash disable=SC2034,SC2154 # for those who source this; bin is of settings

source "$bin/lib/annotations/configmap/configmap.bash" # add_named_configmaps, note_configmap

declare -A lists=() kinds=() programs=() # of each list, by its name: its path, its kind, what summarises it
declare -A state=()                      # in this pass: "same" or "new"
has_streams=${TCP_SERVICES:-$UDP_SERVICES} in_order=() empty_lists=() arguments=() summaries=() folder=''

# A row for each list: its name, the kind of its items, what summarises it, and its path. Who asks for which host and
# path (claims) is in the Ingresses only; another source of claims is another row.
#
# Of the namespaces, only those that are being deleted are read. With WATCH_NAMESPACE, a Role must be enough, and a Role
# cannot allow anybody to read IngressClasses or namespaces, which are in no namespace: those lists count as empty.
define_lists() {
  local here=${WATCH_NAMESPACE:+namespaces/$WATCH_NAMESPACE/} row
  while read -r row; do
    # shellcheck disable=SC2086 # each column is an argument
    define_list $row
  done <<LISTS
namespaces      Namespace      namespaces.jq      /api/v1/namespaces?fieldSelector=status.phase=Terminating
services        Service        services.jq        /api/v1/${here}services
endpointslices  EndpointSlice  endpointslices.jq  /apis/discovery.k8s.io/v1/${here}endpointslices
ingressclasses  IngressClass   -                  /apis/networking.k8s.io/v1/ingressclasses
ingresses       Ingress        ingresses.jq       /apis/networking.k8s.io/v1/${here}ingresses
LISTS
  [[ -z $TCP_SERVICES ]] || define_config_map tcp streams/tcp-services.jq "$TCP_SERVICES"
  [[ -z $UDP_SERVICES ]] || define_config_map udp streams/udp-services.jq "$UDP_SERVICES"
  [[ -z $CONFIGMAP ]] || define_config_map configmap - "$CONFIGMAP"
}

define_list() { # NAME KIND PROGRAM PATH
  kinds[$1]=$2
  [[ $3 == - ]] || programs[$1]=$bin/lib/fetch/$3 in_order+=("$1")
  if [[ -z $WATCH_NAMESPACE || $4 == */namespaces/*/* ]]; then lists[$1]=$4; else empty_lists+=("$1"); fi
}

# A ConfigMap that a setting names is read as a list of one: it is proven whole and watched as the other lists are, and
# a Role can allow that for this name alone.
define_config_map() { # NAME PROGRAM NAMESPACE/NAME
  define_list "$1" ConfigMap "$2" "/api/v1/namespaces/${3%/*}/configmaps?fieldSelector=metadata.name=${3#*/}"
}

# Each program gets the same.
define_arguments() {
  local configmap=/dev/null
  if [[ -n $CONFIGMAP ]]; then configmap=$folder/last/configmap.summary; fi
  arguments=(--arg namespace "$POD_NAMESPACE" --arg pod "$this_pod" --rawfile classes "$folder/classes"
    --arg class "$INGRESS_CLASS" --arg controller "$CONTROLLER_NAME" --arg ssl_redirect "$SSL_REDIRECT"
    --arg policy "$ANNOTATION_POLICY" --arg annotations "$DEFAULT_ANNOTATIONS" --arg limits "$LIMITS"
    --rawfile configmap "$configmap")
}

# The ConfigMap decides what Ingresses come to, and the IngressClasses which Ingresses are ours, so these are summarised
# again if those are new. (If this pass fails and they change back, they would seem unchanged, but "classes" has what
# they were meanwhile: so they count as not read.)
note_classes() {
  local classes
  note_configmap
  [[ ${state[ingressclasses]} == new ]] || return 0
  rm -f "$folder/last/ingressclasses"
  classes=$(split_items ingressclasses 2>&1) || die 1 "cannot use ingresses: $classes"
  write_if_new "$folder/classes" "$classes"
  [[ ${state[ingresses]} == new ]] || cp "$folder/last/ingresses" "$folder/new/ingresses"
  state[ingresses]=new
}

# ENDPOINT_CIDRS. To read the program that compares networks takes 3 ms: so it only runs if there are any.
within_cidrs() { # COMMAND NAME [ARGUMENT...]
  if [[ $2 == endpointslices && -n $ENDPOINT_CIDRS ]]; then
    "$@" | run_jq -n -c -f "$bin/lib/fetch/cidrs.jq" --arg cidrs "$ENDPOINT_CIDRS"
  else
    "$@"
  fi
}

# --- from one fetch to the next

# new/NAME is a list that was just read, without its beginning up to `"items":[`: an empty one is `]}`. last/NAME is the
# one that was summarised last, last/NAME.summary its summary, and error/NAME what was complained of.
use_folder() { # [FOLDER]
  if [[ -n ${1-} ]]; then
    folder=$1
    use_proxy=yes # see lib/api.bash; without it, kubectl asks
  else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
  fi
  if [[ ! -d $folder/error ]]; then
    mkdir -p "$folder"/{new,last,error}
    chmod 700 "$folder" # what is read is for those who may read the cluster
  fi
  summaries=(${CONFIGMAP:+configmap.summary} "${in_order[@]/%/.summary}" {secrets,outside}.summary ${has_streams:+ports.summary})
  summaries=("${summaries[@]/#/$folder/last/}")
  define_arguments
  add_named_configmaps
}

# Moves a list and its summary to last/. A list there counts as summarised, so its summary moves first: fetch may be
# killed between the two. (What was noted of the IngressClasses counts from here on, too. Others than fetch read the
# summary of the Ingresses only.)
keep() { # NAME
  local files=("$1.summary" "$1") text items
  if [[ $1 == ingresses ]]; then
    note_wanted_secrets
    [[ ${state[ingressclasses]} == same ]] || files+=(ingressclasses)
  elif read_short "$folder/new/$1" && items=$text && read_short "$folder/new/$1.summary"; then
    : >"$folder/last/$1"
    printf '%s' "$text" >"$folder/last/$1.summary"
    printf '%s' "$items" >"$folder/last/$1"
    return
  fi
  (cd "$folder/new" && exec mv -t ../last "${files[@]}")
}

define_lists
