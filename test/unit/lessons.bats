# The lessons (bin/lessons), and above all the last one, a controller in one file: what it serves from saved lists, by
# the real nginx and kubectl. What breaks each lesson is in e2e/lessons.bats.
load helpers

lessons=("$BATS_TEST_DIRNAME"/../../bin/lessons/??-*)

setup() { common_setup; }

teardown() {
  [[ -z ${lesson-} ]] || stop_lesson
  common_teardown
}

# Runs lesson 10 on the cluster that start_api plays. (Its nginx may be too old for one of the directives.)
start_lesson() {
  set_free_ports PROOF_PORT
  export PROOF_PORT
  sed '/keepalive_min_timeout/d' "${lessons[9]}" >"$dir/lesson"
  chmod +x "$dir/lesson"
  use_quick_kubectl
  CLASS=bash PORT=$HTTP_PORT TLS_PORT=$HTTPS_PORT FOLDER=$dir/state DRAIN_SECONDS=0 "$dir/lesson" >"$dir/lesson.log" 2>&1 3>&- &
  lesson=$!
}

stop_lesson() {
  kill "$lesson"
  wait "$lesson" || true
  lesson=''
}

answers() { # EXPECTED HOST PATH [CURL_OPTION...]
  [[ $(who_answers "${@:2}") == "$1" ]]
}

# --- the text

@test "each lesson changes at most 40 lines of the one before" {
  assert_equal 10 "${#lessons[@]}"
  for ((i = 1; i < 10; i++)); do
    # a line in the place of another counts once
    changed=$(diff -U 0 "${lessons[i - 1]}" "${lessons[i]}" | awk '
      NR > 2 && /^[+]/ { added++ }
      NR > 2 && /^-/ { removed++ }
      /^@@/ { sum += added > removed ? added : removed; added = removed = 0 }
      END { print sum + (added > removed ? added : removed) }')
    echo "${lessons[i]##*/}: $changed"
    ((changed > 10 && changed <= 40))
  done
}

@test "the last lesson has at most 220 lines of code, and none of more than 110 columns" {
  code=$(grep -vcE '^\s*(#|$)' "${lessons[9]}")
  echo "$code"
  ((code <= 220))
  assert_contains "$(<"$BATS_TEST_DIRNAME/../../bin/lessons/README.md")" " $code lines of code"
  run awk 'length > 110' "${lessons[@]}"
  assert_equal '' "$output"
}

# Without what is in quotes, the program in jq above all.
@test "the lessons have one statement a line" {
  run awk -v quote="'" '
    FNR == 1 { inside = 0 }
    /^ *#/ { next }
    { line = $0
      gsub(/"[^"]*"/, "", line)
      outside = inside ? "" : line
      if (gsub(quote, quote, line) % 2) { sub(quote ".*", "", outside); inside = !inside }
      gsub(quote "[^" quote "]*" quote "|;; *|; (then|do)$", "", outside) }
    FILENAME !~ /README/ && !inside && outside ~ /;/ && outside !~ /CONF|[{}]|^ *(listen|return|[a-z_]+ .*);/ { print FILENAME ": " $0 }' "${lessons[@]}"
  assert_equal '' "$output"
}

@test "the lessons use nothing of bin" {
  run grep -nE 'source |settings|\.\./|bash-ingress' "${lessons[@]}"
  assert_equal '' "$output"
}

@test "the page for teachers names each lesson, with minutes, 45 in all, a question and an answer" {
  run "$BATS_TEST_DIRNAME/../demo/lesson" list
  assert_equal 10 "${#lines[@]}"
  assert_equal 45 "$(sed -nE 's/.*[(]([0-9]+) minutes[)]$/\1/p' <<<"$output" | paste -sd + | bc)"
  page=$BATS_TEST_DIRNAME/../../bin/lessons/README.md
  assert_equal 10 "$(grep -c '^Guess: .*' "$page")"
  assert_equal 10 "$(grep -c '<summary>Answer</summary>' "$page")"
}

# --- what the last one serves

@test "lesson 10 serves what the controller serves" {
  start_api rules
  start_pods
  start_lesson
  wait_for 30 answers apple fruit.example /apple
  rows <<'ROWS' >"$dir/rows"
    fruit.example         /apple/pie    apple
    fruit.example         /apples       404
    fruit.example         /apple/core   banana
    fruit.example         /exact        apple
    fruit.example         /exact/       404
    fruit.example         /slash/       banana
    fruit.example         /slash        404
    kiwi.fruit.example    /any          cherry
    a.b.fruit.example     /any          404
    default.example       /any          cherry
    shop.example          /             shop
    nowhere.example       /hello        apple
    nowhere.example       /nothing      404
ROWS
  while IFS=$'\t' read -r host path expected; do
    assert_row "$expected" "$(who_answers "$host" "$path")" "$host" "$path"
  done <"$dir/rows"
}

@test "lesson 10 keeps what it serves while lists are denied, cut or empty" {
  start_api rules
  start_pods
  start_lesson
  wait_for 30 answers apple fruit.example /apple
  touch "$api/forbidden"
  wait_for 30 grep -q 'the last configuration stays' "$dir/lesson.log"
  rm "$api/forbidden"
  for spoilt in '' '{}' '{"kind": "IngressList", "metadata": {}, "items": []}' "$(head -c 2000 "$api/ingresses")"; do
    : >"$dir/lesson.log"
    printf '%s' "$spoilt" >"$api/ingresses"
    wait_for 30 grep -q 'the last configuration stays' "$dir/lesson.log"
    answers apple fruit.example /apple
  done
  cluster_is rules '.ingresses.items = []'
  wait_for 30 answers 404 fruit.example /apple
}

@test "lesson 10 keeps the last good configuration if nginx rejects a new one, and starts again with it" {
  start_api rules
  start_pods
  start_lesson
  wait_for 30 answers apple fruit.example /apple
  cluster_is rules '.ingresses.items[0].spec.rules += [
    {host: ([range(6) | ["an", "c0"]] | combinations | join("") + ".example"), http: .ingresses.items[0].spec.rules[0].http}]'
  wait_for 30 grep -q server_names_hash "$dir/lesson.log"
  kill "$(<"$dir/state/nginx.pid")"
  wait_for 30 answers apple fruit.example /apple
}

# --- what is not let in

# Fails if nginx.conf has a character, or a directive, that is not one of lesson 10.
assert_only_our_own() {
  wait_for 60 grep -q proxy_pass "$dir/state/nginx.conf" # on a slow machine, it may have gone back for a while
  sed '1,/ssl_certificate_key default/d' "$dir/state/nginx.conf" >"$dir/routes"
  [[ -s $dir/routes ]]
  run env LC_ALL=C grep -n '[^ -~]' "$dir/routes"
  assert_equal '' "$output"
  run grep -oE '"[^"]*"' < <(sed -E 's/[.]\\n"/"/; s/\$"$/"/; s/\$" [{]/" {/; s/\$";/";/' "$dir/routes")
  refute_contains "$output" '\'
  refute_contains "$output" '$'
  run grep -vE '^(# Ingress [-a-z0-9.]+/[-a-z0-9.]+: [a-zA-Z ]+|}|server [{]|upstream "[-a-z0-9.]+" [{]|  (server|listen|server_name) [^;{}]+;|  location (= |~ )?("[^" ]+"|/) [{] (proxy_pass|return [45]0[34]) "[^"]+"; [}])$' "$dir/routes"
  assert_equal '' "$output"
}

@test "no character that has no business in nginx.conf gets there by way of lesson 10" {
  start_pods
  mkdir "$dir/hostile"
  # those fields that the lesson reads, but not many times the same
  jq -f "$BATS_TEST_DIRNAME/tables/hostile.jq" "$fixtures/rules/lists.json" |
    jq '.ingresses.items |= map(select(.metadata.name | test("-(path-exact|path-prefix|path-implementationspecific|host|service|port|tls-host)$")))' \
      >"$dir/hostile/lists.json"
  (($(jq '.ingresses.items | length' "$dir/hostile/lists.json") > 500))
  fixtures=$dir
  start_api hostile
  start_lesson
  wait_for 60 answers apple 0-host.example /good
  assert_only_our_own
  assert_contains "$(<"$dir/routes")" '# Ingress demo/0-path-exact: a path is not let in'
  assert_contains "$(<"$dir/routes")" '# Ingress demo/0-host: a host is not let in'
}

@test "what was published against ingress-nginx gets nobody the file that he is after by way of lesson 10" {
  start_pods
  echo 'the canary' >"$dir/canary"
  mkdir "$dir/cves"
  jq --arg file "$dir/canary" -f "$BATS_TEST_DIRNAME/tables/cves.jq" "$fixtures/rules/lists.json" >"$dir/cves/lists.json"
  fixtures=$dir
  start_api cves
  start_lesson
  wait_for 60 answers apple cve-0.example /good
  assert_only_our_own
  for host in $(jq -r '.cves[].host' "$dir/cves/lists.json"); do
    for path in /canary /canary/ "$dir/canary" "/good/..$dir/canary"; do
      refute_contains "$(ask "$host" "$path")" 'the canary'
    done
  done
}
