# The page that shows who serves what: which files nginx serves for it, to whom, and what is in them.
load helpers

setup() {
  common_setup
  start_api rules '.ingresses.items += [.ingresses.items[0] * {metadata: {name: "hostile", creationTimestamp: "2026-03-01T00:00:00Z",
      annotations: {"nginx.ingress.kubernetes.io/auth-url": "http://apple.demo.svc/in?token=S3CRET", "nginx.ingress.kubernetes.io/limit-rps": "S3CRET"}},
    spec: {rules: [{host: "hostile.example", http: {paths: [("/b", "/<b>") | {path: ., pathType: "Prefix", backend: {service: {name: "gone", port: {number: 80}}}}]}}]}}]'
  start_controller
  wait_for 20 page_has 1
}
teardown() { common_teardown; }

page_has() { # NUMBER
  [[ $(page changes.json) == *"\"number\":$1,"* ]]
}

page() { # FILE [CURL_OPTION...]
  curl -s --max-time 5 "${@:2}" "http://127.0.0.1:$ADMIN_PORT/page/$1"
}

@test "the page is served with its files to who forwards a port, and to nobody else" {
  assert_contains "$(page '' -i)" 'Content-Type: text/html'
  assert_contains "$(page '' -i)" "require-trusted-types-for 'script'"
  cmp <(page '') "$templates/page.html"
  for host in localhost localhost:9 127.0.0.1:8080 '[::1]:80'; do
    assert_equal 200 "$(page '' -o /dev/null -w '%{http_code}' -H "Host: $host")"
  done
  for file in '' changes.json 1.json index.html; do
    for host in evil.example localhost.evil.example 127.0.0.1.evil.example 10.0.0.1; do
      assert_equal 403 "$(page "$file" -o /dev/null -w '%{http_code}' -H "Host: $host")" || { echo "$host" && false; }
    done
    assert_equal 403 "$(page "$file" -o /dev/null -w '%{http_code}' -H 'CDN-Loop: bash-ingress')"
  done
  assert_contains "$(admin_page /page/)" ' 403 ' # no Host at all
  assert_equal 404 "$(page 99.json -o /dev/null -w '%{http_code}')"
}

@test "another address than that of the machine itself gets a 403" {
  assert_equal 403 "$(page '' -o /dev/null -w '%{http_code}' --interface 127.0.0.9)"
  assert_equal 403 "$(page 1.json -o /dev/null -w '%{http_code}' --interface 127.0.0.9)"
  assert_equal 200 "$(curl -s -o /dev/null -w '%{http_code}' --interface 127.0.0.9 "http://127.0.0.1:$ADMIN_PORT/healthz")"
}

@test "it has what is served, and what is wrong with its sentence, but no values of annotations and no query strings" {
  page 1.json >"$dir/page.json"
  assert_json '[.hosts[] | select(.host == "fruit.example").paths[] | select(.path == "/banana") | .of, .service, .pods[]]' \
    '["Ingress demo/fruit","demo/banana","127.77.0.3:8080","127.77.0.3:8081"]' <"$dir/page.json"
  assert_json '[.hosts[] | select(.host == "hostile.example").paths[] | .path, .status] | unique' '[503,"/b"]' <"$dir/page.json"
  assert_contains "$(jq -r '.problems[] | "\(.of) \(.message)"' "$dir/page.json")" 'Ingress demo/added-later Prefix path /apple of host fruit.example is already taken by Ingress demo/fruit'
  assert_contains "$(jq -r '.hosts[].paths[].message // empty' "$dir/page.json")" 'limit-rps is "redacted"; allowed: '
  assert_contains "$(jq -r '.objects[]' "$dir/page.json")" '+ Ingress demo/hostile: '
  assert_contains "$(jq -r '.nginx[]' "$dir/page.json")" '+    server_name "hostile.example";'
  run ! grep -rl S3CRET "$STATE_DIR/admin"
  grep -rq S3CRET "$STATE_DIR/live"
  assert_json '[.steps[][0]]' '["fetch","route","render","test","reload","apply"]' <"$dir/page.json"
  "$bin/changes" 1 --page >"$dir/1.html" # which is the page with that in it
  sed -nE 's/^const recorded = (.*);( .*)$/\1/p' "$dir/1.html" | jq -S . >"$dir/recorded"
  cmp "$dir/recorded" <(jq -S '{"1.json": ., "changes.json": [{number: 1}]}' "$dir/page.json")
  cmp <(sed 's/^const recorded = .*;/const recorded = null;/' "$dir/1.html") "$templates/page.html"
}

@test "while nothing changes, no file of the page is written" {
  before=$(stat -c '%n %i %y' "$STATE_DIR"/admin/page/*)
  polls=$(metric polls_total)
  wait_for 15 polled_since $((polls + 3))
  assert_equal "$before" "$(stat -c '%n %i %y' "$STATE_DIR"/admin/page/*)"
}
