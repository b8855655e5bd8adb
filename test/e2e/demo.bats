load helpers
teardown() { common_teardown; }

# bats test_tags=kind
@test "the demo's URLs answer as printed" {
  cd "$root"
  "$root/test/demo/demo" urls >"$BATS_TEST_TMPDIR/urls"
  tried=0
  while read -r command && read -r _ _ app _; do
    assert_contains "$(bash -c "$command -s")" "Hello from $app"
    tried=$((tried + 1))
  done <"$BATS_TEST_TMPDIR/urls"
  assert_equal "$(grep -c '^  curl' "$BATS_TEST_TMPDIR/urls")" "$tried"
  ((tried >= 5))
}

# bats test_tags=kind
@test "the six things to try work as printed" {
  cd "$root"
  "$root/test/demo/demo" things >"$BATS_TEST_TMPDIR/things"
  run timeout 120 bash -e "$BATS_TEST_TMPDIR/things"
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" '+    server "10.'                            # 1
  assert_equal 3 "$(grep -c 'Hello from apple' <<<"$output")"             # 2, 3, 4
  assert_contains "$output" 'Service demo/no-such-service does not exist' # 3
  assert_contains "$output" '"servers": ['                                # 5
  assert_contains "$output" 'server_name "fruit.example";'
  assert_contains "$output" 'also matches, but counts less: Prefix /apple of demo/fruit' # 6
}

@test "the commands that the README shows for the cluster work" {
  cd "$root"
  readme_commands e2e >"$BATS_TEST_TMPDIR/commands"
  run timeout 100 bash -euo pipefail "$BATS_TEST_TMPDIR/commands"
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" '[#] ' # TRACE=1
  assert_equal 2 "$(grep -c '^bash_ingress_polls_total' <<<"$output")"
  assert_contains "$output" 'nginx ended; starting it again'
  assert_contains "$output" 'Secret demo/mine does not exist: its hosts have the default certificate'
}

# bats test_tags=kind
@test "a second demo run finds everything in place" {
  before=$(controller_pods)
  run "$root/test/demo/demo" up
  assert_equal 0 "$status"
  assert_contains "$output" 'It works'
  assert_equal "$before" "$(controller_pods)"
}
