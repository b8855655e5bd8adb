# The steps are separate: the same model, said to another proxy (manifests/examples/haproxy).
load helpers

setup() {
  common_setup
}
teardown() {
  [[ -z ${follow-} ]] || kill -TERM "$follow" 2>/dev/null || true # it may have ended
  common_teardown
}

serves() { # HOST PATH POD
  [[ $(curl -s --path-as-is --max-time 5 -H "Host: $1" "http://127.0.0.1:$HTTP_PORT$2") == "$3"* ]]
}

@test "HAProxy serves the model as nginx does, follows it, and keeps what it has when the next one is broken" {
  command -v haproxy >/dev/null || skip 'there is no haproxy'
  start_pods
  cp "$fixtures/rules/model.json" "$dir/model.json"
  "$BATS_TEST_DIRNAME/../../manifests/examples/haproxy/follow" "$dir/model.json" "$HTTP_PORT" 2>"$dir/haproxy.log" 3>&- &
  follow=$!
  wait_for 60 serves fruit.example /apple apple
  local host path answer
  while IFS=$'\t' read -r host path answer; do
    assert_row "$answer" "$(who_answers "$host" "$path")" "$host" "$path"
  done < <(
    rows <<'ROWS'
    fruit.example      /apple/pie         apple
    fruit.example      /apples            404
    fruit.example      /apple/core        banana
    fruit.example      /exact             apple
    fruit.example      /exact/            404
    FRUIT.example:80   /cherry            cherry
    shop.example       /anything          shop
    a.fruit.example    /                  cherry
    a.b.fruit.example  /nothing           404
    fruit.example      //apple            400
    fruit.example      /x/../apple        400
    fruit.example      /%61pple           400
ROWS
  )
  jq '(.servers[].locations[] | select(.path == "/apple")).options = 1' "$fixtures/rules/model.json" >"$dir/model.new"
  mv -T "$dir/model.new" "$dir/model.json"
  wait_for 60 serves fruit.example /apple closed
  assert_equal 503 "$(who_answers fruit.example /apple/pie)"
  echo broken >"$dir/model.json"
  wait_for 60 grep -q 'the old one stays' "$dir/haproxy.log"
  assert_equal cherry "$(who_answers fruit.example /cherry)"
}

@test "beside a ConfigMap, whose settings HAProxy would not have, there is no configuration" {
  run jq -r -f "$BATS_TEST_DIRNAME/../../manifests/examples/haproxy/haproxy.jq" --arg port 80 <(jq ".configured = {}" "$fixtures/rules/model.json")
  assert_equal 5 "$status"
  assert_contains "$output" "a ConfigMap has settings, which are not available here: unset CONFIGMAP"
}
