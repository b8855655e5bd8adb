# Argo Rollouts brings a new version to an application under load: at each step the pods' own counts say that the canary
# got its share, and the clients that nothing was lost.
load helpers
hash=rollouts-pod-template-hash

setup_file() {
  bring_neighbour argo-rollouts rollouts-controller
  apply_kinds "$("$neighbours" folder argo-rollouts)"/crds/*-crd.yaml
  kubectl apply -f "$BATS_TEST_DIRNAME/manifests/argo-rollouts.yaml"
  start_neighbour argo-rollouts
  kubectl apply -f "$BATS_TEST_DIRNAME/manifests/rollout.yaml"
  wait_for 60 is Healthy
  wait_for 20 always_status 200 rolled.example /
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n e2e get rollout rolled -o 'jsonpath={.status}' || true
  explain_neighbour argo-rollouts
}

teardown_file() {
  kubectl -n e2e delete rollout,ingress --all
  kubectl -n e2e delete service rolled-stable rolled-canary
  kubectl -n neighbours delete deployment/argo-rollouts
}

status() { # FIELD
  kubectl -n e2e get rollout rolled -o "jsonpath={.status.$1}"
}

is() { # PHASE
  [[ $(status phase) == "$1" ]]
}

new_version() { # NAME
  kubectl -n e2e patch rollout rolled --type json -p '[{"op": "replace", "path": "/spec/template/spec/containers/0/env/0/value", "value": "'"$1"'"}]'
}

waits_at() { # STEP
  [[ $(status currentStepIndex) == "$1" && -n $(status pauseConditions) ]]
}

# As the plugin's `promote` asks for it.
go_on() {
  kubectl -n e2e patch rollout rolled --subresource status --type merge -p '{"status": {"pauseConditions": null}}'
}

# The pauses are the steps 1, 3 and 5.
roll() { # VERSION
  local step weight stable
  stable=$(status stableRS)
  new_version "$1"
  while read -r step weight; do
    wait_for 120 waits_at "$step"
    sleep 5 # until the pods that go have gone
    assert_share "$weight" "$hash=$(status currentPodHash)" "$hash=$stable" || return
    go_on
  done <<<$'1 20\n3 50\n5 100'
  wait_for 120 is Healthy
}

@test "a canary gets its share at 20, 50 and 100 %, where the main Service has no pods any more, and becomes the application" {
  lose_nothing '-rate 100 -post' "$ADDRESS" rolled.example /ids roll two
  assert_equal "$(status currentPodHash)" "$(status stableRS)"
}

has_requests() { # LABEL
  counts_of "$1" | jq -e 'add > 0'
}

# Given up when it has requests, and watched until its pods have gone.
give_up() {
  local canary
  new_version three
  wait_for 120 waits_at 1
  canary=$hash=$(status currentPodHash)
  wait_for 20 has_requests "$canary"
  kubectl -n e2e patch rollout rolled --subresource status --type merge -p '{"status": {"abort": true}}'
  wait_for 60 is Degraded
  kubectl -n e2e wait --for delete --timeout 120s pod -l "$canary"
  new_version two
  wait_for 60 is Healthy
}

@test "one that is given up loses nothing either" {
  lose_nothing '-rate 100 -post' "$ADDRESS" rolled.example /ids give_up
}
