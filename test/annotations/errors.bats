# default-backend, custom-http-errors, disable-proxy-intercept-errors: another Service answers.
load words

told='"\(.uri) \(.header["X-Code"][0]) \(.header["X-Original-Uri"][0]) \(.header["X-Namespace"][0]) \(.header["X-Ingress-Name"][0]) \(.header["X-Service-Name"][0]) \(.header["X-Service-Port"][0]) \(.header["X-Format"][0]) \(.header["X-Request-Id"][0])"'
# Headers of a client with these names.
own=(-H 'X-Code: 1' -H 'X-Format: f' -H 'X-Namespace: n' -H 'X-Ingress-Name: i' -H 'X-Service-Name: s' -H 'X-Service-Port: p' -H 'X-Request-Id: r')

# bats test_tags=cluster
@test "default-backend answers for a Service that is not there, and is told why; what protects the path stays" {
  ingress missing one.example / no-such-service default-backend=blue
  ingress shut two.example / no-such-service default-backend=blue denylist-source-range=0.0.0.0/0,::/0
  ingress closed three.example / no-such-service default-backend=blue auth-type=digest
  ingress there four.example / red default-backend=blue
  ingress neither five.example / red default-backend=no-such-service
  ingress foreign six.example / no-such-service default-backend=other/red
  ingress limited seven.example / no-such-service default-backend=blue limit-rpm=1 limit-burst-multiplier=0
  serve
  assert_equal 'blue 403 503 red red 503' "$(for host in one two three four five six; do who_answers "$host.example" /; done | xargs)"
  assert_equal '/a/b?c 503 /a/b?c e2e missing no-such-service 80 text/x some-id' "$(pod_gets "$told" one.example '/a/b?c' -H 'X-Request-Id: some-id' -H 'Accept: text/x' -H 'X-Code: 1')"
  assert_equal blue "$(who_answers one.example / -d x)"
  assert_equal '/ 1 null n i s p f r' "$(pod_gets "$told" four.example / "${own[@]}")" # to pods these are the client's
  assert_equal '/ 503 / e2e missing no-such-service 80 */* r' "$(pod_gets "$told" one.example / "${own[@]}")"
  assert_contains "$(statuses seven.example/{1..9})" '200' # the first
  assert_contains "$(statuses seven.example/{1..9})" '503 503 503'
  assert_contains "$(problems)" 'AnnotationRefused: e2e/neither: default-backend: Service e2e/no-such-service does not exist'
  assert_contains "$(problems)" 'AnnotationRefused: e2e/foreign: the annotation default-backend is "other/red"'
  assert_contains "$(problems)" 'ServiceNotFound: e2e/missing'
}

@test "default-backend lets nobody past a login, whether the Service is not there, has no port, or has no pod" {
  secret users Opaque 'auth=alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
  ingress gone gone.example / no-such-service default-backend=blue auth-type=basic auth-secret=users
  ingress port port.example / red:81 default-backend=blue auth-type=basic auth-secret=users
  ingress secret secret.example / no-such-service default-backend=blue auth-type=basic auth-secret=no-such-secret
  ingress url url.example / no-such-service default-backend=blue 'auth-url=http://auth.e2e.svc/check?status=401'
  ingress tls tls.example / no-such-service default-backend=blue auth-tls-secret=users
  ingress open open.example / no-such-service default-backend=blue
  serve
  assert_equal '503 503 503 503 503 200' "$(statuses {gone,port,secret,url,tls,open}.example/)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/gone: default-backend does not answer for a Service that cannot be found, because the path needs a login'
}

knows_early_hints() {
  [[ ${TIER-} == e2e ]] || printf '%s\n' 1.29.0 "$(<"$BATS_FILE_TMPDIR/nginx-version")" | sort -C -V
}

# Waits for the line of a request in the log, which says so of it.
is_logged() { # HOST TEXT
  if [[ ${TIER-} == e2e ]]; then
    wait_for_line 10 "access: .*$1/.*$2" controller_logs --since 30s
  else
    wait_for 15 grep -qE "access: .*$1/.*$2" "$dir/access.log"
  fi
}

# bats test_tags=cluster
@test "a 103 before an answer is no answer: not to a default backend, nor in the log, nor of an authentication service" {
  knows_early_hints || skip 'to this nginx, which is older than 1.29.0, it is the answer'
  ingress custom one.example / red default-backend=blue custom-http-errors=404,503
  ingress plain two.example / red
  ingress asks three.example / red 'auth-url=http://auth.e2e.svc/?hints=yes&status=418'
  ingress allowed four.example / red 'auth-url=http://auth.e2e.svc/?hints=yes&status=204'
  serve
  # (The default backend is asked with the same query, so it does the same.)
  assert_equal '404 503' "$(for code in 404 503; do pod_gets '.header["X-Code"][0]' one.example "/?status=$code&hints=yes"; done | xargs)"
  assert_equal '200 404 503' "$(for code in 200 404 503; do status two.example "/?status=$code&hints=yes"; done | xargs)"
  is_logged one.example '404&hints.* 404, .*: 404 : 404 in '
  is_logged two.example '404&hints.* 404, .*: 404 in '
  is_logged two.example '200&hints.* 200, .*: 200 in '
  assert_equal '500 200' "$(status three.example /) $(status four.example /)"
  assert_contains "$(ask three.example /)" 'it ended with status 418.'
  [[ ${TIER-} == e2e ]] || {
    ACCESS_LOG=json serve
    assert_equal '404 200' "$(pod_gets '.header["X-Code"][0]' one.example '/json?status=404&hints=yes') $(status two.example '/json?hints=yes')"
    wait_for 15 grep -q '"uri":"/json?status=404&hints=yes".*"upstream_status":"404 : 404"' "$dir/access.log"
    wait_for 15 grep -q '"uri":"/json?hints=yes".*"upstream_status":"200"' "$dir/access.log"
  }
}

@test "all codes of custom-http-errors that are let in are those that nginx takes" {
  ingress one one.example / red default-backend=blue custom-http-errors=400,401,413,444,494,495,496,497,498,499,599
  ingress two two.example / red default-backend=blue custom-http-errors=499
  serve
  assert_equal 'red red' "$(who_answers one.example /) $(who_answers two.example /)"
}

@test "with custom-http-errors the default backend answers in the place of errors, its status counts, and other errors stay" {
  ingress custom one.example / red default-backend=blue custom-http-errors='404, 500,502,403'
  ingress kept two.example / red default-backend=blue custom-http-errors=404,502 disable-proxy-intercept-errors=true
  ingress without three.example / red custom-http-errors=404
  ingress wrong four.example / red default-backend=blue custom-http-errors=404,600
  ingress shut five.example / red default-backend=blue custom-http-errors=503 limit-rpm=1 limit-burst-multiplier=0 enable-cors=true
  serve
  assert_equal '/?status=404 404 /x?status=404 e2e custom red 80 text/x some-id' "$(pod_gets "$told" one.example '/x?status=404' -H 'X-Request-Id: some-id' -H 'Accept: text/x')"
  assert_equal '/?status=500 500 /?status=500 e2e custom red 80 */* r' "$(pod_gets "$told" one.example '/?status=500' "${own[@]}")"
  assert_equal 'blue blue blue red' "$(for path in '/?status=404' '/?status=500' /drop /; do who_answers one.example "$path"; done | xargs)"
  assert_equal '200 503 404' "$(status one.example /drop) $(status one.example '/?status=503') $(status two.example '/?status=404')"
  assert_equal '/?status=503 /?status=401 /?status=404' "$(for at in 'one.example /?status=503' 'one.example /?status=401' 'two.example /?status=404'; do pod_gets .uri ${at}; done | xargs)" # the pod's own
  head -c 500000 /dev/zero | tr '\0' x >"$dir/body"
  assert_equal 'GET 0' "$(pod_gets '"\(.method) \(.body | length)"' one.example '/?status=404' --data-binary "@$dir/body")"
  assert_equal 200 "$(status one.example /drop -I)"
  assert_equal blue "$(who_answers two.example /drop)" # nginx's own error
  assert_equal '404 404' "$(status three.example '/?status=404') $(status four.example '/?status=404')"
  statuses five.example/{1..9} >"$dir/limited" # a limit for each replica
  assert_equal '"POST 500000"' "$(pod_gets '"\"\(.method) \(.body | length)\""' five.example / --data-binary "@$dir/body")"
  assert_equal '*' "$(header Access-Control-Allow-Origin five.example /)"
  assert_equal '502 503' "$(pod_gets '.header["X-Code"][0]' one.example /drop) $(pod_gets '.header["X-Code"][0]' five.example /)" # nginx's own
  assert_contains "$(problems)" 'AnnotationRefused: e2e/without: custom-http-errors has no effect, and the pods'"'"' own answers stay: there is no default-backend'
  assert_contains "$(problems)" 'AnnotationRefused: e2e/wrong: the annotation custom-http-errors is "404,600"'
}

@test "custom-http-errors without any default backend: all answers stay as they are" {
  secret users Opaque 'auth=alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
  ingress some one.example / red custom-http-errors=404,500,401
  ingress login three.example / red custom-http-errors=401,403 auth-type=basic auth-secret=users
  ingress sign-in four.example / red custom-http-errors=500 auth-url=http://auth.e2e.svc/signed-in auth-signin=/login
  serve
  assert_equal '"/?status=500" "/?status=401"' "$(for code in 500 401; do ask one.example "/?status=$code" | jq .uri; done | xargs -d '\n')"
  assert_equal '404 500 401 503 200' "$(for code in 404 500 401 503 200; do status one.example "/?status=$code"; done | xargs)"
  assert_equal '401 302' "$(status three.example /) $(status four.example /)"
  assert_equal 'Service e2e/red closed the connection before nginx had an answer: Ingress e2e/some.' "$(ask one.example /drop)"
}

@test "with DEFAULT_BACKEND, custom-http-errors needs no default-backend; other errors, and who has a default-backend, stay" {
  [[ ${TIER-unit} == unit ]] || skip 'the controller there has none'
  secret users Opaque 'auth=alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
  ingress custom one.example / red custom-http-errors=404,502,503
  ingress own two.example / red custom-http-errors=404 default-backend=blue
  ingress plain three.example / red
  ingress gone four.example / no-such-service custom-http-errors=404,503
  ingress missing five.example / no-such-service custom-http-errors=404
  ingress login six.example / red custom-http-errors=404,401 auth-type=basic auth-secret=users
  ingress hidden seven.example / no-such-service custom-http-errors=404,503 auth-type=basic auth-secret=users
  ingress path eight.example /path red
  DEFAULT_BACKEND=other/red:80 serve
  assert_equal 'other/red other/red blue 404 other/red 503 503' "$(for at in 'one /?status=404' 'one /drop' 'two /?status=404' 'three /?status=404' 'four /' 'five /' 'seven /'; do
    who_answers "${at%% *}.example" "${at#* }"
  done | sed 's/^red$/404/' | xargs)"
  assert_equal '/?status=404 404 /x?status=404 e2e custom red 80 text/x some-id' "$(pod_gets "$told" one.example '/x?status=404' -H 'X-Request-Id: some-id' -H 'Accept: text/x')"
  assert_equal '/?a 503 /x?a e2e gone no-such-service 80 */* r' "$(pod_gets "$told" four.example '/x?a' -H 'X-Request-Id: r')"
  assert_equal '404 200 401' "$(status one.example '/?status=404') $(status one.example /drop) $(pod_gets '.header["X-Code"][0]' six.example / -u bob:no)"
  # whom nobody has is asked plainly
  assert_equal '/x?y 1 null n i s p f r' "$(pod_gets "$told" nobody.example '/x?y' "${own[@]}")"
  assert_equal '"/p?status=404" 404' "$(pod_gets '.uri | tojson' eight.example '/p?status=404') $(status eight.example '/p?status=404')"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/hidden: DEFAULT_BACKEND does not answer for a Service that cannot be found, because the path needs a login'
  DEFAULT_BACKEND=other/nowhere:80 serve
  assert_equal '404 404' "$(status one.example '/?status=404') $(status nobody.example /)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/custom: DEFAULT_BACKEND: Service other/nowhere does not exist'
}

@test "with nginx's own 500, of which nobody knows how much of the body was read, the default backend gets none of it" {
  ingress asks one.example / red default-backend=blue custom-http-errors=500 'auth-url=http://auth.e2e.svc/?status=418'
  serve
  assert_equal '"GET 0"' "$(pod_gets '"\"\(.method) \(.body | length)\""' one.example / -d body)"
}

@test "a pod's errors that custom-http-errors does not name stay its own, such as a 502; nginx's own are its usual pages there" {
  ingress named one.example / red default-backend=blue custom-http-errors=404 proxy-body-size=1
  ingress without two.example / red custom-http-errors=500
  serve
  local host code
  for host in one two; do
    for code in 413 502 504; do assert_row "\"/?status=$code\"" "$(ask "$host.example" "/?status=$code" | jq .uri)" "$host $code"; done
  done
  assert_equal '413 502 502' "$(status one.example / -d xx) $(status one.example /drop) $(status two.example /drop)"
}

@test "what becomes of a default backend that fails as well, nginx says in a sentence" {
  [[ ${TIER-unit} == unit ]] || skip 'there, pods that listen are ready'
  ingress drops one.example / red default-backend=blue custom-http-errors=404,502
  ingress gone two.example / no-such-service default-backend=blue
  cluster_of_objects+=' | .endpointSlices.items[1].endpoints[0].addresses = ["127.77.0.99"]' # where nobody listens
  serve
  local sentence='Service e2e/blue accepts no connection: Ingress e2e'
  assert_equal "$sentence/drops." "$(ask one.example '/x?status=404')"
  assert_equal "$sentence/drops. 502" "$(ask one.example /drop -w '%{http_code}' | xargs)"
  assert_equal "$sentence/gone." "$(ask two.example /)"
}

@test "the first port of a default backend is looked for once, not for each path" {
  [[ ${TIER-unit} == unit ]] || skip 'no cluster is needed'
  ingress many many.example / red default-backend=large
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq -c '
    .ingresses.items[0].spec.rules[0].http.paths |= [range(2000) as $n | .[0] | .path = "/\($n)"]
    | .services.items += [.services.items[0] | .metadata.name = "large" | .spec.ports = [range(5000) | {name: "p\(.)", port: (. + 1)}]]' | digest_lists >"$dir/snapshot"
  timeout 8 "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_json '[.servers[].locations[] | select(.fallback.upstream == "large.e2e.1")] | length' 2000 <"$dir/model.json"
}
