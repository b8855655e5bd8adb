# api - how the API server is asked
#
# A kubectl takes 30 ms to start, and 50 MB to stay. So one stays beside the loop, `kubectl proxy`
# (see proxy), and is asked in plain HTTP over /dev/tcp, since the image has no curl on purpose.
# What is understood of HTTP: a status line, headers, and a body that ends with the connection
# (RFC 1945, HTTP/1.0).
#
# At a first reading, skip this file: it asks without starting a kubectl each time, and within a bounded time.
#
# shellcheck shell=bash

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

# In a summary of Ingresses: what has the name of a Secret, and what that of a ConfigMap. (The rows of
# annotations.json say it, too, but bash reads them too slowly; annotations.bats compares both.)
# shellcheck disable=SC2034 # for those who source this
names_secret='"(secretName|auth-secret|auth-tls-secret|proxy-ssl-secret)":"'
# shellcheck disable=SC2034 # the same
names_config_map='"(auth-proxy-set-headers|custom-headers)":"'
has_limit=''
use_proxy='' proxy_file=$STATE_DIR/run/proxy proxy='' answer='' reader='' status_line=''
