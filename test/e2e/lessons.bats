# The ten lessons (bin/lessons), each in a pod of its own beside the controller: what breaks one does not break the next.
# So two run side by side, and each fault is made once.
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
    trap 'stop_forwarding && undo_faults' EXIT
    "$@"
  )
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n lessons logs --selector app=lesson --prefix --tail 60 || true
}

teardown_file() {
  kubectl delete namespace/lessons clusterrole/lesson clusterrolebinding/lesson --ignore-not-found --wait=false
}

run_lessons() { # NUMBER...
  pods=("${@/#/lesson-}")
  start_pods "$@"
  in_each start_forwarding 3>&-
}

# Those that do not run yet.
start_pods() { # NUMBER...
  local number
  for number in "$@"; do
    kubectl -n lessons get pod "lesson-$number" >/dev/null 2>&1 || create_pod "$number" "lesson-$number"
  done
}

# The lesson after the next starts meanwhile.
bites_and_is_mended_in_the_next() { # NUMBER
  run_lessons "$1" "$(($1 + 1))"
  (($1 == 9)) || start_pods "$(($1 + 2))"
  "make_$1"
  comes_to_in 0 "${bites[$1]}" "ask_$1"
  comes_to_in 1 "${mended[$1]}" "ask_$1"
  kubectl -n lessons delete pod "lesson-$1" --now --wait=false
}

comes_to_in() { # LESSON EXPECTED COMMAND
  local at=$1
  wait_for 30 comes_to "${@:2}" || return
  printf '%s => %s\n' "${pods[at]}" "$answer"
}

# bats test_tags=kind
@test "while the lists are denied, lesson 1 loses every route, and lesson 2 keeps them" { with_lesson bites_and_is_mended_in_the_next 1; }

# bats test_tags=kind
@test "of two paths of a host, lesson 2 serves one, and lesson 3 both" { with_lesson bites_and_is_mended_in_the_next 2; }

# bats test_tags=kind
@test "for /aaaccc, the path /aaa answers in lesson 3, and not in lesson 4" { with_lesson bites_and_is_mended_in_the_next 3; }

# bats test_tags=kind
@test "a path with a brace writes nginx.conf in lesson 4; lesson 5 does not let it in" { with_lesson bites_and_is_mended_in_the_next 4; }

# bats test_tags=kind
@test "a Service that does not exist stops all changes in lesson 5, and none in lesson 6" { with_lesson bites_and_is_mended_in_the_next 5; }

# bats test_tags=kind
@test "one dead pod of two costs every other request in lesson 6, and none in lesson 7" { with_lesson bites_and_is_mended_in_the_next 6; }

# bats test_tags=kind
@test "after a configuration that nginx rejects, an nginx that ends never comes back in lesson 7; lesson 8 starts it with the last good one" { with_lesson bites_and_is_mended_in_the_next 7; }

# bats test_tags=kind
@test "lesson 8 has no HTTPS; lesson 9 shows a host's certificate" { with_lesson bites_and_is_mended_in_the_next 8; }

# bats test_tags=kind
@test "lesson 9 has no default backend; lesson 10 serves it, and says where" { with_lesson bites_and_is_mended_in_the_next 9; }

# bats test_tags=kind
@test "one Ingress with names that nginx rejects still stops all changes in lesson 10" { with_lesson bites_in_the_last; }

bites_in_the_last() {
  run_lessons 10
  make_10
  comes_to_in 0 "${bites[10]}" ask_10
}

@test "lesson 10 loses no request of 5,000 on connections that stay open, during 20 reloads" {
  with_lesson reload_under_load
  grep -Eq '^sent ([5-9]|[0-9]{2,})[0-9]{3}, failed 0$' "$BATS_TEST_TMPDIR/report"
}

# (Through a port of the node: `kubectl port-forward` may lose something itself.)
reload_under_load() {
  local at_node
  run_lessons 10
  make_0
  kubectl -n lessons create service nodeport lesson --tcp 8080
  at_node=${ADDRESS%:*}:$(kubectl -n lessons get service lesson -o 'jsonpath={.spec.ports[0].nodePort}')
  wait_for 30 curl -sf -o /dev/null -H 'Host: fruit.example' "http://$at_node/apple"
  under_load '-clients 30 -pause 100ms' "$at_node" fruit.example /apple reload_often
  cp "$report" "$BATS_TEST_TMPDIR/report"
  kubectl -n lessons delete service lesson
}

reload_often() {
  local i
  for i in {1..20}; do
    kubectl -n lessons create ingress "reload-$i" --class lesson --rule "reload-$i.example/*=apple:80" >/dev/null
    wait_for 30 is_served "reload-$i.example" /
  done
}

@test "make lesson tells, asks and shows, and leaves nothing, after Ctrl-C neither" {
  run make -s -C "$root" lesson N=3 BREAK=1
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" 'Guess: the path is /aaa'
  assert_contains "$output" 'http://two.example/banana: Hello from banana'
  assert_contains "$output" 'http://three.example/aaaccc: Hello from apple'
  wait_for 90 nothing_is_left
  setsid env --default-signal=INT make -s -C "$root" lesson N=3 >"$BATS_TEST_TMPDIR/interrupted" 2>&1 3>&- &
  making=$!
  wait_for 90 kubectl -n lessons get pod lesson
  kill -INT -- "-$making"
  wait "$making" || true
  tail -n 5 "$BATS_TEST_TMPDIR/interrupted"
  wait_for 90 nothing_is_left
}

nothing_is_left() {
  [[ -z $(kubectl get namespace/lessons clusterrole/lesson clusterrolebinding/lesson --ignore-not-found) ]] && ! pgrep -f 'port-forward pod/lesson'
}
