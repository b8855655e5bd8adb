# lib/loop/prepared.bash: the programs of jq that the loop starts before there is anything to do.
load helpers

setup() {
  common_setup
}

teardown() {
  pkill -f "$dir/.*.jq" || true # it may have ended
}

# From now on it is known with which arguments it is used.
prepare_program() {
  mkdir -p "$next"
  prepared=(program)
  make_room_for_prepared
  echo '[inputs] | if .[0].bad? then error("it is bad") else length, $word, .[] end' >"$dir/program.jq"
  echo '"a"' >"$dir/word"
  run_program </dev/null >/dev/null
  prepare_again
}

prepare_again() {
  prepare_steps
  wait_for 5 waits
}

# As a step does it: in a process of its own.
run_program() ( # [FILE] <INPUT
  run_jq -n -c -f "$dir/program.jq" --slurpfile word "${1:-$dir/word}"
)

waits() {
  [[ $(<"$waiting/program.state") == waits ]] && pgrep -f "^jq .*$dir/program.jq.*program.in" >/dev/null
}

@test "what waits prints what jq prints, however much that is, and then waits again" {
  source "$bin/loop"
  prepare_program
  seq 100000 >"$dir/input"
  jq -n -c -f "$dir/program.jq" --slurpfile word "$dir/word" "$dir/input" >"$dir/expected"
  for _ in 1 2; do
    run_program <"$dir/input" | cmp - "$dir/expected"
    ! waits || false
    assert_equal used "$(<"$waiting/program.state")" # it was the one that waited
    prepare_again
  done
}

@test "where the memory is bounded already, by less than the pod's half, jq works within that" {
  source "$bin/loop"
  ulimit -v 1000000
  half_of_memory=2000000
  run_jq -n 1 >"$dir/one" # not in $(...), where `set -e` would not count
  assert_equal 1 "$(<"$dir/one")"
}

@test "a program that is in no file runs as well" {
  source "$bin/loop"
  prepare_program
  assert_equal 2 "$(run_jq -n '1 + 1')"
}

@test "its failure and what it complains of are jq's" {
  source "$bin/loop"
  prepare_program
  run --separate-stderr run_program <<<'{"bad": true}'
  assert_equal 5 "$status"
  # shellcheck disable=SC2154 # run sets it
  assert_contains "$stderr" 'it is bad'
  assert_equal '' "$output"
}

@test "with other arguments, or a file that has changed since, jq itself answers, and what waits is replaced" {
  source "$bin/loop"
  prepare_program
  echo '"b"' >"$dir/other"
  assert_equal '0 ["b"]' "$(run_program "$dir/other" </dev/null | paste -sd ' ')"
  prepare_again
  assert_equal 1 "$(pgrep -fc "^jq .*$dir/program.jq.*program.in")"
  echo '"c"' >"$dir/other"
  touch -d '1 hour ago' "$dir/other" # the clock was set back
  assert_equal '0 ["c"]' "$(run_program "$dir/other" </dev/null | paste -sd ' ')"
  prepare_again
  assert_equal '0 ["c"]' "$(run_program "$dir/other" </dev/null | paste -sd ' ')"
}

@test "if what waits was killed, jq itself answers; if it is killed at work, that is a failure" {
  source "$bin/loop"
  prepare_program
  pkill -KILL -f "^jq .*$dir/program.jq.*program.in"
  wait_for 5 eval 'read -t 0 <&"${statuses[program]}"'
  assert_equal '0 ["a"]' "$(run_program </dev/null | paste -sd ' ')"
  prepare_again
  (sleep 0.3 && pkill -KILL -f "^jq .*$dir/program.jq.*program.in") &
  run run_program < <(sleep 10)
  assert_equal 137 "$status"
}

@test "one that could not be started for a full disk takes nothing from the others, and is started later" {
  source "$bin/loop"
  mkdir -p "$next"
  prepared=(first second)
  make_room_for_prepared
  for name in first second; do
    cp <(echo '[inputs]') "$dir/$name.jq"
    run_jq -n -c -f "$dir/$name.jq" </dev/null >"$dir/known"
  done
  prepare_steps
  for name in first second; do run_jq -n -c -f "$dir/$name.jq" </dev/null >"$dir/used"; done
  rm "$waiting/first.state"
  ln -s /dev/full "$waiting/first.state"
  prepare_steps
  rm "$waiting/first.state"
  : >"$waiting/first.state"
  use_both &
  wait_for 10 has_ended "$!"
  assert_equal $'[7]\n[7]' "$(<"$dir/used")"
}

use_both() {
  prepare_steps
  for name in second first; do run_jq -n -c -f "$dir/$name.jq" <<<7; done >"$dir/used"
}

has_ended() { # PID
  ! kill -0 "$1"
}
