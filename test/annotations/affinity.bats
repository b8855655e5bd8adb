# affinity: a client's requests go to one pod, by a cookie.
load words

# Prints the first Set-Cookie of an answer, without the value of the cookie.
cookie() { # HOST PATH [CURL_OPTION...]
  header set-cookie "$@" | head -n 1 | sed 's/=[0-9a-f]\{32\}/=KEY/; s/Expires=.*/Expires=DATE/'
}

# Prints who answers, and how often, with the cookies of a FILE.
with_cookies() { # FILE HOST PATH
  who_answers_paths "$2" "$3"{,,,,,,,,,} -- -b "$1" | sort | uniq -c | awk '{print $2 "=" $1}' | xargs
}

# bats test_tags=cluster
@test "affinity=cookie keeps each client at one pod, and clients come to all pods" {
  ingress kept one.example / many affinity=cookie affinity-mode=balanced
  ingress free two.example / many
  serve
  for client in {1..9}; do
    pod=$(who_answers one.example / -c "$dir/$client")
    assert_equal "$pod=10" "$(with_cookies "$dir/$client" one.example /)"
    echo "$pod"
  done >"$dir/pods"
  (($(sort -u "$dir/pods" | wc -l) > 1))
  assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly' "$(cookie one.example /)"
  assert_equal '' "$(cookie one.example / -b "$dir/1")"
  assert_equal '' "$(cookie two.example /)"
}

# bats test_tags=cluster
@test "with affinity-mode=persistent the cookie names the pod, and where its pod is gone, it names the next one" {
  ingress kept one.example / many affinity=cookie affinity-mode=persistent session-cookie-name=stay
  serve
  for client in {1..9}; do
    pod=$(who_answers one.example / -c "$dir/$client")
    assert_equal "$pod=10" "$(with_cookies "$dir/$client" one.example /)"
    echo "$pod"
  done >"$dir/pods"
  (($(sort -u "$dir/pods" | wc -l) > 1))
  value=$(header set-cookie one.example / | sed 's/;.*//')
  [[ $value =~ ^stay=[0-9a-f]{32}\.[0-9]+$ ]]
  assert_equal '' "$(header set-cookie one.example / -b "$value")"
  assert_equal "$value; Path=/; HttpOnly" "$(header set-cookie one.example / -b "${value%.*}.1234")"
  [[ ${TIER-} == e2e || $(nginx -v 2>&1) != *1.22.* ]] || skip 'this nginx knows no "sticky"'
  pod=$(who_answers one.example / -b "$value")
  for key in {100..130}; do who_answers one.example / -b "stay=${value:5:29}$key.${value#*.}"; done | sort -u >"$dir/pods"
  assert_equal "$pod" "$(<"$dir/pods")"
}

# Serves with only some of the pods of Service many; SLICE is jq's.
serve_with() { # SLICE
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq "(.endpointSlices.items[] | select(.metadata.name == \"many-1\")).endpoints |= .[$1]" | serve_lists
}

# Prints who answers each client.
pods_of_clients() { # HOST
  local client
  for client in {1..30}; do who_answers "$1" / -b "$dir/$1-$client"; done
}

@test "when a pod comes, few clients move, and none with affinity-mode=persistent; when one goes, only its clients do" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  ingress balanced one.example / many affinity=cookie
  ingress persistent two.example / many affinity=cookie affinity-mode=persistent
  serve_with 0:2
  for client in {1..30}; do
    for host in {one,two}.example; do ask "$host" / -o /dev/null -c "$dir/$host-$client"; done
  done
  for host in {one,two}.example; do pods_of_clients $host >"$dir/$host-before"; done
  serve_with 0:3
  for host in {one,two}.example; do
    pods_of_clients $host >"$dir/$host-more"
    diff "$dir/$host-before" "$dir/$host-more" | sed -n 's/^> //p' >"$dir/$host-moved"
  done
  (($(wc -l <"$dir/one.example-moved") < 20))
  refute_contains "$(<"$dir/one.example-moved")" red
  refute_contains "$(<"$dir/one.example-moved")" blue
  [[ $(nginx -v 2>&1) == *1.22.* ]] || assert_equal '' "$(<"$dir/two.example-moved")"
  serve_with 1:3
  for host in {one,two}.example; do
    pods_of_clients $host >"$dir/$host-less"
    assert_equal '' "$(paste "$dir/$host-more" "$dir/$host-less" | awk '$1 != $2 && $1 != "red"')"
    refute_contains "$(<"$dir/$host-less")" red
  done
}

@test "while a pod fails, another answers; with session-cookie-change-on-failure=true the client stays there" {
  [[ ${TIER-} != e2e ]] || skip 'what pods there are is given here, by a snapshot'
  [[ $(nginx -v 2>&1) != *1.22.* ]] || old_nginx=yes # it knows no "sticky"
  ingress back one.example / many affinity=cookie
  ingress stay two.example / many affinity=cookie session-cookie-change-on-failure=true
  serve_with 0:3
  for client in {1..30}; do
    for host in {one,two}.example; do ask "$host" / -o /dev/null -c "$dir/$host-$client"; done
  done
  for host in {one,two}.example; do pods_of_clients $host >"$dir/$host-before"; done
  # What was red has an address where nothing listens, and then answers again.
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json |
    jq '(.endpointSlices.items[] | select(.metadata.name == "many-1")).endpoints[0].addresses = ["127.77.0.9"]' | serve_lists
  for client in {1..30}; do
    for host in {one,two}.example; do ask "$host" / -o /dev/null -b "$dir/$host-$client" -c "$dir/$host-$client" -w '%{http_code} %header{set-cookie}\n' >>"$dir/$host-answers"; done
  done
  assert_equal '200 ' "$(sort -u "$dir/one.example-answers")"
  assert_equal '200 200 INGRESSCOOKIE=KEY' "$(sed 's/=.*/=KEY/' "$dir/two.example-answers" | sort -u | xargs)"
  serve_with 0:3
  for host in {one,two}.example; do pods_of_clients $host >"$dir/$host-after"; done
  assert_equal "$(<"$dir/one.example-before")" "$(<"$dir/one.example-after")"
  assert_contains "$(<"$dir/two.example-before")" red
  [[ -n ${old_nginx-} ]] || refute_contains "$(<"$dir/two.example-after")" red
}

@test "what is no key of ours begins a session, and the pod's own cookies stay" {
  ingress kept one.example / many affinity=cookie session-cookie-name=hello-cookie
  serve
  for value in x 0123456789abcdef0123456789abcde '0123456789abcdef0123456789abcdefg' 1663853000.123.456.789; do
    assert_equal 'hello-cookie=KEY; Path=/; HttpOnly' "$(cookie one.example / -b "hello-cookie=$value")"
  done
  assert_equal '' "$(cookie one.example / -b 'a=b; hello-cookie=0123456789abcdef0123456789abcdef; c=d')"
  assert_equal $'hello-cookie=KEY; Path=/; HttpOnly\nown=1' "$(header set-cookie one.example '/?header=Set-Cookie:own=1' | sed 's/=[0-9a-f]\{32\}/=KEY/' | sort)"
}

@test "the cookie has the attributes that annotations name" {
  ingress all one.example /app many affinity=cookie session-cookie-name=SERVERID session-cookie-path=/foo/bar session-cookie-domain=foo.bar \
    session-cookie-max-age=259200 session-cookie-expires=172800 session-cookie-secure=true session-cookie-samesite=strict session-cookie-change-on-failure=false
  ingress path two.example /something many affinity=cookie session-cookie-expires=172800 session-cookie-secure=false
  ingress path-2 two.example /else many affinity=cookie
  ingress none three.example / many affinity=cookie session-cookie-samesite=None session-cookie-conditional-samesite-none=true
  ingress any-host '' /any many affinity=cookie session-cookie-samesite=Lax
  serve
  assert_equal 'SERVERID=KEY; Path=/foo/bar; Max-Age=259200; Domain=foo.bar; Secure; HttpOnly; SameSite=Strict; Expires=DATE' "$(cookie one.example /app)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/something; Max-Age=172800; HttpOnly; Expires=DATE' "$(cookie two.example /something/below)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/else; HttpOnly' "$(cookie two.example /else)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly; SameSite=None' "$(cookie three.example /)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly' "$(cookie three.example / -A 'Mozilla/5.0 (iPhone; CPU iPhone OS 12_1 like Mac OS X) AppleWebKit/605.1.15')"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/any; HttpOnly; SameSite=Lax' "$(cookie four.example /any)"
  assert_contains "$(ask_tls two.example /something -o /dev/null -D -)" 'Path=/something; Max-Age=172800; Secure; HttpOnly'
}

@test "session-cookie-expires is a date, for new sessions alone; it opens nothing that is protected, and auth-url goes on without" {
  secret users Opaque 'auth=alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='
  ingress date one.example / many affinity=cookie session-cookie-expires=172800 affinity-mode=balanced
  ingress login two.example / many affinity=cookie session-cookie-expires=172800 auth-type=basic auth-secret=users satisfy=any
  ingress list three.example / many affinity=cookie session-cookie-expires=60 allowlist-source-range=192.0.2.1 satisfy=any
  ingress url four.example / many affinity=cookie session-cookie-expires=60 'auth-url=http://auth.e2e.svc/?status=401'
  ingress url-in four.example /in many affinity=cookie session-cookie-expires=60 auth-url=http://auth.e2e.svc/
  serve
  local cookies date now
  now=$(date +%s)
  cookies=$(header set-cookie one.example /)
  date=${cookies##*Expires=}
  assert_contains "$(for s in {-1..9}; do TZ=UTC LC_ALL=C date -d "@$((now + 172800 + s))" '+%a, %d-%b-%y %T GMT'; done)" "$date"
  assert_equal '' "$(cookie one.example / -H "Cookie: ${cookies%%;*}")"
  assert_equal '401 401 403 401' "$(statuses two.example/ two.example/nginx-date/172800 three.example/ four.example/)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/in; Max-Age=60; HttpOnly' "$(cookie four.example /in)"
  assert_equal /nginx-date/172800 "$(pod_gets .uri one.example /nginx-date/172800)"
}

@test "session-cookie-expires is a date with affinity-mode persistent, too" {
  ingress persistent one.example / many affinity=cookie session-cookie-expires=86400 affinity-mode=persistent
  serve
  assert_contains "$(header set-cookie one.example /)" '; Max-Age=86400; HttpOnly; Expires='
}

@test "of two Ingresses for one host, only the one that asks has sessions" {
  ingress one one.example /foo/bar many affinity=cookie
  ingress two one.example /foo many
  serve
  assert_equal 'INGRESSCOOKIE=KEY; Path=/foo/bar; HttpOnly' "$(cookie one.example /foo/bar)"
  assert_equal '' "$(cookie one.example /foo)"
}

@test "an answer that is nginx's own begins no session; a pod's begins one, whatever its status" {
  ingress denied one.example / many affinity=cookie denylist-source-range=0.0.0.0/0,::/0
  ingress error two.example / many affinity=cookie
  serve
  assert_equal '' "$(cookie one.example /)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly' "$(cookie two.example '/?status=404')"
}

@test "headers that nginx tells pods and clients stay, with sessions too" {
  ingress kept one.example / many affinity=cookie
  serve
  assert_equal 'one.example null' "$(pod_gets '"\(.header["X-Forwarded-Host"][0]) \(.header["X-Original-Url"])"' one.example / -H 'X-Original-URL: /x' -H 'X-Forwarded-Host: evil.example')"
  assert_equal backend "$(header server one.example /)"
}

@test "no value of these annotations becomes a directive or an attribute: it is a problem, and the path is served" {
  local bad=$'x; Domain=evil.example"; } location /x { return 200 hacked; } #\n$uri{' names=(affinity affinity-mode session-cookie-{name,path,domain,expires,max-age,secure,samesite,conditional-samesite-none,change-on-failure})
  for name in "${names[@]}"; do
    if [[ $name == affinity ]]; then ingress "$name" "$name.example" / many "$name=$bad"; else ingress "$name" "$name.example" / many affinity=cookie "$name=$bad"; fi
  done
  ingress comma comma.example '/a,b' many affinity=cookie
  serve
  problems=$(problems)
  for name in "${names[@]}"; do
    assert_contains "$problems" "AnnotationRefused: e2e/$name: "
    assert_equal '200 200' "$(statuses "$name.example"/{,x})"
    [[ $name == affinity ]] || assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly' "$(cookie "$name.example" /)"
  done
  assert_equal '' "$(cookie affinity.example /)"
  assert_equal 'INGRESSCOOKIE=KEY; Path=/; HttpOnly' "$(cookie comma.example /a,b)"
}

@test "a path with a session is closed like any other beside a protected path that is refused, and nobody else is harmed" {
  ingress plain plain.example / red
  ingress refused shut.example '/app(/|$)(.*)' red whitelist-source-range=127.0.0.0/8
  ingress session shut.example / red affinity=cookie
  serve
  assert_equal '200 503' "$(statuses plain.example/ shut.example/)"
}
