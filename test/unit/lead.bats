# The election among real processes. The API server is played by a kubectl that keeps one Lease in a file.
load helpers

setup() {
  common_setup
  export API=$dir/api LEASE_SECONDS=6 PATH="$dir/path:$PATH"
  mkdir -p "$API" "$dir/path"
  stand_in >"$dir/path/kubectl"
  chmod +x "$dir/path/kubectl"
  printf '#!/bin/sh\necho "$*" >>"%s/did.$POD_NAME"\n' "$dir" >"$dir/work"
  chmod +x "$dir/work"
  pids=()
}

teardown() {
  local pid
  for pid in "${pids[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true # it may have ended
    forget_clock "$pid"
  done
  common_teardown
}

# As the API server: one writer at a time, and only for who knows the newest version.
stand_in() {
  echo '#!/usr/bin/env bash'
  cat <<'KUBECTL'
refuse() { echo "Error from server ($1): no" >&2 && exit 1; }
version() { jq -r .metadata.resourceVersion "$1"; }
exec 9>"$API/lock"
flock 9
[[ ! -e $API/down ]] || refuse ServiceUnavailable
echo "$1 ${POD_NAME-}" >>"$API/requests"
case $1 in
  get) [[ -s $API/lease ]] && cat "$API/lease" || refuse NotFound ;;
  create) [[ ! -s $API/lease ]] || refuse AlreadyExists ;;
  replace) [[ $(version "$5") == $(version "$API/lease") ]] || refuse Conflict ;;
esac
[[ $1 != get ]] || exit 0
[[ ! -e $API/unwritten ]] || exit 0
jq -c --arg version "$(wc -l <"$API/requests")" '.metadata.resourceVersion = $version' "$5" >"$API/new"
mv "$API/new" "$API/lease"
cat "$API/lease"
KUBECTL
}

start_replica() { # NAME [COMMAND...]
  "${by_clock[@]}" env POD_NAME="$1" STATE_DIR="$dir/$1" "$bin/lead" "$dir/$1.file" "${@:2}" >"$dir/$1.log" 2>&1 3>&- &
  pids+=("$!")
}

leads() { # NAME
  [[ $(holder) == "$1" && -s $dir/did.$1 ]]
}

holder() {
  jq -r .spec.holderIdentity "$API/lease"
}

times_done() { # NAME
  cat "$dir/did.$1" 2>/dev/null | wc -l
}

@test "of two replicas one leads, and goes on; the other only looks" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  start_replica two "$dir/work"
  wait_for 30 eval '(($(grep -c "replace one" "$API/requests") >= 3))'
  assert_equal 0 "$(times_done two)"
  assert_equal 0 "$(grep -c 'replace two' "$API/requests")"
  assert_equal '1 0' "$(<"$dir/one/lead/state")"
  assert_equal '0 0' "$(<"$dir/two/lead/state")"
  assert_equal 'one leads now' "$(sed 's/.*: //' "$dir/one.log")"
}

@test "the leader does its work every few seconds, and at once when the file is replaced" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  wait_for 30 eval '(($(times_done one) >= 2))'
  began=$SECONDS
  for i in 1 2 3 4 5; do
    before=$(times_done one)
    echo "$i" >"$dir/new"
    mv "$dir/new" "$dir/one.file"
    wait_for 10 eval '(($(times_done one) > before))'
  done
  ((SECONDS - began < 30)) # without the file, it would be 40 at least
}

@test "who polls less often does that work less often, too" {
  for seconds in 0.5:10 1:10 9.5:10 10:10 30:30 300:30; do
    next=$(POLL_SECONDS=${seconds%:*} bash -c 'source "$1" && mkdir -p "$folder" && : >"$folder/log" && tell 0 && echo "$((next_run - $(uptime)))"' _ "$bin/lead")
    ((next == ${seconds#*:} || next == ${seconds#*:} - 1))
  done
}

@test "of replicas that want the Lease at the same moment, one gets it" {
  for name in a b c d; do start_replica "$name" "$dir/work"; done
  wait_for 15 eval 'leads "$(holder)"'
  wait_for 30 eval '(($(grep -c "replace $(holder)" "$API/requests") >= 2))'
  assert_equal 1 "$(cat "$dir"/*.log | grep -c 'leads now')"
}

@test "the Lease has the fields that other programs know" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  assert_equal '["coordination.k8s.io/v1","Lease","bash-ingress","bash-ingress"]' \
    "$(jq -c '[.apiVersion, .kind, .metadata.namespace, .metadata.name]' "$API/lease")"
  assert_equal '["one",6,0]' "$(jq -c '.spec | [.holderIdentity, .leaseDurationSeconds, .leaseTransitions]' "$API/lease")"
  for time in acquireTime renewTime; do
    [[ $(jq -r ".spec.$time" "$API/lease") =~ ^20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z$ ]]
  done
}

@test "when the leader is killed, the other leads once its time is over" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  start_replica two "$dir/work"
  wait_for 15 grep -q 'get two' "$API/requests"
  kill -KILL "${pids[0]}"
  wait_for 30 leads two
  assert_equal 1 "$(jq .spec.leaseTransitions "$API/lease")"
}

@test "a leader that was frozen for long does nothing more when it thaws" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  start_replica two "$dir/work"
  kill -STOP "${pids[0]}"
  wait_for 30 leads two
  before=$(times_done one)
  kill -CONT "${pids[0]}"
  wait_for 15 grep -q 'one does not lead any more' "$dir/one.log"
  wait_for 15 eval '(($(grep -c "replace two" "$API/requests") >= 3))'
  assert_equal "$before" "$(times_done one)"
}

@test "a leader without an API server ends its command, and says so once" {
  start_replica one sleep 100
  wait_for 15 eval '[[ $(holder) == one ]]'
  wait_for 15 pgrep -P "${pids[0]}" timeout
  touch "$API/down"
  wait_for 30 grep -q 'one does not lead any more' "$dir/one.log"
  run pgrep -P "${pids[0]}" timeout
  assert_equal '' "$output"
  wait_for 15 grep -q 'cannot .* the Lease bash-ingress/bash-ingress: ' "$dir/one.log"
  (($(grep -c 'cannot ' "$dir/one.log") <= 2)) # to write it, and then to read it
  rm "$API/down"
  wait_for 15 eval '(($(grep -c "one leads now" "$dir/one.log") == 2))'
}

@test "a leader whose writes do not arrive, although something answers them, gives way to the other" {
  start_replica one "$dir/work"
  wait_for 5 leads one
  touch "$API/unwritten"
  wait_for 10 grep -q 'one does not lead any more' "$dir/one.log"
  grep -q 'cannot write the Lease bash-ingress/bash-ingress: ' "$dir/one.log"
  rm "$API/unwritten"
  wait_for 10 eval '(($(grep -c "one leads now" "$dir/one.log") == 2))'
}

@test "replicas whose clocks are hours apart, and jump, have one leader, who stays" {
  export LEASE_SECONDS=12 # a busy machine is not the subject here
  use_own_clock
  set_clock +1h
  start_replica one "$dir/work"
  wait_for 5 leads one
  by_clock=()
  start_replica two "$dir/work"
  for offset in -1h +1h +0; do
    set_clock "$offset"
    renewed=$(jq .spec.renewTime "$API/lease") worked=$(times_done one)
    wait_for 30 eval '[[ $(jq .spec.renewTime "$API/lease") != "$renewed" ]] && (($(times_done one) > worked))'
  done
  assert_equal 0 "$(grep -c 'replace two' "$API/requests")"
  assert_equal 1 "$(cat "$dir"/*.log | grep -c 'leads now')"
  kill -TERM "${pids[0]}" # and so all that lives by that clock
  wait "${pids[0]}"
}

@test "SIGTERM: the leader runs the command once with \"end\", and the other leads at once" {
  start_replica one "$dir/work" x
  wait_for 15 leads one
  kill -TERM "${pids[0]}"
  wait "${pids[0]}"
  assert_equal 'x end' "$(tail -n 1 "$dir/did.one")"
  assert_equal 1 "$(grep -c end "$dir/did.one")"
  assert_equal '' "$(holder)"
  start_replica two "$dir/work"
  wait_for 15 leads two
}

@test "SIGTERM: who does not lead ends without running anything" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  start_replica two "$dir/work"
  wait_for 15 grep -q 'get two' "$API/requests"
  kill -TERM "${pids[1]}"
  wait "${pids[1]}"
  assert_equal 0 "$(times_done two)"
  assert_equal one "$(holder)"
}

@test "SIGTERM: the last replica cleans up also if the leader left just before it" {
  echo '{"kind": "Lease", "metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": "gone", "leaseDurationSeconds": 100}}' >"$API/lease"
  start_replica two "$dir/work"
  wait_for 15 grep -q 'get two' "$API/requests"
  jq -c '.spec.holderIdentity = ""' "$API/lease" >"$API/new"
  mv "$API/new" "$API/lease"
  kill -TERM "${pids[0]}"
  wait "${pids[0]}"
  assert_equal end "$(tail -n 1 "$dir/did.two")"
}

@test "a command that fails is told once, counted, and tried again" {
  start_replica one sh -c 'echo "it is $(date +%N) o clock" >&2; exit 1'
  wait_for 15 eval '[[ $(<"$dir/one/lead/state") == "1 2" ]]'
  assert_equal 1 "$(grep -c 'o clock' "$dir/one.log")"
}

@test "a setting that leaves no time to renew is refused" {
  LEASE_SECONDS=5 run "$bin/lead" true
  assert_equal 2 "$status"
  assert_contains "$output" 'LEASE_SECONDS=5 is not possible. It takes a whole number of seconds above 5'
}

@test "a replica that is started again knows nothing of the Lease, and waits like a new one" {
  start_replica a "$dir/work"
  wait_for 30 leads a
  start_replica b "$dir/work"
  wait_for 30 grep -q 'get b' "$API/requests"
  kill -STOP "${pids[0]}" # so that the Lease stays as it is
  kill -KILL "${pids[1]}"
  start_replica b "$dir/work"
  requests=$(grep -c 'get b' "$API/requests")
  wait_for 30 eval '(($(grep -c "get b" "$API/requests") > requests))'
  assert_equal a "$(holder)"
  kill -CONT "${pids[0]}"
}

@test "a Lease that is deleted is not taken before its holder's time is over" {
  start_replica a "$dir/work"
  wait_for 30 leads a
  start_replica b "$dir/work"
  wait_for 30 grep -q 'get b' "$API/requests"
  flock "$API/lock" rm "$API/lease"       # one writer at a time
  wait_for 30 eval '[[ $(holder) == a ]]' # it makes a new one
}
