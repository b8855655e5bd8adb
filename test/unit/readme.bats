# What the README and the pages beside the code say is true, and the commands they show work.
load helpers
setup() {
  common_setup
  cd "$BATS_TEST_DIRNAME/../.."
}
teardown() { common_teardown; }

@test "the commands that the README shows for saved snapshots work" {
  readme_commands unit >"$dir/commands"
  (($(wc -l <"$dir/commands") >= 14))
  run bash -euo pipefail "$dir/commands"
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" '0 /tmp/snapshot'
  assert_contains "$output" 'a label is no news'
  assert_contains "$output" '{"ingress":"demo/fruit","created":"2026-01-01T00:01:00Z","options":{},"claims":[{"host":"new.example"'
  assert_contains "$output" 'Service demo/apple has no ready endpoint for port 80'
  assert_contains "$output" 'location "/cherry/" { set $ingress "demo/added-later"; proxy_pass "http://cherry.demo.80"; }'
}

@test "the Ingress that the README shows becomes the lines that it shows" {
  jq '.ingresses.items |= [first | .spec.rules[0].http.paths |= .[:1]] | .services.items |= [first]
    | .endpointSlices.items |= [first | .endpoints |= [.[:2] | to_entries[] | .value + {addresses: [["10.244.0.4", "10.244.0.7"][.key]]}]]' \
    test/fixtures/rules/lists.json | test/fixtures/snapshot >"$dir/snapshot"
  bin/route <"$dir/snapshot" >"$dir/model.json"
  bin/render <"$dir/model.json" >"$dir/nginx.conf"
  block() { awk -v wanted="$1" '/^```/ { number += /^```(json|nginx)$/; inside = /^```(json|nginx)$/; next } inside && number == wanted' README.md; } # NUMBER
  diff <(block 1) "$dir/snapshot"
  diff <(block 2) <(jq -c '.upstreams[], (.servers[] | select(.host != ""))' "$dir/model.json")
  diff <(block 3) <(grep '^    location.*demo/fruit' "$dir/nginx.conf")
}

@test "bin/README.md lists the settings as the program prints them" {
  settings=$(env -u HTTP_PORT -u HTTPS_PORT -u ADMIN_PORT -u STATE_DIR bin/settings)
  assert_contains "$(<bin/README.md)" "$settings"
}

@test "bin/README.md names every program and every file of bin/lib" {
  for file in bin/* bin/lib/* bin/lib/*/*; do
    [[ -d $file || $file == *.md ]] || assert_contains "$(<bin/README.md)" "\`${file##*/}\`"
  done
}

@test "bin/README.md names every metric" {
  sed -nE 's/^ *metric (counter|gauge) ([a-z_]+) .*/\2/p' bin/lib/loop/*.bash >"$dir/metrics"
  (($(wc -l <"$dir/metrics") >= 15))
  while read -r metric; do
    assert_contains "$(<bin/README.md)" "\`$metric"
  done <"$dir/metrics"
}

@test "the page of the annotations is made of their rows; each that is served says what it does, and has a test" {
  diff <(jq -r -f test/fixtures/annotations.jq bin/lib/annotations/annotations.json) manifests/annotations.md
  jq -e '[.[] | select(.type) | .about] | all' bin/lib/annotations/annotations.json
  while read -r name; do
    grep -qE "[ '/]$name=" test/annotations/*.bats test/unit/protection.bats || { echo "no test has $name" && false; }
  done < <(jq -r 'to_entries[] | select(.value | .type or .alias).key' bin/lib/annotations/annotations.json)
}

@test "the README's first loop makes a server of an Ingress" {
  program=$(awk '/^## It began/ { here = 1 } here && /jq -r/ { inside = 1 } inside { print } inside && /routes.conf$/ { exit }' README.md |
    sed "1s/.*jq -r '//; \$s/'.*//")
  jq -r "$program" <<<'{"items": [{"metadata": {"namespace": "demo"}, "spec": {"rules": [{"host": "a.example",
    "http": {"paths": [{"path": "/x", "backend": {"service": {"name": "apple", "port": {"number": 80}}}}]}}]}}]}' >"$dir/routes"
  assert_contains "$(<"$dir/routes")" 'proxy_pass http://apple.demo.svc:80;'
}

@test "the numbers that the pages show are those of the last run of the benchmark" {
  jq -r -f test/bench/table.jq test/bench/results/latest.json >"$dir/tables"
  (($(wc -l <"$dir/tables") > 20))
  assert_contains "$(<test/bench/README.md)" "$(<"$dir/tables")"
  jq -r -f test/bench/chart.jq test/bench/results/latest.json | cmp - test/bench/results/latest.svg
  sed -n '/^## Speed/,/^## Contributing/ { /^| [a-z]/p }' README.md >"$dir/rows"
  assert_equal 5 "$(wc -l <"$dir/rows")"
  assert_equal '' "$(grep -Fxv -f "$dir/tables" "$dir/rows")"
}

@test "the links of all pages lead to files, and to headings in them" {
  for page in {.,.github,bin,templates,manifests,test,test/*}/*.md; do
    while read -r link; do
      file=${link%%#*} heading=${link#"$file"}
      file=${file:+$(dirname "$page")/$file}
      [[ -e ${file:-$page} ]] || { echo "in $page, no such file: $link" && false; }
      [[ -z $heading ]] || headings "${file:-$page}" | grep -qx "$heading" || { echo "in $page, no such heading: $link" && false; }
    done < <(grep -oE '\]\([^) ]+\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^https\?:')
  done
}

# Prints the headings of a page as links name them.
headings() { # PAGE
  sed -nE 's/^#+ //p' "$1" | tr '[:upper:] ' '[:lower:]-' | sed 's/[^a-z0-9_-]//g; s/^/#/'
}

@test "what is read first, the mechanism, has at most 650 lines of code" {
  local level_1=(bin/{loop,fetch,route,render,apply} bin/lib/fetch/{ingresses,services,endpointslices}.jq bin/lib/route/route.jq templates/nginx.{jq,conf.template})
  cat "${level_1[@]}" >"$dir/level-1"
  (($(grep -vcE '^\s*(#|$)' "$dir/level-1") <= 650))
}

@test "the README is one sitting: 2,500 words at most" {
  (($(wc -w <README.md) <= 2500))
}
