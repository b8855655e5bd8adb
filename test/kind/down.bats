# The end: what was started is gone. The last file of the tests on kind.
# bats file_tags=kind
load ../helpers
load host

setup() {
  root=$BATS_TEST_DIRNAME/../..
  [[ -n $OURS ]] || skip 'Docker, or the cluster, was there before'
}

@test "up after a crash begins by cleaning, and down leaves the machine as it was" {
  "$root/test/demo/demo" down
  ps -eo pid=,comm= | awk '$2 == "dockerd" { print $1 }' | xargs kill -KILL
  "$root/test/kind/kind" up 3>&-
  "$root/test/kind/kind" status
  "$root/test/kind/kind" down 3>&-
  diff "$BATS_RUN_TMPDIR/host-before" <(host_state)
}
