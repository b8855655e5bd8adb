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
  (($(wc -w <<<"$children") == 6)) # a kubectl, and five watches
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
