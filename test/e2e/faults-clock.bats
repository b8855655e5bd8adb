# What becomes of the routes, and of the leader, when the clock of the machine jumps.
load helpers

setup() {
  mapfile -t pods < <(controller_pods)
}

teardown() {
  [[ -z ${offset-} ]] || set_clock 0
  common_teardown
}

# Prints the microseconds from the start of this machine, which no clock changes.
uptime_us() {
  local seconds hundredths
  IFS='. ' read -r seconds hundredths _ </proc/uptime
  echo "$((seconds * 1000000 + 10#$hundredths * 10000))"
}

# Lets the clock be so many seconds ahead of what it would be now. ($offset is what
# it was ahead of the uptime before.)
set_clock() { # SECONDS
  local now=$((offset + $(uptime_us) + $1 * 1000000))
  date -s "@$((now / 1000000)).$(printf '%06d' "$((now % 1000000))")"
}

# Who leads, and how many polls have failed, by each pod; and what the Lease says.
# A Lease that another has taken counts that.
leadership() {
  local pod
  for pod in "${pods[@]}"; do
    echo "$pod: leads $(metric "$pod" leader), failed polls $(metric "$pod" failed_polls_total)"
  done
  kubectl -n bash-ingress get lease bash-ingress -o jsonpath='{.spec.holderIdentity} {.spec.leaseTransitions}'
}

jump() { # SECONDS HOST
  local began i
  set_clock "$1"
  began=$(uptime_us)
  create_ingress "at$1" "$2/=backend:80"
  wait_for 10 always_status 200 "$2" /
  echo "# a new route was live $((($(uptime_us) - began) / 1000)) ms after the clock was set to $1 s ahead" >&3
  for i in {1..20}; do
    assert_equal "$before" "$(leadership)"
    sleep 1
  done
}

# Not by an hour: the pod's tokens would have run out, the kubelet would get new ones, and when the clock is back the API
# server refuses these, as they are from the future.
there_and_back() {
  jump 1800 forward.example
  jump 0 back.example
}

@test "a clock that jumps by half an hour, and back, loses no request, fails no poll and changes no leader" {
  [[ ${FAULTS-} == long ]] || skip 'it sets the clock of this machine, and so runs in make test-faults only'
  wait_for_line 30 'leads 1' leadership
  before=$(leadership)
  offset=$((${EPOCHREALTIME/./} - $(uptime_us)))
  lose_nothing '-rate 300' "$(address_with_port)" fruit.example /apple there_and_back
}
