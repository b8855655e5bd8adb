# What a loop is like that somebody starts by hand: one pass, what it prints, and beside another loop.
load helpers

setup() {
  common_setup
  start_api rules
  use_quick_kubectl
}
teardown() { common_teardown; }

@test "loop --once tests and shows a configuration in a folder of its own, of which nothing is left, and changes no other" {
  mkdir "$dir/tmp"
  TMPDIR=$dir/tmp run env -u STATE_DIR "$bin/loop" --once
  assert_equal 0 "$status"
  assert_contains "$output" 'new configuration: added Ingress demo/added-later, '
  assert_contains "$output" $'\n+++ new\n'
  assert_equal '' "$(ls "$dir/tmp")"
  [[ ! -e $STATE_DIR ]]
}

@test "with STATE_DIR, loop --once works there" {
  run "$bin/loop" --once
  assert_equal 0 "$status"
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" 'server_name "fruit.example";'
  assert_equal '{"whole":true}' "$(tail -n 1 "$STATE_DIR/live/snapshot")"
}

@test "loop takes no other argument" {
  run "$bin/loop" twice
  assert_equal 2 "$status"
  assert_contains "$output" 'the argument can only be --once, and not twice'
}

@test "TRACE prints each step, and what it asks, decides and changes, with its milliseconds, and nothing is printed without" {
  start_pods
  serve nothing
  run --separate-stderr "$bin/loop" --once
  # shellcheck disable=SC2154 # run sets it
  refute_contains "$stderr" '[#]'
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  TRACE=1 run --separate-stderr "$bin/loop" --once
  assert_equal 0 "$status"
  for step in fetch route render apply; do
    assert_contains $'\n'"$stderr" $'\n'"$step:"$'\n'
    [[ $stderr =~ \[#\]\ ${step}[^$'\n']*\ \([0-9]+\ ms\) ]] || { echo "$step" && false; }
  done
  for command in 'jq [^(]*route.jq' 'nginx -e stderr -t -c \$STATE_DIR/live/nginx.conf.new' 'mv -T \$STATE_DIR/live/nginx.conf.new \$STATE_DIR/live/nginx.conf' 'kill -HUP [0-9]+'; do
    grep -Eq "^\[#\] .*$command.* \([0-9]+ ms\)" <<<"$stderr" || { echo "$command" && false; }
  done
  served new.example /apple apple-
}

@test "a second loop is refused where one works, and changes nothing there" {
  start_controller
  before=$(<"$STATE_DIR/run/loop")
  for arguments in '' --once; do
    run timeout 20 "$bin/loop" ${arguments:+"$arguments"}
    assert_equal 1 "$status"
    assert_contains "$output" "another loop, process ${before% *}, works in STATE_DIR=$STATE_DIR: end that one, or set another STATE_DIR"
  done
  assert_equal "$before" "$(<"$STATE_DIR/run/loop")"
}

@test "a loop that was killed keeps no other from its folder, though what it started may still run, and its number may be another's" {
  source "$bin/loop"
  mkdir -p "$STATE_DIR/run"
  sleep 60 3>&- &
  echo "$! $(start_of "$!")" >"$STATE_DIR/run/loop"
  run be_the_only_loop
  assert_equal 1 "$status"
  echo "$! 1" >"$STATE_DIR/run/loop" # another process had the number
  be_the_only_loop
  kill "$!"
  wait "$!" || true
  echo "$! 1" >"$STATE_DIR/run/loop"
  be_the_only_loop
  assert_equal "$$ $(start_of "$$")" "$(<"$STATE_DIR/run/loop")"
}
