# The election, and what the leader does, among real processes. How the lead passes to another: succession.bats.
load lead

# Prints whether that replica leads, and how often its command has failed.
state() { # REPLICA
  sed 's/.* //' "$dir/$1/run/leader" | paste -sd ' '
}

@test "of two replicas one leads, and goes on; the other only looks" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  start_replica two "$dir/work"
  wait_for 30 has_renewed 2 one
  assert_equal 0 "$(times_done two)"
  assert_equal 0 "$(grep -c 'replace two' "$API/requests")"
  assert_equal '1 0' "$(state one)"
  assert_equal '0 0' "$(state two)"
  assert_equal 'one leads now' "$(sed 's/.*: //' "$dir/one.log")"
}

@test "the leader does its work every few seconds, and at once when the file is replaced" {
  start_replica one "$dir/work"
  wait_for 15 leads one
  wait_for 30 has_done_more 1 one
  began=$SECONDS
  for i in 1 2 3; do
    before=$(times_done one)
    echo "$i" >"$dir/new"
    mv "$dir/new" "$dir/one.file"
    wait_for 10 has_done_more "$before" one
  done
  ((SECONDS - began < 15)) # without the file, it would be 20 at least
}

@test "work that is not yet complete is done again 2 s later, and is no failure" {
  assert_equal '2 0' "$(bash -c 'source "$1" && mkdir -p "$folder" && : >"$folder/log" && record_run 4 && echo "$((next_run - now)) $run_failed"' _ "$bin/lead")"
}

@test "who polls less often does that work less often, too" {
  for seconds in 0.5:10 1:10 9.5:10 10:10 30:30 300:30; do
    next=$(POLL_SECONDS=${seconds%:*} bash -c 'source "$1" && mkdir -p "$folder" && : >"$folder/log" && record_run 0 && echo "$((next_run - $(uptime)))"' _ "$bin/lead")
    ((next == ${seconds#*:} || next == ${seconds#*:} - 1))
  done
}

@test "of replicas that want the Lease at the same moment, one gets it" {
  for name in a b c d; do start_replica "$name" "$dir/work"; done
  wait_for 15 somebody_leads
  wait_for 30 has_renewed 2 "$(holder)"
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

@test "replicas whose clocks are hours apart, and jump, have one leader, who stays" {
  export LEASE_SECONDS=12 # a busy machine is not the subject here
  use_own_clock
  set_clock +1h
  start_replica one "$dir/work"
  wait_for 5 leads one
  by_clock=()
  start_replica two "$dir/work"
  worked=$(times_done one)
  for offset in -1h +1h +0; do
    set_clock "$offset"
    wait_for 30 has_looked_more "$(grep -c 'get two' "$API/requests")" two
    wait_for 30 renewed_since "$(renew_time)"
  done
  wait_for 30 has_done_more "$worked" one # it was due every 10 s, through all jumps
  assert_equal 0 "$(grep -c 'replace two' "$API/requests")"
  assert_equal 1 "$(cat "$dir"/*.log | grep -c 'leads now')"
  kill -TERM "${pids[0]}" # and so all that lives by that clock
  wait "${pids[0]}"
}

@test "a command that fails is told once, counted, and tried again" {
  start_replica one sh -c 'echo "it is $(date +%N) o clock" >&2; exit 1'
  wait_for 15 grep -qx "failed_publications 2" "$dir/one/run/leader" # it leads, and two runs have failed
  assert_equal 1 "$(grep -c 'o clock' "$dir/one.log")"
}

@test "a setting that leaves no time to renew is refused" {
  LEASE_SECONDS=5 run "$bin/lead" true
  assert_equal 2 "$status"
  assert_contains "$output" 'LEASE_SECONDS=5 is not possible. It takes a whole number of seconds above 5'
}
