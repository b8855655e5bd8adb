# api - how the API server is asked
#
# A kubectl takes 30 ms to start, and 50 MB to stay. So one stays beside the loop, `kubectl proxy`
# (see proxy), and is asked in plain HTTP over /dev/tcp, since the image has no curl on purpose.
# What is understood of HTTP: a status line, headers, and a body that ends with the connection
# (RFC 1945, HTTP/1.0).
#
# shellcheck shell=bash

# The lists that decide the routing. Of the namespaces, only those that are being deleted are
# read. With WATCH_NAMESPACE, a Role must do, which cannot allow to read IngressClasses or
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
  if [[ $1 == */configmaps/* ]]; then echo "/api/v1/namespaces/$1"; else echo "/api/v1/namespaces/${1%/*}/secrets/${1#*/}"; fi
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
  reader='' status=''
  if [[ -n $use_proxy ]] && ask_proxy "$1"; then
    answer=$proxy
  else
    tell_refusal
    exec {answer}< <(read_with_kubectl "$1")
    reader=$!
  fi
}

# What the API server refuses is said in kubectl's words, but without a kubectl: a namespace may name dozens of Secrets
# that are missing. (Only the API server's own answer has a reason.)
tell_refusal() {
  local body='' refusal='"message":"(([^"\\]|\\.)*)","reason":"(NotFound|Forbidden)"'
  [[ $status == *' 40'[34]' '* ]] || return 0
  IFS= read -r -d '' -t "$READ_SECONDS" body <&"$proxy" || true # it ends with the connection
  [[ ! $body =~ $refusal ]] || fail "Error from server (${BASH_REMATCH[3]}): ${BASH_REMATCH[1]//\\\"/\"}"
}

# Prints what is left of the answer. A read of start_reads becomes the `cat`, so that finish_reads can end it. (If a kubectl
# fails in the middle of a list, its end is missing, which split_items sees.)
rest_of_answer() {
  if [[ -n $has_limit ]]; then
    copy exec <&"$answer"
    exit
  fi
  timeout --foreground -k 1 "$READ_SECONDS" cat <&"$answer" || return
  [[ -z $reader ]] || wait "$reader"
}

# Connects to the proxy (in bash, a path can be a connection), sends the request,
# and reads the header of the answer: then the body is what comes until the end
# (RFC 1945, HTTP/1.0). To compress it would take longer than to send it.
# Sets status to the first line; fails unless that says 200.
ask_proxy() { # PATH
  local port prefix pid
  status=''
  trap '' PIPE # it may end just now
  send_request "$1" && read_header && [[ $status == *' 200 '* ]]
}

# Fails without a word if there is no proxy, or none any more.
send_request() { # PATH
  read -r port prefix pid <"$proxy_file" || return
  exec {proxy}<>"/dev/tcp/127.0.0.1/$port" || return
  printf 'GET %s%s HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n' "$prefix" "$1" >&"$proxy"
} 2>/dev/null

# When the wall clock jumps forward, the time of `read -t` is over too (its status is above
# 128). Then the proxy does not hang.
read_header() {
  local now began line='' failure=0
  take_time
  began=$now
  until [[ $line == $'\r' ]]; do
    read -r -t "$READ_SECONDS" line <&"$proxy" || failure=$?
    if ((failure > 128)); then
      take_time
      ((now - began <= READ_SECONDS / 2)) || give_up "$pid"
    fi
    ((failure == 0)) || return
    status=${status:-${line%$'\r'}}
  done
}

# No answer in time (for which timeout's status is 124). If that is the API server's
# fault, a kubectl says so in the next poll. If the proxy hangs, nobody else would
# notice; when it has ended, process 1 starts another.
give_up() { # PID
  kill -KILL "$1" 2>/dev/null || true
  exit 124
}

# Prints the items of a list, as they come. A list begins with its head, which is
# checked and left out: its resourceVersion follows every write in the cluster.
read_items() { # PATH KIND
  local head=''
  open_answer "$1"
  if ! read_head && [[ -z $head && -n $reader ]]; then
    wait "$reader" || return # it has said why there is no answer
  fi
  check_head "$2" "$head"
  rest_of_answer
}

# Adds to head what the answer begins with, up to its items. (When the wall clock jumps forward, the time of `read -t` is
# over too, and what has come is in part.)
read_head() {
  local now began part failure
  take_time
  began=$now
  while true; do
    failure=0
    IFS= read -r -t "$READ_SECONDS" -d '[' part <&"$answer" || failure=$?
    head+=$part
    ((failure > 128)) || return "$failure"
    take_time
    ((now - began < READ_SECONDS)) || exit 124 # as with timeout
  done
}

# What a list must have, by the Kubernetes API conventions (lists and paging): the kind that
# was asked for, items, a resourceVersion, and no continue token, which would say that this
# is only the first page.
check_head() { # KIND HEAD
  local whole='^\{"kind":"'$1'","apiVersion":"[^"]*","metadata":\{("[a-zA-Z]+":[^][{}]+,)?"resourceVersion":"[^"]+"(,"[a-zA-Z]+":[^][{}]+)?\},"items":$'
  case $2 in
    *'"continue":"'[!\"]*) fail 'the answer is only the first page of a longer list' ;;
    '{"kind":"'"$1"'"'*) [[ $2 =~ $whole ]] || fail "the list has no items or no resourceVersion, or is cut: $2" ;;
    *) fail "the answer is not of kind $1: ${2:0:80}" ;;
  esac
}

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

# Reads lists into files of the folder. All of them have the pipe "ended" open, and nobody writes into it: it ends when
# the last of them has, for which one can wait with a limit of time. So there is no `timeout` for each.
start_reads() { # NAME...
  local name open
  exec {open}<> <(:) && exec {ended}<"/dev/fd/$open"
  for name; do
    has_limit=yes read_items "${lists[$name]}" "${kinds[$name]}List" 2>"$folder/error/$name" >"$folder/new/$name" &
    reads[$name]=$!
  done
  exec {open}>&-
}

# Waits for all that were started; ends with a sentence for each that failed. (ask_proxy gives up first.)
finish_reads() {
  local name status said
  read_to_end "$ended" "$((READ_SECONDS + 1))" || kill "${reads[@]}" 2>/dev/null || true # some have ended
  for name in "${!reads[@]}"; do
    status=0
    wait "${reads[$name]}" || status=$?
    ((status == 0)) || failed+=("cannot read $name: $(why_read_failed "$status" "$folder/error/$name")")
  done
  ((${#failed[@]} == 0)) || die 1 "${failed[@]}"
}

declare -A reads=() # NAME: the process of each read that was started
# shellcheck disable=SC2034 # for those who source this
declare -A lists=() kinds=([ingresses]=Ingress [services]=Service [endpointslices]=EndpointSlice [ingressclasses]=IngressClass [namespaces]=Namespace)
# In a digest of Ingresses: what has the name of a Secret, and what that of a ConfigMap.
# shellcheck disable=SC2034 # the same
names_secret='"(secretName|auth-secret|auth-tls-secret|proxy-ssl-secret)":"' names_config_map='"(custom-headers|auth-proxy-set-headers)":"'
define_lists
ended='' has_limit=''
use_proxy='' proxy_file=$STATE_DIR/run/proxy proxy='' answer='' reader='' status=''
