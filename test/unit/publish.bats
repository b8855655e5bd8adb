# What is told to the cluster. The API server is played by a kubectl that answers from files and keeps what is written.
load helpers

# One nginx plays our pods for all tests: publish only asks it for the hash of its configuration.
setup_file() {
  common_setup "$BATS_FILE_TMPDIR"
  serve nothing
  export SERVING=$STATE_DIR SERVING_PORT=$ADMIN_PORT
}

teardown_file() {
  kill -QUIT "$(<"$SERVING/run/nginx.pid")"
}

setup() {
  common_setup
  export API=$dir/api POD_NAME=me PATH="$dir/path:$PATH" ADMIN_PORT=$SERVING_PORT
  mkdir -p "$API/written" "$dir/path" "$STATE_DIR"
  cp -r "$SERVING/live" "$STATE_DIR/live"
  stand_in >"$dir/path/kubectl"
  chmod +x "$dir/path/kubectl"
  pods_are '.'
  echo '{"items": []}' >"$API/events"
}
teardown() { common_teardown; }

stand_in() {
  echo '#!/usr/bin/env bash'
  cat <<'KUBECTL'
echo "$*" >>"$API/requests"
if [[ -s $API/denial.$1 ]]; then # of each object that is written
  jq -j --rawfile denial "$API/denial.$1" '.items[] | $denial' >&2
  [[ ! -e $API/hang ]] || sleep 20
  [[ ! -e $API/newer ]] || { mv "$API/newer" "$API/ingresses" && rm "$API/denial.$1"; }
  exit 1
fi
case "$*" in
  *events*) cat "$API/events" ;;
  *configmaps*=keys) cat "$API/configmap" ;;
  *configmaps*) echo '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}' ;;
  *pods) cat "$API/pods" ;;
  *services/* | *services\?*)
    [[ -e $API/service ]] || { echo 'Error from server (NotFound): services "front" not found' >&2 && exit 1; }
    cat "$API/service"
    ;;
  *ingresses) cat "$API/ingresses" ;;
  *) cat >"$API/written/$1" && jq -r '.items[].metadata | "\(.namespace)/\(.name)"' "$API/written/$1" ;;
esac
KUBECTL
}

# Two pods of ours, at two addresses of the one nginx, and one that is not ours.
pods_are() { # EDIT
  jq "$1" >"$API/pods" <<'PODS'
{"kind": "PodList", "items": [
  {"metadata": {"name": "me", "labels": {"app": "ours", "pod-template-hash": "1"}},
   "status": {"phase": "Running", "hostIP": "10.0.0.2", "podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]}},
  {"metadata": {"name": "peer", "labels": {"app": "ours", "pod-template-hash": "2"}},
   "status": {"phase": "Running", "hostIP": "10.0.0.1", "podIP": "127.0.0.2", "conditions": [{"type": "Ready", "status": "True"}]}},
  {"metadata": {"name": "other", "labels": {"app": "other"}},
   "status": {"phase": "Running", "hostIP": "10.0.0.3", "podIP": "127.0.0.3", "conditions": [{"type": "Ready", "status": "True"}]}}
]}
PODS
}

# These lists are live, as the loop leaves it, and what the API server answers; each Ingress
# has a uid, as in a cluster, and has changed since the last time.
live_is() { # FIXTURE [EDIT]
  local file list
  version=$((${version-0} + 1))
  jq -c --arg version "$version" --arg service "${PUBLISH_SERVICE#*/}" ".ingresses.items[].metadata |= (.uid = \"uid-\(.name)\" | .resourceVersion = \$version) | ${2:-.}"' |
    ., {kind: "IngressList", apiVersion: "v1", metadata: {resourceVersion: $version}, items: .ingresses.items},
    {items: [.services.items[] | select(.metadata.name == $service)]}' "$fixtures/$1/lists.json" >"$dir/live"
  for file in "$dir/lists" "$API/ingresses" "$API/service"; do
    IFS= read -r list
    printf '%s\n' "$list" >"$file"
  done <"$dir/live"
  digest_lists <"$dir/lists" >"$STATE_DIR/live/new"
  "$bin/route" <"$STATE_DIR/live/new" >"$STATE_DIR/live/model.new"
  mv "$STATE_DIR/live/model.new" "$STATE_DIR/live/model.json"
  mv "$STATE_DIR/live/new" "$STATE_DIR/live/snapshot"
}

# Runs publish, and forgets what was written before.
publish() { # [ARGUMENT...]
  rm -f "$API"/written/* "$API/requests"
  run "$bin/publish" "$@"
}

# Fails also if publish has failed, and so written nothing.
wrote_no() { # replace|create...
  local verb
  assert_equal 0 "$status"
  for verb; do [[ ! -e $API/written/$verb ]] || return 1; done
}

# Prints the status in what was written: NAME ADDRESS...
statuses() {
  jq -r '.items[] | "\(.metadata.name) \([.status.loadBalancer.ingress[]? | .ip // .hostname] | join(" "))"' "$API/written/replace"
}

# jq filters: all Ingresses show ADDRESS; WRITER wrote that.
showing='.ingresses.items[] |= (.status.loadBalancer.ingress = [{ip: "10.0.0.1"}, {ip: "10.0.0.2"}])'
written_by='.metadata.managedFields = [{manager: $writer, operation: "Update", subresource: "status", fieldsV1: {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}}]'
by_us=".ingresses.items[] |= (\"bash-ingress.local/controller\" as \$writer | $written_by)"
by_other=".ingresses.items[] |= (\"nginx\" as \$writer | $written_by)"
of_another_class='.ingresses.items[] |= (.spec.ingressClassName = "other")'

# --- addresses

@test "before anything is live, nothing is asked and nothing written" {
  publish
  assert_equal 0 "$status"
  assert_equal '' "$output"
  [[ ! -e $API/requests ]]
}

@test "the Ingresses of our class show the nodes of our ready pods" {
  live_is rules
  publish
  assert_equal 0 "$status"
  assert_equal "$(ours)" "$(statuses | grep -c ' 10.0.0.1 10.0.0.2$')"
  assert_contains "$(grep replace "$API/requests")" '--subresource=status --field-manager=bash-ingress.local/controller'
  live_is rules "$showing"
  publish
  wrote_no replace
  pods_are '.items[1].status.conditions[0].status = "False"'
  publish
  assert_equal "$(ours)" "$(statuses | grep -c ' 10.0.0.2$')"
}

ours() {
  jq '.ingresses.items | map(select(.spec.ingressClassName == "bash")) | length' "$dir/lists"
}

@test "PUBLISH_ADDRESS is shown as it is given: addresses and names" {
  export PUBLISH_ADDRESS='www.example.com,2001:db8::1,192.0.2.1'
  live_is rules
  publish
  jq -c '.items[0].status' "$API/written/replace" |
    assert_json . '{"loadBalancer":{"ingress":[{"hostname":"www.example.com"},{"ip":"192.0.2.1"},{"ip":"2001:db8::1"}]}}'
}

# Each is an address in the form that somebody may write (RFC 4291, section 2.2); the API server refuses it as a hostname.
addresses=(:: ::1 2001:DB8::1 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1:2:3::5:6:7:8 64:ff9b::192.0.2.1 ::192.0.2.1 ::ffff:192.0.2.1
  1:2:3:4:5:6:192.0.2.1 1:2:3:4:5::192.0.2.1 fe80::a0:b0 192.0.2.1)

@test "an IPv6 address is shown as an address in whatever form, and not as a name" {
  live_is rules
  PUBLISH_ADDRESS=lb.example,$(IFS=, && echo "${addresses[*]}") publish
  assert_equal 0 "$status"
  jq -c '.items[0].status.loadBalancer.ingress | [([.[].ip | values] | sort), [.[].hostname | values]]' "$API/written/replace" |
    assert_json . "$(printf '%s\n' "${addresses[@]}" | jq -R . | jq -s -c '[sort, ["lb.example"]]')"
}

@test "an IPv6 address of a node or a Service is shown as an address in whatever form" {
  ips() { jq -r '[.items[0].status.loadBalancer.ingress[] | .ip // "name"] | join(" ")' "$API/written/replace"; }
  pods_are '.items[0].status.hostIP = "1:2:3:4:5:6:7::" | .items[1].status.hostIP = "64:ff9b::192.0.2.1"'
  live_is rules
  publish
  assert_equal '1:2:3:4:5:6:7:: 64:ff9b::192.0.2.1' "$(ips)"
  export PUBLISH_SERVICE=bash-ingress/bash-ingress
  service_is '{spec: {type: "LoadBalancer", externalIPs: ["::192.0.2.1"]}, status: {loadBalancer: {ingress: [{ip: "1:2:3:4:5:6:7::"}]}}}'
  publish
  assert_equal '1:2:3:4:5:6:7:: ::192.0.2.1' "$(ips)"
  service_is '{spec: {type: "ClusterIP", clusterIPs: ["64:ff9b::192.0.2.1"]}}'
  publish
  assert_equal '64:ff9b::192.0.2.1' "$(ips)"
}

service_is() { # SERVICE   adds it to the fixture
  live_is rules ".services.items += [{metadata: {namespace: \"bash-ingress\", name: \"bash-ingress\"}} + $1]"
}

@test "PUBLISH_SERVICE: the load balancer's address, else external addresses, else the cluster's, or the external name" {
  export PUBLISH_SERVICE=bash-ingress/bash-ingress
  service_is '{spec: {type: "LoadBalancer", clusterIPs: ["10.96.0.9"]}, status: {loadBalancer: {ingress: [{hostname: "lb.example"}, {ip: "192.0.2.7"}]}}}'
  publish
  assert_equal 'lb.example 192.0.2.7' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
  service_is '{spec: {type: "NodePort", clusterIPs: ["10.96.0.9"], externalIPs: ["192.0.2.8"]}}'
  publish
  assert_equal '192.0.2.8' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
  service_is '{spec: {type: "ClusterIP", clusterIPs: ["10.96.0.9", "fd00::9"]}}'
  publish
  assert_equal '10.96.0.9 fd00::9' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
  service_is '{spec: {type: "ExternalName", externalName: "front.example"}}'
  publish
  assert_equal 'front.example' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
}

@test "while a load balancer has no address, nothing is written and nothing cleared; it is said once" {
  export PUBLISH_SERVICE=bash-ingress/bash-ingress
  service_is '{spec: {type: "LoadBalancer", clusterIPs: ["10.96.0.9"]}, status: {loadBalancer: {}}}'
  publish
  assert_contains "$output" 'no Ingress gets an address: Service bash-ingress/bash-ingress has no address of a load balancer yet'
  wrote_no replace
  rm "$STATE_DIR/scratch/publish/status"
  publish
  assert_equal '' "$output"
  live_is rules # without the Service
  publish
  assert_contains "$output" 'Service bash-ingress/bash-ingress does not exist'
}

@test "a PUBLISH_SERVICE outside of WATCH_NAMESPACE is read on its own" {
  export PUBLISH_SERVICE=bash-ingress/front WATCH_NAMESPACE=demo
  live_is rules
  echo '{"kind": "Service", "spec": {"type": "ClusterIP", "clusterIPs": ["10.96.0.9"]}}' >"$API/service"
  publish
  assert_contains "$(<"$API/requests")" '/api/v1/namespaces/bash-ingress/services/front'
  assert_equal '10.96.0.9' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
  live_is rules
  rm "$API/service"
  publish
  assert_equal 0 "$status"
  assert_contains "$output" 'no Ingress gets an address: Service bash-ingress/front does not exist'
  wrote_no replace
}

@test "a controller that runs outside of the cluster says what to set" {
  pods_are '.items = []'
  live_is rules
  publish
  assert_contains "$output" 'no Ingress gets an address: namespace bash-ingress has no pod called me. Set PUBLISH_ADDRESS, or POD_NAME and POD_NAMESPACE'
  live_is rules
  PUBLISH_ADDRESS=192.0.2.1 publish
  assert_equal '192.0.2.1' "$(statuses | head -n 1 | cut -d ' ' -f 2-)"
}

# --- what is written

@test "nothing is decided and nothing written while nothing has changed" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules
  publish
  publish
  assert_equal '' "$output"
  refute_contains "$(<"$API/requests")" replace
  refute_contains "$(<"$API/requests")" events
}

@test "only what differs is written, with labels, annotations and resourceVersion as they were read" {
  live_is rules "$showing | .ingresses.items[0] |= (.status = {} | .metadata.labels = {a: \"b\"} | .metadata.annotations = {c: \"d\"} | .metadata.managedFields = [{}])"
  publish
  jq -c '.items' "$API/written/replace" |
    assert_json 'map([.metadata.name, .metadata.resourceVersion, .metadata.labels, .metadata.annotations, .metadata.managedFields])' \
      '[["fruit","1",{"a":"b"},{"c":"d"},null]]'
}

@test "the status of an Ingress that is no longer ours is cleared if we wrote it, and never if another did" {
  live_is rules "$showing | $by_us | $of_another_class"
  publish
  assert_equal "$(jq '.ingresses.items | length' "$dir/lists")" "$(statuses | grep -c ' $')"
  assert_contains "$output" 'no address, since we no longer serve them'
  live_is rules "$showing | $by_other | $of_another_class"
  publish
  wrote_no replace
}

@test "an Ingress that has changed or gone meanwhile is no failure" {
  live_is rules
  printf 'Warning: c\nError from server (Conflict): a\nError from server (NotFound): b\n' >"$API/denial.replace"
  publish
  assert_equal '0 ' "$status $output"
}

@test "an Ingress that somebody changes at the same moment gets its address in the same pass" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules
  sed 's/"resourceVersion":"1"/"resourceVersion":"2"/g' "$API/ingresses" >"$API/newer"
  echo 'Error from server (Conflict): a' >"$API/denial.replace"
  publish
  assert_equal 0 "$status"
  assert_equal '"2"' "$(jq -c '.items[].metadata.resourceVersion' "$API/written/replace" | sort -u)"
}

@test "an Ingress whose write is denied is told, holds up no other, and is tried again after a minute" {
  export PUBLISH_ADDRESS=192.0.2.1
  copy_programs
  edit "$bin/publish" 's/decide_status false 500/decide_status false 50/' # a tenth of what a pass writes
  live_is rules '.ingresses.items[0] as $one | .ingresses.items = [range(60) as $i | $one | .metadata.name = "i\($i)"]'
  echo 'Error from server (Forbidden): b' >"$API/denial.replace"
  publish
  assert_equal 1 "$status"
  assert_contains "$output" 'cannot replace 50 of 50 objects: Error from server (Forbidden): b'
  rm "$API/denial.replace"
  publish
  assert_equal 10 "$(jq '.items | length' "$API/written/replace")" # the others
  rm "$API/written/replace"
  publish
  wrote_no replace
  echo 0 >"$STATE_DIR/scratch/publish/denied" # when the machine was started
  publish
  assert_equal 50 "$(jq '.items | length' "$API/written/replace")"
}

# What real kubectl prints: no "(Reason)", and as many lines as the webhook has words for.
@test "a denial by an admission webhook holds up no other Ingress; a write without an answer is done again" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules
  printf '%s\n' 'Error from server: error when replacing "STDIN": admission webhook "x.example" denied the request: no,' 'and never' >"$API/denial.replace"
  publish
  assert_equal 1 "$status"
  assert_contains "$output" "cannot replace $(ours) of $(ours) objects: Error from server: error when replacing \"STDIN\": admission webhook \"x.example\" denied the request: no,"
  publish
  refute_contains "$(<"$API/requests")" replace
  live_is rules
  echo 'error when replacing "STDIN": Put "http://10.96.0.1/apis": EOF' >"$API/denial.replace"
  publish
  publish
  assert_contains "$(<"$API/requests")" replace
}

@test "a write that does not end is done again, whatever was denied before" {
  export READ_SECONDS=1 PUBLISH_ADDRESS=192.0.2.1
  live_is rules
  printf 'Error from server (Conflict): a\n' >"$API/denial.replace"
  touch "$API/hang"
  publish
  assert_equal 1 "$status"
  assert_contains "$output" "cannot replace $(ours) of $(ours) objects: no answer in time"
  rm "$API/hang" "$API/denial.replace"
  publish
  [[ -s $API/written/replace ]]
}

@test "a pass writes some hundred Ingresses, the next one goes on" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules '.ingresses.items[0] as $one | .ingresses.items = [range(600) as $i | $one | .metadata.name = "i\($i)"]'
  publish
  assert_equal 500 "$(statuses | wc -l)"
  statuses >"$dir/first"
  publish # the snapshot is not new yet, but what was written is remembered
  assert_equal 100 "$(statuses | wc -l)"
  assert_equal 600 "$(statuses | sort -u - "$dir/first" | wc -l)"
  publish
  wrote_no replace
}

# --- first the routes, then the address

@test "an address is shown only when every ready pod has the routes, but a pod that is broken is not waited for for ever" {
  live_is rules
  pods_are '.items[1].status.podIP = "192.0.2.1"' # nobody answers there
  publish
  assert_equal 0 "$status"
  [[ $output == *'not every pod has the new routes within 3 s'*'status of '* ]] # first the one, then the other
  [[ -s $API/written/replace ]]
}

@test "whether a pod has the routes is asked over IPv4 and IPv6" {
  run timeout 5 "$bin/publish" wait 127.0.0.1 127.0.0.2 ::1
  assert_equal 0 "$status"
  echo '# config-hash of-something-else' >"$STATE_DIR/live/nginx.conf"
  run timeout 1 "$bin/publish" wait 127.0.0.1
  assert_equal 124 "$status"
}

@test "while none of our pods is ready, no address is shown" {
  live_is rules
  pods_are '.items[0, 1].status.conditions[0].status = "False"'
  PUBLISH_ADDRESS=192.0.2.1 publish
  assert_contains "$output" 'no Ingress gets an address: none of our pods is ready yet'
  assert_equal 4 "$status" # soon again
  [[ ! -e $API/written/replace ]]
}

# --- the end

@test "the last pod that ends takes back the addresses that it wrote; one that others follow does not" {
  live_is rules "$showing | $by_us"
  publish end
  assert_equal 0 "$status"
  wrote_no replace
  pods_are '.items[1].metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  publish end
  assert_equal "$(jq '.ingresses.items | length' "$dir/lists")" "$(statuses | grep -c ' $')"
  live_is rules "$showing | $by_other"
  publish end
  wrote_no replace
}

@test "an address that outlives the pods is taken back only with UPDATE_STATUS_ON_SHUTDOWN=on" {
  live_is rules "$showing | $by_us"
  pods_are '.items[1].metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  for outlives in PUBLISH_ADDRESS=192.0.2.1 PUBLISH_SERVICE=bash-ingress/bash-ingress UPDATE_STATUS_ON_SHUTDOWN=off; do
    run env "$outlives" "$bin/publish" end
    assert_equal 0 "$status"
    wrote_no replace
  done
  PUBLISH_ADDRESS=192.0.2.1 UPDATE_STATUS_ON_SHUTDOWN=on publish end
  assert_equal "$(jq '.ingresses.items | length' "$dir/lists")" "$(statuses | grep -c ' $')"
}

@test "the last pod takes back the address of an Ingress that somebody changes at the same moment, too" {
  live_is rules "$showing | $by_us"
  pods_are '.items[1].metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  sed 's/"resourceVersion":"1"/"resourceVersion":"2"/g' "$API/ingresses" >"$API/newer"
  echo 'Error from server (Conflict): a' >"$API/denial.replace"
  publish end
  assert_equal 0 "$status"
  assert_equal '"2"' "$(jq -c '.items[].metadata.resourceVersion' "$API/written/replace" | sort -u)"
}

# --- Events

event() { # FILTER   of the first Event that was created
  jq -r ".items[0]$1" "$API/written/create"
}

@test "every problem becomes a Warning on its Ingress, in the words of the log" {
  live_is broken "$showing"
  publish
  jq -r '.items[] | "Ingress \(.involvedObject.namespace)/\(.involvedObject.name): \(.message) (\(.reason))"' "$API/written/create" | sort >"$dir/told"
  diff <(jq -r '.problems[] | select(.of) | "\(.of): \(.message) (\(.reason))"' "$STATE_DIR/live/model.json" | sort) "$dir/told"
  assert_equal 'Warning bash-ingress.local/controller bash-ingress.local/controller me 1' \
    "$(event '| "\(.type) \(.source.component) \(.reportingComponent) \(.reportingInstance) \(.count)"')"
  assert_equal "$(event .involvedObject.name)" "$(event .metadata.name | sed 's/\.[0-9]*$//')"
  assert_equal "networking.k8s.io/v1 Ingress uid-$(event .involvedObject.name)" "$(event .involvedObject | jq -r '"\(.apiVersion) \(.kind) \(.uid)"')"
}

@test "an Event is told once, and again after half an hour: then it is counted" {
  live_is broken "$showing"
  publish
  cp "$API/written/create" "$API/events" # they exist now
  live_is broken "$showing"
  publish
  wrote_no create replace
  jq -c '.events[] -= 1801' "$STATE_DIR/scratch/publish/memory" >"$dir/memory" && mv "$dir/memory" "$STATE_DIR/scratch/publish/memory"
  echo 0 >"$STATE_DIR/scratch/publish/events.at"
  publish
  wrote_no create
  jq -c '.items' "$API/written/replace" | assert_json 'map(.count) | unique' '[2]'
}

@test "another leader counts on: it makes no second Event of the same words" {
  live_is broken "$showing"
  publish
  names=$(jq -c '[.items[].metadata.name]' "$API/written/create")
  jq '.items[].count = 7' "$API/written/create" >"$API/events"
  rm -r "$STATE_DIR/scratch/publish"
  publish
  wrote_no create
  jq -c '.items' "$API/written/replace" | assert_json 'map(.count) | unique' '[8]'
  assert_equal "$names" "$(jq -c '[.items[].metadata.name]' "$API/written/replace")"
}

@test "an Ingress of many problems has ten Events, and one that says how many more there are" {
  live_is rules '.services.items = [] | .ingresses.items |= [.[0] | .spec.rules[0].http.paths = [range(30) as $i | {path: "/\($i)", pathType: "Exact", backend: {service: {name: "s\($i)", port: {number: 80}}}}]]'
  publish
  assert_equal 11 "$(jq '.items | length' "$API/written/create")"
  assert_equal 'and 20 more problems' "$(jq -r '.items[] | select(.reason == "MoreProblems").message' "$API/written/create")"
}

@test "a long Ingress name and a long message make an Event that the API server takes" {
  live_is rules '.services.items = [] | .ingresses.items |= [.[0] | .metadata.name = ("a" * 239 + ".b" * 7)]'
  publish
  name=$(event .metadata.name)
  ((${#name} <= 253))
  [[ $name =~ ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ ]]
}

routed() {
  jq -r '.items[] | select(.reason == "Routed") | "\(.type) \(.involvedObject.name): \(.message)"' "$API/written/create"
}

@test "an Ingress without problems has a Normal Event when it gets its first address" {
  live_is rules '.ingresses.items |= .[:1]'
  publish
  assert_equal 'Normal fruit: all that it asks for is served, at 10.0.0.1, 10.0.0.2' "$(routed)"
  live_is rules ".ingresses.items |= .[:1] | $showing"
  publish
  wrote_no create
}

# tables/unserved.jq has an Ingress for each way of not being served, and some that are served.
@test "what is not served, or not all of it, never comes with Routed, whatever the reason; what is served does" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules "$(<"$BATS_TEST_DIRNAME/tables/unserved.jq")"
  publish
  jq -r '.ingresses.items[].metadata.name' "$dir/lists" | sort >"$dir/names"
  (($(wc -l <"$dir/names") > 50))
  diff <(grep '^served-' "$dir/names") <(routed | sed 's/^Normal //; s/: .*//' | sort)
  diff <(grep '^unserved-' "$dir/names") <(jq -r '.items[] | select(.reason != "Routed").involvedObject.name' "$API/written/create" | sort -u)
  local nothing
  for nothing in '{rules: [{}]}' '{rules: [{http: {paths: []}}]}' '{tls: [{hosts: ["a.example"]}]}'; do # the last two are none for the API server
    rm -rf "$STATE_DIR/scratch/publish"
    live_is rules ".ingresses.items |= [.[0] | .spec = {ingressClassName: \"bash\"} + $nothing]"
    publish
    assert_equal 'NoBackend: nothing is served for host *: it has no path and no default backend, so all its requests get a 404' "$(event '| "\(.reason): \(.message)"')"
  done
}

@test "an Ingress that is routed before there is an address has its Event when it gets one; one whose status is denied has none" {
  export PUBLISH_SERVICE=bash-ingress/bash-ingress
  one='.ingresses.items |= .[:1] | .services.items += [{metadata: {namespace: "bash-ingress", name: "bash-ingress"}, spec: {type: "LoadBalancer"}'
  live_is rules "$one}]"
  publish
  wrote_no create
  live_is rules "$one, status: {loadBalancer: {ingress: [{ip: \"192.0.2.1\"}]}}}]"
  echo 'Error from server (Forbidden): b' >"$API/denial.replace"
  publish
  [[ ! -e $API/written/create ]]
  rm "$API/denial.replace"
  echo 0 >"$STATE_DIR/scratch/publish/denied" # when the machine was started
  publish
  assert_equal 'Normal fruit: all that it asks for is served, at 192.0.2.1' "$(routed)"
}

@test "hundreds of Ingresses with long names that get their first address have their Events" {
  export PUBLISH_ADDRESS=192.0.2.1
  live_is rules '.ingresses.items[0] as $one | .ingresses.items = [range(500) as $i | $one | .metadata.name = "i\($i)-" + "x" * 220 | .spec.rules[0].host = "h\($i).example"]'
  publish
  assert_equal 0 "$status"
  assert_equal '' "$(grep -o 'too long' <<<"$output")"
  assert_equal 250 "$(routed | wc -l)" # as many as are told in a pass
}

@test "when the last problem of an Ingress is solved, a Normal Event says so" {
  live_is rules ".ingresses.items |= .[:1] | .services.items = [] | $showing"
  publish
  assert_contains "$(event .message)" 'does not exist'
  live_is rules ".ingresses.items |= .[:1] | $showing"
  publish
  assert_equal 'Normal fruit: all that it asks for is served, at 10.0.0.1, 10.0.0.2' "$(routed)"
}

# The ConfigMap ing/keys exists, and infra/tcp does not.
@test "a problem of a ConfigMap is a Warning on it, also where there is none; when the last one is solved, a Normal Event says so" {
  echo '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"namespace":"ing","name":"keys","uid":"uid-keys"},"data":{}}]}' >"$API/configmap"
  live_is rules ".ingresses.items |= .[:1] | $showing"
  jq '.problems = [{of: "ConfigMap ing/keys", reason: "ConfigMapKeyUnknown", message: "a"}, {of: "ConfigMap infra/tcp", reason: "EntryRefused", message: "b"}]' \
    "$STATE_DIR/live/model.json" >"$dir/model" && mv "$dir/model" "$STATE_DIR/live/model.json"
  export CONFIGMAP=ing/keys TCP_SERVICES=infra/tcp WATCH_NAMESPACE=demo
  publish
  assert_equal 'infra v1 ConfigMap infra/tcp null EntryRefused: b
ing v1 ConfigMap ing/keys uid-keys ConfigMapKeyUnknown: a' \
    "$(jq -r '.items[] | "\(.metadata.namespace) \(.involvedObject | "\(.apiVersion) \(.kind) \(.namespace)/\(.name) \(.uid)") \(.reason): \(.message)"' "$API/written/create" | sort)"
  assert_equal 'demo ing' "$(sed -n 's|.*/namespaces/\(.*\)/events.*|\1|p' "$API/requests" | tr '\n' ' ' | sed 's/ $//')"
  jq '.problems = []' "$STATE_DIR/live/model.json" >"$dir/model" && mv "$dir/model" "$STATE_DIR/live/model.json"
  publish
  assert_equal 'Normal Followed: all that it says counts on ing/keys' "$(event '| "\(.type) \(.reason): \(.message) on \(.involvedObject | "\(.namespace)/\(.name)")"')"
  assert_equal 1 "$(jq '.items | length' "$API/written/create")"
}

@test "hundreds of problems are told in passes of some hundred" {
  hundreds='.ingresses.items[0] as $one | .ingresses.items = [range(300) as $i | $one | .metadata.name = "i\($i)" | .metadata.uid = "\($i)" | .spec.rules[0].host = "h\($i).example"]'
  live_is rules ".services.items = [] | $hundreds | $showing"
  publish
  first=$(jq -r '.items[0].metadata.name' "$API/written/create")
  assert_equal 250 "$(jq '.items | length' "$API/written/create")"
  publish
  assert_equal 250 "$(jq '.items | length' "$API/written/create")"
  [[ $(jq -r '.items[0].metadata.name' "$API/written/create") != "$first" ]]
}

@test "Events that cannot be written keep no address from being shown" {
  live_is broken
  echo 'Error from server (Forbidden): no' >"$API/denial.create"
  publish
  assert_equal 1 "$status"
  assert_contains "$output" 'objects: Error from server (Forbidden): no'
  [[ -s $API/written/replace ]]
}

@test "addresses that cannot be written keep no Event from being told" {
  live_is broken
  echo 'error when replacing "STDIN": Put "http://10.96.0.1/apis": EOF' >"$API/denial.replace"
  publish
  assert_equal 1 "$status"
  assert_contains "$output" 'EOF'
  refute_contains "$output" 'unbound variable'
  [[ -s $API/written/create ]]
}
