# lists - which lists decide the routing, when one is believed, and how they are read
#
# An outage must not look like an empty cluster, so a list counts only if all of it is there:
# 1. its beginning, see is_whole_head;
# 2. its end, see split_items;
# 3. each of its items, see read_item in items.jq.
# And a snapshot counts only if all lists are in it: its last line says so, and route looks for that line.
#
# At a first reading, stop at "one list, as it comes".
#
# shellcheck shell=bash

source "$bin/lib/api.bash" # open_answer, send_request, ask_kubectl, tell_refusal, rest_of_answer, fail

# --- which lists

# Of the namespaces, only those that are being deleted are read. With WATCH_NAMESPACE, a Role must be enough, and a Role
# cannot allow anybody to read IngressClasses or namespaces: they are in no namespace.
define_lists() {
  local here=${WATCH_NAMESPACE:+namespaces/$WATCH_NAMESPACE/}
  lists[ingresses]=/apis/networking.k8s.io/v1/${here}ingresses
  lists[services]=/api/v1/${here}services
  lists[endpointslices]=/apis/discovery.k8s.io/v1/${here}endpointslices
  [[ -n $WATCH_NAMESPACE ]] || lists[ingressclasses]=/apis/networking.k8s.io/v1/ingressclasses
  [[ -n $WATCH_NAMESPACE ]] || lists[namespaces]='/api/v1/namespaces?fieldSelector=status.phase=Terminating'
}

# With WATCH_NAMESPACE, lists that are in no namespace are not read: they count as empty.
leave_out_cluster_wide_lists() {
  local name
  for name in ingressclasses namespaces; do
    [[ -v lists[$name] ]] || echo ']}' >"$folder/new/$name"
  done
}

# --- which of them is believed

# A list begins with its head: {"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"4711"},"items":[
# By the Kubernetes API conventions (lists and paging), it must have the kind that was asked for, items, a
# resourceVersion, and no continue token, which would say that this is only the first page.
is_whole_head() { # KIND HEAD
  local whole='^\{"kind":"'$1'","apiVersion":"[^"]*","metadata":\{("[a-zA-Z]+":[^][{}]+,)?"resourceVersion":"[^"]+"(,"[a-zA-Z]+":[^][{}]+)?\},"items":$'
  [[ $2 =~ $whole && $2 != *'"continue":"'[!\"]* ]]
}

# The head is checked and left out: its resourceVersion follows every write in the cluster.
check_head() { # KIND HEAD
  ! is_whole_head "$@" || return 0
  case $2 in
    *'"continue":"'[!\"]*) fail 'the answer is only the first page of a longer list' ;;
    '{"kind":"'"$1"'"'*) fail "the list has no items or no resourceVersion, or is cut: $2" ;;
    *) fail "the answer is not of kind $1: ${2:0:80}" ;;
  esac
}

# Puts each item on a line of its own, so that a bad one costs only itself:
#   {"metadata":{...},"spec":{...}},{"metadata":{...  =>  two lines
# The API server writes compact JSON. Within a value, a quote is always \": so no value can contain this border. And no
# object of these kinds has a list of objects that begin with "metadata". Fails unless the end of the list is there:
# "Q 1" ends sed with status 1, and prints nothing more.
split_items() { # NAME
  [[ -s $folder/new/$1 ]] || fail 'the list is cut: its items are missing'
  local border='s/},{"metadata":{/}\n{"metadata":{/g' end='$ s/]}$//'
  sed -e '$ { /]}$/! Q 1' -e '}' -e "$border" -e "$end" -e '/^$/d' "$folder/new/$1" || {
    (($? == 1)) && fail 'the list is cut: its end is missing'
    exit 1 # sed could not write: what reads this has ended, and has said why
  }
}

# --- one list, as it comes

# Prints the items of a list, as they come.
read_items() { # PATH KIND
  open_answer "$1"
  print_items "$2"
}

print_items() { # KIND
  local head=''
  if ! read_head && [[ -z $head && -n $reader ]]; then
    wait "$reader" || return # it has said why there is no answer
  fi
  check_head "$1" "$head"
  rest_of_answer
}

# Sets head to what the answer begins with, up to its items.
read_head() {
  local said failure=0
  read_until '[' "$answer" "$READ_SECONDS" || failure=$?
  ((failure <= 128)) || exit 124 # as with timeout
  head=$said
  return "$failure"
}

# --- several lists at the same time, for fetch: folder and failed are its variables

# Reads lists into files of the folder. If one cannot be read, the program ends, with a sentence for each such list.
# Another process reads, and this one bounds its time. (With `read -t`, one process would do, but four system calls for
# each byte.)
read_lists() { # NAME...
  local name status said lists_from
  local -A status_of=()
  exec {lists_from}< <(take_lists "$@")
  if read_to_end "$lists_from" "$((READ_SECONDS + 1))"; then
    [[ -n $said ]] || die 1 'cannot read the lists: the process that reads them has ended; is there not enough memory?'
  else
    kill "$!" 2>/dev/null || true                          # it may have just ended
    read_to_end "$lists_from" 1 || kill -KILL "$!" || true # it says what it has, unless it is frozen
  fi
  wait "$!" || true # bash 5.2 does not always know its status
  exec {lists_from}<&-
  while read -r name status && [[ -n $name ]]; do status_of[$name]=$status; done <<<"$said"
  for name; do
    status=${status_of[$name]-}
    [[ $status == 0 ]] || failed+=("cannot read $name: $(why_read_failed "${status:-124}" "$folder/error/$name")")
    if [[ -z $status ]]; then # the answer has not even begun, and nobody has looked at the lists after this one
      end_proxy
      break
    fi
  done
  ((${#failed[@]} == 0)) || die 1 "${failed[@]}"
}

# Asks for all lists at once, since the API server can answer side by side. Writes a short list to its file; a long or
# odd one gets a process for that. In the end, or when read_lists ends it, prints "NAME STATUS" for each list begun.
take_lists() { # NAME...
  local name proxy results=''
  local -A asked=() reads=() # by NAME: its connection, its process
  # read_lists sends this when the time is over.
  trap 'kill "${reads[@]}" 2>/dev/null || true; tell_results; exit' TERM
  if [[ -n $use_proxy ]]; then
    for name; do
      if send_request "${lists[$name]}"; then asked[$name]=$proxy; fi
    done
  fi
  for name; do
    read_beginning "${asked[$name]-}"
    if take_short_list "$name"; then
      results+="$name 0"$'\n'
    else
      has_limit=yes take_list "$name" 2>"$folder/error/$name" >"$folder/new/$name" &
      reads[$name]=$!
    fi
  done
  tell_results
}

# Waits for those processes (in take_lists' reads), and prints its results.
tell_results() {
  local name status
  for name in "${!reads[@]}"; do
    status=0
    wait "${reads[$name]}" || status=$? # here, TERM may come: then those that are left are told by the trap
    unset "reads[$name]"
    results+="$name $status"$'\n'
  done
  printf '%s' "$results"
}

# Reads the first 16 KiB of an answer. Sets status_line to its first line ("" if it has no whole header), body to what
# follows the header, and is_all to yes if the answer ends there.
read_beginning() { # [CONNECTION]
  local text=''
  proxy=$1 status_line='' body='' is_all=''
  [[ -n $proxy ]] || return 0
  IFS= read -r -N 16384 text <&"$proxy" || is_all=yes # it may have been reset
  [[ $text == *$'\r\n\r\n'* ]] || return 0
  status_line=${text%%$'\r\n'*} body=${text#*$'\r\n\r\n'}
} 2>/dev/null

# Writes the items to their file if all of the list has been read. Fails if it is longer, or not as it should be.
take_short_list() { # NAME
  [[ -n $is_all && $status_line == *' 200 '* ]] && is_whole_head "${kinds[$1]}List" "${body%%'['*}" &&
    printf '%s' "${body#*'['}" >"$folder/new/$1"
} 2>/dev/null

# Runs in a process of its own. Prints the items: what has been read of them, then the rest. If the proxy has no such
# list, a kubectl is asked.
take_list() { # NAME
  if [[ $status_line == *' 200 '* ]]; then
    check_head "${kinds[$1]}List" "${body%%'['*}"
    printf '%s' "${body#*'['}"
    exec cat <&"$proxy"
  fi
  tell_refusal "$body"
  ask_kubectl "${lists[$1]}"
  print_items "${kinds[$1]}List"
}

# shellcheck disable=SC2034 # for those who source this
declare -A lists=() kinds=([ingresses]=Ingress [services]=Service [endpointslices]=EndpointSlice
  [ingressclasses]=IngressClass [namespaces]=Namespace)
body='' is_all=''
define_lists
