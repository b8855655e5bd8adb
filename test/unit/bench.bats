#!/usr/bin/env bats
# The benchmark's tables, from numbers as it notes them. No cluster.

load helpers

table() { # of the numbers on standard input
  jq -s -f test/bench/results.jq --arg quick '' --arg baseline nginx --arg cpus 2 --arg load 1 | jq -r -f test/bench/table.jq
}

measured() { # PEER ROW UNIT VALUE PROCESS_START
  jq -n -c --arg peer "$1" --arg row "$2" --arg unit "$3" --argjson value "$4" --argjson process_start "$5" \
    '{$row, $unit, goal: "", $peer, stolen: 0, $process_start, $value, p99: null, failed: null}'
}

@test "another controller has a column: its median, and this one's as a multiple of it" {
  {
    measured bash-ingress memory MiB 90 1
    measured other memory MiB 60 2
    measured bash-ingress memory MiB 80 1.5
    measured other memory MiB 40 1
    measured third memory MiB 45 1
  } | table >"$dir/table"
  assert_equal "$(sed -n 1p "$dir/table")" '|  | bash-ingress | other | third | process start |'
  assert_equal "$(sed -n 3p "$dir/table")" '| memory (MiB) | 90 | 60 (2 ×) | 45 (2 ×) | 1 – 2 ms |'
}

@test "without another controller, there is no such table" {
  {
    measured bash-ingress memory MiB 90 1
    measured nginx 'requests/s' /s 100 1
    measured lesson memory MiB 50 1
  } | table >"$dir/table"
  assert_equal "$(sed -n 1p "$dir/table")" '|  | median | least – greatest | aim |'
}
