# What must cost no request, however busy it is: reloads, other pods, another controller.
load helpers

teardown() {
  common_teardown
  kubectl -n e2e delete --ignore-not-found --wait=false -f "$root/test/e2e/shop.yaml" >/dev/null
}

# Changes a route NUMBER times; each time, every replica has to reload. After each, runs COMMAND.
reload() { # NUMBER [COMMAND]
  local i change='[{"op": "replace", "path": "/spec/rules/0/http/paths/0/path", "value": "/%d"}]'
  create_ingress turning 'turning.example/0=backend:80' >/dev/null
  for ((i = 1; i <= $1; i++)); do
    # shellcheck disable=SC2059 # the format has a place for the number
    kubectl -n e2e patch ingress turning --type json --patch "$(printf "$change" "$i")" >/dev/null
    wait_for 90 always_status 200 turning.example "/$i" # with many open requests, reloads have to wait
    "${@:2}"
  done
}

@test "reloads, one after the other, lose no request of 100 clients that are always busy" {
  lose_nothing '-clients 100' "$(address_with_port)" fruit.example /apple reload "$(lasting 5 30)"
}

@test "reloads, one after the other, lose none of 500 new connections a second" {
  lose_nothing '-rate 500 -new' "$(address_with_port)" fruit.example /apple reload "$(lasting 5 30)"
}

@test "reloads, one after the other, lose no request of 1,000 clients that pause for up to 2 s" {
  lose_nothing '-clients 1000 -pause 2s' "$(address_with_port)" fruit.example /apple reload "$(lasting 5 30)"
}

# The pods that stay.
shop_pods() {
  kubectl -n e2e get pods -l app=shop -o json | jq -r '.items[] | select(.metadata.deletionTimestamp == null) | "pod/\(.metadata.name)"'
}

shop_is_alone() { # no pod beside it, not even one that ends
  (($(kubectl -n e2e get pods -l app=shop -o name | wc -l) == 1))
}

change_shop() { # KUBECTL_ARGUMENT...   and waits until that is done
  kubectl -n e2e "$@"
  kubectl -n e2e rollout status deployment/shop --timeout 60s
}

change_pods() { # REPLICAS
  change_shop scale deployment/shop --replicas "$1"
  change_shop rollout restart deployment/shop
  # shellcheck disable=SC2046 # each word is a pod
  change_shop delete --wait=false $(shop_pods | head -n "$(($1 / 2))")
  change_shop scale deployment/shop --replicas 1
  wait_for 60 shop_is_alone
}

@test "scaling, a rolling update and deleted pods lose no request, and no POST is sent twice" {
  local load
  load="-rate $(lasting 100 250)"
  kubectl -n e2e apply -f "$root/test/e2e/shop.yaml"
  kubectl -n e2e rollout status deployment/collector --timeout 60s
  kubectl -n e2e rollout status deployment/shop --timeout 60s
  create_ingress shop 'shop.example/*=shop:80'
  wait_for 15 always_status 200 shop.example /
  lose_nothing "$load" "$(address_with_port)" shop.example / \
    lose_nothing "$load -post" "$(address_with_port)" shop.example /ids \
    change_pods "$(lasting 3 10)"
  ids=$(kubectl get --raw /api/v1/namespaces/e2e/services/collector:80/proxy/ids)
  echo "# POSTs that came: $ids" >&3
  jq -e '.received == .different and .received >= 1000' <<<"$ids"
}

# How long the pod's container went on after it was told to end: by what the API
# server showed of the pod, from the first time on that it had a deletionTimestamp.
seconds_to_end() { # FILE   a line for each change: DELETION_TIMESTAMP GRACE_SECONDS FINISHED_AT
  jq -Rn '[inputs | select(startswith(" ") | not) | split(" ")]
    | (first | (.[0] | fromdate) - (.[1] | tonumber)) as $told
    | (last[2] | fromdate) - $told' "$1"
}

@test "a controller pod that is deleted answers the requests that it has, and then ends" {
  create_ingress slow 'slow.example/*=backend:80'
  wait_for 15 always_status 200 slow.example /
  pod=$(controller_pods | head -n 1)
  drain=$(kubectl -n bash-ingress get "$pod" -o json | jq -r '.spec.containers[0].env[] | select(.name == "DRAIN_SECONDS").value')
  delete_pod() {
    kubectl -n bash-ingress get "$pod" --watch -o jsonpath='{.metadata.deletionTimestamp} {.metadata.deletionGracePeriodSeconds} {.status.containerStatuses[0].state.terminated.finishedAt}{"\n"}' \
      >"$BATS_TEST_TMPDIR/pod" 3>&- &
    kubectl -n bash-ingress delete "$pod"
    kill "$!"
  }
  lose_nothing '-rate 500' "$(address_with_port)" fruit.example /apple \
    lose_nothing '-rate 10' "$(address_with_port)" slow.example '/slow?seconds=5' delete_pod
  took=$(seconds_to_end "$BATS_TEST_TMPDIR/pod")
  echo "# the pod ended after $took s" >&3
  ((took <= drain + 5 + $(lasting 10 2)))
}

controllers_are() { # NUMBER   also those that end
  (($(kubectl -n bash-ingress get pods -l "$controller_label" --no-headers | wc -l) == $1))
}

@test "a rolling restart of the controller loses no request" {
  restart() {
    kubectl -n bash-ingress rollout restart deployment/bash-ingress
    kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
    wait_for 60 controllers_are 2
  }
  lose_nothing '-clients 500 -pause 2s' "$(address_with_port)" fruit.example /apple restart
}

@test "reloads cut no WebSocket" {
  create_ingress socket 'socket.example/*=backend:80'
  wait_for 15 always_status 200 socket.example /
  lose_nothing '-sockets 50' "$(address_with_port)" socket.example /websocket reload "$(lasting 6 50)"
}

# Notes for each controller pod its workers that were replaced and still have requests, and its bytes of memory.
look() {
  local pod
  for pod in $(controller_pods); do
    echo "$(lingering_workers "$pod") $(memory_of "$pod")"
  done >>"$BATS_TEST_TMPDIR/seen"
}

lingering_workers() { # POD
  kubectl -n bash-ingress exec "$1" -- bash -c 'grep -lsz "[s]hutting down" /proc/[0-9]*/cmdline | wc -l'
}

most() { # COLUMN
  awk -v column="$1" '$column > most { most = $column } END { print most + 0 }' "$BATS_TEST_TMPDIR/seen"
}

@test "of the workers that WebSockets keep alive through reloads, at most 8 stay" {
  local number
  number=$(lasting 6 50)
  create_ingress socket 'socket.example/*=backend:80'
  wait_for 15 always_status 200 socket.example /
  restarts=$(kubectl -n bash-ingress get pods -l "$controller_label" -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}')
  under_load "-sockets 50 -pause ${number}s" "$(address_with_port)" socket.example /websocket reload "$number" look
  printf '# at most %s workers lingered, and a pod had %s bytes of memory\n' "$(most 1)" "$(most 2)" >&3
  (($(most 1) <= 8 && $(most 2) > 0 && $(most 2) < 1024 ** 3))
  assert_equal "$restarts" "$(kubectl -n bash-ingress get pods -l "$controller_label" -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}')"
}
