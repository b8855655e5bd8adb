# What wakes the loop, and the way by which it reads: with the real kubectl as the proxy.
load helpers
setup() { common_setup; }
teardown() {
  local group
  for group in ${proxy-} ${doorbell-}; do kill -KILL -- "-$group" 2>/dev/null || true; done # it may have ended
  common_teardown
}

# Each in a process group of its own, as the controller starts them.
start_proxy() {
  setsid "$bin/proxy" "$STATE_DIR/run/proxy" >"$dir/proxy.log" 2>&1 3>&- &
  proxy=$!
  wait_for 15 test -e "$STATE_DIR/run/proxy"
}

start_doorbell() {
  setsid "$bin/doorbell" >"$dir/rings" 2>"$dir/doorbell.log" 3>&- &
  doorbell=$!
}

# Prints the status of the answer.
ask_proxy() { # PATH [CURL_OPTION...]
  local port prefix
  read -r port prefix _ <"$STATE_DIR/run/proxy"
  curl -s -o /dev/null -w '%{http_code}' "${@:2}" "http://127.0.0.1:$port$prefix$1"
}

has_rung() { # TIMES [LINE]
  (($(grep -cx "${2-.*}" "$dir/rings") >= $1))
}

@test "the doorbell rings for what each of the five watches says" {
  start_api rules
  start_proxy
  start_doorbell
  wait_for 15 has_rung 5 '{' # for events; the rings before them are empty lines
  for kind in 'ingresses\?' 'ingressclasses\?' 'services\?' 'endpointslices\?' 'namespaces\?fieldSelector=status.phase=Terminating&'; do
    wait_for 15 grep -Eq "/${kind}resourceVersion=[0-9]+&watch=1 HTTP/1.1\" 200" "$dir/api.access"
  done
}

# Puts a program before kubectl that prints events of Secrets, as the API server tells them, from a file that grows.
watch_secrets_from() { # FILE
  touch "$1"
  stub kubectl "if [ \"\$1 \$2\" = 'get secrets' ]; then echo \"\$*\" >>$dir/kubectl.calls; exec tail -s 0.1 -n +1 -f $1; fi; exec $(command -v kubectl) \"\$@\""
}

# Says which Secrets are named by Ingresses, as `certificates` does.
wanted_are() { # NAMESPACE/NAME...
  mkdir -p "$STATE_DIR/keys/changed"
  printf '%s\n' "$EPOCHREALTIME" "$@" >"$STATE_DIR/keys/wanted"
}

has_changed() { # NAMESPACE_NAME
  [[ -e $STATE_DIR/keys/changed/$1 ]]
}

@test "the doorbell rings for a Secret that an Ingress names, notes which, and rings for no other" {
  start_api rules
  start_proxy
  watch_secrets_from "$dir/events"
  start_doorbell
  wait_for 15 has_rung 5 '{'
  sleep 1.5
  [[ ! -e $dir/kubectl.calls ]] # while nobody names one, none is watched
  wanted_are demo/one
  wait_for 15 test -e "$dir/kubectl.calls"
  assert_equal 'get secrets --all-namespaces --watch --output-watch-events --no-headers' "$(<"$dir/kubectl.calls")"
  wait_for 15 no_more_rings
  rings=$(wc -l <"$dir/rings")
  echo 'ADDED      demo   other   Opaque   1   0s' >>"$dir/events"
  wait_for 15 test -s "$STATE_DIR/run/secrets-watch"
  assert_equal "$rings" "$(wc -l <"$dir/rings")"
  [[ -e /proc/$(<"$STATE_DIR/run/secrets-watch") ]]
  printf '%s\n' 'MODIFIED   shop   one   kubernetes.io/tls   2   3d' 'MODIFIED   demo   one   kubernetes.io/tls   2   3d' >>"$dir/events"
  wait_for 15 has_changed demo_one
  assert_equal demo_one "$(ls "$STATE_DIR/keys/changed")"
  wait_for 15 has_rung_since "$rings"
  wanted_are demo/one shop/two # an Ingress is new
  echo 'DELETED    shop   two   Opaque   1   0s' >>"$dir/events"
  wait_for 15 has_changed shop_two
  kill -KILL "$(<"$STATE_DIR/run/secrets-watch")"
  wait_for 15 test ! -e "$STATE_DIR/run/secrets-watch"
}

no_more_rings() {
  local before
  before=$(wc -l <"$dir/rings")
  sleep 0.5
  (($(wc -l <"$dir/rings") == before))
}

has_rung_since() { # RINGS
  (($(wc -l <"$dir/rings") > $1))
}

@test "with WATCH_NAMESPACE, only the Secrets of that namespace are watched" {
  start_api rules
  export WATCH_NAMESPACE=demo
  start_proxy
  watch_secrets_from "$dir/events"
  wanted_are demo/one
  echo 'ADDED      one   kubernetes.io/tls   2   0s' >>"$dir/events" # the namespace is not in the table
  start_doorbell
  wait_for 15 has_changed demo_one
  assert_equal 'get secrets --namespace demo --watch --output-watch-events --no-headers' "$(<"$dir/kubectl.calls")"
}

@test "that Secrets cannot be watched is told once, and they are looked at as often as without a watch" {
  start_api rules
  start_proxy
  stub kubectl "if [ \"\$1 \$2\" = 'get secrets' ]; then echo >>$dir/kubectl.calls; echo 'Error from server (Forbidden): secrets is forbidden: User cannot watch' >&2; exit 1; fi; exec $(command -v kubectl) \"\$@\""
  wanted_are demo/one
  start_doorbell
  wait_for 15 has_called_kubectl 2
  assert_equal 1 "$(grep -c 'cannot watch secrets (Error from server (Forbidden)' "$dir/doorbell.log")"
  [[ ! -e $STATE_DIR/run/secrets-watch ]]
}

has_called_kubectl() { # TIMES
  [[ -e $dir/kubectl.calls ]] && (($(wc -l <"$dir/kubectl.calls") >= $1))
}

@test "a watch that ends is begun again" {
  start_api rules
  start_proxy
  start_doorbell
  wait_for 15 watched_twice
}

watched_twice() {
  (($(grep -c '/ingresses?resourceVersion=[0-9]*&watch=1 HTTP/1.1" 200' "$dir/api.access") >= 2))
}

@test "the proxy gives out the lists that decide the routing, what publish and lead look at, and nothing else" {
  start_api rules
  start_proxy
  assert_equal 200 "$(ask_proxy /apis/networking.k8s.io/v1/ingresses)"
  assert_equal 200 "$(ask_proxy /api/v1/services)"
  assert_equal 404 "$(ask_proxy /api/v1/namespaces/bash-ingress/pods)" # the stand-in has none, but is asked
  assert_equal 200 "$(ask_proxy /apis/coordination.k8s.io/v1/namespaces/bash-ingress/leases/bash-ingress)"
  assert_equal 403 "$(ask_proxy /apis/coordination.k8s.io/v1/namespaces/bash-ingress/leases)"
  assert_equal 403 "$(ask_proxy /apis/coordination.k8s.io/v1/namespaces/bash-ingress/leases/bash-ingress -X PUT)"
  assert_equal 403 "$(ask_proxy /api/v1/secrets)"
  assert_equal 403 "$(ask_proxy '/api/v1/secrets?watch=1')"
  assert_equal 403 "$(ask_proxy /api/v1/namespaces/demo/secrets/one)"
  assert_equal 403 "$(ask_proxy /api/v1/namespaces/demo/services)"
  assert_equal 403 "$(ask_proxy /api/v1/services/apple)"
  assert_equal 403 "$(ask_proxy /api/v1/services -X POST)"
  assert_equal 403 "$(ask_proxy /api/v1/services -H 'Host: elsewhere.example')"
  read -r port prefix _ <"$STATE_DIR/run/proxy"
  assert_equal 404 "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/api/v1/services")"
  assert_equal "127.0.0.1:$port" "$(ss -Hltn "sport = :$port" | awk '{ print $4 }')"
}

@test "with WATCH_NAMESPACE, only that namespace is watched and given out" {
  start_api rules
  export WATCH_NAMESPACE=demo
  start_proxy
  start_doorbell
  wait_for 15 has_rung 3
  assert_equal 200 "$(ask_proxy /api/v1/namespaces/demo/services)"
  assert_equal 403 "$(ask_proxy /api/v1/services)"
  assert_equal 403 "$(ask_proxy /apis/networking.k8s.io/v1/ingressclasses)"
}

@test "the loop's fetch reads by way of the proxy, without a kubectl of its own" {
  start_api rules
  start_proxy
  "$bin/fetch" >"$dir/by-hand"
  stub kubectl 'exit 1'
  "$bin/fetch" "$dir/known" >"$dir/by-proxy"
  diff "$dir/by-hand" "$dir/by-proxy"
}

@test "lead observes the Lease by way of the proxy, without a kubectl of its own" {
  start_api rules
  start_proxy
  stub kubectl 'exit 1'
  ( # which sets a variable named proxy, too
    source "$bin/lead"
    mkdir -p "$folder"
    observe
    assert_equal 'another 600' "$holder $duration"
  )
}

# Puts a program of that name before the real one.
stub() { # NAME SCRIPT
  mkdir -p "$dir/path"
  printf '#!/bin/sh\n%s\n' "$2" >"$dir/path/$1"
  chmod +x "$dir/path/$1"
  PATH=$dir/path:$PATH
}

@test "a fetch by hand asks its own kubectl: the proxy may be one of another cluster" {
  start_api rules
  start_proxy
  KUBECONFIG=/dev/null run "$bin/fetch"
  assert_equal 1 "$status"
}

@test "by way of the proxy, too, what is not provably whole is an error" {
  start_api rules
  export READ_SECONDS=3
  start_proxy
  touch "$api/forbidden"
  assert_fails 'not allowed to list'
  rm "$api/forbidden"
  touch "$api/slow"
  assert_fails 'no answer within 3 s'
  rm "$api/slow"
  kill "$proxy" || true # fetch may have ended it: it took it for one that hangs
  wait "$proxy" || true
  start_proxy
  cp "$api/services" "$dir/services"
  : >"$api/services"
  assert_fails 'cannot read services: the answer is not of kind ServiceList'
  head -c 100 "$dir/services" >"$api/services"
  assert_fails 'cannot use services: the list is cut'
  echo '<html>log in first</html>' >"$api/services"
  assert_fails 'cannot read services: the answer is not of kind ServiceList: <html>'
  mv "$dir/services" "$api/services"
  "$bin/fetch" "$dir/known" >/dev/null
  kill -TERM "$(<"$dir/api.pid")" # at once: QUIT would wait for the slow answer
  wait_for 15 test ! -e "$dir/api.pid"
  READ_SECONDS=30 assert_fails 'cannot read ingresses: The connection to the server' # a kubectl for each list says so
}

assert_fails() { # MESSAGE_PART
  run --separate-stderr "$bin/fetch" "$dir/known"
  assert_equal 1 "$status"
  assert_equal '' "$output"
  assert_contains "$stderr" "$1"
}

@test "what the proxy does not know, fetch asks a kubectl of its own" {
  start_api rules
  start_proxy
  read -r port prefix pid <"$STATE_DIR/run/proxy"
  echo "$port /another $pid" >"$STATE_DIR/run/proxy" # 404 for every path
  cmp <("$bin/fetch" "$dir/known") <(golden_snapshot rules)
}

@test "when kubectl ends, the proxy says why, takes its file away and ends" {
  start_api rules
  start_proxy
  read -r _ _ kubectl <"$STATE_DIR/run/proxy"
  kill -KILL "$kubectl"
  wait "$proxy" && false
  [[ ! -e $STATE_DIR/run/proxy ]]
  grep -q 'proxy: kubectl proxy has ended; until it runs again, changes wait for the next pass' "$dir/proxy.log"
  "$bin/fetch" "$dir/known" >/dev/null
}

@test "a kubectl that cannot be a proxy says why, by way of the proxy" {
  stub kubectl "echo 'error: no configuration has been provided'; exit 1"
  run "$bin/proxy" "$dir/proxy"
  assert_equal 1 "$status"
  assert_contains "$output" 'kubectl proxy has ended: error: no configuration has been provided'
}

@test "a proxy that hangs is ended" {
  start_api rules
  export READ_SECONDS=3
  start_proxy
  read -r _ _ kubectl <"$STATE_DIR/run/proxy"
  kill -STOP "$kubectl"
  "$bin/fetch" "$dir/known" >/dev/null || true # it kills it, and fails
  wait "$proxy" && false
  cmp <(READ_SECONDS=30 "$bin/fetch" "$dir/known") <(golden_snapshot rules) # by kubectls of its own
}

@test "a doorbell without a proxy says what to start, and rings once there is one" {
  start_api rules
  start_doorbell
  wait_for 15 grep -q "To start one by hand: proxy $STATE_DIR/run/proxy &" "$dir/doorbell.log"
  assert_equal '' "$(<"$dir/rings")"
  start_proxy
  wait_for 5 has_rung 5 ''
}

@test "proxy and doorbell by hand leave those of the controller alone, and nothing behind" {
  start_api rules
  start_proxy
  before=$(<"$STATE_DIR/run/proxy")
  "$bin/proxy" "$dir/proxy" 3>&- &
  by_hand=$!
  "$bin/doorbell" "$dir/proxy" >"$dir/rings" 3>&- &
  bell_by_hand=$!
  wait_for 15 has_rung 5 '{'
  assert_equal "$before" "$(<"$STATE_DIR/run/proxy")"
  children=$(pgrep -P "$by_hand,$bell_by_hand")
  started=$(wc -w <<<"$children")  # a kubectl, five watches, and one that waits until a Secret is named
  ((started == 7 || started == 8)) # what has made the pipe of a nap may not be forgotten yet
  kill -TERM "$bell_by_hand" "$by_hand"
  wait "$bell_by_hand" "$by_hand" || true
  for child in $children; do wait_for 15 test ! -e "/proc/$child"; done
  [[ ! -e $dir/proxy ]]
}

@test "that a watch is not allowed is told once for each kind" {
  start_api rules
  touch "$api/forbidden"
  start_proxy
  start_doorbell
  wait_for 30 refused_twice
  assert_equal 5 "$(wc -l <"$dir/doorbell.log")"
  grep -q 'cannot watch ingresses (HTTP/1.0 403 Forbidden), so their changes wait for the next pass' "$dir/doorbell.log"
}

refused_twice() {
  (($(grep -c 'limit=1 HTTP/1.1" 403' "$dir/api.access") >= 10))
}

@test "a ring ends the loop's pause" {
  start_pods
  start_api rules
  start_controller DOORBELL=off POLL_SECONDS=600
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  echo >"$STATE_DIR/run/bell"
  wait_for 15 served new.example /apple apple-
}

@test "five thousand rings at once are one poll" {
  start_api rules
  start_controller DOORBELL=off POLL_SECONDS=600
  wait_for 15 polled_since 1
  loop=$(pgrep -P "$controller" -f bin/loop)
  kill -STOP "$loop"
  printf '%.0s\n' {1..5000} >"$STATE_DIR/run/bell"
  polls=$(metric polls_total)
  kill -CONT "$loop"
  wait_for 15 polled_since "$((polls + 1))"
  wait_for 15 is_empty "$STATE_DIR/run/bell"
  (($(metric polls_total) <= polls + 2)) # one may just have begun
}

is_empty() { # FIFO
  ! read -r -t 0.01 3<>"$1" <&3
}

@test "with DOORBELL=off, there is no doorbell and no proxy" {
  start_api rules
  start_controller DOORBELL=off
  assert_equal '' "$(pgrep -P "$controller" -f bin/doorbell)"
  [[ ! -e $STATE_DIR/run/proxy ]]
}

@test "after a poll that failed, the next one comes at once, although nobody rings" {
  start_pods
  start_api rules
  start_controller DOORBELL=off POLL_SECONDS=600
  touch "$api/forbidden"
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  echo >"$STATE_DIR/run/bell"
  wait_for 15 logged 'this pass failed in fetch'
  rm "$api/forbidden"
  wait_for 15 served new.example /apple apple-
}
