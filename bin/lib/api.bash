# api - how the API server is asked: by way of a `kubectl proxy`, or by a kubectl of one's own
#
# A kubectl takes 30 ms to start, and 50 MB to stay. So one stays beside the loop, `kubectl proxy`
# (see proxy), and is asked in plain HTTP over /dev/tcp, since the image has no curl on purpose.
# What is understood of HTTP: a status line, headers, and a body that ends with the connection
# (RFC 1945, HTTP/1.0).
#
# shellcheck shell=bash disable=SC2034 # for those who source this

# In a summary of Ingresses: what has the name of a Secret, and what that of a ConfigMap. (The rows of
# annotations.json say it, too, but bash reads them too slowly; annotations.bats compares both.)
names_secret='"(secretName|auth-secret|auth-tls-secret|proxy-ssl-secret)":"'
names_config_map='"(auth-proxy-set-headers|custom-headers)":"'
is_timed='' is_all='' begun='' body='' status_line='' answer='' reader=''
use_proxy='' proxy_file=$STATE_DIR/run/proxy proxy='' kubectl='' kubectl_says='' prefix=''

# --- what is asked for

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

# --- an answer

# Prints what the API server answers.
read_path() { # PATH
  answer_of kubectl get --raw "$1"
  printf '%s' "$body"
  rest_of_answer
}

# Sets body to how the answer begins, and answer to a file descriptor to read the rest from; is_all is yes if there is
# none. By way of the proxy if there is one and it has the API server's answer. If not, it is a kubectl of our own that
# says why: it may know what has changed, such as a token. If there is no answer, this process ends, with a sentence or
# with 124, as `timeout` does.
answer_of() { # kubectl get --raw PATH
  local status=0
  reader=''
  if [[ -n $use_proxy ]]; then
    ask_proxy "${!#}" || status=$?
    ((status != 124)) || exit 124
    answer=$proxy
    ((status != 0)) || return 0
    tell_refusal "$body"
  fi
  ask_kubectl "$@"
  read_beginning "$answer" "$((READ_SECONDS + 1))" || exit 124
  [[ -n $body || -z $reader ]] || wait "$reader" || exit # it has said why there is no answer
}

# `timeout` bounds it, since kubectl's own --request-timeout does not: kubectl
# retries. In the foreground, it stays in the process group that ends with the loop.
# And `get --raw` takes much less time than `get -o json`, which asks the API
# server what it offers first.
# Sets answer to a file descriptor of what it prints, and reader to its process, to be waited for.
ask_kubectl() { # kubectl get --raw PATH
  local with=exec
  [[ -z ${TRACE-} ]] || with=cmd
  exec {answer}< <("$with" timeout --foreground -k 1 "$READ_SECONDS" "$@")
  reader=$!
}

# Prints what is left of the answer. With is_timed, this process becomes the `cat`: to kill it ends the read. (If a
# kubectl fails in the middle of a list, its end is missing, which split_items sees.)
rest_of_answer() {
  if [[ -z $is_all ]]; then
    [[ -z $is_timed ]] || exec cat <&"$answer"
    timeout --foreground -k 1 "$READ_SECONDS" cat <&"$answer" || exit
  fi
  [[ -z $reader ]] || wait "$reader" || exit
}

# Sets body to the first that comes from DESCRIPTOR, up to some KiB, and is_all to yes if that is all. Fails if it does
# not come in SECONDS. (With `read -t`, each character takes bash two system calls: so if is_timed says that another
# process ends this one in time, it reads without. A connection may have been reset: then nothing comes.)
read_beginning() { # DESCRIPTOR SECONDS
  local said='' status=0
  if [[ -n $is_timed ]]; then
    IFS= read -r -N 16384 said <&"$1" || status=1
  else
    read_in_time "$2" "$1" -N 4096 || status=$?
  fi
  body=$said is_all=''
  ((status <= 128)) || return
  ((status == 0)) || is_all=yes
} 2>/dev/null

# --- the proxy

# Sets body as answer_of does, and status_line to the answer's first line. Status: 1 unless that says 200; 124 if no
# answer came in time. (What was begun is what transport.bash has read already, for this process to go on with.)
ask_proxy() { # PATH
  if [[ $begun != "$1" ]]; then
    body='' status_line=''
    send_request "$1" || return 1
    read_answer || return
  fi
  [[ $status_line == *' 200 '* ]]
}

# Connects to the proxy (in bash, a path can be a connection): sets proxy to the file descriptor. Fails without a word
# if there is none, or none any more. (Accept-Encoding: to compress the answer would take longer than to send it.)
send_request() { # PATH
  local port prefix pid status=0
  read -r port prefix pid <"$proxy_file" || return
  exec {proxy}<>"/dev/tcp/127.0.0.1/$port" || return
  trap '' PIPE # it may end just now
  printf 'GET %s%s HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n' "$prefix" "$1" >&"$proxy" || status=1
  trap - PIPE
  return "$status"
} 2>/dev/null

# Reads how the answer begins that comes from the proxy.
read_answer() {
  local status=0
  status_line=''
  read_beginning "$proxy" "$READ_SECONDS" || status=124
  if [[ $body == *$'\r\n\r\n'* ]]; then
    status_line=${body%%$'\r\n'*} body=${body#*$'\r\n\r\n'}
  else
    body=''
    ((status == 0)) || end_proxy
  fi
  return "$status"
}

# For when no answer came in time. If that is the API server's fault, a kubectl says so in the next pass. If the proxy
# hangs, nobody else would notice; when it has ended, process 1 starts another.
end_proxy() {
  local pid
  { read -r _ _ pid <"$proxy_file" && kill -KILL "$pid"; } 2>/dev/null || true # it may have ended
}

# Starts a `kubectl proxy` for the paths that match the expression PATHS. It answers in this pod only, and takes a free
# port, which it prints. Its paths begin with a random prefix, so nobody else can use it, or mistake the proxy of
# another cluster for this one. Sets kubectl to its process, and kubectl_says to a file descriptor of what it prints.
# (If a program is killed, it must not keep that program's lock, 9.)
start_kubectl_proxy() { # PATHS
  read -r prefix </proc/sys/kernel/random/uuid
  exec {kubectl_says}< <(exec kubectl proxy --port 0 --api-prefix "/$prefix/" --append-server-path \
    --accept-paths "^($1)\$" --reject-methods '^(POST|PUT|PATCH|DELETE)$' 2>&1 9>&-)
  kubectl=$!
}

# Writes "PORT PREFIX PID" to FILE if LINE of what it prints says that it serves now; fails otherwise.
note_proxy() { # LINE FILE
  [[ $1 == 'Starting to serve on '* ]] || return
  echo "${1##*:} /$prefix $kubectl" >"$2.new" && mv -T "$2.new" "$2"
}

# --- why there is no answer

# Like die, but without time and program: fetch puts "cannot read NAME: " before the sentence.
fail() { # SENTENCE
  printf '%s\n' "${1//[^[:print:]]/?}" >&2
  exit 1
}

# What the API server refuses is said in kubectl's words, but without a kubectl: a namespace may name dozens of Secrets
# that are missing. (Only the API server's own answer has a reason.)
tell_refusal() { # BODY
  local refusal='"message":"(([^"\\]|\\.)*)","reason":"(NotFound|Forbidden)"'
  [[ ! $1 =~ $refusal ]] || fail "Error from server (${BASH_REMATCH[3]}): ${BASH_REMATCH[1]//\\\"/\"}"
}

# What keeps is_whole_head from believing a list.
tell_what_is_missing() { # KIND HEAD
  case $2 in
    *'"continue":"'[!\"]*) fail 'the answer is only the first page of a longer list' ;;
    '{"kind":"'"$1"'"'*) fail "the list has no items or no resourceVersion, or is cut: $2" ;;
    *) fail "the answer is not of kind $1: ${2:0:80}" ;;
  esac
}

why_read_failed() { # STATUS FILE_WITH_ITS_MESSAGES
  local cause
  case $1 in
    124 | 137 | 143) cause="no answer within $READ_SECONDS s" ;; # timeout's own, and 128 + SIGKILL or SIGTERM
    *) cause=$(tail -n 1 "$2") ;;
  esac
  echo "${cause:-the read ended with status $1}"
}
