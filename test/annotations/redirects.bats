# Redirects, and further hosts.
load words

# Prints the status and the Location of the answer.
moved() { # HOST PATH [CURL_OPTION...]
  ask "$@" -o /dev/null -w '%{http_code} %header{location}\n'
}

# bats test_tags=cluster
@test "permanent-redirect and temporal-redirect send clients elsewhere, with their codes" {
  ingress permanent one.example / red permanent-redirect=https://www.example.org/a?b=c
  ingress temporal two.example / red temporal-redirect=http://www.example.org
  ingress codes three.example /p red permanent-redirect=http://a.example permanent-redirect-code=308
  ingress t-code three.example /t red temporal-redirect=http://a.example temporal-redirect-code=307
  ingress both four.example / red permanent-redirect=http://p.example temporal-redirect=http://t.example
  ingress path five.example / red permanent-redirect=/new-location relative-redirects=false
  ingress relative six.example / red permanent-redirect=/new-location relative-redirects=true
  serve
  assert_equal '301 https://www.example.org/a?b=c' "$(moved one.example /x)"
  assert_equal '302 http://www.example.org' "$(moved two.example /x)"
  assert_equal '308 http://a.example' "$(moved three.example /p)"
  assert_equal '307 http://a.example' "$(moved three.example /t)"
  assert_equal '302 http://t.example' "$(moved four.example /)"
  assert_equal '301 http://five.example/new-location' "$(moved five.example /)"
  assert_equal '301 /new-location' "$(moved six.example /)"
}

@test "a wrong URL closes the path, which no pod is meant to answer; an empty one or a wrong code is a problem" {
  ingress script one.example / red permanent-redirect=javascript:alert
  ingress quote two.example / red 'temporal-redirect=http://a.example";} location /x {'
  ingress variable three.example / red 'permanent-redirect=http://a.example/$http_cookie'
  ingress empty five.example / red permanent-redirect=
  ingress code four.example / red permanent-redirect=http://a.example permanent-redirect-code=200
  for code in 300 304 305 306 309; do ingress "code-$code" "code-$code.example" / red temporal-redirect=http://a.example "temporal-redirect-code=$code"; done
  serve
  assert_equal '503 503 503 200' "$(statuses {one,two,three,five}.example/)"
  assert_equal '301 http://a.example' "$(moved four.example /)"
  for code in 300 304 305 306 309; do assert_equal '302 http://a.example' "$(moved "code-$code.example" /)"; done
  assert_equal '7 3' "$(problems | grep -c ^AnnotationRefused) $(problems | grep -c ^ProtectionNotAvailable)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/code: the annotation permanent-redirect-code is "200"; allowed: 301, 302, 303, 307 and 308'
}

# bats test_tags=cluster
@test "a redirect needs no Service, but tells nobody more than the path with one would" {
  ingress permanent one.example /old no-such-service permanent-redirect=http://a.example
  ingress temporal two.example / red:81 temporal-redirect=http://a.example
  ingress root three.example / no-such-service app-root=/foo
  ingress login four.example / no-such-service permanent-redirect=http://a.example auth-tls-secret=no-such-secret
  ingress shut five.example / no-such-service permanent-redirect=http://a.example denylist-source-range=0.0.0.0/0,::/0
  ingress cors six.example / no-such-service permanent-redirect=http://a.example enable-cors=true
  serve
  assert_equal '301 http://a.example' "$(moved one.example /old/x)"
  assert_equal '302 http://a.example' "$(moved two.example /)"
  assert_equal '302 http://three.example/foo' "$(moved three.example /)"
  assert_equal '404 503 503 503' "$(statuses one.example/ three.example/foo four.example/ five.example/)"
  assert_equal '*' "$(header access-control-allow-origin six.example /)"
  assert_contains "$(problems)" 'ServiceNotFound: e2e/permanent'
}

@test "app-root redirects / and nothing else, and with a wrong value closes / and nothing else" {
  ingress root one.example / red app-root=/foo
  ingress wrong two.example / red app-root=foo
  ingress wrong-below three.example /foo red app-root=http://a.example/
  ingress rest three.example / blue
  ingress wrong-nobody four.example / absent app-root=foo
  ingress empty five.example / red app-root=
  serve
  assert_equal '302 http://one.example/foo' "$(moved one.example /)"
  assert_equal 'red red red blue red' "$(who_answers one.example /foo) $(who_answers two.example /foo) $(who_answers three.example /foo) $(who_answers three.example /x) $(who_answers five.example /)"
  assert_equal '503 503 503' "$(statuses {two,three,four}.example/)"
  assert_equal 4 "$(problems | grep -c '^AnnotationRefused: .*app-root is')"
}

# bats test_tags=cluster
@test "permanent-redirect and temporal-redirect may have variables that make no other host and no header of what clients say" {
  ingress uri one.example / red 'permanent-redirect=https://new.test$request_uri'
  ingress host '*.two.example' / red 'permanent-redirect=https://www.$host$request_uri' permanent-redirect-code=308
  ingress scheme three.example / red 'temporal-redirect=$scheme://${host}:8443/in?from=$request_uri'
  ingress args four.example / red 'temporal-redirect=https://new.test/in$is_args$args'
  ingress path five.example / red 'temporal-redirect=/in$request_uri' relative-redirects=true
  ingress query six.example / absent 'permanent-redirect=https://new.test/?$query_string&by=$request_method'
  ingress below ten.example / red 'permanent-redirect=https://$host.new.test/'
  local number=0 value
  for value in 'https://new.test$uri' 'https://new.test$document_uri' 'https://new.test$args' 'https://$request_uri' '$request_uri' '/$request_uri' '//$host' 'https://new.test$http_host' \
    'https://new.test/$arg_a' 'https://new.test/$cookie_a' 'https://new.test/$request_uris' 'https://new.test/$1' '$http_x://new.test' 'https://new.test:$request_uri'; do
    number=$((number + 1))
    ingress "no-$number" "no-$number.example" / red "permanent-redirect=$value"
  done
  serve
  assert_equal '301 https://new.test/a%20b?c=%0d%0aX:y 301 https://new.test//evil.test/' "$({ moved one.example '/a%20b?c=%0d%0aX:y' && moved one.example //evil.test/; } | xargs)"
  assert_equal '308 https://www.a.two.example/x?y 301 https://ten.example.new.test/ 302 http://three.example:8443/in?from=/x?y' "$({ moved a.two.example:80 '/x?y' && moved ten.example / && moved three.example '/x?y'; } | xargs)"
  assert_equal '302 https://new.test/in?a=b 302 https://new.test/in 302 /in//evil.test 301 https://new.test/?a&by=GET' \
    "$({ moved four.example '/?a=b' && moved four.example / && moved five.example //evil.test && moved six.example '/?a'; } | xargs)"
  assert_equal '' "$(header X-Evil one.example '/%0d%0aX-Evil:%20yes?%0d%0aX-Evil:%20yes')"
  while ((number > 0)); do
    assert_equal "$number: 503" "$number: $(status "no-$number.example" /)"
    number=$((number - 1))
  done
}

@test "app-root redirects / of each of its hosts, also where its Ingress has only other paths, unless / is another namespace's, or exactly / another's" {
  ingress path one.example /foo red app-root=/foo server-alias=alias.one.example
  ingress regex two.example '/bar(/|$)(.*)' red app-root=/bar/ use-regex=true
  ingress beside three.example /foo red app-root=/foo
  ingress owner three.example / blue
  ingress other/owner four.example /x red bash-ingress.local/share-host-with=e2e
  ingress other/root four.example / red
  ingress guest four.example /foo red app-root=/foo
  ingress exact five.example /foo red app-root=/foo
  ingress front five.example Exact:/ blue
  serve
  assert_equal '302 http://one.example/foo 302 http://alias.one.example/foo 302 http://two.example/bar/' "$(for host in one alias.one two; do moved "$host.example" /; done | xargs)"
  assert_equal 'red 404 red 404' "$(who_answers one.example /foo) $(who_answers one.example /fo) $(who_answers two.example /bar/x) $(who_answers two.example /x)"
  assert_equal '302 http://three.example/foo' "$(moved three.example /)"
  assert_equal 'blue other/red blue' "$(who_answers three.example /x) $(who_answers four.example /) $(who_answers five.example /)"
}

# Makes the rule of an Ingress of the test one with a host and no paths, and changes more of its spec.
pathless() { # NAME [EDIT]
  local file
  file=$(echo "$BATS_TEST_TMPDIR/objects"/*-"e2e-$1.json")
  jq -c ".spec.rules |= map(del(.http)) | .spec |= (${2:-.})" "$file" >"$file.new"
  mv "$file.new" "$file"
}

# bats test_tags=cluster
# (Ingresses that are created in the same second are in the order of their names.)
@test "a redirect counts for a host without paths and default backend, and for one with paths only where these are" {
  ingress permanent one.example / red permanent-redirect=https://new.test/ permanent-redirect-code=308 server-alias=alias.one.example
  pathless permanent
  ingress temporal two.example / red 'temporal-redirect=https://new.test$request_uri' temporal-redirect-code=307
  pathless temporal
  ingress rewrite three.example / red 'rewrite-target=https://new.test/in/$1'
  pathless rewrite
  TLS=some ingress https four.example / red ssl-redirect=true
  pathless https
  ingress force five.example / red force-ssl-redirect=true
  pathless force
  ingress www six.example / red from-to-www-redirect=true permanent-redirect=https://new.test/
  pathless www
  ingress root seven.example / red app-root=/app
  pathless root
  ingress exact eight.example Exact:/only red permanent-redirect=https://new.test/
  ingress refused nine.example '/bad%20path' red permanent-redirect=https://new.test/
  ingress wrong ten.example / red permanent-redirect=ftp://new.test/
  pathless wrong
  ingress backend eleven.example / red 'rewrite-target=https://new.test/$1'
  pathless backend '.defaultBackend = {service: {name: "red", port: {number: 80}}}'
  ingress beside one.example /app blue
  ingress taken one.example / auth
  pathless taken '.defaultBackend = {service: {name: "auth", port: {number: 80}}}'
  TLS=some ingress https-beside twelve.example / red ssl-redirect=true
  pathless https-beside
  ingress answers twelve.example / auth
  pathless answers '.defaultBackend = {service: {name: "auth", port: {number: 80}}}'
  ingress login thirteen.example / red permanent-redirect=https://new.test/ allowlist-source-range=192.0.2.1
  pathless login
  serve
  assert_equal '308 https://new.test/ 308 https://new.test/ blue' "$({ moved one.example /x && moved alias.one.example / && who_answers one.example /app/x; } | xargs)"
  assert_equal '307 https://new.test/x?y 302 https://new.test/in/' "$({ moved two.example '/x?y' && moved three.example /x; } | xargs)"
  assert_equal '308 https://four.example/x 308 https://five.example/x' "$({ moved four.example /x && moved five.example /x; } | xargs)"
  assert_equal '404 404' "$(statuses_tls {four,five}.example/x)"
  assert_equal '308 http://six.example:80/x 301 https://new.test/' "$({ moved www.six.example /x && moved six.example /x; } | xargs)"
  assert_equal '302 http://seven.example/app 404' "$({ moved seven.example / && status seven.example /x; } | xargs)"
  assert_equal '301 https://new.test/ 404 404 503' "$({ moved eight.example /only && statuses {eight,nine,ten}.example/x; } | xargs)"
  assert_equal '302 https://new.test/ auth 404' "$({ moved eleven.example /x && who_answers twelve.example /x && status thirteen.example /; } | xargs)"
  problems=$(problems | grep -v 'Secret e2e/some does not exist' | sort)
  assert_equal 5 "$(wc -l <<<"$problems")"
  assert_contains "$problems" 'NoBackend: e2e/login: nothing is served for host thirteen.example: it has no path and no default backend'
  assert_contains "$problems" 'PathTaken: e2e/taken: the default of host one.example is already taken by Ingress e2e/permanent'
  assert_contains "$problems" 'ProtectionNotAvailable: e2e/wrong: closed, because it is not clear where its requests are to go'
  assert_contains "$problems" 'PathRefused: e2e/refused'
}

@test "an Ingress with a default backend and hosts in spec.tls only is redirected, as one without any host" {
  TLS=some ingress tls one.example / red permanent-redirect=https://new.test/
  pathless tls 'del(.rules) | .defaultBackend = {service: {name: "red", port: {number: 80}}}'
  serve
  assert_equal '301 https://new.test/' "$(moved one.example /x)"
  assert_equal 301 "$(status_tls one.example /x)"
}

# bats test_tags=cluster
@test "from-to-www-redirect leads from www to the host and back, with scheme, port, path and query, but takes no host that has rules" {
  ingress bare one.example / red from-to-www-redirect=true
  ingress www www.two.example / red from-to-www-redirect=true
  ingress cut four.example / red from-to-www-redirect=true preserve-trailing-slash=false
  ingress taken three.example / red from-to-www-redirect=true
  ingress other/owner www.three.example / red
  serve
  assert_equal '308 http://one.example:80/foo?a=b' "$(moved www.one.example '/foo?a=b')"
  assert_equal '308 http://one.example:80/foo/ 308 http://four.example:80/foo' "$({ moved www.one.example /foo/ && moved www.four.example /foo/; } | xargs)"
  assert_equal '308 http://one.example:8080' "$(moved www.one.example:8080 /)"
  assert_equal '308 https://one.example:443' "$(ask_tls www.one.example / -o /dev/null -w '%{http_code} %header{location}')"
  assert_equal '308 http://www.two.example:80' "$(moved two.example /)"
  assert_equal 'other/red red red' "$(who_answers www.three.example /) $(who_answers one.example /) $(who_answers www.two.example /)"
}

# bats test_tags=cluster
@test "server-alias serves the same under further hosts, and takes none that somebody has" {
  ingress a foo.example /a red server-alias=Bar.Example,*.wild.example,taken.example
  ingress b foo.example /b blue
  ingress other/owner taken.example / red
  ingress late late.example / auth server-alias=bar.example
  ingress wrong wrong.example / auth 'server-alias=~^w.*'
  ingress part part.example / auth 'server-alias=~^w.*,right.example, wr_ong'
  serve
  assert_equal 'red blue red 404' "$(who_answers bar.example /a) $(who_answers bar.example /b) $(who_answers x.wild.example /a) $(who_answers bar.example /c)"
  assert_equal 'other/red auth' "$(who_answers taken.example /a) $(who_answers wrong.example /)"
  assert_equal 'auth auth' "$(who_answers part.example /) $(who_answers right.example /)"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/part: the annotation server-alias is'
  assert_equal bar.example "$(pod_gets .host bar.example /a)"
}

@test "a closed Ingress keeps its aliases, and others get none of their requests" {
  ingress closed one.example /a red server-alias=one.wild.example auth-type=digest
  ingress beside one.example /b blue
  ingress other/wildcard '*.wild.example' / red
  ingress other/late late.example / red server-alias=one.wild.example
  serve
  assert_equal '503 503' "$(statuses one.example/a one.wild.example/a)"
  assert_equal 'blue other/red' "$(who_answers one.wild.example /b) $(who_answers two.wild.example /a)"
  assert_equal 404 "$(status one.wild.example /c)"
}

@test "force-ssl-redirect and ssl-redirect send clients to HTTPS with 308 and the whole path; other redirects keep theirs" {
  ingress force one.example / red force-ssl-redirect=true
  TLS=some ingress ssl two.example / red ssl-redirect=true preserve-trailing-slash=true
  TLS=some ingress short five.example / red ssl-redirect=true
  TLS=some ingress cut six.example / red ssl-redirect=true preserve-trailing-slash=false
  ingress port three.example / red permanent-redirect=/x use-port-in-redirects=true
  ingress with-port four.example / red force-ssl-redirect=true use-port-in-redirects=true
  serve
  assert_equal '308 https://one.example/a/?b=c' "$(moved one.example '/a/?b=c')"
  assert_equal '308 https://two.example/ 308 https://five.example 308 https://five.example/a/' "$({ moved two.example / && moved five.example / && moved five.example /a/; } | xargs)"
  assert_equal '308 https://six.example 308 https://six.example/a 308 https://six.example/a/?b=/' "$(for uri in / /a/ '/a/?b=/'; do moved six.example "$uri"; done | xargs)"
  assert_equal 308 "$(status one.example / -H 'X-Forwarded-Proto: https')"
  assert_equal red "$(ask_tls one.example / -o /dev/null -w '%{http_code}' | sed s/200/red/)"
  assert_equal '301 http://three.example:8080/x' "$(moved three.example:8080 /)"
  assert_equal '308 https://four.example:443/x' "$(moved four.example /x)"
}

@test "a 308 says that HTTPS is needed only where the same URL is served by that; other redirects with this code say where to look" {
  ingress force https.example / red force-ssl-redirect=true
  ingress cut cut.example / red force-ssl-redirect=true preserve-trailing-slash=false
  ingress port port.example / red force-ssl-redirect=true use-port-in-redirects=true
  ingress www www.from.example / red from-to-www-redirect=true
  ingress moved moved.example / red permanent-redirect=https://new.example/ permanent-redirect-code=308
  ingress same same.example / red permanent-redirect=https://same.example/new permanent-redirect-code=308
  ingress longer name.exam / red permanent-redirect=https://name.example/a permanent-redirect-code=308
  serve
  local url
  for url in {https,cut,port}.example/{,a,a/,a/b?c=/} https.example:8080/a; do
    assert_row '308 This is served over HTTPS only.' "$(said "${url%%/*}" "/${url#*/}")" "$url"
  done
  for url in {from,moved,same}.example/{,a} name.exam/a 'moved.example/x%20https://moved.example/x'; do
    assert_row '308 This is at another address: the header Location has it.' "$(said "${url%%/*}" "/${url#*/}")" "$url"
  done
  assert_equal '308 This is at another address: the header Location has it.' "$(ask_tls from.example / -w '%{http_code} ' -o "$dir/answer")$(<"$dir/answer")"
}

# Prints the status of the answer, and its body.
said() { # HOST PATH
  printf '%s%s\n' "$(ask "$1" "$2" -w '%{http_code} ' -o "$dir/answer")" "$(<"$dir/answer")"
}

@test "the aliases of a namespace have limits, whatever its Ingresses have: the oldest count" {
  local id name aliases
  for id in {1..3}; do
    aliases=
    for name in {1..20}; do aliases+=",*.x$id-$name.example"; done
    ingress "a$id" one.example "/$id" red "server-alias=${aliases:1}"
  done
  ingress other/a two.example / red server-alias=*.two.example
  serve
  assert_equal '200 200 404 200' "$(statuses a.x1-1.example/1 a.x2-20.example/2 a.x3-20.example/3 a.two.example/)"
  assert_equal 'LimitExceeded: e2e/a3: not all of its server-alias are served: those of its namespace come to more than 1000 hosts, 50 wildcards or 10000 paths' "$(problems)"
}

@test "what an Ingress adds to its host, such as app-root, lets no other namespace in there, nor gives way to one that is not" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress mine own.example /ui red app-root=/ui
  ingress other/login own.example /login red
  ingress other/challenge own.example /.well-known/acme-challenge red
  ingress other/slash own.example / red
  local mode
  for mode in namespace strict; do
    HOST_OWNERSHIP=$mode serve
    assert_equal "$mode: 302 200 404 404" "$mode: $(statuses own.example/{,ui,login,.well-known/acme-challenge})"
    assert_equal 3 "$(problems | grep -c '^HostTaken: other/')"
  done
}

@test "an alias takes no host of another namespace's wildcard where HOST_OWNERSHIP is strict, however old its Ingress is" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress old one.example / red server-alias=a.wild.example
  ingress other/wild '*.wild.example' / red
  HOST_OWNERSHIP=strict serve
  assert_equal 'other/red other/red' "$(who_answers a.wild.example /) $(who_answers b.wild.example /)"
  assert_contains "$(problems)" 'HostTaken: e2e/old: host a.wild.example belongs to namespace other'
}

@test "a younger Ingress beyond a limit takes no alias that another has, nor does a canary" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress served one.example /a red server-alias=alias.example
  ingress other/www two.example / red from-to-www-redirect=true
  ingress beyond one.example /b blue server-alias=alias.example,www.two.example denylist-source-range=10.0.0.0/8
  ingress other/third three.example / red server-alias=third.example
  ingress canary third.example / blue canary=true
  LIMITS='namespace_ingresses=1' serve
  assert_equal '200 404 308' "$(statuses alias.example/{a,b} www.two.example/)"
  LIMITS='' serve
  assert_equal 'other/red' "$(who_answers third.example /)"
}
