# The whole controller with real nginx, and with real kubectl asking a stand-in for the API server.
load helpers
setup() { common_setup; }
teardown() { common_teardown; }

@test "a change in the cluster becomes a change of the routes, with diff and reason in the log" {
  start_pods
  start_api rules
  start_controller
  wait_for 15 served fruit.example /apple apple-
  cluster_is rules '(.ingresses.items[0].spec.rules[0].host = "new.example") | (.ingresses.items[0].metadata.resourceVersion = "200")'
  wait_for 15 served new.example /apple apple-
  wait_for 15 logged 'apply: new configuration: changed .*Ingress demo/fruit [(]change [0-9]+[)]$'
  logged '^\+    server_name "new.example";'
}

@test "as process 1, it hears a SIGTERM that comes while it is only just starting" {
  unshare --pid --fork true 2>/dev/null || skip 'this takes root'
  mkdir "$dir/path"
  printf '#!/bin/sh\ntouch %s/asked; sleep 1; exec %s "$@"\n' "$dir" "$(command -v nginx)" >"$dir/path/nginx" # first of all, it asks nginx for its version
  chmod +x "$dir/path/nginx"
  PATH=$dir/path:$PATH unshare --pid --fork --kill-child "$bin/ingress-controller" 3>&- &
  controller_group=$!
  wait_for 15 test -e "$dir/asked"
  kill -TERM "$(pgrep -P "$controller_group")"
  wait_for 15 has_ended "$controller_group"
  wait "$controller_group"
}

has_ended() { # PID
  ! kill -0 "$1" 2>/dev/null
}

# Lets a poll note in the file "started" which of these it starts.
count_programs() { # PROGRAM...
  local program
  mkdir "$dir/path"
  for program; do
    printf '#!/bin/sh\necho %s >>%s/started\nexec %s "$@"\n' "$program" "$dir" "$(command -v "$program")" >"$dir/path/$program"
    chmod +x "$dir/path/$program"
  done
}

poll_more() { # POLLS
  wait_for 15 polled_since "$(($(metric polls_total) + $1))"
}

# How often the lists were read since the log of the stand-in was emptied, and how many bytes one read of each is.
reads_and_bytes() {
  awk '/GET .*((ingresses|ingressclasses|services|endpointslices)|namespaces[?]fieldSelector=status.phase=Terminating) / { times[$7]++; bytes[$7] += $10 }
    END { for (path in times) { reads += times[path]; all += bytes[path] / times[path] } print reads, all }' "$dir/api.access"
}

@test "an unchanged cluster costs five reads in each poll, each byte of them once, and no jq, no kubectl, no reload and no line in the log" {
  start_api rules
  count_programs kubectl jq nginx openssl envsubst diff cmp sed sha256sum timeout cat rm mv
  start_controller PATH="$dir/path:$PATH" POLL_SECONDS=0.1 LEASE_SECONDS=600 # lead is to do nothing meanwhile
  wait_for 15 test -e "$STATE_DIR/run/proxy"
  poll_more 3
  length=$(wc -l <"$dir/controller.log")
  workers=$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")
  cluster_is rules # the lists have a new resourceVersion
  poll_more 2
  : >"$dir/started"
  : >"$dir/api.access"
  polls=$(metric polls_total)
  poll_more 20
  polls=$(($(metric polls_total) - polls))
  read -r reads bytes < <(reads_and_bytes)
  assert_equal 5 "$(((reads + polls / 2) / polls))"
  assert_equal "$(cat "$api"/{ingresses,ingressclasses,namespaces,services,endpointslices} | wc -c)" "$bytes"
  sort "$dir/started" | uniq -c | while read -r times program; do echo "$program $(((times + polls / 2) / polls))"; done | grep -v ' 0$' >"$dir/each"
  assert_equal 'mv 1' "$(paste -sd , "$dir/each" | sed 's/,/, /g')"
  assert_equal "$length" "$(wc -l <"$dir/controller.log")"
  assert_equal "$workers" "$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")"
}

@test "the addresses that are written into Ingresses cost no routing, and the log tells of no change" {
  start_api rules
  count_programs jq
  start_controller PATH="$dir/path:$PATH" LEASE_SECONDS=600
  poll_more 2
  : >"$dir/started"
  cluster_is rules '(.ingresses.items[] |= (.metadata.resourceVersion = "300" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}]))'
  poll_more 4
  assert_equal 1 "$(wc -l <"$dir/started")" # the digest of the Ingresses, and nothing after it
  run ! logged 'apply: new configuration: changed'
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  wait_for 15 logged 'apply: new configuration: changed .*Ingress demo/fruit [(]change [0-9]+[)]$'
}

failed_since() { # POLLS
  (($(metric failed_polls_total) >= $1))
}

has_failed_in_a_row() { # POLLS
  (($(metric failed_polls_in_a_row) == $1))
}

@test "reads that the API server refuses change nothing, are told once and counted, and are asked for once in each poll" {
  start_pods
  start_api rules
  start_controller
  wait_for 15 test -e "$STATE_DIR/run/proxy"
  live=$(<"$STATE_DIR/live/nginx.conf")
  touch "$api/forbidden"
  wait_for 30 failed_since 3
  assert_equal "$live" "$(<"$STATE_DIR/live/nginx.conf")"
  served fruit.example /apple apple-
  ready
  told=$(grep -c 'this pass failed in fetch' "$dir/controller.log")
  ((told <= 2)) # of the first of these polls, only some reads may have failed
  : >"$dir/api.access"
  polls=$(metric failed_polls_total)
  wait_for 30 failed_since "$((polls + 6))"
  polls=$(($(metric failed_polls_total) - polls))
  reads=$(grep -c 'GET /api/v1/services ' "$dir/api.access") # not by a kubectl once more, to find out why
  assert_equal 1 "$(((reads + polls / 2) / polls))"
  assert_equal "$told" "$(grep -c 'this pass failed in fetch' "$dir/controller.log")"
  logged 'cannot read services: Error from server [(]Forbidden[)]: not allowed to list'
  (($(metric failed_polls_in_a_row) >= 6))
  rm "$api/forbidden"
  wait_for 15 logged 'the pass succeeds again'
  wait_for 15 has_failed_in_a_row 0
}

@test "a step that fails ends the pass, and it is known which it was" {
  source "$bin/loop"
  mkdir -p "$next" "$live"
  for failing in fetch route render apply; do
    fetch() { echo "$RANDOM" && fail_if_named fetch; }
    route() { cat && fail_if_named route; }
    render() { cat && fail_if_named render; }
    apply() { fail_if_named apply; }
    try pass
    assert_equal "7 $failing" "$status $(<"$next/step")"
    [[ ! -e $live/snapshot ]]
  done
}

fail_if_named() { # STEP
  [[ $failing != "$1" ]] || return 7
}

@test "when all Ingresses are really gone, their routes go" {
  start_pods
  start_api rules
  start_controller
  cluster_is nothing
  wait_for 15 served fruit.example /apple 'No rule of an Ingress matches'
}

@test "the admin port says alive at once, and ready only with the first configuration" {
  start_api rules
  touch "$api/forbidden"
  env POLL_SECONDS=0.1 DRAIN_SECONDS=0 "$bin/ingress-controller" >"$dir/controller.log" 2>&1 3>&- &
  controller=$!
  wait_for 15 curl -sf "localhost:$ADMIN_PORT/healthz"
  wait_for 15 logged 'this pass failed in fetch'
  assert_equal 503 "$(curl -s -o /dev/null -w '%{http_code}' "localhost:$ADMIN_PORT/readyz")"
  run ask fruit.example /
  assert_equal 7 "$status" # curl: connection refused
  rm "$api/forbidden"
  wait_for 15 ready
}

@test "metrics tell of polls, reloads, Ingresses, problems, the live configuration and connections" {
  start_api broken
  start_controller
  wait_for 15 polled_since 3
  assert_equal 4 "$(metric ingresses)"
  assert_equal 13 "$(metric problems)"
  assert_equal 1 "$(metric reloads_total)"
  assert_equal 0 "$(metric failed_reloads_total)"
  (($(metric last_good_poll_timestamp_seconds) > $(date +%s) - 10))
  assert_equal 1 "$(metric nginx_connections_active)"
  read -r _ _ hash _ <"$STATE_DIR/live/nginx.conf"
  assert_contains "$(curl -s "localhost:$ADMIN_PORT/metrics")" "bash_ingress_config_info{hash=\"$hash\"} 1"
  assert_contains "$(curl -s "localhost:$ADMIN_PORT/metrics")" 'bash_ingress_build_info{version="development",nginx="1.'
  assert_contains "$(head -n 1 "$dir/controller.log")" 'bash-ingress development starts, with nginx 1.'
  if printf '%s\n' 1.30.6 "$(<"$BATS_FILE_TMPDIR/nginx-version")" | sort -C -V; then
    assert_equal 0 "$(metric nginx_outdated)"
    refute_contains "$(<"$dir/controller.log")" 'this nginx is older than'
  else
    assert_equal 1 "$(metric nginx_outdated)"
    assert_contains "$(<"$dir/controller.log")" 'this nginx is older than 1.30.6, and may have faults that are known since: build the image again'
  fi
}

@test "an nginx that was killed is started again, workers and all" {
  start_pods
  start_api rules
  start_controller
  wait_for 30 older_than 5 # younger, it would be taken for a failed start
  workers=$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")
  kill -KILL "$(<"$STATE_DIR/run/nginx.pid")"
  wait_for 15 logged 'nginx ended; starting it again'
  for worker in $workers; do wait_for 15 test ! -e "/proc/$worker"; done
  wait_for 15 served fruit.example /apple apple-
}

older_than() { # SECONDS
  (($(ps -o etimes= -p "$(<"$STATE_DIR/run/nginx.pid")") > $1))
}

@test "an nginx that serves something else than the live file is told to load it" {
  start_api rules
  start_controller
  wait_for 15 polled_since 3
  loop=$(pgrep -P "$controller" -f bin/loop)
  kill -STOP "$loop" # it would mend what follows at once
  cp "$STATE_DIR/live/nginx.conf" "$dir/right.conf"
  edit "$STATE_DIR/live/nginx.conf" 's/config-hash {/config-hush {/'
  kill -HUP "$(<"$STATE_DIR/run/nginx.pid")"
  wait_for 15 serves_no_hash
  cp "$dir/right.conf" "$STATE_DIR/live/nginx.conf"
  kill -CONT "$loop"
  wait_for 30 curl -sf "localhost:$ADMIN_PORT/config-hash"
}

serves_no_hash() {
  ! curl -sf "localhost:$ADMIN_PORT/config-hash"
}

@test "what nginx could not be told to load is made again, though nothing has changed" {
  start_pods
  start_api rules
  start_controller
  wait_for 15 polled_since 3
  loop=$(pgrep -P "$controller" -f bin/loop)
  kill -STOP "$loop"
  read -r _ _ hash _ <"$STATE_DIR/live/nginx.conf"
  sed "s/$hash/older/; s/fruit.example/older.example/" "$STATE_DIR/live/nginx.conf" >"$STATE_DIR/live/nginx.conf.old"
  edit "$STATE_DIR/live/nginx.conf" "s/$hash/other/; s/listen $HTTP_PORT/listen $api_port/" # somebody has that port
  kill -CONT "$loop"
  wait_for 30 logged 'nginx did not make the new configuration live in time'
  wait_for 30 logged 'new configuration: settings or templates changed'
  wait_for 15 served fruit.example /apple apple-
}

@test "what apply put in place, and could not finish, does not stay when the cluster is again what it was" {
  start_pods
  start_api rules
  start_controller
  wait_for 15 served fruit.example /apple apple-
  ln -s /dev/full "$STATE_DIR/scratch/apply/model.json" # the disk is full when apply is nearly done
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "short.example"'
  wait_for 15 logged 'this pass failed in apply'
  cluster_is rules
  rm "$STATE_DIR/scratch/apply/model.json"
  wait_for 15 served fruit.example /apple apple-
  loop=$(pgrep -P "$controller" -f bin/loop)
  ln -s /dev/full "$STATE_DIR/scratch/apply/model.json"
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "short.example"'
  wait_for 15 served short.example /apple apple-
  kill -KILL "$loop"
  cluster_is rules
  rm "$STATE_DIR/scratch/apply/model.json"
  wait_for 15 served fruit.example /apple apple-
}

@test "of two that are killed at nearly the same time, both are started again" {
  start_api rules
  copy_programs
  edit "$bin/ingress-controller" 's/ look_seconds=10$/ look_seconds=1/'
  start_controller DOORBELL=off
  wait_for 30 older_than 5 # younger, it would be taken for a failed start
  nginx=$(<"$STATE_DIR/run/nginx.pid") lead=$(pgrep -P "$controller" -f bin/lead)
  kill -KILL "$nginx"
  sleep 0.001
  kill -KILL "$lead"
  wait_for 10 pgrep -P "$controller" -f bin/lead
  wait_for 10 is_alive
}

@test "a loop that was killed is started again" {
  start_api rules
  start_controller
  kill -KILL "$(pgrep -P "$controller" -f bin/loop)"
  wait_for 15 logged 'loop ended; starting it again'
  cluster_is nothing
  wait_for 15 served fruit.example /apple 'No rule of an Ingress matches'
}

@test "a proxy that was killed, or hangs, is started again, and a change is seen at once again" {
  start_pods
  start_api rules
  start_controller POLL_SECONDS=600 READ_SECONDS=1
  for signal in KILL STOP; do
    wait_for 15 test -e "$STATE_DIR/run/proxy"
    before=$(<"$STATE_DIR/run/proxy")
    kill "-$signal" "${before##* }"
    [[ $signal == KILL ]] || echo >"$STATE_DIR/run/bell" # the poll notices
    wait_for 15 is_another_proxy "$before"
    : >"$dir/api.access"
    wait_for 15 watched 5
    cluster_is rules ".ingresses.items[0].spec.rules[0].host = \"${signal,,}.example\""
    wait_for 15 served "${signal,,}.example" /apple apple-
  done
  (($(grep -c 'proxy ended; starting it again' "$dir/controller.log") >= 2))
}

is_another_proxy() { # OLD_ONE
  [[ -s $STATE_DIR/run/proxy && $(<"$STATE_DIR/run/proxy") != "$1" ]]
}

watched() { # TIMES
  (($(grep -c '&watch=1 HTTP/1.1" 200' "$dir/api.access") >= $1))
}

@test "what ends again and again is started after longer and longer pauses, which delay nothing else" {
  start_api rules
  mkdir "$dir/path"
  printf '#!/bin/sh\n[ "$1" != proxy ] || exit 1\nexec %s "$@"\n' "$(command -v kubectl)" >"$dir/path/kubectl"
  chmod +x "$dir/path/kubectl"
  start_controller PATH="$dir/path:$PATH"
  wait_for 30 logged 'proxy ended; starting it again in 4 s'
  kill -KILL "$(pgrep -P "$controller" -f bin/loop)"
  wait_for 3 logged 'loop ended; starting it again in 0 s'
  assert_equal 1 "$(grep -c 'starting it again in 4 s' "$dir/controller.log")"
}

@test "SIGTERM ends readiness first, then serves on, then leaves nothing behind" {
  start_pods
  start_api rules
  start_controller DRAIN_SECONDS=2
  kill -TERM "$controller"
  wait_for 15 test ! -e "$STATE_DIR/admin/ready"
  served fruit.example /apple apple-
  assert_equal 503 "$(curl -s -o /dev/null -w '%{http_code}' "localhost:$ADMIN_PORT/readyz")"
  wait "$controller"
  run ask fruit.example /
  assert_equal 7 "$status"
  run pgrep -f "$STATE_DIR"
  assert_equal '' "$output"
  controller=''
}

@test "a request that is still open SHUTDOWN_SECONDS after SIGTERM is cut, and the log says so" {
  backend=$(go_program backend)
  "$backend" 127.77.0.1:8080 127.77.0.2:8080 3>&- &
  backend_pid=$!
  disown # so that bash does not report its end
  start_api rules '.ingresses.items[0].spec.rules[0].http.paths = [{path: "/", pathType: "Prefix", backend: {service: {name: "apple", port: {number: 80}}}}]'
  start_controller SHUTDOWN_SECONDS=1
  wait_for 15 served fruit.example /counts "{"
  ask fruit.example /events -N --max-time 60 >"$dir/events" 3>&- &
  stream=$!
  wait_for 15 grep -q 'data: 1' "$dir/events"
  kill -TERM "$controller"
  wait "$controller"
  controller=''
  run wait "$stream"
  assert_contains "$(<"$dir/controller.log")" 'requests or WebSockets are still open after SHUTDOWN_SECONDS=1: cutting them'
  kill -KILL "$backend_pid"
}

@test "a second SIGTERM ends it at once" {
  start_api rules
  start_controller DRAIN_SECONDS=60
  kill -TERM "$controller"
  wait_for 15 test ! -e "$STATE_DIR/admin/ready"
  kill -TERM "$controller"
  wait_for 15 test ! -e "$STATE_DIR/run/nginx.pid"
  wait "$controller"
  controller=''
}

@test "after a restart the last good configuration is live at once, even if the API server is gone" {
  start_pods
  start_api rules
  start_controller
  wait_for 15 served fruit.example /apple apple-
  stop_controller
  touch "$api/forbidden"
  start_controller
  served fruit.example /apple apple-
}

@test "a wrong setting or a missing program ends it at the start" {
  run env POLL_SECONDS=x "$bin/ingress-controller"
  assert_equal 2 "$status"
  assert_contains "$output" 'POLL_SECONDS=x is not possible'
  mkdir "$dir/path"
  ln -s "$(command -v bash)" "$(command -v env)" "$dir/path"
  PATH=$dir/path run "$bin/ingress-controller"
  assert_equal 2 "$status"
  assert_contains "$output" 'these programs are missing: kubectl jq nginx openssl envsubst'
}

@test "a clock that jumps by an hour, forward or back, stops no poll, costs no reload and hides no change" {
  start_pods
  start_api rules
  use_own_clock
  start_controller
  wait_for 5 polled_since 3
  workers=$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")
  for offset in +1h -1h; do
    set_clock "$offset"
    polls=$(metric polls_total)
    wait_for 20 polled_since "$((polls + 3))"
    assert_equal "$workers" "$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")"
  done
  cluster_is rules '(.ingresses.items[0].spec.rules[0].host = "new.example") | (.ingresses.items[0].metadata.resourceVersion = "200")'
  wait_for 20 served new.example /apple apple-
  assert_equal 0 "$(metric failed_polls_total)"
}

@test "a client cannot give orders to the terminal on which the log is read" {
  start_api rules # but no pods
  start_controller
  ask fruit.example /apple -H $'Referer: \e[2J\x9b' -o /dev/null
  wait_for 15 logged 'connect\(\) failed .* referrer: "\?\[2J\?"'
  ! grep -q $'\e' "$dir/controller.log"
}
