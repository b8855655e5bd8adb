# Three nodes, the controller on two of them, and a balancer in front, as in a cloud: what clients lose when a node goes,
# and whose address the pods see. The figures that it prints are in manifests/README.md.
load ../e2e/helpers
load balancer

LEAVING=bash-ingress-worker2 # the node that goes, and comes back

setup() {
  undo='' # what mends what the test breaks
  create_ingress spread 'spread.example/*=spread:80'
  create_ingress steady 'steady.example/*=steady:80'
  spread_pods
}

teardown() {
  stop_balancer
  $undo
  common_teardown
}

# Whether two pods are ready, each on a node of its own.
is_spread() { # NAMESPACE LABEL
  [[ $(kubectl -n "$1" get pods -l "$2" -o json | jq -c '
    [.items[] | select(.metadata.deletionTimestamp == null and any(.status.conditions[]; .type == "Ready" and .status == "True")).spec.nodeName]
    | [length, (unique | length)]') == '[2,2]' ]]
}

# A test before may have left both on one node: nothing moves pods while they run. And pods that it ended may still end:
# a node whose last controller goes would send them requests again.
spread_pods() {
  kubectl uncordon "$LEAVING"
  is_spread bash-ingress "$controller_label" || kubectl -n bash-ingress rollout restart deployment/bash-ingress
  is_spread e2e app=spread || kubectl -n e2e rollout restart deployment/spread
  wait_for 60 is_spread bash-ingress "$controller_label"
  wait_for 60 is_spread e2e app=spread
  wait_for 60 none_ends
}

none_ends() {
  [[ $(kubectl -n bash-ingress get pods --no-headers | wc -l) == 2 ]]
}

# The node's port for HTTP, and where kube-proxy tells whether the node has a controller. It does for a Service of type
# LoadBalancer with externalTrafficPolicy: Local.
start_balancer_of_service() { # [SERVER_OPTION...]
  local health
  read -r port health < <(kubectl -n bash-ingress get service bash-ingress -o 'jsonpath={.spec.ports[0].nodePort} {.spec.healthCheckNodePort}{"\n"}')
  start_balancer "$port" "$health" /healthz "$@"
  wait_for 20 answers_by_balancer spread.example
  wait_for 20 answers_by_balancer steady.example
}

answers_by_balancer() { # HOST
  local i
  for i in {1..4}; do [[ $(curl -s --max-time 5 -H "Host: $1" "http://$BALANCER/") == '{"address"'* ]] || return; done
}

lost() {
  sed -n 's/^sent .*, failed //p' "$report"
}

# --- whose address the pods see

# prints: the client's address, as a pod sees it, of a request that another node sends
address_seen() { # ADDRESS:PORT
  "$CONTAINER_PROGRAM" exec bash-ingress-control-plane curl -s --max-time 5 -H 'Host: steady.example' "http://$1/" |
    jq -r '.header["X-Real-Ip"][0]'
}

set_policy() { # POLICY
  kubectl -n bash-ingress patch service bash-ingress -p "{\"spec\": {\"externalTrafficPolicy\": \"$1\"}}"
}

set_variables() { # VARIABLE...
  kubectl -n bash-ingress set env deployment/bash-ingress "$@"
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 90s
}

restore_service() {
  set_policy Local
  set_variables PROXY_PROTOCOL- TRUSTED_PROXIES-
}

@test "the pod sees the client's address with externalTrafficPolicy: Local, the node's with Cluster, and behind a balancer the balancer's, unless it speaks the PROXY protocol" {
  client=$(address_of_node bash-ingress-control-plane)
  start_balancer_of_service
  node_port=$(address_of_node bash-ingress-worker):$port
  wait_for_equal 20 "$client" address_seen "$node_port"
  wait_for_equal 20 "$BALANCER" address_seen "$BALANCER:80"
  undo=restore_service
  set_policy Cluster
  sees_another() { seen=$(address_seen "$node_port") && [[ $seen =~ ^[0-9a-f.:]{7,}$ && $seen != "$client" ]]; }
  wait_for 20 sees_another
  echo "# client $client, balancer $BALANCER; with Cluster, the pod sees $seen" >&3
  set_policy Local
  set_variables PROXY_PROTOCOL=on "TRUSTED_PROXIES=$BALANCER"
  start_balancer_of_service send-proxy-v2
  wait_for_equal 20 "$client" address_seen "$BALANCER:80"
  run address_seen "$node_port" # who comes by another way gets no answer
  assert_equal '' "$output"
}

# --- a node that goes

drain() {
  kubectl drain "$LEAVING" --ignore-daemonsets --delete-emptydir-data --timeout 120s
}

@test "a drained node loses no request of keep-alive and of new clients, with an application on the same node" {
  start_balancer_of_service
  keep_alive_clients() {
    lose_nothing '-clients 50 -pause 1s' "$BALANCER:80" spread.example / drain
  }
  lose_nothing '-rate 50 -new' "$BALANCER:80" spread.example / keep_alive_clients
  servers_are UP DOWN
}

kill_node() {
  "$CONTAINER_PROGRAM" kill "$LEAVING"
  died=$EPOCHREALTIME
}

revive_node() {
  "$CONTAINER_PROGRAM" start "$LEAVING"
  kubectl wait --for condition=Ready "node/$LEAVING" --timeout 120s
}

balancer_has_noticed() {
  servers_are UP DOWN && ! has_connections "$LEAVING"
}

ready_addresses() { # SERVICE
  kubectl -n e2e get endpointslices -l "kubernetes.io/service-name=$1" -o json |
    jq '[.items[].endpoints[] | select(.conditions.ready)] | length'
}

until_balancer_notices() {
  kill_node
  wait_for 30 balancer_has_noticed
  echo "# the balancer had noticed $(since "$died") ms after the node's death" >&3
}

until_kubernetes_notices() {
  wait_for_equal 120 1 ready_addresses spread
  echo "# Kubernetes had noticed $(since "$died") ms after the node's death" >&3
}

# From the node's death until the balancer has noticed: by it, to an application that is on the other node.
balancer_in_error() {
  keep_alive_clients() {
    under_load '-clients 20 -pause 200ms' "$BALANCER:80" steady.example / until_balancer_notices
    (($(lost) <= 20 * 5)) # a client, about one each second
  }
  under_load '-rate 20 -new' "$BALANCER:80" steady.example / keep_alive_clients
  (($(lost) <= 20 * 5)) # half of those that come until then
}

# From then on.
balancer_knows() {
  keep_alive_clients() {
    lose_nothing '-clients 20 -pause 200ms' "$BALANCER:80" steady.example / until_kubernetes_notices
  }
  lose_nothing '-rate 20 -new' "$BALANCER:80" steady.example / keep_alive_clients
}

@test "of a node that dies, requests on their way there are lost, and none once the balancer has noticed; of an application that was there, only those in its pod" {
  undo=revive_node
  start_balancer_of_service
  death() {
    balancer_in_error
    balancer_knows
  }
  under_load '-clients 20 -pause 200ms' "$(address_of_node bash-ingress-worker):$port" spread.example / death
  (($(lost) <= 20)) # a client, one
  wait_for 20 answers_by_balancer spread.example
  lose_nothing '-clients 20 -pause 100ms' "$BALANCER:80" spread.example / sleep 5
}

# --- ports of the nodes

# As an operator has it whose balancer is to ask the controller itself: the admin port is the node's, too.
deploy_hostport() {
  kubectl -n bash-ingress delete deployment/bash-ingress service/bash-ingress poddisruptionbudget/bash-ingress
  kubectl apply -k "$root/manifests/variants/hostport"
  kubectl -n bash-ingress patch daemonset bash-ingress -p '{"spec": {"template": {"spec": {"containers": [
    {"name": "controller", "ports": [{"name": "admin", "containerPort": 10254, "hostPort": 10254}]}]}}}}'
  kubectl -n bash-ingress rollout status daemonset/bash-ingress --timeout 120s
}

deploy_base() {
  kubectl -n bash-ingress delete daemonset bash-ingress
  make -s -C "$root" deploy
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

restart_pod() {
  kubectl -n bash-ingress delete pod -l "$controller_label" --field-selector "spec.nodeName=$LEAVING" -o name | grep .
  kubectl -n bash-ingress rollout status daemonset/bash-ingress --timeout 120s
  wait_for 30 servers_are UP UP
}

@test "a pod of the DaemonSet on the nodes' own ports is restarted: behind a balancer that asks /readyz, no request is lost" {
  undo=deploy_base
  deploy_hostport
  start_balancer 80 10254 /readyz
  wait_for 20 answers_by_balancer spread.example
  keep_alive_clients() {
    lose_nothing '-clients 50 -pause 1s' "$BALANCER:80" spread.example / restart_pod
  }
  lose_nothing '-rate 50 -new' "$BALANCER:80" spread.example / keep_alive_clients
}
