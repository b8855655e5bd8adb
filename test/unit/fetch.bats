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
  cmp "$dir/snapshot" <(golden_snapshot rules)
  tail -n 1 "$dir/snapshot" | assert_json . '{"whole":true}'
}

@test "what decides nothing is not in the snapshot" {
  start_api rules '(.ingresses, .services, .endpointSlices).items[] |= (.metadata |= . + {resourceVersion: "999", labels: (.labels + {a: "b"}), annotations: {c: "d"},
      managedFields: [{manager: "a]},\"spec\":", fieldsV1: {"f:spec": {}}}]} | .status = {loadBalancer: {ingress: [{ip: "192.0.2.9"}]}})
    | .endpointSlices.items[].endpoints[] |= . + {nodeName: "n", zone: "z", hints: {}}'
  be_the_proxy
  cmp <("$bin/fetch" "$dir/known") <(golden_snapshot rules)
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
  be_the_proxy
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
    cmp "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
    cluster_is rules
    cmp "$dir/first" <("$bin/fetch" "$dir/known")
  done
}

@test "IngressClasses that changed only in a poll that failed leave no trace" {
  mkdir "$dir/known"
  start_api rules
  be_the_proxy
  "$bin/fetch" "$dir/known" >/dev/null
  cluster_is rules '.ingressClasses.items[].spec.controller = "somebody.example/else" | .services.items[0].metadata.name = 7'
  run "$bin/fetch" "$dir/known"
  assert_equal 1 "$status"
  cluster_is rules '.ingresses.items[0].spec.rules[0].host = "new.example"'
  "$bin/fetch" "$dir/known" >"$dir/new"
  cmp "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
}

# Whether the snapshot is as if nothing had been remembered.
remembers_right() {
  "$bin/fetch" "$dir/known" >"$dir/new"
  diff "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
}

# 150 Ingresses, of which some change, come, go, or change places.
@test "of a long list of Ingresses only those that are new are digested, and the snapshot is as if all were" {
  local many='.ingresses.items |= [range(150) as $i | .[$i % length] | .metadata.name += "-\($i)"]' edit
  local others='.ingressClasses.items[].spec.controller = "somebody.example/else"'
  mkdir "$dir/known"
  start_api rules "$many"
  be_the_proxy
  "$bin/fetch" "$dir/known" >/dev/null
  for edit in '.ingresses.items[7, 149].spec.rules[0].host = "new.example"' '.ingresses.items |= .[3:] + .[:2]' '.ingresses.items[0].metadata.name = "a"' \
    '.ingresses.items[5].metadata.annotations = {"nginx.ingress.kubernetes.io/auth-url": "\t\u0000\"\n"}' '.ingressClasses.items = []' '.ingresses.items |= .[:120]' . \
    "(.ingresses.items |= .[:3]) | $others" "$others" .; do
    cluster_is rules "$many | $edit"
    remembers_right
  done
  cluster_is rules "$many | .ingresses.items[33].spec.rules[0].host = \"last.example\""
  "$bin/fetch" "$dir/known" >"$dir/new"
  assert_equal 1 "$(wc -l <"$dir/known/known/ingresses/new-summaries")"
  grep -q last.example "$dir/new"
}

@test "of long lists of Services and EndpointSlices, too" {
  local many='(.services, .endpointSlices).items |= [range(300) as $i | .[$i % length] | .metadata.name += "-\($i)"]' edit
  mkdir "$dir/known"
  start_api rules "$many"
  be_the_proxy
  "$bin/fetch" "$dir/known" >/dev/null
  for edit in 'del(.endpointSlices.items[3].metadata.labels)' '.endpointSlices.items |= .[3:] + .[:2]' '.services.items[299].spec = {type: "ExternalName"}' '.services.items[5].spec.ports = 3' '.services.items |= .[:3]' .; do
    cluster_is rules "$many | $edit"
    remembers_right
  done
  cluster_is rules "$many | .endpointSlices.items[7].endpoints[0].addresses = [\"10.9.9.9\"] | .services.items[3, 4].spec.ports[0].port = 81"
  "$bin/fetch" "$dir/known" >"$dir/new"
  assert_equal 1 "$(wc -l <"$dir/known/known/endpointslices/new-summaries")"
  assert_equal 2 "$(wc -l <"$dir/known/known/services/new-summaries")"
  grep -q 10.9.9.9 "$dir/new"
}

# An Ingress of 1,000 hosts, and a small one more.
wide='.ingresses.items[0].spec.rules |= [.[0] as $rule | range(1000) | "h\(.).example" as $host | $rule | .host = $host]'
one_more='.ingresses.items += [.ingresses.items[1] | .metadata.name = "z-new" | .spec.rules[0].host = "new.example"]'

@test "who is small does not wait for the digest of a large Ingress, which counts as it was until then" {
  mkdir "$dir/known"
  start_api rules
  be_the_proxy
  source "$bin/lib/fetch/known-items.bash"
  "$bin/fetch" "$dir/known" >"$dir/first"
  cluster_is rules "$wide | $one_more"
  "$bin/fetch" "$dir/known" >"$dir/new"
  assert_equal '> ' "$(diff "$dir/first" "$dir/new" | grep '^[<>]' | cut -c 1-2)" # a line more, and none changed
  grep -q new.example "$dir/new"
  wait_for 10 test -e "$dir/known/known/ingresses/late/over"
  take_late_summaries "$dir/known"
  "$bin/fetch" "$dir/known" >"$dir/new"
  diff "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
  assert_equal 1001 "$(grep -o '"h[0-9]*.example","path":"/apple"\|new.example","path":"/"' "$dir/new" | sort -u | wc -l)"
  cluster_is rules "$wide | $one_more | .ingresses.items[1].spec.rules[0].host = \"other.example\""
  "$bin/fetch" "$dir/known" >"$dir/new"
  assert_equal 1 "$(wc -l <"$dir/known/known/ingresses/new-summaries")"
  diff "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
}

# From here on, what digests large Ingresses beside the passes has read all, but does not end while the file "held" is there.
hold_late_summaries() {
  mkdir "$dir/path"
  # shellcheck disable=SC2016 # the dollar signs are for the program
  printf '#!/bin/bash\n[[ $(nice) == 19 ]] || exec %s "$@"\nsaid=$(%s "$@")\necho >%s\nwhile [[ -e %s ]]; do sleep 0.05; done\nprintf "%%s\\n" "$said"\n' "$(command -v jq)" "$(command -v jq)" "$dir/has-read" "$dir/held" >"$dir/path/jq"
  chmod +x "$dir/path/jq"
  PATH=$dir/path:$PATH
  : >"$dir/held"
}

is_let_go() {
  rm -f "$dir/held"
  wait_for 10 test -e "$dir/known/known/ingresses/late/over"
  take_late_summaries "$dir/known"
}

nobody_digests() {
  ! pgrep -f "bin/fetch $dir/known"
}

@test "large Ingresses are digested again if what did that was killed, and none counts with the IngressClasses of before" {
  mkdir "$dir/known"
  start_api rules
  be_the_proxy
  source "$bin/lib/fetch/known-items.bash"
  "$bin/fetch" "$dir/known" >"$dir/first"
  hold_late_summaries
  cluster_is rules "$wide"
  "$bin/fetch" "$dir/known" | cmp - "$dir/first"
  wait_for 10 test -e "$dir/has-read"
  take_late_summaries "$dir/known"
  test -s "$dir/known/last/ingresses" # nothing has come of it yet
  pkill -KILL -f "bin/fetch $dir/known"
  rm "$dir/held"
  wait_for 10 flock -n "$dir/known/known/ingresses/late/lock" true
  take_late_summaries "$dir/known"
  test ! -s "$dir/known/last/ingresses" # so that the next pass begins again
  rm "$dir/has-read"
  : >"$dir/held"
  "$bin/fetch" "$dir/known" | cmp - "$dir/first"
  wait_for 10 test -e "$dir/has-read"
  others='.ingressClasses.items[].spec.controller = "somebody.example/else"'
  cluster_is rules "$wide | $others"
  "$bin/fetch" "$dir/known" >/dev/null
  is_let_go
  "$bin/fetch" "$dir/known" >"$dir/new"
  diff "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
  wait_for 10 nobody_digests # who began before has ended
  take_late_summaries "$dir/known"
  "$bin/fetch" "$dir/known" | cmp - "$dir/new"
}

@test "a digest of many Ingresses that takes too long fails its pass, and the next one goes on where it was" {
  start_api rules '.ingresses.items |= [range(150) as $i | .[$i % length] | .metadata.name += "-\($i)"]'
  be_the_proxy
  mkdir "$dir/known" "$dir/slow"
  # shellcheck disable=SC2016 # the dollar signs are for the program
  printf '#!/bin/bash\n[[ $* != *ingresses.jq* ]] || { %s "$@" | head -c 30000; kill -XCPU $$; }\nexec %s "$@"\n' "$(command -v jq)" "$(command -v jq)" >"$dir/slow/jq"
  chmod +x "$dir/slow/jq"
  PATH=$dir/slow:$PATH run "$bin/fetch" "$dir/known"
  assert_equal 1 "$status"
  refute_contains "$output" 'the list is cut'
  assert_contains "$output" 'CPU time limit exceeded'
  "$bin/fetch" "$dir/known" >"$dir/new"
  known=$((150 - $(wc -l <"$dir/known/known/ingresses/new-summaries")))
  ((known > 10 && known < 140))
  diff "$dir/new" <("$bin/fetch" "$(mktemp -d -p "$dir")")
}

# A list of 300 items, of which 100 differ each time; the digest of "item..." is "digest...".
@test "what a full disk let nobody remember is digested again, and nothing is remembered in part" {
  mkdir -p "$dir/known/new"
  for kib in 64 8 24 33 4 64; do # in each file, and then writing fails
    seq 300 | sed "s/\$/-&&&&&&&&&&&&/; s/^..\$/$kib-&/; s/^/item/; 100,\$ s/-/-$RANDOM-/; s/-/&$(printf %099d 0)/" >"$dir/known/new/services"
    for limit in "$kib" unlimited; do
      run bash -c 'trap "" XFSZ
        set -e -o pipefail
        folder=$1
        source "$2/lib/fetch/known-items.bash"
        ulimit -f "$3"
        only_new_items services sed s/item/digest/ <"$folder/new/services"' _ "$dir/known" "$bin" "$limit"
      ((status > 0)) && [[ $limit != unlimited ]] || assert_equal "$(sed s/item/digest/ "$dir/known/new/services")" "$output"
    done
  done
}

@test "of a list without items nothing is remembered, whatever was left behind" {
  mkdir -p "$dir/known/new" "$dir/known/known/services"
  seq 5000 >"$dir/known/new/services" # long
  echo 'digest of another item' >"$dir/known/known/services/summaries.new"
  bash -c 'set -e -o pipefail
    folder=$1
    source "$2/lib/fetch/known-items.bash"
    only_new_items services cat </dev/null' _ "$dir/known" "$bin"
  assert_equal '' "$(<"$dir/known/known/services/summaries")"
}

@test "if a full disk lets nobody note which Secrets are wanted, the pass fails, and the next one gives the same as ever" {
  start_api rules
  be_the_proxy
  "$bin/fetch" "$dir/known" >"$dir/first"
  cluster_is rules '.ingresses.items[0].spec.tls = [{hosts: ["new.example"], secretName: "new"}]'
  ln -sf /dev/full "$dir/known/wanted-secrets"
  run "$bin/fetch" "$dir/known"
  assert_equal 1 "$status"
  assert_contains "$output" "cannot note whether an Ingress names a Secret; is $STATE_DIR full?"
  ln -sf "$dir/wanted" "$dir/known/wanted-secrets"
  cluster_is rules
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
}

@test "only the status of an Ingress being new, the snapshot is as before" {
  start_api rules
  be_the_proxy
  "$bin/fetch" "$dir/known" >"$dir/first"
  cluster_is rules '.ingresses.items[0] |= (.metadata.resourceVersion = "300" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}])'
  cmp "$dir/first" <("$bin/fetch" "$dir/known")
}

@test "an object that is nested too deeply for jq is left out, named, and harms no other" {
  deep=$(printf '%06000d' 0 | sed 's/0/{"a":/g')1$(printf '%06000d' 0 | tr 0 '}')
  start_api rules
  { sed 's/\]}$//' "$api/services" | tr -d '\n' && printf ',{"metadata":{"name":"deep","namespace":"shop","managedFields":[{"fieldsV1":%s}]},"spec":{}}]}\n' "$deep"; } >"$api/new"
  mv "$api/new" "$api/services"
  be_the_proxy
  "$bin/fetch" "$dir/known" >"$dir/snapshot"
  cmp <(grep -v '"problem"' "$dir/snapshot") <(golden_snapshot rules)
  grep '"problem"' "$dir/snapshot" | assert_json .problem.message '"Service shop/deep is left out: it is nested too deeply to be read"'
  "$bin/route" <"$dir/snapshot" | assert_json '[.problems[] | select(.reason == "ObjectUnreadable")] | length' 1
}

@test "an object with a field of the wrong type is left out, named, and harms no other" {
  start_api rules '.services.items += [{metadata: {namespace: "demo", name: "odd"}, spec: "text"}] | .endpointSlices.items += [{metadata: {namespace: "demo", name: "odd", labels: 7}}]
    | .ingresses.items += [.ingresses.items[0] | .metadata.name = "odd" | .spec = 7]'
  be_the_proxy
  "$bin/fetch" "$dir/known" >"$dir/snapshot"
  cmp <(grep -v '"problem":' "$dir/snapshot") <(golden_snapshot rules)
  assert_equal 3 "$(grep -c '"problem":.* is left out: a field has the wrong type' "$dir/snapshot")"
}

@test "no text in an object can forge the border between two items" {
  border='},{"metadata":{"name":"forged","namespace":"demo"}},{"metadata":{'
  start_api rules '(.ingresses, .services, .endpointSlices).items[0].metadata |= (.annotations = {"a": $border, ($border): "b"} | .labels += {"c": $border}
    | .managedFields = [{manager: $border, fieldsV1: {($border): {}, "f:metadata": {}}}])' --arg border "$border"
  be_the_proxy
  cmp <("$bin/fetch" "$dir/known") <(golden_snapshot rules)
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
  "$bin/fetch" | "$bin/route" | assert_json '.claimants | contains(["Ingress demo/fruit"])' true
  INGRESS_CLASS=other "$bin/fetch" | "$bin/route" | assert_json '.claimants | contains(["Ingress demo/fruit"])' false
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

@test "an answer that stops in its middle is an error, and nothing goes on reading it" {
  source "$bin/fetch"
  ask_kubectl() { exec {answer}< <(echo '{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[' && exec sleep 60 3>&-); }
  run reads services
  assert_equal 1 "$status"
  assert_contains "$output" 'cannot read services: no answer within 1 s'
  wait_for 3 nothing_is_read
}

# Reads lists as a pass does. Of the proxy, answer_with says what it answers.
reads() { # NAME...
  local name
  READ_SECONDS=1 use_proxy=yes lists=()
  use_folder "$dir/known"
  for name; do lists[$name]=/$name; done
  in_time read_lists
}

answer_with() { # HEADER HEAD COMMAND...
  exec {proxy}< <(printf 'HTTP/1.0 %s\r\n\r\n%s' "$1" "$2" && exec "${@:3}" 2>/dev/null 3>&-)
}

@test "a list that hangs, or is refused, hides nothing of the others" {
  source "$bin/fetch"
  local head='{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['
  send_request() {
    case $1 in
      /services) answer_with '200 OK' "$head" bash -c 'printf "%20000s" && exec sleep 60' ;;
      /namespaces) answer_with '403 Forbidden' '{"message":"no right","reason":"Forbidden"}' true ;;
      /ingresses) answer_with '200 OK' "${head/Service/Ingress}" printf '%20000s]}' '' ;;
      /endpointslices) answer_with '200 OK' "${head/Service/EndpointSlice}" printf ']}' ;;
    esac
  }
  run reads services namespaces ingresses endpointslices
  assert_equal 1 "$status"
  assert_contains "$output" 'cannot read services: no answer within 1 s'
  assert_contains "$output" 'cannot read namespaces: Error from server (Forbidden): no right'
  refute_contains "$output" ingresses
  refute_contains "$output" endpointslices
  assert_equal 20002 "$(wc -c <"$dir/known/new/ingresses")"
  assert_equal ']}' "$(<"$dir/known/new/endpointslices")"
  wait_for 3 nothing_is_read
}

@test "a proxy that begins no answer is ended, and one whose connection is reset is not: a kubectl is asked" {
  source "$bin/fetch"
  mkdir -p "$STATE_DIR/run"
  ask_kubectl() { exec {answer}< <(printf '{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'); }
  sleep 60 3>&- &
  echo "1 /prefix $!" >"$proxy_file"
  send_request() { exec {proxy}>/dev/null; } # to read it is an error
  run reads services
  assert_equal '' "$output"
  assert_equal ']}' "$(<"$dir/known/new/services")"
  kill -0 "$!"
  send_request() { exec {proxy}< <(exec sleep 60 2>/dev/null 3>&-); }
  run reads services
  assert_equal 1 "$status"
  assert_contains "$output" 'cannot read services: no answer within 1 s'
  status=0
  wait "$!" || status=$?
  assert_equal 137 "$status" # SIGKILL; it would have ended with 0
}

@test "an empty answer is an error" {
  start_api rules
  use_quick_kubectl
  : >"$api/services"
  assert_fails 'the answer is not of kind Service'
}

@test "a page of HTML is an error, and is told in one line of plain text" {
  start_api rules
  use_quick_kubectl
  printf '<html>\e]2;Please log in</html>\n' >"$api/services"
  assert_fails 'cannot read services: the answer is not of kind ServiceList: <html>?]2;Please log in</html>?'
}

@test "a list of IngressClasses that was cut is an error, and takes no route away" {
  start_api rules
  use_quick_kubectl
  edit "$api/ingressclasses" 's/}}]}$/]}/' # the last item is not whole, the end of the list is there
  assert_fails 'cannot use ingresses: '
}

@test "an item that was cut is not taken for one that is nested too deeply, whatever it says" {
  start_api rules '.services.items[-1].metadata.annotations = {depth: "Exceeds depth limit", a: [{b: 1}]}'
  use_quick_kubectl
  edit "$api/services" 's/"Exceeds depth limit".*/"Exceeds depth limit"]}/'
  assert_fails 'cannot use services: '
}

@test "two documents in one answer are an error" {
  start_api rules
  use_quick_kubectl
  cat "$api/services" "$api/services" >"$api/two" && mv "$api/two" "$api/services"
  assert_fails 'cannot use services: '
}

@test "a list of another kind, without items, without resourceVersion or with more pages is an error, also when another list is known" {
  start_api rules
  use_quick_kubectl
  be_the_proxy # but a fetch without a folder has a kubectl of its own
  "$bin/fetch" "$dir/known" >"$dir/first"
  for folder in '' "$dir/known"; do
    echo '{"kind":"IngressList","apiVersion":"","metadata":{"resourceVersion":"1"},"items":[]}' >"$api/services"
    assert_fails 'the answer is not of kind ServiceList: {"kind":"IngressList"' $folder
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

@test "a list that begins too slowly is no answer in time, and a clock that jumps meanwhile makes none too slow" {
  source "$bin/fetch"
  READ_SECONDS=1
  ask_kubectl() { exec {answer}< <(printf '{"ki' && exec sleep 3 3>&-); }
  run read_path /services
  assert_equal 124 "$status" # of which fetch says "no answer within 1 s"
  ask_kubectl() { exec {answer}< <(printf '{"kind":"List","items":[]}'); }
  jumps=yes
  read() { # as it is when the clock jumps: its time is over, and what has come is in part
    if [[ -z $jumps || $* != *-N* ]]; then
      builtin read "$@"
    else
      jumps=''
      builtin read -r -N 4 part <&"$answer"
      return 142
    fi
  }
  read_path /services >"$dir/read"
  assert_equal '{"kind":"List","items":[]}' "$(<"$dir/read")"
  assert_equal '' "$jumps"
}
