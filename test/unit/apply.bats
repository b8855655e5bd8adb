load helpers
setup() { common_setup; }
teardown() { common_teardown; }

apply() { # FIXTURE [EDIT]
  model "$@" >"$dir/model.json"
  "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json"
}

@test "apply shows the diff, says which objects are the reason, and makes it live" {
  start_pods
  serve rules
  run apply rules '.endpointSlices.items[0].endpoints |= .[:1]
    | .ingresses.items += [.ingresses.items[0] * {metadata: {name: "new"}, spec: {rules: [{host: "new.example"}]}}]
    | del(.ingresses.items[] | select(.metadata.namespace == "shop"))'
  assert_equal 0 "$status"
  assert_contains "$output" 'apply: new configuration: added Ingress demo/new; removed Ingress shop/same-names; demo/apple:80 lost pod 127.77.0.2:8080'
  assert_contains "$output" $'\n-    server "127.77.0.2:8080" max_fails=0;\n'
  assert_contains "$output" $'\n+    server_name "new.example";\n'
  refute_contains "$output" 'of this file, by which apply knows'
  assert_contains "$(ask new.example /)" 'No rule'
  assert_contains "$(ask shop.example /x)" 'No rule'
}

@test "the same configuration again is no change: no output, no reload" {
  serve rules
  workers=$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")
  run apply rules
  assert_equal '' "$output"
  assert_equal "$workers" "$(pgrep -P "$(<"$STATE_DIR/run/nginx.pid")")"
}

workers() {
  pgrep -P "$(<"$STATE_DIR/run/nginx.pid")" | sort
}

run_as_many() { # NUMBER
  (($(workers | wc -l) == $1))
}

have_gone() { # WORKERS
  [[ -z $(comm -12 <(echo "$1") <(workers)) ]]
}

@test "at each reload as many new workers take the place of the old ones, and nobody starts those again" {
  serve rules
  first=$(workers)
  for round in 1 2 3 4 5; do
    before=$(workers)
    run apply rules ".ingresses.items[0].spec.rules[0].host = \"round-$round.example\""
    assert_contains "$output" "server_name \"round-$round.example\""
    wait_for 5 have_gone "$before"
  done
  assert_equal "$(wc -l <<<"$first")" "$(workers | wc -l)"
}

@test "where the kernel does not list the children of a process, a reload is proved by what nginx serves alone" {
  copy_programs
  edit "$bin/lib/apply/drain.bash" 's|task/$master/children"|task/$master/no-children"|'
  serve rules
  run apply broken
  assert_equal 0 "$status"
  refute_contains "$output" 'did not make the new configuration live'
}

is_leaving() { # WORKER
  ! does working "$1"
}

@test "an old worker is told to take no more connections when as many new ones run, and not before" {
  serve rules
  source "$bin/apply"
  nginx_runs
  wait_for 5 run_as_many 2
  find_workers working
  old_workers=("${found[@]}")
  ! retire_old_workers || false
  find_workers working
  assert_equal "${old_workers[*]}" "${found[*]}"
  old_workers=("${found[0]}") # and the other one is new
  retire_old_workers
  wait_for 5 is_leaving "${old_workers[0]}"
}

@test "a problem is told when it comes and when it goes, once" {
  serve rules
  run apply broken
  assert_contains "$output" 'apply: Ingress demo/broken: Service demo/missing does not exist (ServiceNotFound)'
  run apply broken
  assert_equal '' "$output"
  run apply rules
  assert_contains "$output" 'solved: Ingress demo/broken: Service demo/missing does not exist (ServiceNotFound)'
}

@test "a configuration that nginx rejects changes nothing, and the reason is told" {
  start_pods
  serve rules
  run bash -c "(sed 's/server_name \"fruit.example\"/nonsense on/' '$STATE_DIR/live/nginx.conf') | '$bin/apply'"
  assert_equal 10 "$status"
  assert_contains "$output" 'nginx rejects the new configuration, so the old one stays'
  assert_contains "$output" 'unknown directive "nonsense"'
  assert_contains "$(ask fruit.example /apple)" apple-
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" nonsense
}

# From here on, `nginx -t` does this instead.
nginx_tests_with() { # COMMANDS
  mkdir -p "$dir/path"
  printf '#!/bin/bash\n[[ " $* " != *" -t "* ]] || { %s; }\nexec %s "$@"\n' "$1" "$(PATH=${PATH#"$dir/path:"} command -v nginx)" >"$dir/path/nginx"
  chmod +x "$dir/path/nginx"
  PATH=$dir/path:${PATH#"$dir/path:"}
}

@test "a test of nginx that takes too long or is killed rejects the configuration, and the reason is told" {
  model rules | "$bin/render" >"$dir/nginx.conf"
  while IFS='|' read -r bound commands words; do
    nginx_tests_with "$commands"
    run apply_with "$bound" test <"$dir/nginx.conf"
    assert_equal 10 "$status"
    assert_contains "$output" "nginx rejects the new configuration, so the old one stays: $words"
  done <<'ROWS'
test_seconds=1|exec sleep 60|nginx's test took longer than 1 s
test_seconds=1|trap "" TERM; read -rt 60 <> <(:)|nginx's test took longer than 1 s
test_cpu_seconds=7|if [[ $(ulimit -S -t) == 7 ]]; then kill -XCPU $$; fi|nginx's test took more than 7 s of CPU time
test_seconds=9|kill -KILL $$|nginx's test was killed, perhaps because there is not enough memory
ROWS
}

@test "a test of nginx cannot have all memory" {
  nginx_tests_with 'echo "at most $(ulimit -v) KiB"; exit 1'
  run "$bin/apply" test < <(model rules | "$bin/render")
  [[ $output =~ 'at most '([0-9]+)' KiB' ]]
  ((BASH_REMATCH[1] > 400000))  # what 5,000 hosts take
  mkdir -p "$dir/cgroup/memory" # as it is with version 1 of control groups
  echo 1073741824 >"$dir/cgroup/memory/memory.limit_in_bytes"
  echo 1000000 >"$dir/cgroup/memory/memory.usage_in_bytes"
  run apply_with "cgroup=$dir/cgroup" test < <(model rules | "$bin/render")
  assert_contains "$output" "at most $((1073741824 / 2048 + 100000)) KiB"
}

@test "a configuration that passes nginx's test but does not become live is taken back" {
  start_pods
  serve rules
  taken=$(free_port)
  printf 'pid %s; error_log /dev/null; events {} http { access_log off; client_body_temp_path %s/t; server { listen %s; } }' \
    "$dir/taken.pid" "$dir" "$taken" >"$dir/taken.conf"
  nginx -e stderr -c "$dir/taken.conf"
  model rules >"$dir/model.json"
  HTTP_PORT=$taken "$bin/render" <"$dir/model.json" >"$dir/taken.nginx.conf"
  run apply_with reload_seconds=1 "$dir/model.json" <"$dir/taken.nginx.conf"
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx did not make the new configuration live in time'
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" "listen $HTTP_PORT"
  (source "$bin/lib/common.bash" && source "$bin/lib/apply/nginx.bash" && leave_out_what_is_not_here "$dir/taken.nginx.conf") 2>/dev/null
  cp "$dir/taken.nginx.conf" "$STATE_DIR/live/nginx.conf" # as if apply had been killed before it told nginx
  run apply_with reload_seconds=1 "$dir/model.json" <"$dir/taken.nginx.conf"
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx did not make the new configuration live in time'
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" "listen $HTTP_PORT"
  assert_contains "$(ask fruit.example /apple)" apple-
}

@test "the time in which nginx has to load a configuration begins when it was told, however long that had to wait" {
  source "$bin/apply"
  take_time() { now=$time; }
  time=1000
  within_bounds true
  for time in 1100 1105; do may_still_load; done
  time=1106
  ! may_still_load || false
}

@test "a full disk changes nothing, and is named" {
  start_pods
  serve rules
  ln -s /dev/full "$STATE_DIR/live/nginx.conf.new"
  run apply rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  assert_equal 1 "$status"
  assert_contains "$output" "cannot write $STATE_DIR/live/nginx.conf.new; is $STATE_DIR full?"
  assert_contains "$(ask fruit.example /apple)" apple-
}

@test "a configuration that is in its place but was never loaded is loaded" {
  start_pods
  serve rules
  edit='.ingresses.items[0].spec.rules[0].host = "new.example"'
  mv "$STATE_DIR/run/nginx.pid" "$dir/hidden" # as if apply had been killed before the reload
  apply rules "$edit" >/dev/null
  assert_contains "$(ask new.example /apple)" 'No rule'
  mv "$dir/hidden" "$STATE_DIR/run/nginx.pid"
  apply rules "$edit"
  assert_contains "$(ask new.example /apple)" apple-
}

@test "a directive that an older nginx lacks is left out, with a warning" {
  mkdir "$dir/old"
  printf '#!/bin/sh\ncase $1 in -v) echo "nginx version: nginx/1.22.1" >&2 ;; esac\n' >"$dir/old/nginx"
  chmod +x "$dir/old/nginx"
  PATH=$dir/old:$PATH run apply rules
  assert_contains "$output" 'this nginx is 1.22.1, and keepalive_min_timeout came with 1.27.4. It is left out: reloads may lose requests'
  refute_contains "$(grep -v '^ *#' "$STATE_DIR/live/nginx.conf")" keepalive_min_timeout
}

@test "where the kernel has no IPv6, nginx listens on IPv4 only" {
  model rules | tee "$dir/model.json" | "$bin/render" >"$dir/nginx.conf"
  apply_with if_inet6="$dir/nothing" "$dir/model.json" <"$dir/nginx.conf"
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" "listen $HTTP_PORT"
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" 'listen ['
}

@test "a long diff is cut, with the number of lines left" {
  model rules | tee "$dir/model.json" | "$bin/render" >"$dir/nginx.conf"
  run apply_with diff_lines=5 "$dir/model.json" <"$dir/nginx.conf"
  assert_equal 5 "$(grep -c '^[-+ @]' <<<"$output")"
  [[ $output =~ \.\.\.\ and\ [0-9]+\ lines\ more ]]
}

@test "the diff has colours when they are wanted" {
  CLICOLOR_FORCE=1 run apply rules
  assert_contains "$output" $'\e[32m+'
  rm -r "$STATE_DIR"
  CLICOLOR_FORCE=1 NO_COLOR=1 run apply rules
  refute_contains "$output" $'\e['
}

@test "a worker that serves a neighbour is known for it, also if another of its connections ends just then" {
  cat >"$dir/find" <<'END'
#!/bin/bash
/usr/bin/find "$@"
exit 1
END
  chmod +x "$dir/find"
  exec 5<>/dev/udp/127.0.0.1/9
  PATH=$dir:$PATH run bash -euo pipefail -c 'source "$1/lib/apply/nginx.bash" && source "$1/lib/apply/drain.bash" && sockets=("$(readlink /proc/$2/fd/5)") && serves_neighbours "$2"' _ "$bin" "$$"
  exec 5>&-
  assert_equal 0 "$status"
}

@test "the status of nginx's test is known, and a pause ends in time, however short the processes are and whatever else runs" {
  # shellcheck disable=SC2016 # the dollar signs are for the program
  run -0 timeout 60 bash -c '
    source "$1/settings"
    source "$1/lib/apply/nginx.bash"
    took() { :; }
    half_of_memory=1000000
    sleep 100 &
    trap "kill $!" EXIT
    for i in {1..700}; do
      silence=""
      nap 0.001
      exec {silence}<&-
      within_bounds true || echo "of true, the status is $?, and it says $said"
      status=0
      within_bounds bash -c "echo said && exit 1" || status=$?
      [[ "$status $said" == "1 said" ]] || echo "of false, the status is $status, and it says $said"
    done' _ "$bin"
  assert_equal '' "$output"
}
