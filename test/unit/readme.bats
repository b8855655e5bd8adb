# What the README and the pages beside the code say is true, and the commands they show work.
load helpers
setup() {
  common_setup
  cd "$BATS_TEST_DIRNAME/../.."
}
teardown() { common_teardown; }

@test "the commands that the README shows for saved snapshots work" {
  unset HTTP_PORT HTTPS_PORT ADMIN_PORT # a reader has the defaults
  readme_commands unit >"$dir/commands"
  (($(wc -l <"$dir/commands") >= 12))
  run bash -euo pipefail "$dir/commands"
  echo "$output"
  assert_equal 0 "$status"
  assert_contains "$output" '0 /tmp/snapshot'
  assert_contains "$output" 'a label is no news'
  assert_contains "$output" '"host":"new.example","path":"/apple"'
  assert_contains "$output" 'Service demo/apple has no ready endpoint for port 80'
  assert_contains "$output" 'location "/cherry/" { set $ingress "demo/added-later"; proxy_pass "http://cherry.demo.80"; }'
}

# Makes a snapshot, a model and an nginx.conf of one path of the Ingress demo/fruit, with the demo's addresses.
route_one_path() {
  unset HTTP_PORT HTTPS_PORT ADMIN_PORT
  jq '.ingresses.items |= [first | .spec.rules[0].http.paths |= .[:1]] | .services.items |= [first]
    | .endpointSlices.items |= [first | .endpoints |= [.[:2] | to_entries[] | .value + {addresses: [["10.244.0.4", "10.244.0.7"][.key]]}]]' \
    test/fixtures/rules/lists.json | test/fixtures/snapshot >"$dir/snapshot"
  bin/route <"$dir/snapshot" >"$dir/model.json"
  bin/render <"$dir/model.json" >"$dir/nginx.conf"
}

@test "the Ingress that bin/README.md shows becomes the lines that it shows" {
  route_one_path
  block() { awk -v wanted="$1" '/^```/ { number += /^```(json|nginx)$/; inside = /^```(json|nginx)$/; next } inside && number == wanted' bin/README.md; } # NUMBER
  diff <(block 1) "$dir/snapshot"
  diff <(block 2) <(jq -c '.upstreams[], (.servers[] | select(.host != ""))' "$dir/model.json")
  diff <(block 3) <(grep '^    location.*demo/fruit' "$dir/nginx.conf")
}

@test "the README's four columns are of one Ingress" {
  route_one_path
  jq -c . "$dir/model.json" >"$dir/model"
  columns=(manifests/demo/ingress-fruit.yaml "$dir/snapshot" "$dir/model" "$dir/nginx.conf") cells=0
  while IFS='|' read -r _ first others; do
    [[ $first != ' EndpointSlice'* ]] || first='' # the demo's Deployments make it
    column=0
    while read -r -d '|' cell; do
      while read -r -d '`' _ && read -r -d '`' part; do
        assert_contains "$(<"${columns[column]}")" "${part%…*}"
        cells=$((cells + 1))
      done <<<"$cell"
      column=$((column + 1))
    done <<<"$first|$others"
  done < <(sed -n '/^| in YAML/,/^$/p' README.md | sed 1,2d)
  ((cells > 12))
}

@test "the README's numbers of annotations are those of the table" {
  # without those of which the page says that they have no effect
  assert_contains "$(<README.md)" "[$(jq -r '. as $rows
    | [.[] | if .alias then $rows[.alias] else . end | select(.type and (.about | startswith("Has no effect") | not))] | "\(length) of \($rows | length)"' \
    bin/lib/annotations/annotations.json) annotations]"
}

@test "the README's recording of a terminal is made of the one that is kept, small, and has no script" {
  jq -n -R -r -f test/demo/recording.jq test/demo/recording.txt | cmp - test/demo/recording.svg
  (($(cat test/demo/recording.svg .github/reload.svg | wc -c) < 60000))
  ! grep -il '<script\|onload=' test/demo/recording.svg .github/reload.svg
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
  sed -nE 's/^ *(metric|head_of) (counter|gauge|histogram) ([a-z_]+) .*/\3/p' bin/lib/loop/*.bash >"$dir/metrics"
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
  program=$(awk '/jq -r/ { inside = 1 } inside { print } inside && /routes.conf$/ { exit }' README.md |
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
}

@test "the links of all pages lead to files, and to headings in them" {
  for page in {.,.github,bin,bin/lessons,templates,manifests,test,test/*}/*.md; do
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

@test "the README is one sitting: 1,700 words at most" {
  (($(wc -w <README.md) <= 1700))
}
