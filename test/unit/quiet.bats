# Passes that find nothing new, which the loop makes without a process: with the real nginx, and a stand-in of the proxy.
load helpers
setup() {
  common_setup
  start_pods
  start_api rules
}
teardown() { common_teardown; }

# Starts a controller whose loop hears no ring: all that it sees, it sees in a pass of its own.
start_silent() {
  start_controller DOORBELL=off
  be_the_proxy
  wait_for 15 is_quiet
  loop=$(pgrep -P "$controller" -f bin/loop)
}

# Whether passes are quiet now: the step of the last one that was not is fetch, and the loop starts nothing but the mv of
# the metrics.
is_quiet() {
  local polls
  polls=$(metric polls_total)
  : >"$STATE_DIR/scratch/loop/step.before"
  sleep 1
  [[ $(metric polls_total) != "$polls" && ! $STATE_DIR/scratch/loop/step -nt $STATE_DIR/scratch/loop/step.before ]]
}

@test "a pass that finds nothing new starts one process, which puts the metrics in place" {
  start_silent
  polls=$(metric polls_total)
  timeout 4 strace -f -c -e trace=execve -o "$dir/strace" -p "$loop" || true
  polls=$(($(metric polls_total) - polls))
  started=$(awk '$NF == "execve" { print $4 }' "$dir/strace")
  ((polls > 2 && started > 0 && started <= polls + 1))
}

# On a slow machine, most of what a change takes is to start processes. Counted are those of the loop, and of the
# programs beside it that start jq. (Each pass that finds nothing is one; an nginx to which some directives are unknown
# adds one.)
assert_processes() { # MOST EDIT
  local polls tracer started beside
  start_silent
  wait_for 15 test -e "$STATE_DIR/changes/1/settings.json" # which is written last
  polls=$(metric polls_total)
  mapfile -t beside < <(pgrep -P "$loop")
  strace -f -q -s 0 -e trace=clone,clone3,fork,vfork -o "$dir/strace" -p "$loop" "${beside[@]/#/-p}" &
  tracer=$!
  wait_for 15 test -e "$dir/strace"
  sleep 0.5
  cluster_is rules "$2"
  wait_for 15 test -e "$STATE_DIR/changes/2/settings.json"
  wait_for 15 is_quiet
  kill "$tracer"
  wait "$tracer" || true
  started=$(grep -cE '(clone3?|v?fork)[(].* = [0-9]+$|resumed.* = [0-9]+$' "$dir/strace")
  started=$((started - ($(metric polls_total) - polls)))
  echo "$started processes"
  ((started > 10 && started <= $1))
}

@test "for an endpoint that moves, the loop starts no more than 22 processes, subshells included" {
  assert_processes 22 '.endpointSlices.items[0].endpoints |= .[:1]'
}

@test "for a new Ingress, the loop starts no more than 23 processes, subshells included" {
  assert_processes 23 '.ingresses.items += [.ingresses.items[0] | .metadata.name = "new" | .spec.rules |= [first | .host = "new.example"]]'
}

@test "what changes without a ring is served, whatever list it is in, and a quiet pass follows" {
  start_silent
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  wait_for 15 served new.example /apple apple-
  wait_for 15 is_quiet
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example" | .endpointSlices.items |= map(select(.metadata.labels["kubernetes.io/service-name"] != "apple"))'
  wait_for 15 answers 503 new.example /apple
  wait_for 15 is_quiet
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example" | .ingressClasses.items |= map(.metadata.name |= "another-\(.)")'
  wait_for 15 is_quiet
  assert_equal 0 "$(metric failed_polls_in_a_row)"
}

answers() { # STATUS HOST PATH
  [[ $(who_answers "$2" "$3") == "$1" ]]
}

@test "a list that is not whole, or is denied, makes an ordinary pass fail; what is live stays, and quiet passes go on later" {
  start_silent
  cp "$api/services" "$dir/services"
  for list in '' '<html>' "$(head -c 100 "$dir/services")" \
    '{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}'; do
    printf '%s' "$list" >"$api/new" && mv "$api/new" "$api/services"
    wait_for 15 fails_now
    cp "$dir/services" "$api/new" && mv "$api/new" "$api/services"
    wait_for 15 succeeds_now
  done
  touch "$api/forbidden"
  wait_for 15 fails_now
  rm "$api/forbidden"
  wait_for 15 is_quiet
  served fruit.example /apple apple-
}

fails_now() {
  (($(metric failed_polls_in_a_row) > 0))
}

succeeds_now() {
  (($(metric failed_polls_in_a_row) == 0))
}

# (In its network of its own, there is no DNS server.)
@test "a name that does not resolve is asked for again, and passes are quiet meanwhile" {
  copy_programs
  edit "$bin/lib/fetch/outside/outside.bash" 's/retry_seconds=10/retry_seconds=3/'
  cluster_is rules '.services.items[0].spec = {type: "ExternalName", externalName: "far.example"}'
  export EXTERNAL_NAMES=far.example
  start_silent
  read -r asked <"$STATE_DIR/scratch/loop/lists/asked"
  wait_for 15 eval 'read -r again <"$STATE_DIR/scratch/loop/lists/asked" && ((again > asked))'
  wait_for 15 is_quiet
}

@test "a read that takes longer than READ_SECONDS ends the proxy; one that is in time does not" {
  export READ_SECONDS=1
  # shellcheck disable=SC2016 # the dollar signs are for the program
  run -0 bash -c '
    source "$1/loop"
    end_proxy() { echo ended >>"$next/ended"; }
    mkdir -p "$next" && start_guard
    echo begins >&"$reading" && echo ends >&"$reading" && sleep 2.5 && ls "$next"
    echo begins >&"$reading" && sleep 2.5 && echo ends >&"$reading" && sleep 2.5 && cat "$next/ended"
    kill "$guard"' _ "$bin"
  assert_equal 'reading ended' "${output//$'\n'/ }"
}

@test "lists that are too long for bash are read by ordinary passes" {
  copy_programs
  edit "$bin/lib/loop/quiet.bash" 's/^most_quiet_bytes=.*/most_quiet_bytes=10/'
  start_controller DOORBELL=off
  be_the_proxy
  polls=$(metric polls_total)
  wait_for 15 polled_since "$((polls + 3))"
  run is_quiet
  assert_equal 1 "$status"
}
