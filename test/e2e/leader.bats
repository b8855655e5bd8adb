load helpers

teardown() {
  [[ -z ${frozen-} ]] || signal_pod CONT "$frozen"
  common_teardown
}

leader() {
  api /apis/coordination.k8s.io/v1/namespaces/bash-ingress/leases/bash-ingress | jq -r '.spec.holderIdentity // ""'
}

somebody_leads() {
  [[ -n $(leader) ]]
}

# Another pod than this one leads, and writes.
another_leads() { # POD
  local now
  now=$(leader)
  [[ -n $now && $now != "$1" ]]
}

# Where the pod's processes are processes of this machine too: stops all, or lets them go on.
signal_pod() { # SIGNAL POD
  local uid process
  uid=$(kubectl -n bash-ingress get pod "$2" -o 'jsonpath={.metadata.uid}')
  for process in /proc/[0-9]*; do
    if grep -qs "$uid\|${uid//-/_}" "$process/cgroup"; then kill "-$1" "${process#/proc/}"; fi
  done
}

can_freeze() { # POD
  local uid
  uid=$(kubectl -n bash-ingress get pod "$1" -o 'jsonpath={.metadata.uid}')
  grep -qs "$uid\|${uid//-/_}" /proc/[0-9]*/cgroup
}

is_no_pod() { # POD
  local pods
  pods=$(api "$controllers") && jq -e --arg pod "$1" 'all(.items[]; .metadata.name != $pod)' <<<"$pods"
}

both_ready() {
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
}

@test "one replica leads, and its metrics say so" {
  wait_for 30 somebody_leads
  wait_for_equal 30 1 leading_pods # the Lease is first, the metrics follow with the next pass
}

# Prints how many say that they lead.
leading_pods() {
  for pod in $(controller_pods); do admin "$pod" metrics || true; done | grep -c '^bash_ingress_leader 1$'
}

@test "when the leader is killed, the other writes within 20 s, and no address is taken back" {
  both_ready
  before=$(leader)
  create_ingress kept 'kept.example/=backend:80'
  wait_for 20 has_address kept
  watch_status kept
  kubectl -n bash-ingress delete pod "$before" --grace-period 0 --force
  create_ingress orphan 'orphan.example/=backend:80'
  wait_for 20 has_address orphan
  another_leads "$before"
  both_ready
  assert_address_was_kept
}

# Notes each status that the Ingress has from now on.
watch_status() { # NAME
  kubectl -n e2e get ingress "$1" --watch -o jsonpath='{.status.loadBalancer}{"\n"}' >"$BATS_TEST_TMPDIR/seen" 3>&- &
  watch=$!
  wait_for 10 grep -q ip "$BATS_TEST_TMPDIR/seen"
}

assert_address_was_kept() {
  kill "$watch"
  run grep -cv ip "$BATS_TEST_TMPDIR/seen"
  assert_equal 0 "$output"
}

@test "when the leader leaves in good order, the other leads within seconds, and no address is taken back" {
  both_ready
  before=$(leader)
  create_ingress kept 'kept.example/=backend:80'
  wait_for 20 has_address kept
  watch_status kept
  kubectl -n bash-ingress delete pod "$before" --wait=false
  wait_for 20 another_leads "$before"
  create_ingress next 'next.example/=backend:80'
  wait_for 20 has_address next
  wait_for 60 is_no_pod "$before"
  both_ready
  assert_address_was_kept
}

# Not for much longer: after 30 s, the liveness probe would have it restarted.
@test "a leader that is frozen until another leads writes nothing when it thaws" {
  both_ready
  frozen=$(leader)
  can_freeze "$frozen" || { frozen='' && skip 'the processes of this cluster are out of reach'; }
  signal_pod STOP "$frozen"
  wait_for 25 another_leads "$frozen"
  create_ingress cold 'cold.example/=backend:80'
  wait_for 20 has_address cold
  version=$(kubectl -n e2e get ingress cold -o 'jsonpath={.metadata.resourceVersion}')
  signal_pod CONT "$frozen"
  wait_for_line 20 'does not lead any more' kubectl -n bash-ingress logs "$frozen" --since 15s
  another_leads "$frozen"
  refute_contains "$(kubectl -n bash-ingress logs "$frozen" --since 15s)" 'publish: status of'
  assert_equal "$version" "$(kubectl -n e2e get ingress cold -o 'jsonpath={.metadata.resourceVersion}')"
  frozen=''
  both_ready
}

no_replica_is_left() {
  [[ -z $(kubectl -n bash-ingress get pods -l app.kubernetes.io/name=bash-ingress -o name) ]]
}

# All replicas end, and start again with that setting.
restart_with() { # SETTING
  kubectl -n bash-ingress scale deployment/bash-ingress --replicas 0
  kubectl -n bash-ingress set env deployment/bash-ingress "$1"
  wait_for 60 no_replica_is_left
  kubectl -n bash-ingress scale deployment/bash-ingress --replicas 2
  both_ready
  wait_for 60 has_address last
}

@test "the last replica that ends takes the addresses back, unless UPDATE_STATUS_ON_SHUTDOWN is off" {
  create_ingress last 'last.example/=backend:80'
  wait_for 20 has_address last
  restart_with UPDATE_STATUS_ON_SHUTDOWN=off
  kubectl -n bash-ingress scale deployment/bash-ingress --replicas 0
  wait_for 60 no_replica_is_left
  has_address last
  restart_with UPDATE_STATUS_ON_SHUTDOWN=on
  kubectl -n bash-ingress scale deployment/bash-ingress --replicas 0
  wait_for 20 has_no_address last
  restart_with UPDATE_STATUS_ON_SHUTDOWN-
}
