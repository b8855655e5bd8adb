# The page in a real Chromium: what a reader sees.
load ../unit/helpers
setup() { common_setup; }
teardown() { common_teardown; }

# Runs the controller on FIXTURE after EDIT, and waits for the page.
show_page() { # FIXTURE [EDIT]
  start_api "$@"
  start_controller
  wait_for 30 page_has 1
}

page_has() { # NUMBER
  [[ $(curl -s "http://127.0.0.1:$ADMIN_PORT/page/changes.json") == *"\"number\":$1,"* ]]
}

# Prints the page as it is after five seconds of a clock that stands still while something is loaded. (Root may run it
# only without a sandbox.)
look() { # [URL]
  timeout 100 chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$dir/chromium" --enable-logging=stderr --log-net-log="$dir/net.json" \
    --virtual-time-budget=5000 --dump-dom "${1-http://localhost:$ADMIN_PORT/page/}" 2>"$dir/chromium.log"
}

look_and_time() {
  local began=${EPOCHREALTIME/./}
  look >"$dir/dom"
  milliseconds=$(((${EPOCHREALTIME/./} - began) / 1000))
}

@test "a missing Service is red with its sentence, a lost path too, and a hostile name stays text; no error, and no request to elsewhere" {
  show_page rules '.ingresses.items[0].spec.rules[0].http.paths += [("/gone", "/<img src=x onerror=alert(1)>") | {path: ., pathType: "Prefix", backend: {service: {name: "gone", port: {number: 80}}}}]'
  look >"$dir/dom"
  grep -qE '<tr class="bad[^>]*>.*Service demo/gone does not exist' "$dir/dom"
  grep -qE '<tr class="bad[^>]*>.*already taken by Ingress demo/fruit' "$dir/dom"
  assert_contains "$(<"$dir/dom")" '/&lt;img src=x onerror=alert(1)&gt;'
  refute_contains "$(<"$dir/dom")" '<img'
  assert_contains "$(<"$dir/dom")" 'Change 1'
  run ! grep CONSOLE "$dir/chromium.log"
  grep -oE '"url":"https?://[^/"]+/page/[^"]*"' "$dir/net.json" | sort -u >"$dir/urls"
  assert_contains "$(<"$dir/urls")" "localhost:$ADMIN_PORT/page/1.json"
  assert_equal '' "$(grep -v "localhost:$ADMIN_PORT/" "$dir/urls")"
}

@test "of a change, the page tells what changed, and lights it up" {
  show_page rules
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  wait_for 15 page_has 2
  look >"$dir/dom"
  grep -qE '<tr class="new[^>]*><th scope="row">new.example' "$dir/dom"
  assert_contains "$(<"$dir/dom")" '+    server_name "new.example";'
  assert_contains "$(<"$dir/dom")" '- fruit.example  →  /banana'
  assert_contains "$(<"$dir/dom")" 'reload '
}

# Its last line starts the page; then it gets keys: two steps on, and one back.
play_from() { # FILE
  # shellcheck disable=SC2016 # the dollar sign is the page's
  edit "$1" -e 's/^look();$/look().then(() => {\n  $("play").click();\n  [" ", "ArrowRight", "ArrowLeft"].forEach(type);\n});/' \
    -e '/^look()/i const type = key => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));'
  look "file://$1"
}

@test "a change that was saved as one file plays from it, step by step, with keys, and asks for no other file" {
  show_page rules
  cluster_is rules '.ingresses.items[0].spec.rules[0] |= (.host = "new.example" | .http.paths[0].path = "/</script><img src=x>")'
  wait_for 15 page_has 2
  "$bin/changes" 2 --page >"$dir/2.html"
  stop_controller
  play_from "$dir/2.html" >"$dir/dom"
  grep -qE '<tr class="new[^>]*><th scope="row">new.example' "$dir/dom"
  grep -q '<section id="diff-model" class="now">' "$dir/dom"
  grep -q '<section id="picture" class="waits">' "$dir/dom"
  grep -qE '<li data-step="route" class="now">route [0-9.]+ ms' "$dir/dom"
  assert_contains "$(<"$dir/dom")" '/&lt;/script&gt;&lt;img src=x&gt;'
  refute_contains "$(<"$dir/dom")" '<img'
  run ! grep CONSOLE "$dir/chromium.log"
  run ! grep -E '"url":"[^"]*[.]json' "$dir/net.json"
}

@test "a new Ingress is in the page's files within 2 s" {
  show_page rules
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  wait_for 2 page_has 2
}

@test "1,000 Ingresses are drawn within 2 s more than a few are" {
  show_page rules
  look_and_time
  few=$milliseconds
  cluster_is rules '.ingresses.items |= [.[0] as $it | range(1000) as $i | $it * {metadata: {name: "i\($i)"}, spec: {rules: [{host: "h\($i).example", http: $it.spec.rules[0].http}]}}]'
  wait_for 60 page_has 2
  look_and_time
  (($(grep -o 'scope="row"' "$dir/dom" | wc -l) > 1000))
  echo "# $few ms with a few, $milliseconds ms with 1,000" >&3
  ((milliseconds - few < 2000 * ${SLOWER:-1}))
}
