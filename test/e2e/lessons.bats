# The ten lessons (bin/lessons), each in a pod of its own beside the controller: what breaks one does not break the next.
load helpers

setup_file() {
  export FAULT_FOLDER=$BATS_FILE_TMPDIR
  with_lesson prepare
}

# The words of the program that runs lessons, as `make lesson` has them.
with_lesson() { # COMMAND...
  (
    source "$root/test/demo/lesson"
    choose_cluster
    scratch=$FAULT_FOLDER
    "$@"
  )
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n lessons logs lesson --tail 60 || true
  with_lesson stop_lesson
}

teardown_file() {
  kubectl delete namespace/lessons clusterrole/lesson clusterrolebinding/lesson --ignore-not-found --wait=false
}

# Lesson NUMBER mends the fault of the one before, and has one of its own.
mends_one_fault_and_has_the_next() { # NUMBER
  with_lesson one_lesson "$1" >"$BATS_TEST_TMPDIR/output" 2>&1 3>&- || { cat "$BATS_TEST_TMPDIR/output" && return 1; }
  cat "$BATS_TEST_TMPDIR/output"
}

one_lesson() { # NUMBER
  trap stop_lesson EXIT
  start_lesson "$1"
  BREAK=1 run_lesson "$1"
}

# bats test_tags=kind
@test "lesson 1 serves an Ingress; while the lists are denied, every route is gone" { mends_one_fault_and_has_the_next 1; }

# bats test_tags=kind
@test "lesson 2 keeps its routes while the lists are denied; of two paths of a host, it serves one" { mends_one_fault_and_has_the_next 2; }

# bats test_tags=kind
@test "lesson 3 serves both paths of a host; /aaa also answers for /aaaccc" { mends_one_fault_and_has_the_next 3; }

# bats test_tags=kind
@test "lesson 4 compares elements of paths; a path with a brace writes nginx.conf" { mends_one_fault_and_has_the_next 4; }

# bats test_tags=kind
@test "lesson 5 lets no brace in; a Service that does not exist stops all changes" { mends_one_fault_and_has_the_next 5; }

# bats test_tags=kind
@test "lesson 6 answers 503 for the Service that does not exist; one dead pod of two costs every other request" { mends_one_fault_and_has_the_next 6; }

# bats test_tags=kind
@test "lesson 7 tries the other pod; after a configuration that nginx rejects, an nginx that ends never comes back" { mends_one_fault_and_has_the_next 7; }

# bats test_tags=kind
@test "lesson 8 starts nginx again with the last good configuration; it has no HTTPS" { mends_one_fault_and_has_the_next 8; }

# bats test_tags=kind
@test "lesson 9 shows a host's certificate; it has no default backend" { mends_one_fault_and_has_the_next 9; }

# bats test_tags=kind
@test "lesson 10 serves the default backend and says where; one Ingress with names that nginx rejects still stops all changes" { mends_one_fault_and_has_the_next 10; }
