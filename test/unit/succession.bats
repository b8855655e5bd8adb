# How the lead passes from one replica to another, or does not. Who leads, and does what: lead.bats.
load lead

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
  before=$(times_done one) requests=$(grep -c 'get one' "$API/requests")
  kill -CONT "${pids[0]}"
  wait_for 15 grep -q 'one does not lead any more' "$dir/one.log"
  wait_for 15 has_looked_more "$requests" one
  assert_equal "$before" "$(times_done one)"
}

@test "a leader without an API server ends its command, and says so once" {
  start_replica one sleep 100
  wait_for 15 holds one
  wait_for 15 pgrep -P "${pids[0]}" timeout
  touch "$API/down"
  wait_for 30 grep -q 'one does not lead any more' "$dir/one.log"
  run pgrep -P "${pids[0]}" timeout
  assert_equal '' "$output"
  wait_for 15 grep -q 'cannot .* the Lease bash-ingress/bash-ingress: ' "$dir/one.log"
  wait_for 15 refused_more "$(wc -l <"$API/refused")"
  (($(grep -c 'cannot ' "$dir/one.log") <= 2)) # to write it, and then to read it
  rm "$API/down"
  wait_for 15 leads_again one
}

refused_more() { # REQUESTS
  (($(wc -l <"$API/refused") > $1 + 1))
}

@test "a leader whose writes do not arrive, although something answers them, leads no more, until they do" {
  start_replica one "$dir/work"
  wait_for 5 leads one
  touch "$API/unwritten"
  wait_for 10 grep -q 'one does not lead any more' "$dir/one.log"
  grep -q 'cannot write the Lease bash-ingress/bash-ingress: ' "$dir/one.log"
  rm "$API/unwritten"
  wait_for 10 leads_again one
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

@test "a replica that is started again knows nothing of the Lease, and waits like a new one" {
  start_replica a "$dir/work"
  wait_for 30 leads a
  start_replica b "$dir/work"
  wait_for 30 grep -q 'get b' "$API/requests"
  kill -STOP "${pids[0]}" # so that the Lease stays as it is
  kill -KILL "${pids[1]}"
  start_replica b "$dir/work"
  requests=$(grep -c 'get b' "$API/requests")
  wait_for 30 has_looked_more "$((requests + 1))" b
  assert_equal 0 "$(grep -c 'replace b' "$API/requests")"
  assert_equal a "$(holder)"
  kill -CONT "${pids[0]}"
}

@test "a Lease that is deleted is not taken before its holder's time is over" {
  start_replica a "$dir/work"
  wait_for 30 leads a
  start_replica b "$dir/work"
  wait_for 30 grep -q 'get b' "$API/requests"
  kill -STOP "${pids[0]}"
  flock "$API/lock" rm "$API/lease" # one writer at a time
  wait_for 30 has_looked_more "$(grep -c 'get b' "$API/requests")" b
  [[ ! -s $API/lease ]]
  kill -CONT "${pids[0]}"
  wait_for 30 holds a # it makes a new one
}
