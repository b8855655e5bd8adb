# The test suite itself.
bats_require_minimum_version 1.5.0
load ../helpers

@test "a test that fails makes the suite fail, and is counted" {
  run "$BATS_TEST_DIRNAME/../run" fixtures/failing
  assert_equal 1 "$status"
  assert_contains "$output" 'not ok 1 this test fails on purpose'
  assert_equal '1 passed, 1 failed' "${lines[-1]}"
}

@test "a tier without tests makes the suite fail" {
  run "$BATS_TEST_DIRNAME/../run" fixtures
  assert_equal 1 "$status"
  assert_equal '0 passed, 1 failed' "${lines[-1]}"
}
