load helpers
setup() { common_setup; }
teardown() { common_teardown; }

assert_refused() { # MESSAGE_PART [KNOWN_SNAPSHOT]
  run --separate-stderr "$bin/fetch" "${@:2}"
  assert_equal 1 "$status"
  assert_equal '' "$output"
  assert_contains "$stderr" "$1"
}

@test "fetch prints the five lists as one JSON document" {
  start_api rules
  "$bin/fetch" | assert_json '[.ingresses, .ingressClasses, .terminatingNamespaces, .services, .endpointSlices] | map(.kind)' \
    '["IngressList","IngressClassList","NamespaceList","ServiceList","EndpointSliceList"]'
}

@test "fetch prints nothing while the cluster equals the known snapshot" {
  start_api rules
  "$bin/fetch" >"$dir/known"
  cluster_is rules # the same objects; the lists have a new resourceVersion
  run "$bin/fetch" "$dir/known"
  assert_equal 0 "$status"
  assert_equal '' "$output"
}

@test "fetch prints nothing, and takes it for known, when only the status of an Ingress is new" {
  start_api rules
  "$bin/fetch" >"$dir/known"
  cluster_is rules '.ingresses.items[0] |= (.metadata.resourceVersion = "300" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}])'
  run "$bin/fetch" "$dir/known"
  assert_equal 0 "$status"
  assert_equal '' "$output"
  grep -q 192.0.2.9 "$dir/known"
  cluster_is rules '.ingresses.items[0] |= (.metadata.resourceVersion = "301" | .metadata.annotations.some = "thing")'
  run "$bin/fetch" "$dir/known"
  assert_contains "$output" '"some":"thing"'
}

@test "fetch prints the new snapshot when one object differs from the known one" {
  local change managed='.ingresses.items[] |= (.metadata += {uid: .metadata.name, managedFields: [{manager: "a]},\"spec\":", fieldsV1: {"f:spec": {}}}]} | .status.loadBalancer = {})'
  start_api rules "$managed"
  "$bin/fetch" >"$dir/known"
  for change in '.services.items[0].spec.ports[0].port = 81' '.endpointSlices.items[-1].endpoints[0].addresses[0] = "1.2.3.4"' \
    'del(.ingresses.items[0])' 'del(.ingresses.items[-1])' '.ingresses.items += [.ingresses.items[-1] | .metadata.name = "z"]' \
    '.ingresses.items[-1].spec.rules[0].host = "other"' '.ingresses.items[0].metadata.uid = "another"' '.ingresses.items = []' \
    '.ingresses.items[1] |= (.metadata.resourceVersion = "999" | .metadata.annotations.a = ",\"status\":{\"loadBalancer\":{}}")'; do
    cluster_is rules "$managed | $change"
    "$bin/fetch" "$dir/known" >"$dir/new"
    cmp <("$bin/fetch") "$dir/new"
  done
  cluster_is rules "$managed"' | .ingresses.items[1, -1] |= (.metadata.managedFields += [{manager: "b"}] | .metadata.resourceVersion = "999" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}])'
  run "$bin/fetch" "$dir/known"
  assert_equal 0 "$status"
  assert_equal '' "$output"
  cmp "$dir/known" <("$bin/fetch")
}

@test "whatever comes first in an Ingress, a change is never taken for one of its status" {
  local kinds='.ingresses.items |= map({kind: "Ingress"} + . | .status.loadBalancer = {})'
  start_api rules "$kinds"
  "$bin/fetch" >"$dir/known"
  cluster_is rules "$kinds | .ingresses.items[0].status.loadBalancer.ingress = [{ip: \"192.0.2.9\"}] | .ingresses.items[1].spec.rules[0].host = \"other\""
  "$bin/fetch" "$dir/known" | assert_json '.ingresses.items[1].spec.rules[0].host' '"other"'
}

@test "WATCH_NAMESPACE reads that namespace only" {
  start_api rules
  WATCH_NAMESPACE=demo "$bin/fetch" >/dev/null
  run grep -oE 'GET [^ ]+' "$dir/api.access"
  assert_contains "$output" '/namespaces/demo/ingresses'
  assert_contains "$output" '/namespaces/demo/services'
  assert_contains "$output" '/namespaces/demo/endpointslices'
  refute_contains "$output" '/namespaces/demo/ingressclasses'
  refute_contains "$output" status.phase # one namespace has nobody to give way to
}

@test "with READ_CLASSES=off no IngressClass is read, and INGRESS_CLASS alone is ours" {
  start_api rules
  rm "$api/ingressclasses" # an answer would be an error
  export READ_CLASSES=off
  "$bin/fetch" | "$bin/route" | assert_json '.objects | has("Ingress demo/fruit")' true
  "$bin/fetch" | INGRESS_CLASS=other "$bin/route" | assert_json '.objects | has("Ingress demo/fruit")' false
  refute_contains "$(<"$dir/api.access")" ingressclasses
}

@test "an API server that is not there is an error" {
  start_api rules
  wait_for 15 eval '! kill -QUIT "$(<"$dir/api.pid")"' # an nginx that has just been started does not always hear the first one
  assert_refused 'cannot read ingresses: '
}

@test "a refusal by the API server is an error that says what is not allowed" {
  start_api rules
  touch "$api/forbidden"
  assert_refused 'not allowed to list'
}

@test "an answer that trickles is cut off and is an error" {
  start_api rules
  touch "$api/slow"
  export READ_SECONDS=1
  assert_refused 'no answer within 1 s'
}

@test "an empty answer is an error" {
  start_api rules
  : >"$api/services"
  assert_refused 'not whole JSON documents'
}

@test "a page of HTML is an error" {
  start_api rules
  echo '<html>Please log in</html>' >"$api/services"
  assert_refused 'not whole JSON documents'
}

@test "half of a list is an error" {
  start_api rules
  head -c 500 "$api/services" >"$api/half" && mv "$api/half" "$api/services"
  assert_refused 'not whole JSON documents'
}

@test "two documents in one answer are an error" {
  start_api rules
  cat "$api/services" "$api/services" >"$api/two" && mv "$api/two" "$api/services"
  assert_refused 'not whole JSON documents'
}

@test "a list of another kind, without items, without resourceVersion or with more pages is an error" {
  start_api rules
  echo '{"kind":"IngressList","metadata":{"resourceVersion":"1"},"items":[]}' >"$api/services"
  assert_refused 'services: its kind is "IngressList", not ServiceList'
  echo '{"kind":"ServiceList","metadata":{"resourceVersion":"1"},"items":null}' >"$api/services"
  assert_refused 'services: it has no items'
  echo '{"kind":"ServiceList","metadata":{"resourceVersion":""},"items":[]}' >"$api/services"
  assert_refused 'services: it has no resourceVersion'
  echo '{"kind":"ServiceList","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}' >"$api/services"
  assert_refused 'services: it is only the first page'
}

@test "a bad answer is an error also when a snapshot is known" {
  start_api rules
  "$bin/fetch" >"$dir/known"
  cp "$api/services" "$dir/services"
  sed -i 's/"resourceVersion":"[0-9]*"},"items"/"resourceVersion":""},"items"/' "$api/services"
  assert_refused 'services: it has no resourceVersion' "$dir/known"
  sed 's/},"items"/,"continue":"x"},"items"/' "$dir/services" >"$api/services"
  assert_refused 'services: it is only the first page' "$dir/known"
  sed 's/ServiceList/EndpointSliceList/' "$dir/services" >"$api/services"
  assert_refused 'services: its kind is "EndpointSliceList", not ServiceList' "$dir/known"
  head -c 500 "$dir/services" >"$api/services"
  assert_refused 'not whole JSON documents' "$dir/known"
}

@test "when a snapshot is known, it is route that finds what is no JSON between the beginning and the end of a list" {
  start_api rules
  "$bin/fetch" >"$dir/known"
  cp "$api/services" "$dir/services"
  for answer in "sed 's/\"spec\":/\"spec\"/' $dir/services" "cat $dir/services $dir/services"; do
    eval "$answer" >"$api/services"
    "$bin/fetch" "$dir/known" >"$dir/new"
    run --separate-stderr "$bin/route" <"$dir/new"
    assert_equal 1 "$status"
    assert_equal '' "$output"
    assert_contains "$stderr" 'standard input is no whole snapshot'
  done
}

@test "a list whose metadata has something else in it is read by jq, and is no error" {
  start_api rules
  "$bin/fetch" >"$dir/known"
  sed -i 's/"metadata":{"resourceVersion":/"metadata":{"selfLink":"x","resourceVersion":/' "$api/services"
  "$bin/fetch" "$dir/known" | assert_json '.services.metadata.selfLink' '"x"'
}
