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

@test "a file that fails beside others runs once more, alone, and only that counts" {
  cat >"$BATS_TEST_TMPDIR/unlucky" <<'END'
[[ $1 != unlucky || -e $0.again ]] && echo "ok 1 $1 in slot $SLOT" || { touch "$0.again" && echo "not ok 1 $1" && exit 1; }
END
  run "$BATS_TEST_DIRNAME/../beside" 1 bash "$BATS_TEST_TMPDIR/unlucky" <<<$'lucky\nunlucky'
  assert_equal 0 "$status"
  assert_contains "$output" '# not ok 1 unlucky'
  assert_equal $'ok 1 lucky in slot 0\nok 1 unlucky in slot 0' "$(grep -E '^(not )?ok ' <<<"$output")"
}

@test "a file that fails alone, too, has failed; and where many fail, none gets another chance" {
  cat >"$BATS_TEST_TMPDIR/broken" <<'END'
echo "not ok 1 $1" && echo "$1" >>"$0.ran" && exit 1
END
  run "$BATS_TEST_DIRNAME/../beside" 2 bash "$BATS_TEST_TMPDIR/broken" <<<'broken'
  assert_equal 1 "$status"
  assert_contains "$output" $'\nnot ok 1 broken'
  assert_equal 2 "$(wc -l <"$BATS_TEST_TMPDIR/broken.ran")"
  run "$BATS_TEST_DIRNAME/../beside" 2 bash "$BATS_TEST_TMPDIR/broken" < <(printf '%s\n' a b c d e f g)
  assert_equal 1 "$status"
  assert_equal 7 "$(grep -c '^not ok ' <<<"$output")"
  assert_equal 9 "$(wc -l <"$BATS_TEST_TMPDIR/broken.ran")"
}

@test "when there is no time left, no file is started any more, and each is named" {
  [[ -e /proc/uptime ]] || skip 'this takes Linux'
  since_boot=$(cut -d . -f 1 /proc/uptime)
  LAST_START=$((since_boot + 600)) run "$BATS_TEST_DIRNAME/../beside" 1 echo 'ok 1' <<<$'one\ntwo'
  assert_equal 0 "$status"
  assert_equal 2 "$(grep -c '^ok 1 ' <<<"$output")"
  LAST_START=$since_boot run "$BATS_TEST_DIRNAME/../beside" 1 echo 'ok 1' <<<$'one\ntwo'
  assert_equal $'# one: NOT RUN, there is no time left\n# two: NOT RUN, there is no time left' "$output"
}
