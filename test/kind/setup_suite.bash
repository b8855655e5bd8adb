# Once for the tests on kind: the demo on a kind cluster, with Docker if it answers here, else with a dockerd of our own.
#
# What ran before stays. What this starts ends with the tests.
source "${BASH_SOURCE[0]%/*}/../e2e/setup_suite.bash" # its functions, of which two are replaced
source "${BASH_SOURCE[0]%/*}/host.bash"

setup_suite() {
  root=$BATS_TEST_DIRNAME/../..
  export CLUSTER=kind OURS=''
  if ! "$root/test/kind/kind" status && ! docker info >/dev/null 2>&1; then
    OURS=yes
    host_state >"$BATS_RUN_TMPDIR/host-before"
  fi
  "$root/test/kind/kind" up 3>&-
  # shellcheck source=/dev/null # made by the program
  source <("$root/test/kind/kind" env)
  export PATH
  start_demo
  join_cluster
  export CONTAINER_PROGRAM TLS_ADDRESS
  TLS_ADDRESS=$(kind_tls_address)
  deploy_backends
}

teardown_suite() {
  [[ -n $was_up ]] || "$root/test/demo/demo" down
  [[ -z $OURS ]] || "$root/test/kind/kind" down 3>&-
}
