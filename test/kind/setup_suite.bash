# Once for the tests on kind: the demo on a kind cluster, with Docker if it answers here, else with a dockerd of our own.
#
# What ran before stays. What this starts ends with the tests.
source "${BASH_SOURCE[0]%/*}/../e2e/setup_suite.bash" # its functions, of which two are replaced
source "${BASH_SOURCE[0]%/*}/host.bash"
source "${BASH_SOURCE[0]%/*}/../helpers.bash"

setup_suite() {
  root=$BATS_TEST_DIRNAME/../..
  export CLUSTER=kind OURS=''
  if ! "$root/test/kind/kind" status && ! docker info >/dev/null 2>&1; then
    OURS=yes
    "$root/test/kind/kind" down 3>&- # what a run that was killed left is not a part of the machine
    host_state >"$BATS_RUN_TMPDIR/host-before"
  fi
  "$root/test/kind/kind" up 3>&-
  # shellcheck source=/dev/null # made by the program
  source <("$root/test/kind/kind" env)
  export PATH
  interrupted=''
  lose_patience
  start_demo
  [[ -z $interrupted ]] || was_up='' # the cluster that the interruptions left is ours
  join_cluster
  export CONTAINER_PROGRAM
  deploy_backends
  start_proxy
}

# The demo that is tested was interrupted twice: while the cluster was made, and while the image was loaded.
lose_patience() {
  if ! "$root/test/demo/demo" urls >/dev/null 2>&1; then
    interrupted=yes
    interrupt_demo_when node_is_there
    interrupt_demo_when image_is_being_loaded
  fi
}

interrupt_demo_when() { # COMMAND   succeeds
  local demo log=$BATS_RUN_TMPDIR/interrupted.log
  set -m # a process group of its own, as at a prompt, for Ctrl-C, which what runs the tests may ignore
  env --default-signal=INT "$root/test/demo/demo" up >"$log" 2>&1 3>&- &
  demo=$!
  set +m
  wait_for 180 "$1" || { cat "$log" && return 1; }
  kill -INT -- "-$demo"
  if wait "$demo" || ! grep -q ' interrupted. To go on: make demo' "$log"; then
    cat "$log"
    return 1
  fi
}

node_is_there() {
  kind get nodes --name bash-ingress | grep bash-ingress-control-plane
}

image_is_being_loaded() {
  ps -eo args | grep '^kind load image-archive'
}

teardown_suite() {
  kill "${proxying-}" || true # if the setup failed, there is none
  [[ -n $was_up ]] || "$root/test/demo/demo" down
  [[ -z $OURS ]] || "$root/test/kind/kind" down 3>&-
}
