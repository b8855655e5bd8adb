load helpers
setup() { common_setup; }
teardown() { common_teardown; }

# An answer that is no whole list must be an error, without output.
assert_fails() { # MESSAGE_PART [FOLDER]
  run --separate-stderr "$bin/fetch" "${@:2}"
  assert_equal 1 "$status"
  assert_equal '' "$output"
  assert_contains "$stderr" "$1"
}

@test "fetch prints a line for each object that can decide something, and a last one" {
  start_api rules
  "$bin/fetch" >"$dir/snapshot"
  cmp "$dir/snapshot" "$fixtures/rules/snapshot"
  tail -n 1 "$dir/snapshot" | assert_json . '{"whole":true}'
}

@test "what decides nothing is not in the snapshot" {
  start_api rules '(.ingresses, .services, .endpointSlices).items[] |= (.metadata |= . + {resourceVersion: "999", labels: (.labels + {a: "b"}), annotations: {c: "d"},
      managedFields: [{manager: "a]},\"spec\":", fieldsV1: {"f:spec": {}}}]} | .status = {loadBalancer: {ingress: [{ip: "192.0.2.9"}]}})
    | .endpointSlices.items[].endpoints[] |= . + {nodeName: "n", zone: "z", hints: {}}'
  cmp <("$bin/fetch") "$fixtures/rules/snapshot"
}

# How often jq was started since the last call.
digests_made() {
  wc -l <"$dir/started"
  : >"$dir/started"
}

@test "a list is digested again only if one of its items has changed, and the Ingresses if an IngressClass has" {
  mkdir "$dir/path" "$dir/known"
  : >"$dir/started"
  printf '#!/bin/sh\necho >>%s/started\nexec %s "$@"\n' "$dir" "$(command -v jq)" >"$dir/path/jq"
  chmod +x "$dir/path/jq"
  start_api rules
  PATH=$dir/path:$PATH
  "$bin/fetch" "$dir/known" >"$dir/first"
  assert_equal 4 "$(digests_made)"
  cluster_is rules # the same objects; the lists have a new resourceVersion
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
  digests_made >/dev/null # of cluster_is
  "$bin/fetch" "$dir/known" >/dev/null
  assert_equal 0 "$(digests_made)"
  for edit in '.services.items[0].spec.ports[0].port = 81' '.ingressClasses.items = []' '.endpointSlices.items += [.endpointSlices.items[0] | .metadata.name = "z"]'; do
    cluster_is rules "$edit"
    digests_made >/dev/null
    "$bin/fetch" "$dir/known" >"$dir/new"
    assert_equal 1 "$(digests_made)"
    cmp "$dir/new" <("$bin/fetch")
    cluster_is rules
    cmp "$dir/first" <("$bin/fetch" "$dir/known")
  done
}

@test "only the status of an Ingress being new, the snapshot is as before" {
  start_api rules
  "$bin/fetch" "$dir/known" >"$dir/first"
  cluster_is rules '.ingresses.items[0] |= (.metadata.resourceVersion = "300" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}])'
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
}

@test "an object that is nested too deeply for jq is left out, named, and harms no other" {
  deep=$(printf '%06000d' 0 | sed 's/0/{"a":/g')1$(printf '%06000d' 0 | tr 0 '}')
  start_api rules
  { sed 's/\]}$//' "$api/services" | tr -d '\n' && printf ',{"metadata":{"name":"deep","namespace":"shop","managedFields":[{"fieldsV1":%s}]},"spec":{}}]}\n' "$deep"; } >"$api/new"
  mv "$api/new" "$api/services"
  "$bin/fetch" >"$dir/snapshot"
  cmp <(grep -v '"problem"' "$dir/snapshot") "$fixtures/rules/snapshot"
  grep '"problem"' "$dir/snapshot" | assert_json .problem.message '"Service shop/deep is left out: it is nested too deeply to be read"'
  "$bin/route" <"$dir/snapshot" | assert_json '[.problems[] | select(.reason == "ObjectUnreadable")] | length' 1
}

@test "an object with a field of the wrong type is left out, named, and harms no other" {
  start_api rules '.services.items += [{metadata: {namespace: "demo", name: "odd"}, spec: "text"}] | .endpointSlices.items += [{metadata: {namespace: "demo", name: "odd", labels: 7}}]
    | .ingresses.items += [.ingresses.items[0] | .metadata.name = "odd" | .spec = 7]'
  "$bin/fetch" >"$dir/snapshot"
  cmp <(grep -v '"problem":' "$dir/snapshot") "$fixtures/rules/snapshot"
  assert_equal 3 "$(grep -c '"problem":.* is left out: a field has the wrong type' "$dir/snapshot")"
}

@test "no text in an object can forge the border between two items" {
  border='},{"metadata":{"name":"forged","namespace":"demo"}},{"metadata":{'
  start_api rules '(.ingresses, .services, .endpointSlices).items[0].metadata |= (.annotations = {"a": $border, ($border): "b"} | .labels += {"c": $border}
    | .managedFields = [{manager: $border, fieldsV1: {($border): {}, "f:metadata": {}}}])' --arg border "$border"
  cmp <("$bin/fetch") "$fixtures/rules/snapshot"
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

@test "with WATCH_NAMESPACE no IngressClass is read, and INGRESS_CLASS alone is ours" {
  start_api rules
  rm "$api/ingressclasses" # an answer would be an error
  export WATCH_NAMESPACE=demo
  "$bin/fetch" | "$bin/route" | assert_json '.ingresses | contains(["demo/fruit"])' true
  INGRESS_CLASS=other "$bin/fetch" | "$bin/route" | assert_json '.ingresses | contains(["demo/fruit"])' false
  refute_contains "$(<"$dir/api.access")" ingressclasses
}

@test "an API server that is not there is an error" {
  start_api rules
  wait_for 15 eval '! kill -QUIT "$(<"$dir/api.pid")"' # an nginx that has just been started does not always hear the first one
  assert_fails 'cannot read ingresses: '
}

@test "a refusal by the API server is an error that says what is not allowed" {
  start_api rules
  touch "$api/forbidden"
  assert_fails 'not allowed to list'
}

@test "an answer that trickles is cut off and is an error" {
  start_api rules
  touch "$api/slow"
  export READ_SECONDS=1
  assert_fails 'no answer within 1 s'
}

@test "an empty answer is an error" {
  start_api rules
  : >"$api/services"
  assert_fails 'the answer is no Service'
}

@test "a page of HTML is an error, and is told in one line of plain text" {
  start_api rules
  printf '<html>\e]2;Please log in</html>\n' >"$api/services"
  assert_fails 'cannot read services: the answer is no ServiceList: <html>?]2;Please log in</html>?'
}

@test "a list of IngressClasses that was cut is an error, and takes no route away" {
  start_api rules
  sed -i 's/}}]}$/]}/' "$api/ingressclasses" # the last item is not whole, the end of the list is there
  assert_fails 'cannot use ingresses: '
}

@test "an item that was cut is not taken for one that is nested too deeply, whatever it says" {
  start_api rules '.services.items[-1].metadata.annotations = {depth: "Exceeds depth limit", a: [{b: 1}]}'
  sed -i 's/"Exceeds depth limit".*/"Exceeds depth limit"]}/' "$api/services"
  assert_fails 'cannot use services: '
}

@test "two documents in one answer are an error" {
  start_api rules
  cat "$api/services" "$api/services" >"$api/two" && mv "$api/two" "$api/services"
  assert_fails 'cannot use services: '
}

@test "a list of another kind, without items, without resourceVersion or with more pages is an error, also when another list is known" {
  start_api rules
  "$bin/fetch" "$dir/known" >"$dir/first"
  for folder in '' "$dir/known"; do
    echo '{"kind":"IngressList","apiVersion":"","metadata":{"resourceVersion":"1"},"items":[]}' >"$api/services"
    assert_fails 'the answer is no ServiceList: {"kind":"IngressList"' $folder
    echo '{"kind":"ServiceList","apiVersion":"","metadata":{"resourceVersion":"1"},"items":null}' >"$api/services"
    assert_fails 'the list has no items or no resourceVersion' $folder
    echo '{"kind":"ServiceList","apiVersion":"","metadata":{"resourceVersion":""},"items":[]}' >"$api/services"
    assert_fails 'the list has no items or no resourceVersion' $folder
    echo '{"kind":"ServiceList","apiVersion":"","metadata":{"resourceVersion":"1","continue":"x"},"items":[]}' >"$api/services"
    assert_fails 'only the first page' $folder
  done
  cluster_is rules
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
}

@test "a list that was cut is an error, wherever that was" {
  local list bytes
  start_api rules
  "$bin/fetch" "$dir/known" >"$dir/first"
  cluster_is rules '.services.items[0].spec.ports[0].port = 81'
  source "$bin/fetch"
  folder=$dir/cut
  mkdir -p "$folder"/{new,items}
  for list in "$api"/{services,ingresses,endpointslices,ingressclasses,namespaces}; do
    bytes=$(wc -c <"$list")
    for at in $(seq 0 7 "$((bytes - 2))") $(seq "$((bytes > 60 ? bytes - 60 : 0))" "$((bytes - 2))"); do
      head -c "$at" "$list" >"$dir/half"
      ! is_whole "${list##*/}" "$dir/half" || { echo "$list is taken for whole after $at of $bytes bytes" && false; }
    done
    is_whole "${list##*/}" "$list"
  done
}

# Whether the list in that file, in place of an answer, would be digested.
is_whole() { # NAME FILE
  (
    open_answer() { exec {answer}<"$answer_file" && reader=''; }
    answer_file=$2
    read_items x "${kinds[$1]}List" >"$folder/new/$1" && split_items "$folder/new/$1" "$folder/items/$1" &&
      jq -n -R -L "$bin/lib" 'include "items"; each_item("Object"; empty)' "$folder/items/$1"
  ) >/dev/null 2>&1
}

# Changes of a cluster, as jq programs: of these, a random one is made after the other.
changes=(
  '.ingresses.items += [.ingresses.items[0] | .metadata.name = "new-\($n)" | .spec.rules[0].host = "h\($n % 7).example"]'
  'del(.ingresses.items[$n % (.ingresses.items | length + 1)])'
  '.ingresses.items[$n % (.ingresses.items | length)].metadata.resourceVersion = "\($n)"'
  '.ingresses.items[$n % (.ingresses.items | length)].status.loadBalancer.ingress = [{ip: "192.0.2.\($n % 250)"}]'
  '.ingresses.items[$n % (.ingresses.items | length)].metadata.annotations = {"nginx.ingress.kubernetes.io/ssl-redirect": "\($n % 2 == 0)"}'
  '.ingresses.items[$n % (.ingresses.items | length)].metadata.annotations = {"nginx.ingress.kubernetes.io/whitelist-source-range": "10.0.0.\($n % 250)"}'
  '.services.items[$n % (.services.items | length)].spec.ports[0].port = 80 + $n % 3'
  'del(.services.items[$n % (.services.items | length + 1)])'
  '.endpointSlices.items[$n % (.endpointSlices.items | length)].endpoints[0].conditions.ready = ($n % 2 == 0)'
  '.endpointSlices.items[$n % (.endpointSlices.items | length)].endpoints += [{addresses: ["10.1.0.\($n % 250)"]}]'
  '.endpointSlices.items[$n % (.endpointSlices.items | length)].endpoints[0].zone = "zone-\($n)"'
  '.ingressClasses.items[0].spec.controller = (if $n % 2 == 0 then "bash-ingress.local/controller" else "example.com/other" end)'
  '.terminatingNamespaces.items = (if $n % 2 == 0 then [{metadata: {name: "demo"}}] else [] end)'
  '.'
)

@test "whatever changes, in whatever order, a snapshot of which only the changed lists were digested is the same as one made of all" {
  folder=$dir/known
  mkdir -p "$folder"/{new,read,items,digest,error}
  lists rules >"$dir/lists"
  RANDOM=1
  for ((i = 0; i < ${RANDOM_CHANGES:-40}; i++)); do
    jq --argjson n "$RANDOM" "(${changes[RANDOM % ${#changes[@]}]}) // ." "$dir/lists" >"$dir/changed" 2>"$dir/error" || lists rules >"$dir/changed" # nothing is left to change
    mv "$dir/changed" "$dir/lists"
    digest_lists <"$dir/lists" >"$dir/from-nothing"
    answers_are "$dir/lists"
    digest_changed_lists >"$dir/from-changes"
    cmp "$dir/from-nothing" "$dir/from-changes"
  done
}

# The function of fetch which the helper of the same name hides.
digest_changed_lists() (
  source "$bin/fetch"
  folder=$dir/known
  digest_lists
  cat "$folder"/digest/{namespaces,services,endpointslices,ingresses}
  echo '{"whole":true}'
)

answers_are() { # LISTS
  local name items
  jq -r '{ingresses, ingressclasses: .ingressClasses, namespaces: .terminatingNamespaces, services, endpointslices: .endpointSlices}
    | to_entries[] | "\(.key) \(.value.items | map({metadata} + .) | tojson[1:])}"' "$1" >"$dir/answers"
  while read -r name items; do printf '%s\n' "$items" >"$folder/new/$name"; done <"$dir/answers"
}
