# Flagger brings a new version to an application under load: at each step the pods' own counts say that the canary got its
# share, and the clients that nothing was lost. (Flagger itself asks nobody, and promotes a version without a request.)
load helpers

setup_file() {
  bring_neighbour flagger flagger
  apply_kinds "$("$neighbours" folder flagger)/crd.yaml"
  kubectl apply -f "$BATS_TEST_DIRNAME/manifests/flagger.yaml"
  start_neighbour flagger
  kubectl apply -f "$BATS_TEST_DIRNAME/manifests/flagged.yaml"
  wait_for 120 is Initialized
  wait_for 20 always_status 200 flagged.example /
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n e2e get canary,ingress,pods -o wide || true
  explain_neighbour flagger
}

teardown_file() {
  kubectl -n e2e delete canary,ingress --all
  kubectl -n e2e delete deployment,service flagged flagged-primary flagged-canary --ignore-not-found
  kubectl -n neighbours delete deployment/flagger
}

status() { # FIELD
  kubectl -n e2e get canary flagged -o "jsonpath={.status.$1}"
}

is() { # PHASE
  [[ $(status phase) == "$1" ]]
}

has_weight() { # WEIGHT
  [[ $(status canaryWeight) == "$1" ]]
}

release() { # VERSION
  local weight
  kubectl -n e2e set env deployment/flagged "VERSION=$1"
  for weight in 20 40 60; do
    wait_for 120 has_weight "$weight"
    sleep 3 # until the controllers serve it
    assert_share "$weight" app=flagged app=flagged-primary || return
    has_weight "$weight" # or else the step was too short to tell
  done
  wait_for 240 is Succeeded
}

@test "a canary gets its share at 20, 40 and 60 %, and becomes the application" {
  lose_nothing '-rate 100 -post' "$ADDRESS" flagged.example /ids release two
}

@test "between two releases, the canary that has no pods is no problem" {
  kubectl -n e2e wait --for delete --timeout 120s pod -l app=flagged
  sleep 3 # for the controllers to see it
  wait_for 10 has_no_problem
}

has_no_problem() {
  local pod
  for pod in $(controller_pods); do [[ $(metric "$pod" problems) == 0 ]] || return; done
}

@test "the next one gets its share, too, after a limit of the main Ingress was taken away, which Flagger's Ingress still has" {
  kubectl -n e2e annotate ingress flagged nginx.ingress.kubernetes.io/limit-rps-
  lose_nothing '-rate 100 -post' "$ADDRESS" flagged.example /ids release three
}
