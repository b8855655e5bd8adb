# canary: an Ingress that gets some of the requests of another one.
load words

# Prints who answers each of a number of requests, and how often.
tally() { # NUMBER HOST PATH [CURL_OPTION...]
  local number paths=()
  for ((number = 0; number < $1; number++)); do paths+=("$3"); done
  who_answers_paths "$2" "${paths[@]}" -- "${@:4}" | sort | uniq -c | awk '{print $2 "=" $1}' | xargs
}

# Prints who answers, with this header.
with_header() { # HEADER HOST
  who_answers "$2" /info -H "$1"
}

# bats test_tags=cluster
@test "canary-by-header: always, never, and nothing else; or its value; or what matches a pattern" {
  ingress main one.example /info red
  ingress new one.example /info blue canary=true canary-by-header=Can-Ary
  ingress main-2 two.example /info red
  ingress new-2 two.example /info blue canary=true canary-by-header=Can-Ary canary-by-header-value='Do (it), now!' canary-by-header-pattern='.*'
  ingress main-3 three.example /info red
  ingress new-3 three.example /info blue canary=true canary-by-header=Can-Ary canary-by-header-pattern='^Do[A-Z][a-z]+y$'
  ingress main-4 four.example /info red
  ingress new-4 four.example /info blue canary=true canary-by-header=Can-Ary canary-by-header-pattern='^(de|at)-[a-z.]{2}\.x$'
  serve
  assert_equal 'red blue red red red' "$({ who_answers one.example /info && for value in always never Always x; do with_header "Can-Ary: $value" one.example; done; } | xargs)"
  assert_equal 'blue red red' "$(for value in 'Do (it), now!' always never; do with_header "can-ary: $value" two.example; done | xargs)"
  assert_equal 'blue red red' "$(for value in DoCanary DoCananry! always; do with_header "Can-Ary: $value" three.example; done | xargs)"
  assert_equal 'blue red red red' "$(for value in de-wn.x fr-wn.x de-wnyx "at-wn.x$(printf '%065d' 0)"; do with_header "Can-Ary: $value" four.example; done | xargs)"
  assert_equal 'AnnotationRefused: e2e/new-2: canary-by-header-pattern has no effect beside canary-by-header-value' "$(problems)"
}

# bats test_tags=cluster
@test "canary-by-cookie: always, never, and nothing else; a header counts before it, and it before the weight" {
  ingress main one.example /info red
  ingress new one.example /info blue canary=true canary-by-cookie=Can-Ary
  ingress main-2 two.example /info red
  ingress new-2 two.example /info blue canary=true canary-by-cookie=Can-Ary canary-by-header=Can canary-weight=100
  serve
  assert_equal 'red blue red red red' "$({ who_answers one.example /info && for value in Can-Ary={always,never,x} xCan-Ary=always; do who_answers one.example /info -b "$value"; done; } | xargs)"
  assert_equal blue "$(who_answers one.example /info -b 'a=b; Can-Ary=always; c=d')"
  assert_equal 'blue red blue red' "$({
    who_answers two.example /info
    who_answers two.example /info -b Can-Ary=never
    who_answers two.example /info -b Can-Ary=never -H 'Can: always'
    who_answers two.example /info -b Can-Ary=always -H 'Can: never'
  } | xargs)"
}

@test "a canary needs no use-regex and rewrite-target of its own" {
  ingress main one.example / red rewrite-target=/x
  ingress new one.example / blue canary=true canary-weight=100
  ingress main-2 two.example '/api(/|$)(.*)' red 'rewrite-target=/$2'
  ingress new-2 two.example '/api(/|$)(.*)' blue canary=true canary-weight=100
  ingress main-3 three.example /a/ red use-regex=true
  ingress new-3 three.example /a/ blue canary=true canary-weight=100
  ingress main-4 four.example / red
  ingress new-4 four.example '/(x|y)' blue canary=true canary-weight=100
  ingress main-5 five.example /plain red
  ingress new-5 five.example /plain blue canary=true canary-weight=100
  add_path new-5 '/bad%20path'
  serve
  assert_equal 'blue blue blue red blue' "$({ who_answers one.example / && who_answers two.example /api/y && who_answers three.example /a/b && who_answers four.example /x && who_answers five.example /plain/x; } | xargs)"
  assert_equal '/x /y' "$(pod_gets .uri one.example /) $(pod_gets .uri two.example /api/y)"
  assert_contains "$(problems)" 'CanaryWithoutMain: e2e/new-4: the canary gets no requests: no other Ingress of its namespace asks for RegularExpression path /(x|y) of host four.example'
}

# Gives an Ingress of the test the same rule for another path, and perhaps with another Service and port.
add_path() { # NAME PATH [SERVICE PORT]
  local file
  file=$(echo "$BATS_TEST_TMPDIR/objects"/*-"e2e-$1.json")
  jq -c --arg path "$2" --arg service "${3-}" --argjson port "${4-0}" '.spec.rules[0].http.paths |= . + [.[0] | .path = $path
    | if $service == "" then . else .backend.service = {name: $service, port: ($port | if type == "number" then {number: .} else {name: .} end)} end]' "$file" >"$file.new"
  mv "$file.new" "$file"
}

# bats test_tags=cluster
@test "a canary's path with the Service and port of the main Ingress's changes nothing: another canary may have that path" {
  local id=0 by with
  for by in canary-weight=100 canary-by-header=A canary-by-cookie=A; do
    id=$((id + 1))
    ingress "main-$id" "h$id.example" /one red
    add_path "main-$id" /two red 80
    add_path "main-$id" /three red 80
    ingress "first-$id" "h$id.example" /one blue canary=true "$by"
    add_path "first-$id" /two red '"http"' # the same port, by its name
    add_path "first-$id" /three red 80
    ingress "second-$id" "h$id.example" /one red canary=true "$by" backend-protocol=GRPC # no protocol of a canary counts
    add_path "second-$id" /two auth 80
    add_path "second-$id" /three red 80
    ingress "third-$id" "h$id.example" /three blue canary=true "$by"
  done
  ingress closed closed.example / red auth-type=digest
  ingress closed-same closed.example / red canary=true canary-weight=100
  ingress closed-other closed.example / blue canary=true canary-weight=100
  ingress port-main port.example / red
  ingress port-other port.example / red:443 canary=true canary-weight=100
  ingress port-younger port.example / blue canary=true canary-weight=100
  serve
  for id in 1 2 3; do
    with=(-H 'A: always' -b A=always)
    assert_equal "$id: blue auth blue" "$id: $(who_answers_paths "h$id.example" /{one,two,three}/x -- "${with[@]}" | xargs)"
  done
  assert_equal 'red red red' "$(who_answers_paths h2.example /{one,two,three} | xargs)"
  assert_equal "CanaryTaken: e2e/port-younger: the canary gets no requests: Prefix path / of host port.example has Ingress e2e/port-other for its canary
$(printf 'AnnotationRefused: e2e/second-%s: backend-protocol has no effect beside canary: those of its main Ingress count\n' 1 2 3)" "$(problems | grep -v '/closed')"
  assert_equal 3 "$(problems | grep -c '^ProtectionNotAvailable: e2e/closed')"
}

@test "canary-weight: so many of a hundred, or of canary-weight-total; none and all are exact" {
  ingress main one.example / red
  ingress none one.example / blue canary=true canary-weight=0
  ingress main-2 two.example / red
  ingress all two.example / blue canary=true canary-weight=100
  ingress main-3 three.example / red
  ingress all-of-total three.example / blue canary=true canary-weight=1000 canary-weight-total=1000
  ingress main-4 four.example / red
  ingress half four.example / blue canary=true canary-weight=100 canary-weight-total=200
  ingress main-5 five.example / red
  ingress wrong five.example / blue canary=true canary-weight=-5
  serve
  assert_equal red=20 "$(tally 20 one.example /)"
  assert_equal blue=20 "$(tally 20 two.example /)"
  assert_equal blue=20 "$(tally 20 three.example /)"
  counts=$(tally 100 four.example /)
  [[ $counts =~ ^blue=[2-7][0-9]\ red=[2-7][0-9]$ ]] || fail "$counts"
  assert_equal red=20 "$(tally 20 five.example /)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/wrong: the annotation canary-weight is "-5"; allowed: whole numbers from 0 to 999999999'
}

@test "a canary without a main Ingress serves nothing, also if it is older, and of several the oldest counts" {
  ingress alone one.example /info blue canary=true canary-weight=100
  ingress early two.example / blue canary=true canary-weight=100
  ingress main two.example / red
  ingress late two.example / auth canary=true canary-weight=100
  ingress other/strange three.example / red canary=true canary-weight=100
  ingress own three.example / red
  ingress path-main four.example / red
  ingress path-canary four.example /below blue canary=true canary-weight=100
  serve
  assert_equal '404 blue red red' "$({ who_answers one.example /info && who_answers two.example / && who_answers three.example / && who_answers four.example /below; } | xargs)"
  problems=$(problems)
  assert_contains "$problems" 'CanaryWithoutMain: e2e/alone: the canary gets no requests: no other Ingress of its namespace asks for Prefix path /info of host one.example'
  assert_contains "$problems" 'CanaryTaken: e2e/late: the canary gets no requests: Prefix path / of host two.example has Ingress e2e/early for its canary'
  assert_contains "$problems" 'CanaryWithoutMain: other/strange: '
  assert_contains "$problems" 'CanaryWithoutMain: e2e/path-canary: '
}

@test "what protects the main Ingress protects the canary; one that asks for more gets nothing" {
  ingress main one.example / red denylist-source-range=0.0.0.0/0,::/0
  ingress new one.example / blue canary=true canary-weight=100
  ingress main-2 two.example / red
  ingress new-2 two.example / blue canary=true canary-weight=100 allowlist-source-range=0.0.0.0/0,::/0
  ingress main-3 three.example / red allowlist-source-range=0.0.0.0/0,::/0 proxy-body-size=1k
  ingress new-3 three.example / blue canary=true canary-weight=100 whitelist-source-range=0.0.0.0/0,::/0 proxy-body-size=1m
  ingress main-4 four.example / red
  ingress new-4 four.example / blue canary=true canary-weight=100 configuration-snippet='deny all;'
  ingress main-5 five.example / red modsecurity-snippet=x
  ingress new-5 five.example / blue canary=true canary-weight=100
  ingress new-6 six.example / blue canary=true canary-weight=100 auth-type=digest
  ingress main-6 six.example / red
  serve
  assert_equal '403 red blue red 503 red' "$(for host in one two three four five six; do who_answers $host.example /; done | xargs)"
  head -c 1500 /dev/zero >"$dir/body"
  assert_equal 413 "$(status three.example / --data-binary "@$dir/body")"
  assert_contains "$(problems)" 'CanaryNotProtected: e2e/new-2: the canary gets no requests: its main Ingress has not the same allowlist-source-range'
}

# The lists of a cluster with further Services of which nobody can be asked: unready:80, external:80, and red:53, a port
# that is not TCP. There is no absent:80, and no red:81.
# shellcheck disable=SC2016 # the dollar signs are jq's
lists_with_nobody() {
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '
    def service($name; $type): {metadata: {namespace: "e2e", $name}, spec: {$type, ports: [{name: "http", port: 80}]}};
    (.services.items[] | select(.metadata == {namespace: "e2e", name: "red"}).spec.ports) += [{name: "dns", port: 53, protocol: "UDP"}]
    | .services.items += [service("unready"; "ClusterIP"), service("external"; "ExternalName")]'
}

@test "an idle canary asks for no requests: it is no problem, it has no upstream, and its place is another's" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  local id=0 backend idle options
  for backend in blue unready absent red:81 external red:53; do
    for idle in canary-weight-total=5 canary-weight=0 'canary-weight=0 canary-weight-total=1000' 'limit-rps=5' 'affinity-canary-behavior=legacy'; do
      id=$((id + 1))
      ingress "main-$id" "h$id.example" / auth
      read -ra options <<<"$idle"
      ingress "idle-$id" "h$id.example" / "$backend" canary=true "${options[@]}"
    done
  done
  ingress alone alone.example / unready canary=true canary-weight=0
  ingress sessions legacy.example / auth affinity=cookie
  ingress legacy legacy.example / unready canary=true canary-weight=0 affinity-canary-behavior=legacy
  ingress taken taken.example / auth
  ingress first taken.example / blue:443 canary=true canary-weight=0
  ingress second taken.example / many canary=true canary-weight=1
  ingress third taken.example / unready canary=true canary-weight=0
  lists_with_nobody | digest_lists | "$bin/route" >"$dir/model.json"
  assert_equal '' "$(problems | grep -v 'canary-weight-total has no effect without canary-weight')"
  assert_json '[.upstreams[].name]' '["auth.e2e.80","auth.e2e.80.sticky","many.e2e.80"]' <"$dir/model.json"

  for id in first alone legacy idle-{1..4}; do without "$id"; done
  ingress first taken.example / unready canary=true canary-by-header=A
  ingress alone alone.example / unready canary=true canary-by-cookie=A
  ingress legacy legacy.example / unready canary=true canary-weight=0
  ingress idle-1 h1.example / unready canary=true canary-weight=1
  ingress idle-2 h2.example / red canary=true canary-weight=1 limit-rps=5
  ingress idle-3 h3.example / red canary=true limit-rps=-1
  ingress idle-4 h4.example / unready canary=true canary-by-header=A
  lists_with_nobody | digest_lists | "$bin/route" >"$dir/model.json"
  assert_equal 'CanaryNotProtected e2e/idle-2
CanaryTaken e2e/first
CanaryWithoutMain e2e/alone
NoReadyEndpoints e2e/idle-1
NoReadyEndpoints e2e/idle-4
NoReadyEndpoints e2e/legacy
ProtectionNotAvailable e2e/idle-3' "$(problems | grep -v 'canary-weight-total has no effect without canary-weight' | awk -F : '{ print $1 $2 }' | sort -u)"
}

# For each annotation that protects, with a right value and a wrong one, three hosts. On each is a main Ingress, and a
# canary with the annotation. The main Ingress of the first two has none; the canary of the first is Flagger's, as is
# that of the third, whose main Ingress has the annotation, with the right value. On the fourth, that one is alone.
# shellcheck disable=SC2016 # the dollar signs are jq's
protected_canaries='
  def flagger: [{apiVersion: "flagger.app/v1beta1", kind: "Canary", name: "app", uid: "1", controller: true}];
  def ingress($name; $host; $service; $owners; $annotations):
    {kind: "Ingress", metadata: {namespace: "e2e", $name, ownerReferences: $owners, annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))},
     spec: {ingressClassName: "bash", rules: [{host: "\($host).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: $service, port: {number: 80}}}}]}}]}};
  def canary($host; $owners; $annotations): ingress("new-\($host)"; $host; "blue"; $owners; $annotations + {canary: "true", "canary-weight": "100"});
  def main($host; $annotations): ingress($host; $host; "red"; null; $annotations);
  [ $table[0] | to_entries[] | select(.value.feature != "canary") | .key as $name | .value as $row
    | ($examples[0][$name] | if type == "object" then . elif $row.type == "flag" then {($name): "true"} else {($name): (. // "x")} end) as $example
    | (if $row.closes then {right: {}, wrong: (if $name == "backend-protocol" then "FCGI" else "/ /; HttpOnly; x" end)}
       elif $row.if_wrong == "close" then {right: {}, wrong: "wrong;}{"}
       elif $row.class == "switch" then {right: {($name): "on"}, wrong: "wrong;}{"}
       elif $row.class == "protective" then {right: $example, wrong: "wrong;}{"}
       else empty
       end)
    | {right, canary: (.right + {($name): .wrong}, (.right | select(. != {})))} ]
  | to_entries[] | .key as $id | .value | .canary as $annotation | .right as $of_main
  | main("lost-\($id)"; {}), canary("lost-\($id)"; flagger; $annotation),
    main("own-\($id)"; {}), canary("own-\($id)"; null; $annotation),
    main("kept-\($id)"; $of_main), canary("kept-\($id)"; flagger; $annotation),
    main("alone-\($id)"; $of_main)'

@test "what Flagger has copied into its canary is no wish of the canary: what its main Ingress asks for now counts, for each protection" {
  [[ ${TIER-} != e2e ]] || skip 'the summaries are looked at'
  mkdir "$BATS_TEST_TMPDIR/objects"
  jq -n --slurpfile table "$bin/lib/annotations/annotations.json" --slurpfile examples "$BATS_TEST_DIRNAME/../unit/tables/examples.json" \
    "$protected_canaries" >"$BATS_TEST_TMPDIR/objects/all.json"
  cluster_with_pods "$BATS_TEST_TMPDIR/objects/all.json" | digest_lists | "$bin/route" >"$dir/model.json"
  jq 'def kind: ltrimstr("Ingress ") | split("/")[-1] | ltrimstr("new-") | split("-")[0];
    .options as $options
    | ([.servers[].locations[] | select(.of)] | map({(.of | split("/")[1]): (del(.of, .options) + if .options then {set: $options[.options - 1]} else {} end)}) | add) as $served
    | ([.problems[] | select(.of | contains("/new-")) | {(.of | split("/new-")[1]): .reason}] | add) as $problems
    | ($served | keys | map(select(startswith("lost-"))[5:])) as $ids
    | {
        number: ($ids | length > 90),
        "kept, and served": ([$ids[] | select($served["kept-\(.)"].canary.upstream == "blue.e2e.80")] | length > 30),
        "lost, and not served": [$ids[] | select($served["lost-\(.)"].canary.upstream != "blue.e2e.80" or $problems["lost-\(.)"])],
        "own, and served": [$ids[] | select($served["own-\(.)"].canary or ($problems["own-\(.)"] | IN("CanaryNotProtected", "ProtectionNotAvailable") | not))],
        "another main": [$ids[] | select(($served["kept-\(.)"] | del(.canary)) != ($served["alone-\(.)"] | del(.canary))) | [$served["kept-\(.)"], $served["alone-\(.)"]]],
        "kept, and not served": [$ids[] | select($served["kept-\(.)"] | .upstream and (.canary | not))],
        "problems of copies": [$ids[] | select($served["kept-\(.)"].upstream and $problems["kept-\(.)"])]
      }' "$dir/model.json" >"$dir/verdict"
  assert_json '[.[]]' '[true,true,[],[],[],[],[]]' <"$dir/verdict"
}

# Makes somebody the owner of an Ingress of the test.
owned_by() { # NAME OWNER, as JSON
  local file
  file=$(echo "$BATS_TEST_TMPDIR/objects"/*-"e2e-$1.json")
  jq -c --argjson owner "$2" '.metadata.ownerReferences = [$owner]' "$file" >"$file.new"
  mv "$file.new" "$file"
}

@test "an owner takes nothing but a canary's own wish away: not from an Ingress that is none, and no owner but Flagger does" {
  local flagger='{"apiVersion":"flagger.app/v1beta1","kind":"Canary","name":"app","uid":"1","controller":true}' id=0 edit
  ingress main-1 one.example / red denylist-source-range=0.0.0.0/0,::/0
  ingress new-1 one.example / blue canary=true canary-weight=100
  ingress main-2 two.example / red
  ingress new-2 two.example / blue canary=true canary-weight=100 denylist-source-range=0.0.0.0/0,::/0 auth-type=digest
  ingress main-3 three.example / red
  ingress new-3 three.example / blue canary=true canary-weight=100 canary-by-header='a b' ssl-redirect=yes # what is its own counts
  ingress none-4 four.example / blue denylist-source-range=0.0.0.0/0,::/0
  ingress none-5 five.example / blue canary=false denylist-source-range=0.0.0.0/0,::/0
  ingress none-6 six.example / blue canary=perhaps auth-type=digest
  ingress none-7 seven.example / blue canary=false bash-ingress.local/canary=true auth-type=digest
  for id in new-{1,2,3} none-{4,5,6,7}; do owned_by "$id" "$flagger"; done
  for edit in 'del(.controller)' '.controller = false' '.kind = "Rollout"' '.apiVersion = "argoproj.io/v1alpha1"' '.apiVersion = "flagger.app.example/v1"' '.apiVersion = "flagger.app"'; do
    id=$((${id##*-} + 1))
    ingress "main-$id" "other-$id.example" / red
    ingress "new-$id" "other-$id.example" / blue canary=true canary-weight=100 denylist-source-range=10.0.0.0/8
    owned_by "new-$id" "$(jq -c "$edit" <<<"$flagger")"
  done
  serve
  assert_equal '403 blue red 403 403 503 404' "$(for id in one two three four five six seven; do who_answers "$id.example" /; done | xargs)"
  assert_equal 'red red red red red red' "$(for id in {8..13}; do who_answers "other-$id.example" /; done | xargs)"
  assert_equal 6 "$(problems | grep -c ': the canary gets no requests: its main Ingress has not the same denylist-source-range. Take that from the canary, ')"
  assert_contains "$(problems)" 'ProtectionNotAvailable: e2e/new-3: the canary gets no requests: closed, '
  refute_contains "$(problems)" e2e/new-2
}

@test "without a Service, or ready pods of it, the main Ingress serves; without those of its own, the canary has its share" {
  ingress main one.example / red
  ingress new one.example / absent canary=true canary-weight=100
  ingress main-2 two.example / absent
  ingress new-2 two.example / blue canary=true canary-weight=100
  ingress main-3 three.example / absent
  ingress new-3 three.example / gone canary=true canary-weight=100
  serve
  assert_equal 'red blue 503' "$({ who_answers one.example / && who_answers two.example / && who_answers three.example /; } | xargs)"
  assert_equal "$(printf '%s\n' 'ServiceNotFound: e2e/main-2: Service e2e/absent does not exist' 'ServiceNotFound: e2e/main-3: Service e2e/absent does not exist' \
    'ServiceNotFound: e2e/new-3: the canary gets no requests: Service e2e/gone does not exist' \
    'ServiceNotFound: e2e/new: the canary gets no requests: Service e2e/absent does not exist')" "$(problems | LC_ALL=C sort)"
}

# bats test_tags=cluster
@test "a canary has its share while its main Ingress has nobody to ask, and the rest is the 503 of the main Ingress" {
  local backend name counts id gone=INGRESSCOOKIE=0123456789abcdef0123456789abcdef
  local backends=(absent red:81)
  [[ ${TIER-} == e2e ]] || backends+=(unready external red:53)
  for backend in "${backends[@]}"; do
    name=${backend/:/-}
    ingress "all-$name" "all-$name.example" / "$backend"
    ingress "all-new-$name" "all-$name.example" / blue canary=true canary-weight=100 canary-by-header=Can
    ingress "half-$name" "half-$name.example" / "$backend" rewrite-target=/
    ingress "half-new-$name" "half-$name.example" / blue canary=true canary-weight=50
    ingress "one-$name" "one-$name.example" /a "$backend"
    ingress "one-new-$name" "one-$name.example" /a blue canary=true canary-by-header=Can canary-by-cookie=Can
    ingress "home-$name" "home-$name.example" / "$backend" affinity=cookie
    ingress "home-new-$name" "home-$name.example" / blue canary=true canary-by-header=Can
    ingress "none-$name" "none-$name.example" / "$backend"
  done
  if [[ ${TIER-} == e2e ]]; then serve; else lists_with_nobody | serve_lists; fi
  for name in "${backends[@]/:/-}"; do
    assert_equal 'blue blue 503' "$({ who_answers "all-$name.example" / && who_answers "all-$name.example" /x && who_answers "all-$name.example" / -H 'Can: never'; } | xargs)"
    counts=$(tally 60 "half-$name.example" /)
    [[ $counts =~ ^503=[1-4][0-9]\ blue=[1-4][0-9]$ ]] || fail "$counts"
    assert_equal '503 blue blue 503' "$({
      who_answers "one-$name.example" /a
      who_answers "one-$name.example" /a -H 'Can: always'
      who_answers "one-$name.example" /a/b -b Can=always
      who_answers "one-$name.example" /a -b Can=always -H 'Can: never'
    } | xargs)"
    assert_equal '503 blue' "$(who_answers "home-$name.example" /) $(who_answers "home-$name.example" / -H 'Can: always' -c "$dir/home-$name")"
    assert_equal blue=5 "$(tally 5 "home-$name.example" / -b "$dir/home-$name")"
    # a session of pods that are gone is none
    assert_equal '503 blue' "$({ who_answers "home-$name.example" / -b "$gone" && who_answers "home-$name.example" / -b "$gone" -H 'Can: always'; } | xargs)"
    assert_equal "$(ask "none-$name.example" / | sed 's/none-/all-/')" "$(ask "all-$name.example" / -H 'Can: never')"
    for id in all half one home none; do assert_contains "$(problems)" ": e2e/$id-$name: "; done
    refute_contains "$(problems)" "-new-$name"
  done
}

@test "the log names no Ingress as changed when the pods of one with a canary go or come" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  local edit='(.endpointSlices.items[] | select(.metadata.name == "red-1")).endpoints = []'
  ingress main one.example / red auth-type=basic auth-secret=missing denylist-source-range=10.0.0.0/8
  ingress main-2 two.example / red denylist-source-range=10.0.0.0/8
  ingress new-2 two.example / blue canary=true canary-weight=50
  lists_with_nobody | digest_lists | "$bin/route" >"$dir/with"
  lists_with_nobody | jq "$edit" | digest_lists | "$bin/route" >"$dir/without"
  assert_equal 2 "$(jq -s '[.[].servers[].locations[] | select(.canary and .upstream)] | length' "$dir/with" "$dir/without")"
  for models in 'with without' 'without with'; do
    read -ra models <<<"$models"
    refute_contains "$(jq -r -f "$bin/lib/apply/changes.jq" --argjson most 5 "$dir/${models[0]}" "$dir/${models[1]}")" 'changed Ingress'
  done
}

# For each row of annotations that protect, and each backend of a main Ingress (the first has pods), two hosts: the
# canary of w-... gets all requests, that of h-... some by a header, a cookie or a session. Rows: those of
# annotations.json, with examples of them; some that turn everybody away; and wrong values, for two of the backends.
# shellcheck disable=SC2016 # the dollar signs are jq's
protected_mains='
  def ingress($name; $host; $service; $annotations):
    {kind: "Ingress", metadata: {namespace: "e2e", $name, annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))},
     spec: {ingressClassName: "bash", rules: [{host: "\($host).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: ($service | split(":") | {name: .[0], port: {number: (.[1] | tonumber)}})}}]}}]}};
  ["red:80", "unready:80", "absent:80", "red:81", "external:80", "red:53"] as $backends
  | [ ( $table[0] | to_entries[] | .key as $name | .value as $row
        | select($row.closes or $row.if_wrong or $row.class != "convenience")
        | ($examples[0][$name] | if type == "object" then . elif . then {($name): .} else {} end | map_values(gsub("apple[.]demo"; "auth.e2e"))) as $example
        | ($example | select(. != {}) | {set: ., backends: $backends}),
          {set: ($example + {($name): (if $row.closes then "FCGI" else "wrong;}{" end)}), backends: $backends[:2]} ),
      ( {"denylist-source-range": "0.0.0.0/0,::/0"}, {"allowlist-source-range": "10.0.0.0/8"}, {"auth-type": "basic", "auth-secret": "users"},
        {"auth-type": "basic", "auth-secret": "missing"}, {"auth-url": "http://auth.e2e.svc/?status=401"}, {"auth-url": "http://auth.e2e.svc/?status=403", satisfy: "any", "auth-type": "basic", "auth-secret": "users"},
        {"auth-url": "http://auth.e2e.svc/?status=401", "auth-signin": "https://sign.in.example/"}, {"auth-url": "http://absent.e2e.svc/"}, {"auth-url": "http://unready.e2e.svc/"}, {"auth-url": "http://$host/check"},
        {"auth-tls-secret": "ca"}, {"auth-tls-secret": "missing"}, {"force-ssl-redirect": "true"}, {"limit-connections": "1", "limit-rate": "1", "backend-protocol": "GRPC"},
        {"custom-headers": "missing"}, {"proxy-ssl-verify": "on", "proxy-ssl-secret": "missing", "backend-protocol": "HTTPS"}, {"proxy-ssl-verify": "on"}, {"temporal-redirect": "https://a.example/"},
        {"default-backend": "auth", "custom-http-errors": "401,503", "auth-type": "basic", "auth-secret": "users"}, {"default-backend": "auth", "denylist-source-range": "0.0.0.0/0"}
        | {set: ., backends: $backends} ) ]
  | to_entries[] | .key as $row | .value | .set as $set
  | .backends | to_entries[] | "\($row)-\(.key)" as $id
  | ingress("w-\($id)"; "w-\($id)"; .value; $set), ingress("wc-\($id)"; "w-\($id)"; "blue:80"; {canary: "true", "canary-weight": "100"}),
    ingress("h-\($id)"; "h-\($id)"; .value; $set + {affinity: "cookie"}), ingress("hc-\($id)"; "h-\($id)"; "blue:80"; {canary: "true", "canary-by-header": "Can", "canary-by-cookie": "Can"})'

@test "what protects a main Ingress protects its canary also while the main Ingress has nobody to ask: each way to it is refused as with pods" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  mkdir "$BATS_TEST_TMPDIR/objects"
  jq -n --slurpfile table "$bin/lib/annotations/annotations.json" --slurpfile examples "$BATS_TEST_DIRNAME/../unit/tables/examples.json" \
    "$protected_mains" >"$BATS_TEST_TMPDIR/objects/all.json"
  lists_with_nobody | jq '.certificates = [{secret: "e2e/users", use: "auth-file", file: "users.file.htpasswd"}, {secret: "e2e/ca", use: "ca", file: "default.pem"}]' | serve_lists
  jq -r '.spec.rules[0].host' "$BATS_TEST_TMPDIR/objects/all.json" | sort -u | awk -v port="$HTTP_PORT" '
    function ask(way, option) { print next_one "url = \"http://127.0.0.1:" port "/\"\nheader = \"Host: " $0 "\"\n" option "write-out = \"\\n= " $0 " " way " %{http_code}\\n\"\nmax-time = 10\nsilent"; next_one = "next\n" }
    /^w/ { ask("weight", "") }
    /^h/ { ask("header", "header = \"Can: always\"\n"); ask("cookie", "cookie = \"Can=always\"\n")
      ask("session", "cookie = \"INGRESSCOOKIE=0123456789abcdef0123456789abcdef-canary\"\n"); ask("rest", "") }' >"$dir/requests"
  curl -K "$dir/requests" | awk '
    match($0, /^{"address":"127[.]77[.]0[.][1-4]:/) { pod = "pod-" substr($0, RLENGTH - 1, 1) }
    /^= / { split($2, host, /[-.]/); print host[2], host[3], $3, pod ? pod : $4; pod = "" }' >"$dir/answers"
  # A client of the canary gets what it gets beside a main Ingress with pods; another one gets nothing of a pod.
  awk '$3 == "rest" { if ($2 > 0 && ($4 ~ /^pod-[12]/ || $4 < 300)) print "open:", $0; next }
    $2 == 0 { expected[$1, $3] = $4; kinds[$4 ~ /^pod/ ? "served" : "refused"]++ }
    { all[$1, $2, $3] = $4 }
    END { for (id in all) { split(id, part, SUBSEP); if (all[id] != expected[part[1], part[3]]) print part[1], part[2], part[3], all[id], "instead of", expected[part[1], part[3]] }
      if (kinds["served"] < 60 || kinds["refused"] < 200) print "not enough:", kinds["served"], kinds["refused"] }' "$dir/answers" | sort >"$dir/verdict"
  assert_equal '' "$(head -n 20 "$dir/verdict")"
  assert_equal "$(grep -c '^url' "$dir/requests")" "$(wc -l <"$dir/answers")"
}

@test "beside a canary, the default backend answers the rest where the Service or its pods are missing, in whatever protocol the canary is asked" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  local name id=0 backend set options
  for set in default-backend=auth 'default-backend=auth custom-http-errors=503' 'default-backend=auth custom-http-errors=404,500' custom-http-errors=503; do
    for backend in unready absent red:81 external; do
      id=$((id + 1))
      read -ra options <<<"$set"
      ingress "main-$id" "h$id.example" / "$backend" "${options[@]}"
      ingress "new-$id" "h$id.example" / blue canary=true canary-by-header=Can
    done
  done
  ingress secure tls.example / unready:443 default-backend=auth backend-protocol=HTTPS
  ingress secure-new tls.example / blue:443 canary=true canary-by-header=Can
  ingress auto auto.example / absent default-backend=auth backend-protocol=AUTO_HTTP
  ingress auto-new auto.example / blue canary=true canary-by-header=Can
  ingress login login.example / unready default-backend=auth auth-type=basic auth-secret=users
  ingress login-new login.example / blue canary=true canary-by-header=Can
  ingress session session.example / unready default-backend=auth affinity=cookie
  ingress session-new session.example / blue canary=true canary-by-header=Can
  lists_with_nobody | jq '.certificates = [{secret: "e2e/users", use: "auth-file", file: "users.file.htpasswd"}]
    | (.services.items[] | select(.metadata.name == "unready").spec.ports) += [{name: "https", port: 443}]' | serve_lists
  for id in {1..16}; do assert_equal "$id blue" "$id $(who_answers "h$id.example" /path -H 'Can: always')"; done
  assert_equal 'auth auth auth 503 auth auth auth 503 auth auth auth 503 503 503 503 503' "$(for id in {1..16}; do who_answers "h$id.example" /path; done | xargs)"
  assert_equal '503 main-1 unready 80 POST /path?a=b' "$(pod_gets '"\(.header["X-Code"][0]) \(.header["X-Ingress-Name"][0]) \(.header["X-Service-Name"][0]) \(.header["X-Service-Port"][0]) \(.method) \(.uri)"' h1.example '/path?a=b' -d body)"
  assert_equal 'null' "$(pod_gets '.header["X-Code"][0]' h1.example / -H 'Can: always')"
  assert_equal 'true false' "$(pod_gets .tls tls.example / -H 'Can: always') $(pod_gets .tls tls.example /)"
  assert_equal 'blue auth blue auth' "$(for name in tls auto; do who_answers "$name.example" / -H 'Can: always' && who_answers "$name.example" /; done | xargs)"
  assert_equal '401 401' "$(who_answers login.example /) $(who_answers login.example / -H 'Can: always')"
  assert_equal 'auth blue' "$(who_answers session.example /) $(who_answers session.example / -H 'Can: always' -c "$dir/session")"
  assert_equal 'blue' "$(who_answers session.example / -b "$dir/session")"
}

@test "a canary gets nothing where its main Ingress is closed, quarantined, shut, beyond a limit or at another's host, whoever could be asked for it" {
  [[ ${TIER-} != e2e ]] || skip 'the quarantine is given here'
  local backend
  canary() { ingress "$1-new" "$1.example" / blue canary=true canary-weight=100; }
  for backend in red unready absent; do
    rm -rf "$BATS_TEST_TMPDIR/objects"
    ingress other/first taken.example / red
    ingress taken taken.example / "$backend" && canary taken
    ingress closed closed.example / "$backend" configuration-snippet='deny all;' && canary closed
    ingress late late.example / "$backend" auth-type=basic auth-secret=missing && canary late
    ingress rejected rejected.example / "$backend" auth-type=basic auth-secret=users && canary rejected
    ingress vague shut.example '/a%2Fb' red denylist-source-range=10.0.0.0/8
    ingress shut shut.example / "$backend" && canary shut
    ingress beyond beyond.example / "$backend" denylist-source-range=10.0.0.0/8,10.1.0.0/16,10.2.0.0/16 && canary beyond
    lists_with_nobody | jq '.certificates = [{secret: "e2e/users", use: "auth-file", file: "users.file.htpasswd"}]' | digest_lists | with_settings LIMITS=namespace_networks=2 >"$dir/snapshot"
    jq -c 'select(.of == "Ingress e2e/rejected") | {(.of): {summary: tojson, message: "no"}}' "$dir/snapshot" >"$dir/quarantine"
    serve_snapshot "$dir/quarantine" <"$dir/snapshot"
    assert_equal "$backend: other/red 503 503 503 503 503" "$backend: $(for name in taken closed late rejected shut beyond; do who_answers "$name.example" /; done | xargs)"
  done
}

@test "an annotation of a canary that its main Ingress has not, or otherwise, is a problem: the main Ingress's count" {
  ingress main one.example / red proxy-read-timeout=9 proxy-send-timeout=9 affinity=cookie
  ingress same one.example / blue canary=true canary-weight=1 affinity-canary-behavior=legacy proxy-read-timeout=9 proxy-send-timeout=9 affinity=cookie
  ingress main-2 two.example / red proxy-read-timeout=9
  ingress other two.example / blue canary=true canary-weight=1 proxy-read-timeout=10 proxy-body-size=2m server-alias=three.example
  serve
  assert_equal 'AnnotationRefused: e2e/other: proxy-body-size, proxy-read-timeout have no effect beside canary: those of its main Ingress count' "$(problems)"
}

@test "a pattern with a group that repeats, or that no program reads, is not used: requests with its header are the main Ingress's" {
  ingress main one.example / red
  ingress nested one.example / blue canary=true canary-by-header=A canary-by-header-pattern='(ab)+' canary-weight=100
  ingress main-2 two.example / red
  ingress bad two.example / blue canary=true canary-by-header=A canary-by-header-pattern='[][**da?$&*' canary-by-cookie=c
  ingress main-3 three.example / red
  ingress quotes three.example / blue canary=true canary-by-header=A canary-by-header-pattern='x") { return 200 hacked; } if ($uri ~ "' canary-weight=100
  serve
  assert_equal 'blue red red red blue' "$({
    who_answers one.example /
    who_answers one.example / -H 'A: abab'
    who_answers two.example / -H 'A: DoCanary' -b c=always
    who_answers three.example / -H 'A: x'
    who_answers three.example /
  } | xargs)"
  problems=$(problems)
  for name in nested bad quotes; do assert_contains "$problems" "AnnotationRefused: e2e/$name: the canary gets no requests with its header"; done
}

@test "expressions for canary-by-header-pattern: three repetitions or groups are allowed, and tried for 64 characters" {
  local id=0 value
  for value in '(a|b)(a|c)(a|d)(a|e)' '(a)+' '(a)*a' 'a*b*c*d*a' '(?=a)' '\1' 'a**' '[z-a]' '(a' 'a|a|a|a|a|a|a|a|a|a' "$(printf 'a%.0s' {1..257})" '[:alpha:]' '[.a.]' '[=a=]b'; do
    id=$((id + 1))
    ingress "main-$id" "no-$id.example" / red
    ingress "no-$id" "no-$id.example" / blue canary=true canary-by-header=A "canary-by-header-pattern=$value"
  done
  local allowed=('a*b*c*\d' '.*x*(a|b|\d)$' '(a|b|c)(a|b|c)(a|b|1)$' '.{1,63}b{0,9}c{0,9}1' '(a|b|c|d|e)(1|2|3|4|5).*')
  for value in "${allowed[@]}"; do
    id=$((id + 1))
    ingress "main-$id" "yes-$id.example" / red
    ingress "yes-$id" "yes-$id.example" / blue canary=true canary-by-header=A "canary-by-header-pattern=$value"
  done
  serve
  problems=$(problems)
  for id in {1..14}; do
    assert_contains "$problems" ": e2e/no-$id: "
    assert_equal red "$(who_answers "no-$id.example" / -H 'A: aaaa')"
  done
  refute_contains "$problems" e2e/yes-
  printf -v value 'a%.0s' {1..63}
  for id in {15..19}; do
    assert_equal 'blue red' "$(who_answers "yes-$id.example" / -H "A: ${value}1") $(who_answers "yes-$id.example" / -H "A: ${value}a1")"
  done
}

@test "no value of these annotations becomes a directive: it is a problem, and the main Ingress serves, which the canary never takes for one" {
  local bad=$'x"; } location /x { return 200 hacked; } #\n$uri{'
  for name in canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie canary-weight canary-weight-total affinity-canary-behavior; do
    ingress "main-$name" "$name.example" / red
    ingress "$name" "$name.example" / blue canary=true "$name=$bad"
  done
  ingress canary canary.example / blue "canary=$bad" canary-weight=100
  ingress main-canary canary.example / red
  ingress unclear alone.example /secret blue "canary=$bad" auth-type=basic
  ingress other/rest alone.example / red bash-ingress.local/share-host-with=*
  ingress beside alone.example / red
  ingress lonely lonely.example /secret blue canary=perhaps
  ingress total total.example / red
  ingress part total.example / blue canary=true canary-weight=100 canary-weight-total=many
  serve
  problems=$(problems)
  for name in canary canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie canary-weight canary-weight-total affinity-canary-behavior; do
    assert_equal red "$(who_answers "$name.example" /)"
    case $name in
      canary-weight | affinity-canary-behavior) assert_contains "$problems" "AnnotationRefused: e2e/$name: " ;;
      *) assert_contains "$problems" "ProtectionNotAvailable: e2e/$name: closed, because it is not clear where its requests are to go: $name is " ;;
    esac
    assert_equal red "$(who_answers "$name.example" /x)"
  done
  assert_equal red=20 "$(tally 20 total.example /)"
  assert_equal '503 503 404' "$(statuses {alone.example/secret,lonely.example/{secret,x}})"
}

@test "affinity-canary-behavior: a client stays where its session began; with legacy, the rules count for each request" {
  ingress main one.example / red affinity=cookie session-cookie-name=home
  ingress new one.example / blue canary=true canary-by-header=Force canary-by-header-value=yes canary-weight=1
  ingress main-2 two.example / red affinity=cookie session-cookie-name=home
  ingress new-2 two.example / blue canary=true canary-by-header=Force canary-by-header-value=yes affinity-canary-behavior=legacy
  serve
  assert_equal blue "$(who_answers one.example / -H 'Force: yes' -c "$dir/blue")"
  while [[ $(who_answers one.example / -c "$dir/red") != red ]]; do :; done
  assert_equal blue=10 "$(tally 10 one.example / -b "$dir/blue")"
  assert_equal red=5 "$(tally 5 one.example / -b "$dir/red" -H 'Force: yes')"
  assert_equal '' "$(header set-cookie two.example / -H 'Force: yes')"
  assert_equal red "$(who_answers two.example / -c "$dir/red-2")"
  assert_equal blue "$(who_answers two.example / -b "$dir/red-2" -H 'Force: yes')"
}

@test "a canary of pods that speak TLS is spoken to like its main Ingress's, by the name of its own Service" {
  ingress main one.example / red:443 backend-protocol=HTTPS proxy-ssl-server-name=on
  ingress new one.example / blue:443 canary=true canary-by-header=Can
  ingress named two.example / red:443 backend-protocol=HTTPS proxy-ssl-server-name=on proxy-ssl-name=pod.example
  ingress other two.example / blue:443 canary=true canary-by-header=Can
  serve
  asked_by() { pod_gets .serverName "$1" / && pod_gets .serverName "$1" / -H 'Can: always'; }
  assert_equal 'red.e2e.svc blue.e2e.svc' "$(asked_by one.example | xargs)"
  assert_equal 'pod.example pod.example' "$(asked_by two.example | xargs)"
  assert_equal 'true true' "$({ pod_gets .tls one.example / && pod_gets .tls one.example / -H 'Can: always'; } | xargs)"
  assert_equal blue "$(who_answers one.example / -H 'Can: always')"
}
