# What the README says is true, and the commands it shows work.
load helpers
setup() {
  common_setup
  cd "$BATS_TEST_DIRNAME/../.."
}
teardown() { common_teardown; }

@test "the commands that the README shows for saved snapshots work" {
  readme_commands unit >"$dir/commands"
  (($(wc -l <"$dir/commands") >= 8))
  run bash -euo pipefail "$dir/commands"
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" '0 /tmp/snapshot.json'
  assert_contains "$output" 'Service demo/apple has no ready endpoint for port 80'
  assert_contains "$output" 'location "/cherry/" { set $ingress "demo/added-later"; proxy_pass "http://cherry.demo.80"; }'
}

@test "the README lists the settings as the program prints them" {
  settings=$(env -u HTTP_PORT -u HTTPS_PORT -u ADMIN_PORT -u STATE_DIR -u LOG_COLOR LISTEN_IPV6=on bin/settings)
  assert_contains "$(<README.md)" "$settings"
}

@test "the README's first loop makes a server of an Ingress" {
  program=$(awk '/^### It began/ { here = 1 } here && /jq -r/ { inside = 1 } inside { print } inside && /routes.conf$/ { exit }' README.md |
    sed "1s/.*jq -r '//; \$s/'.*//")
  jq -r "$program" <<<'{"items": [{"metadata": {"namespace": "demo"}, "spec": {"rules": [{"host": "a.example",
    "http": {"paths": [{"path": "/x", "backend": {"service": {"name": "apple", "port": {"number": 80}}}}]}}]}}]}' >"$dir/routes"
  assert_contains "$(<"$dir/routes")" 'proxy_pass http://apple.demo.svc:80;'
}

@test "the tables that the README shows are those of the last run of the benchmark" {
  jq -r -f test/bench/table.jq test/bench/results/latest.json >"$dir/tables"
  (($(wc -l <"$dir/tables") > 20))
  assert_contains "$(<README.md)" "$(<"$dir/tables")"
  jq -r -f test/bench/chart.jq test/bench/results/latest.json | cmp - test/bench/results/latest.svg
}

@test "the links in the README lead to files" {
  while read -r link; do
    [[ $link == http* || -e $link ]] || { echo "no such file: $link" && false; }
  done < <(grep -oE '\]\([^)#]+\)' README.md | sed 's/^](//; s/)$//')
}
