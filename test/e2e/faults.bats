load helpers
setup() { probe=$(go_program probe); }
teardown() { common_teardown; }

address_with_port() {
  [[ $ADDRESS == *:* ]] && echo "$ADDRESS" || echo "$ADDRESS:80"
}

# Sends 100 requests a second for SECONDS while COMMAND runs; fails if one is lost.
lose_nothing() { # SECONDS COMMAND...
  "$probe" rate "$(address_with_port)" fruit.example /apple 100 "$1" >"$BATS_TEST_TMPDIR/probe" 3>&- &
  local probing=$!
  "${@:2}"
  wait "$probing"
  cat "$BATS_TEST_TMPDIR/probe"
  grep -q ', failed 0$' "$BATS_TEST_TMPDIR/probe"
}

@test "ten reloads lose no request" {
  reload_ten_times() {
    local i
    for i in {1..10}; do
      create_ingress "reload-$i" "reload-$i.example/=backend:80" >/dev/null
      wait_for 5 always_status 200 "reload-$i.example" /
    done
  }
  lose_nothing 15 reload_ten_times
}

@test "a rolling restart of the controller loses no request" {
  restart() {
    kubectl -n bash-ingress rollout restart deployment/bash-ingress
    kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
  }
  lose_nothing 20 restart
}

@test "while the API server is stopped, requests are answered and the controller stays ready" {
  [[ -n $OUTAGE_BEGIN ]] || skip 'this cluster has no way to stop its API server'
  eval "$OUTAGE_BEGIN"
  lose_nothing 8 sleep 7
  eval "$OUTAGE_END"
  create_ingress after 'after.example/=backend:80'
  wait_for 10 always_status 200 after.example /
  wait_for 5 eval 'controller_logs --since 60s | grep -q "the poll succeeds again"'
}

@test "when nginx is killed in a pod, it serves again, with the same configuration" {
  pod=$(controller_pods | head -n 1)
  restarts() { kubectl -n bash-ingress get "$pod" -o jsonpath='{.status.containerStatuses[0].restartCount}'; }
  before=$(restarts)
  kubectl -n bash-ingress exec "$pod" -- bash -c 'kill -KILL "$(< /tmp/bash-ingress/nginx.pid)"'
  wait_for 10 eval "kubectl -n bash-ingress logs '$pod' | grep -q 'nginx ended; starting it again'"
  wait_for 5 always_status 200 fruit.example /apple
  assert_equal "$before" "$(restarts)"
}
