# What flows through nginx, with a real backend: nothing is held back, nothing is sent twice.
load helpers

setup_file() {
  backend=$(go_program backend)
  export backend
}

setup() {
  common_setup
  "$backend" 127.77.0.1:8080 127.77.0.2:8080 3>&- &
  backend_pid=$!
  disown # so that bash does not report its end
  wait_for 30 curl -s 127.77.0.2:8080/counts
  serve rules '.ingresses.items[0].spec.rules[0].http.paths = [{path: "/", pathType: "Prefix",
    backend: {service: {name: "apple", port: {number: 80}}}}]'
}

teardown() {
  common_teardown
  # shellcheck disable=SC2086 # there may be no other one
  kill -KILL "$backend_pid" ${other_backend-} 2>/dev/null || true # or else it would wait for the streams that are open
}

counts() { # FILTER
  ask fruit.example /counts | jq "$1"
}

# Prints the Server headers of an answer.
servers_of() { # PATH
  ask fruit.example "$1" -o /dev/null -D - | tr -d '\r' | sed -n 's/^[Ss]erver: //p'
}

@test "an answer whose pod names no Server has one by us, and nginx's own answers have one by nginx" {
  assert_equal backend "$(servers_of /)"
  assert_equal bash-ingress "$(servers_of /anonymous)"
  serve rules '.ingresses.items[0].spec.rules[0].http.paths |= [.[0] | .path = "/there"]'
  assert_equal nginx "$(servers_of /elsewhere)"
  kill -KILL "$backend_pid" 2>/dev/null
  wait_for 15 nginx_answers /there # its 502
}

nginx_answers() { # PATH
  [[ $(servers_of "$1") == nginx ]]
}

# Prints the status, what a pod said of upgrades and its own connection, and its header X-Mine. Each is in the answer.
connection_fields() { # STATUS [CURL_OPTION...]
  local named='header=Upgrade:h2,h2c&header=Proxy-Connection:keep-alive&header=Keep-Alive:timeout=5&header=X-Mine:mine'
  ask fruit.example "/?status=$1&$named" -o /dev/null -D - -w '%{http_code}\n' "${@:2}" | tr -d '\r' |
    grep -iE '^(upgrade|proxy-connection|keep-alive|x-mine|[0-9]+$)' | tr '[:upper:]' '[:lower:]' | sort | xargs
}

@test "what a pod says of upgrades gets to clients of HTTP/1.1, and not to those of HTTP/2, whose request would fail; of its own connection, to none" {
  local status
  for status in 200 426 404; do
    assert_row "$status upgrade: h2,h2c x-mine: mine" "$(connection_fields "$status")" "$status"
  done
  grep -q '^ *http2 on' "$STATE_DIR/live/nginx.conf" || skip 'the rest needs a newer nginx, which knows HTTP/2'
  for status in 200 426 404; do
    assert_row "$status x-mine: mine" "$(connection_fields "$status" --http2-prior-knowledge)" "$status"
  done
}

@test "server-sent events arrive one by one, not when the stream ends" {
  run bash -c "curl -sN --max-time 5 -H 'Host: fruit.example' http://127.0.0.1:$HTTP_PORT/events | head -n 3"
  assert_equal $'data: 1\n\ndata: 2' "$output"
}

pod_has_received() { # BYTES
  [[ $(curl -s 127.77.0.1:8080/counts | jq .bytes) == "$1" ]]
}

@test "an upload arrives byte by byte, not when it is complete" {
  mkfifo "$dir/rest"
  (head -c 100000 /dev/zero && cat "$dir/rest") | ask fruit.example /upload -T - >"$dir/answer" 3>&- &
  wait_for 15 pod_has_received 100000
  head -c 23 /dev/zero >"$dir/rest"
  wait "$!"
  assert_equal received "$(<"$dir/answer")"
  assert_equal 100023 "$(counts .bytes)"
}

@test "an upload of any size is taken" {
  head -c 200000000 /dev/zero | ask fruit.example /upload -T - >/dev/null
  assert_equal 200000000 "$(counts .bytes)"
}

@test "a WebSocket carries messages in both directions, also through a reload" {
  probe=$(go_program probe)
  mkfifo "$dir/say"
  "$probe" websocket "127.0.0.1:$HTTP_PORT" fruit.example /websocket <"$dir/say" >"$dir/heard" 3>&- &
  exec 4>"$dir/say"
  echo before >&4
  wait_for 15 grep -q before "$dir/heard"
  model rules | tee "$dir/model.json" | "$bin/render" | "$bin/apply" "$dir/model.json" >/dev/null 2>&1
  echo after >&4
  wait_for 15 grep -q after "$dir/heard"
  exec 4>&-
  wait "$!"
}

lingering_workers() {
  pgrep -P "$(<"$STATE_DIR/run/nginx.pid")" -f 'shutting down' | wc -l
}

linger_at_most() { # WORKERS
  (($(lingering_workers) <= $1))
}

reload() { # ROUND LEAST_SECONDS   makes a change live
  model rules ".ingresses.items[0].spec.rules[0] = {host: \"fruit.example\", http: {paths: [{path: \"/\", pathType: \"Prefix\",
    backend: {service: {name: \"apple\", port: {number: 80}}}}, {path: \"/round-$1\", pathType: \"Exact\",
    backend: {service: {name: \"apple\", port: {number: 80}}}}]}}" | tee "$dir/model.json" | "$bin/render" |
    apply_draining "draining_workers=2 least_seconds=$2 idle_seconds=$2"
}

# As bin/apply, but with other values for what decides how many workers drain.
apply_draining() { # NAME=VALUE...   in one word
  # shellcheck disable=SC2016,SC2086 # they are for the other bash; each word is a constant
  bash -c 'source "$1" && program=apply && declare -g "${@:3}" && apply "$2"' _ "$bin/apply" "$dir/model.json" $1 >>"$dir/apply.log" 2>&1
}

@test "of the workers that were replaced and have had their time, only the newest stay" {
  [[ -r /proc/$$/task/$$/children ]] || skip 'this kernel does not list the children of a process'
  for round in 1 2 3 4 5; do
    ask fruit.example /events -N --max-time 60 >"$dir/events-$round" 3>&- &
    streams+=("$!")
    wait_for 15 grep -q 'data: 1' "$dir/events-$round"
    reload "$round" 0
  done
  grep -qE 'too many replaced workers still have requests: ending the oldest, [0-9]+, with [01] connections of clients' "$dir/apply.log"
  assert_equal "cut_connections $(sed -n 's/.* with \([0-9]*\) connections of clients$/\1/p' "$dir/apply.log" | jq -s add)" "$(<"$STATE_DIR/run/cut")"
  wait_for 15 linger_at_most 3 # two, and that of the last reload
  kill -0 "${streams[-1]}"
  run kill -0 "${streams[0]}"
  assert_equal 1 "$status"
  kill "${streams[@]:2}"
}

@test "a reload waits for requests that take some time, and cuts none of them" {
  [[ -r /proc/$$/task/$$/children ]] || skip 'this kernel does not list the children of a process'
  for round in 1 2 3 4; do
    ask fruit.example '/slow?seconds=2' --fail-with-body >"$dir/slow-$round" 3>&- &
    streams+=("$!")
    sleep 0.2 # until it is there: nobody tells
    reload "$round" 10
  done
  for stream in "${streams[@]}"; do wait "$stream"; done
  run ! grep 'ending the oldest' "$dir/apply.log"
  streams=()
}

# A change that goes live: the path /round-ROUND of fruit.example.
replace_workers() { # ROUND CONSTANTS
  model rules ".ingresses.items[0].spec.rules[0].http.paths = [{path: \"/\", pathType: \"Prefix\", backend: {service: {name: \"apple\", port: {number: 80}}}},
    {path: \"/round-$1\", pathType: \"Exact\", backend: {service: {name: \"apple\", port: {number: 80}}}}]" >"$dir/model.json"
  "$bin/render" <"$dir/model.json" | apply_draining "$2"
}

open_stream() { # HOST   and wait until it flows
  ask "$1" /events -N --max-time 60 >"$dir/events-${#streams[@]}" 3>&- &
  streams+=("$!")
  wait_for 15 grep -q 'data: 1' "$dir/events-$((${#streams[@]} - 1))"
}

stream_ends() { # NUMBER
  wait_for 15 is_gone "${streams[$1]}"
}

is_gone() { # PID
  ! kill -0 "$1" 2>/dev/null
}

@test "workers that may still leave by themselves are waited for: an old one with a stream is not ended for them" {
  [[ -r /proc/$$/task/$$/children ]] || skip 'this kernel does not list the children of a process'
  open_stream fruit.example
  replace_workers 0 draining_workers=4
  wait_for 15 linger_at_most 1
  for round in 1 2 3 4; do
    ask fruit.example '/slow?seconds=2' --fail-with-body >"$dir/slow-$round" 3>&- &
    slow+=("$!")
    sleep 0.2 # until it is there: nobody tells
    replace_workers "$round" 'draining_workers=4 least_seconds=0'
  done
  for pid in "${slow[@]}"; do wait "$pid"; done
  run ! grep 'ending the oldest' "$dir/apply.log"
  kill "${streams[0]}"
}

@test "who causes reloads all the time and holds requests open loses its own first, not its neighbours' older ones" {
  [[ -r /proc/$$/task/$$/children ]] || skip 'this kernel does not list the children of a process'
  "$backend" 127.77.0.5:8080 3>&- &
  other_backend=$!
  disown
  constants='draining_workers=4 least_seconds=0 idle_seconds=0'
  open_stream fruit.example
  mkdir -p "$STATE_DIR/scratch/loop"
  echo "{\"shop\":{\"paid\":$(($(cut -d . -f 1 /proc/uptime) + 600))},\"demo\":{\"paid\":1}}" >"$STATE_DIR/scratch/loop/accounts"
  replace_workers 1 "$constants"
  for round in 2 3 4; do
    open_stream shop.example
    replace_workers "$round" "$constants"
  done
  stream_ends 1
  grep -q 'ending the oldest that serves only namespaces with constant reloads' "$dir/apply.log"
  kill -0 "${streams[0]}" "${streams[3]}"
  kill "${streams[0]}" "${streams[@]:2}"
}

# Limits of a control group, in bytes.
memory_is() { # LIMIT USED
  mkdir -p "$dir/cgroup"
  echo "$1" >"$dir/cgroup/memory.max"
  echo "$2" >"$dir/cgroup/memory.current"
}

@test "more than a few workers drain only if three quarters of the pod's memory suffice for them" {
  [[ -r /proc/$$/task/$$/children ]] || skip 'this kernel does not list the children of a process'
  constants="few_workers=2 least_seconds=0 idle_seconds=0 cgroup=$dir/cgroup"
  memory_is 2147483648 1000000000
  for round in 1 2 3; do
    open_stream fruit.example
    replace_workers "$round" "$constants"
  done
  memory_is max 1000000000
  replace_workers 4 "$constants"
  run ! grep 'ending the oldest' "$dir/apply.log"
  memory_is 2147483648 1610612000 # with the new workers, it will be more than three quarters
  replace_workers 5 "$constants"
  stream_ends 0
  grep -q 'ending the oldest' "$dir/apply.log"
  kill -0 "${streams[2]}"
  kill "${streams[2]}"
  kill "${streams[1]}" 2>/dev/null || true # it may have had to go as well
}

@test "a POST that a pod took and did not answer is not sent to another pod" {
  for _ in {1..5}; do
    assert_equal 502 "$(ask fruit.example /drop -X POST --data body -o /dev/null -w '%{http_code}')"
  done
  assert_equal 5 "$(counts .POST)"
}

@test "a 502 or 504 names the Service and the Ingress, says what became of the request, and does not name the pod" {
  PROXY_READ_TIMEOUT=1 ACCESS_LOG=json serve rules '.ingresses.items[0].spec.rules[0].http.paths |= [.[0] | .path = "/" | .pathType = "Prefix"]'
  for method in GET POST; do
    assert_equal 'Service demo/apple closed the connection before nginx had an answer: Ingress demo/fruit.' "$(ask fruit.example /drop -X "$method")"
  done
  assert_equal 'Service demo/apple did not answer in time: Ingress demo/fruit.' "$(ask fruit.example '/slow?seconds=5')"
  kill -KILL "$backend_pid"
  wait_for 15 accepts_nothing
  assert_equal '502 text/plain' "$(ask fruit.example / -o /dev/null -w '%{http_code} %{content_type}')"
  # the log still knows the method and the Service
  wait_for 15 grep -q '"method":"POST".*"uri":"/drop".*"status":502.*"upstream":"apple.demo.80","upstream_addr":"127.77' "$dir/access.log"
}

@test "of a pod that may have answered before it closed the connection, or that speaks no TLS, a 502 claims nothing else" {
  serve rules '.ingresses.items[0].spec.rules[0].http.paths |= [.[0] | .path = "/" | .pathType = "Prefix"]
    | .ingresses.items += [.ingresses.items[0] | .metadata.name = "secure" | .spec.rules[0].host = "secure.example"
        | .metadata.annotations = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}]'
  assert_equal 'Service demo/apple cannot be connected to by TLS: Ingress demo/secure.' "$(ask secure.example /)"
  # Either of these, by chance: nginx looks for an answer no more when it cannot send on.
  head -c 1000000 /dev/zero >"$dir/large"
  for _ in {1..20}; do ask fruit.example /early --data-binary @"$dir/large"; done | sort -u >"$dir/answers"
  assert_equal '' "$(grep -vxE 'early|Service demo/apple closed the connection before nginx had an answer: Ingress demo/fruit.' "$dir/answers")"
}

accepts_nothing() {
  assert_equal 'Service demo/apple accepts no connection: Ingress demo/fruit.' "$(ask fruit.example /)"
}

@test "a pod's own 502 is passed on as it is" {
  kill -KILL "$backend_pid"
  start_failing_pod
  assert_equal '502 my own words' "$(ask fruit.example / -w '%{http_code} ' -o "$dir/answer")$(<"$dir/answer")"
}

# A pod of apple that answers 502 by itself.
start_failing_pod() {
  mkdir -p "$dir/failing"
  cat >"$dir/failing.conf" <<CONF
pid $dir/failing.pid;
error_log $dir/failing.log;
events {}
http {
  access_log off;
$(temp_paths "$dir/failing")
  server {
    listen 127.77.0.1:8080;
    listen 127.77.0.2:8080;
    location / { return 502 "my own words\n"; }
  }
}
CONF
  wait_for 15 nginx -e stderr -c "$dir/failing.conf"
}

@test "a GET that a pod took and did not answer is tried on the next pod" {
  assert_equal 502 "$(ask fruit.example /drop -o /dev/null -w '%{http_code}')"
  assert_equal 2 "$(counts .GET)"
}

@test "connections to pods are used again" {
  for _ in {1..10}; do ask fruit.example /counts >/dev/null; done
  connections=$(ss -Hnt state established '( dport = :8080 )' dst 127.77.0.0/24 | wc -l)
  ((connections >= 1 && connections <= 4)) # at most one from each of 2 workers to each of 2 pods
}

@test "SIGTERM lets an open request come to its end" {
  kill -QUIT "$(<"$STATE_DIR/run/nginx.pid")"
  wait_for 15 test ! -e "$STATE_DIR/run/nginx.pid"
  start_api rules '.ingresses.items[0].spec.rules[0].http.paths[0].path = "/"'
  start_controller
  wait_for 15 upload_is_routed
  mkfifo "$dir/rest"
  (head -c 1000 /dev/zero && cat "$dir/rest") | ask fruit.example /upload -T - >"$dir/answer" 3>&- &
  local uploading=$!
  wait_for 15 pod_has_received 1000
  kill -TERM "$controller"
  wait_for 15 logged 'stopping: serving on'
  head -c 23 /dev/zero >"$dir/rest"
  wait "$uploading"
  assert_equal received "$(<"$dir/answer")"
  wait "$controller"
  controller=''
}

upload_is_routed() {
  [[ $(ask fruit.example /counts) == '{'* ]]
}
