# api - how the API server is asked
#
# A kubectl takes 30 ms to start, and 50 MB to stay. So one stays beside the loop, `kubectl proxy`
# (see proxy), and is asked in plain HTTP over /dev/tcp, since the image has no curl on purpose.
# What is understood of HTTP: a status line, headers, and a body that ends with the connection
# (RFC 1945, HTTP/1.0).
#
# At a first reading, look at is_whole_head: which list is believed. The rest asks without starting a kubectl each time,
# and within a bounded time.
#
# shellcheck shell=bash

# The lists that decide the routing. Of the namespaces, only those that are being deleted are
# read. With WATCH_NAMESPACE, a Role must be enough, and a Role cannot allow anybody to read IngressClasses or
# namespaces: they are in no namespace.
define_lists() {
  local here=${WATCH_NAMESPACE:+namespaces/$WATCH_NAMESPACE/}
  lists[ingresses]=/apis/networking.k8s.io/v1/${here}ingresses
  lists[services]=/api/v1/${here}services
  lists[endpointslices]=/apis/discovery.k8s.io/v1/${here}endpointslices
  [[ -n $WATCH_NAMESPACE ]] || lists[ingressclasses]=/apis/networking.k8s.io/v1/ingressclasses
  [[ -n $WATCH_NAMESPACE ]] || lists[namespaces]='/api/v1/namespaces?fieldSelector=status.phase=Terminating'
}

# For certificates: the Secrets that are key pairs by their type.
secrets_path() {
  echo "/api/v1/${WATCH_NAMESPACE:+namespaces/$WATCH_NAMESPACE/}secrets?fieldSelector=type=kubernetes.io/tls"
}

# For certificates: another Secret, or a ConfigMap, by its name.
secret_path() { # NAMESPACE/NAME|NAMESPACE/configmaps/NAME
  if [[ $1 == */configmaps/* ]]; then
    echo "/api/v1/namespaces/$1"
  else
    echo "/api/v1/namespaces/${1%/*}/secrets/${1#*/}"
  fi
}

# For publish.
pods_path() {
  echo "/api/v1/namespaces/$POD_NAMESPACE/pods"
}

# For publish, if another namespace's Services may be read: a list of one. Else it may only `get` that one.
publish_service_path() {
  local namespace=${PUBLISH_SERVICE%/*} name=${PUBLISH_SERVICE#*/}
  if [[ -n $WATCH_NAMESPACE && $WATCH_NAMESPACE != "$namespace" ]]; then
    echo "/api/v1/namespaces/$namespace/services/$name"
  else
    echo "/api/v1/namespaces/$namespace/services?fieldSelector=metadata.name=$name"
  fi
}

# For lead. The controllers of several classes may share a namespace; so each class has its Lease.
lease_name() {
  if [[ $INGRESS_CLASS == bash ]]; then echo bash-ingress; else echo "bash-ingress-$INGRESS_CLASS"; fi
}

lease_path() {
  echo "/apis/coordination.k8s.io/v1/namespaces/$POD_NAMESPACE/leases/$(lease_name)"
}

# `timeout` bounds it, since kubectl's own --request-timeout does not: kubectl
# retries. In the foreground, it stays in the process group that ends with the loop.
# And `get --raw` takes much less time than `get -o json`, which asks the API
# server what it offers first.
read_with_kubectl() { # PATH
  exec timeout --foreground -k 1 "$READ_SECONDS" kubectl get --raw "$1"
}

# By way of the proxy if there is one and it has the API server's answer. If not, it is a kubectl
# of our own that says why: it may know what has changed, such as a token.
read_path() { # PATH
  open_answer "$1"
  rest_of_answer
}

# Sets answer: a file descriptor to read the answer's body from. If the API server refuses, it ends with a sentence.
open_answer() { # PATH
  local body=''
  reader='' status_line=''
  if [[ -n $use_proxy ]] && ask_proxy "$1"; then
    answer=$proxy
  else
    # The body ends with the connection.
    [[ $status_line != *' 40'[34]' '* ]] || IFS= read -r -d '' -t "$READ_SECONDS" body <&"$proxy" || true
    tell_refusal "$body"
    ask_kubectl "$1"
  fi
}

# Starts a kubectl. Sets answer to a file descriptor of what it prints, and reader to its process, to be waited for.
ask_kubectl() { # PATH
  exec {answer}< <(read_with_kubectl "$1")
  reader=$!
}

# What the API server refuses is said in kubectl's words, but without a kubectl: a namespace may name dozens of Secrets
# that are missing. (Only the API server's own answer has a reason.)
tell_refusal() { # BODY
  local refusal='"message":"(([^"\\]|\\.)*)","reason":"(NotFound|Forbidden)"'
  [[ ! $1 =~ $refusal ]] || fail "Error from server (${BASH_REMATCH[3]}): ${BASH_REMATCH[1]//\\\"/\"}"
}

# Prints what is left of the answer. For take_lists, this process becomes the `cat`: to kill it ends the read. (If a
# kubectl fails in the middle of a list, its end is missing, which split_items sees.)
rest_of_answer() {
  [[ -z $has_limit ]] || exec cat <&"$answer"
  timeout --foreground -k 1 "$READ_SECONDS" cat <&"$answer" || return
  [[ -z $reader ]] || wait "$reader"
}

# Sends the request to the proxy, and reads the header of the answer: what follows, to the end of the connection, is the
# body (RFC 1945, HTTP/1.0).
# Sets status_line to the first line; fails unless that says 200.
ask_proxy() { # PATH
  status_line=''
  send_request "$1" && read_header && [[ $status_line == *' 200 '* ]]
}

# Connects to the proxy (in bash, a path can be a connection): sets proxy to the file descriptor. Fails without a word
# if there is none, or none any more. (Accept-Encoding: to compress the answer would take longer than to send it.)
send_request() { # PATH
  local port prefix pid
  trap '' PIPE # it may end just now
  read -r port prefix pid <"$proxy_file" || return
  exec {proxy}<>"/dev/tcp/127.0.0.1/$port" || return
  printf 'GET %s%s HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n' "$prefix" "$1" >&"$proxy"
} 2>/dev/null

read_header() {
  local said='' failure=0
  until [[ $said == $'\r' ]]; do
    read_until $'\n' "$proxy" "$READ_SECONDS" || failure=$?
    if ((failure > 128)); then
      end_proxy
      exit 124 # as with timeout
    fi
    ((failure == 0)) || return
    status_line=${status_line:-${said%$'\r'}}
  done
}

# For when no answer came in time. If that is the API server's fault, a kubectl says so in the next pass. If the proxy
# hangs, nobody else would notice; when it has ended, process 1 starts another.
end_proxy() {
  local pid
  { read -r _ _ pid <"$proxy_file" && kill -KILL "$pid"; } 2>/dev/null || true # it may have ended
}

# Prints the items of a list, as they come. A list begins with its head, which is
# checked and left out: its resourceVersion follows every write in the cluster.
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

check_head() { # KIND HEAD
  ! is_whole_head "$@" || return 0
  case $2 in
    *'"continue":"'[!\"]*) fail 'the answer is only the first page of a longer list' ;;
    '{"kind":"'"$1"'"'*) fail "the list has no items or no resourceVersion, or is cut: $2" ;;
    *) fail "the answer is not of kind $1: ${2:0:80}" ;;
  esac
}

# What a list must have, by the Kubernetes API conventions (lists and paging): the kind that
# was asked for, items, a resourceVersion, and no continue token, which would say that this
# is only the first page.
is_whole_head() { # KIND HEAD
  local whole='^\{"kind":"'$1'","apiVersion":"[^"]*","metadata":\{("[a-zA-Z]+":[^][{}]+,)?"resourceVersion":"[^"]+"(,"[a-zA-Z]+":[^][{}]+)?\},"items":$'
  [[ $2 =~ $whole && $2 != *'"continue":"'[!\"]* ]]
}

# Like die, but without time and program: read_lists and digest_lists put "cannot read NAME: " before the sentence.
fail() { # SENTENCE
  printf '%s\n' "${1//[^[:print:]]/?}" >&2
  exit 1
}

why_read_failed() { # STATUS FILE_WITH_ITS_MESSAGES
  local cause
  case $1 in
    124 | 137 | 143) cause="no answer within $READ_SECONDS s" ;; # timeout's own, and 128 + SIGKILL or SIGTERM
    *) cause=$(tail -n 1 "$2") ;;
  esac
  echo "${cause:-the read ended with status $1}"
}

# --- several lists at the same time, for fetch: folder and failed are its variables

# With WATCH_NAMESPACE, lists that are in no namespace are not read: they count as empty.
leave_out_cluster_wide_lists() {
  local name
  for name in ingressclasses namespaces; do
    [[ -v lists[$name] ]] || echo ']}' >"$folder/new/$name"
  done
}

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
# In a digest of Ingresses: what has the name of a Secret, and what that of a ConfigMap.
# shellcheck disable=SC2034 # the same
names_secret='"(secretName|auth-secret|auth-tls-secret|proxy-ssl-secret)":"'
# shellcheck disable=SC2034 # the same
names_config_map='"(custom-headers|auth-proxy-set-headers)":"'
define_lists
has_limit=''
use_proxy='' proxy_file=$STATE_DIR/run/proxy proxy='' answer='' reader='' status_line='' body='' is_all=''
