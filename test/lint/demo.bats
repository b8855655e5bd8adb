# What the demo says where it cannot run.
bats_require_minimum_version 1.5.0
load ../helpers

@test "a demo on a cluster that cannot run here ends with a sentence, and leaves nothing to remove" {
  ! command -v kind || ! command -v minikube || skip 'both programs are there'
  for cluster in kind minikube; do
    ! command -v "$cluster" || continue
    HOME=$BATS_TEST_TMPDIR XDG_STATE_HOME='' CLUSTER=$cluster run "$BATS_TEST_DIRNAME/../demo/demo" up
    assert_equal 1 "$status"
    assert_contains "$output" "demo: CLUSTER=$cluster needs the program $cluster"
    [[ ! -e $BATS_TEST_TMPDIR/.local ]]
  done
}
