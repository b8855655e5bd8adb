# Paths for ACME challenges, where an authority asks before it gives a host a certificate: beside what protects their
# host, and while they come and go.
load words

challenge=/.well-known/acme-challenge/token

@test "an authority reaches its challenge beside a protected path that is refused, unless that is one of a challenge" {
  local number=0 long answers
  printf -v long '/%01100d' 0
  shut() { # ANSWERS PATH [ANNOTATION...]   of the challenge, of a path beside, of the host's other paths
    number=$((number + 1))
    ingress "guard-$number" "h$number.example" "$2" red whitelist-source-range=10.0.0.0/8 "${@:3}"
    ingress "solver-$number" "h$number.example" "Exact:$challenge" blue whitelist-source-range=0.0.0.0/0,::/0
    ingress "beside-$number" "h$number.example" /docs/here blue
    ingress "rest-$number" "h$number.example" / blue
    expected+=("$1 $2") hosts+=("h$number.example"{"$challenge",/docs/here,/})
  }
  local expected=() hosts=()
  shut '200 200 503' '/a b'
  shut '200 200 503' '/my%20files'
  shut '200 200 503' /ü
  shut '200 200 503' /%C3%BC
  shut '200 200 503' "$long"
  shut '200 503 503' /docs/here%7e/../x
  shut '200 503 503' /docs/%68ere
  shut '200 200 503' /docs/a%20b
  # what could be meant anywhere in its folder
  shut '200 503 503' /a%2Fb
  shut '200 503 503' /docs/a%2Fb
  shut '200 503 503' /docs/a%2e
  shut '200 503 503' /docs/a%5cb
  shut '200 503 503' /docs/a%25b
  shut '200 503 503' /docs/a%00b
  shut '200 503 503' /docs/a%ff
  shut '200 503 503' /docs/100%
  shut '200 200 503' /.well-known/a%2Fb
  shut '200 503 503' '/(a|b)+/x' use-regex=true
  shut '200 503 503' '/(?!api).*' use-regex=true
  shut '200 503 503' '/.{1,200}' use-regex=true
  # among challenges
  shut '503 200 503' '/.well-known/acme-challenge/a b'
  shut '503 200 503' /.well-known/acme-challenge/a%2Fb
  shut '503 200 503' /.well-known/acme-challenge/a%20b
  shut '503 200 503' "/.well-known/acme-challenge$long"
  shut '503 200 503' /.well-known/acme%2Dchallenge/a%2Fb
  shut '503 503 503' /.well-known%2facme-challenge%2ftoken
  shut '503 503 503' '/\.well-known/acme-challenge/(a|b)+' use-regex=true
  serve
  read -ra answers <<<"$(statuses "${hosts[@]}")"
  for number in "${!expected[@]}"; do
    assert_equal "${expected[number]}" "${answers[*]:number*3:3} ${expected[number]:12}"
  done
}

@test "beside a protected path that could be any, the challenge is all that is open: no other path, and none that the pod gets as another" {
  ingress guard one.example /a%2Fb red auth-url=http://nobody
  ingress all one.example /.well-known/acme-challenge blue
  ingress alike one.example /.well-known/acme-challenges blue
  ingress above one.example /.well-known blue
  ingress moved two.example "Exact:$challenge" blue rewrite-target=/admin
  ingress moved-guard two.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  ingress regex three.example "$challenge.*" blue use-regex=true
  ingress regex-guard three.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  # what the Ingress protects that has the path holds, too
  ingress own four.example "Exact:$challenge" blue whitelist-source-range=10.0.0.0/8
  ingress own-guard four.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  # all of them, and those of their folder
  ingress folder five.example /.well-known/acme-challenge blue
  ingress folder-guard five.example '/.well-known/acme-challenge/a b' red whitelist-source-range=10.0.0.0/8
  serve
  assert_equal '200 200 503 503' "$(statuses one.example/.well-known/{acme-challenge{,/x,s},x})"
  assert_equal '503 503 403 503' "$(statuses {two,three,four,five}.example"$challenge")"
}

# An Ingress with the challenge's path for itself: cert-manager's edit-in-place writes it into the application's.
edited() { # NAME [ANNOTATION=VALUE...]
  ingress "$1" "$1.example" "Exact:$challenge" red "${@:2}"
  local file
  file=$(echo "$BATS_TEST_TMPDIR"/objects/*-e2e-"$1.json")
  jq '.spec.rules[0].http.paths += [.spec.rules[0].http.paths[0] | .path = "/" | .pathType = "Prefix"]' "$file" >"$file.new"
  mv "$file.new" "$file"
}

@test "logins and redirects to HTTPS let the challenge in their own Ingress go, also as defaults, and everything else holds there" {
  secret users Opaque 'auth=u:$apr1$a$WtaHPwLjsVBV9UVh8Vx7a/'
  make_pair "$dir/authority" authority.example ecdsa
  secret ca Opaque "ca.crt=@$dir/authority.crt"
  local names=() wanted='' shut=whitelist-source-range=10.0.0.0/8
  row() { # CHALLENGE OTHERS ANNOTATION=VALUE...
    names+=("row-${#names[@]}") wanted+=" $1 $2"
    edited "${names[-1]}" "${@:3}"
  }
  row 200 308 force-ssl-redirect=true
  TLS=some row 200 308 ssl-redirect=true
  row 200 401 auth-type=basic auth-secret=users
  row 200 503 auth-type=basic auth-secret=missing
  row 200 500 auth-url=http://nobody
  row 200 308 auth-tls-secret=ca
  row 200 308 auth-tls-secret=ca auth-tls-verify-client=optional auth-tls-match-cn=CN=a auth-tls-error-page=http://a.example
  row 200 503 auth-tls-secret=missing
  row 200 503 auth-tls-verify-client=on
  row 200 308 auth-tls-secret=ca auth-type=basic auth-secret=users auth-url=http://nobody force-ssl-redirect=true
  # the pod would get another path
  row 401 401 auth-type=basic auth-secret=users rewrite-target=/x
  row 500 500 auth-url=http://nobody rewrite-target=/x
  row 308 308 auth-tls-secret=ca rewrite-target=/x
  # lists of addresses
  local login
  for login in '403 auth-type=basic auth-secret=users' '500 auth-url=http://nobody' '308 auth-tls-secret=ca' '403 force-ssl-redirect=true'; do
    # shellcheck disable=SC2086 # words
    row 403 $login "$shut"
    # shellcheck disable=SC2086
    row 403 $login denylist-source-range=127.0.0.0/8
  done
  row 403 401 auth-type=basic auth-secret=users "$shut" satisfy=any
  # other redirects
  row 301 308 auth-tls-secret=ca permanent-redirect=http://a.example
  row 302 302 force-ssl-redirect=true temporal-redirect=http://a.example
  row 200 302 force-ssl-redirect=true app-root=/ui
  # what closes an Ingress
  row 503 503 auth-tls-secret=ca auth-tls-verify-client=maybe
  row 503 503 auth-type=digest auth-secret=users
  row 503 503 auth-url=http://nobody limit-rps=-1
  row 503 503 force-ssl-redirect=yes
  row 503 503 auth-tls-secret=ca server-snippet='deny all;'
  # rates, after one request
  row 200 308 auth-tls-secret=ca limit-rpm=1 limit-burst-multiplier=0
  local limited=${names[-1]}
  serve
  asked() { # NAME...
    local urls=() name
    for name; do urls+=("$name.example$challenge" "$name.example/"); done
    statuses "${urls[@]}"
  }
  assert_equal "${wanted# }" "$(asked "${names[@]}")"
  assert_equal 503 "$(status "$limited.example" "$challenge")"
  # over HTTPS without a certificate
  assert_equal '200 400 400' "$(statuses_tls row-5.example{"$challenge",/} row-12.example"$challenge")"
  # what only some clients are to tell a pod is not told by others
  assert_equal 'null null' "$(pod_gets '[.header["Ssl-Client-Verify", "Ssl-Client-Subject-Dn"] | tojson] | join(" ")' row-5.example "$challenge" -H 'ssl-client-verify: SUCCESS' -H 'ssl-client-subject-dn: CN=a')"
  [[ ${TIER-unit} == unit ]] || return 0 # only that tier has settings of its own
  edited plain
  DEFAULT_ANNOTATIONS=$'auth-tls-secret: e2e/ca\nauth-type: basic\nauth-secret: e2e/users\nauth-url: http://nobody\nforce-ssl-redirect: true' serve
  assert_equal '200 308' "$(asked plain)"
}

@test "while a challenge of its own namespace is there, an alias and a redirect of www serve on; another namespace's has the whole host, unless it is shared" {
  ingress alias al.example / red server-alias=al2.example
  ingress solver al2.example "Exact:$challenge" blue
  ingress www one.example / red from-to-www-redirect=true
  ingress www-solver www.one.example "Exact:$challenge" blue
  # another namespace has the whole host, or nothing of it
  ingress foreign two.example / red server-alias=alias.two.example from-to-www-redirect=true
  ingress other/solver alias.two.example "Exact:$challenge" red
  ingress other/www-solver www.two.example "Exact:$challenge" red
  # also where both have challenges
  ingress both three.example / red server-alias=alias.three.example
  ingress both-solver alias.three.example "Exact:$challenge" blue
  ingress other/both-solver alias.three.example "Exact:$challenge-other" red
  # unless it shares the host with it
  ingress shared four.example / red server-alias=alias.four.example from-to-www-redirect=true bash-ingress.local/share-host-with=other
  ingress other/shared-solver alias.four.example "Exact:$challenge" red
  ingress other/shared-www www.four.example "Exact:$challenge" red
  # in the application's own Ingress
  ingress in-place in-place.example / red server-alias=alias.in-place.example
  local file
  file=$(echo "$BATS_TEST_TMPDIR"/objects/*-e2e-in-place.json)
  jq --arg path "$challenge" '.spec.rules += [.spec.rules[0] | .host = "alias.in-place.example" | .http.paths[0] |= (.path = $path | .pathType = "Exact" | .backend.service.name = "blue")]' "$file" >"$file.new"
  mv "$file.new" "$file"
  # what is more than a challenge has the host
  ingress more five.example / red server-alias=alias.five.example
  ingress more-solver alias.five.example "Exact:$challenge" blue
  ingress more-rule alias.five.example /x blue
  serve
  assert_equal 'blue red blue 308' "$(who_answers al2.example "$challenge") $(who_answers al2.example /) $(who_answers www.one.example "$challenge") $(status www.one.example /x)"
  assert_equal 'other/red 404 other/red 404' "$(who_answers alias.two.example "$challenge") $(status alias.two.example /) $(who_answers www.two.example "$challenge") $(status www.two.example /)"
  assert_equal 'blue 404 404' "$(who_answers alias.three.example "$challenge") $(statuses alias.three.example{"$challenge-other",/})"
  assert_equal 'other/red red other/red 308' "$(who_answers alias.four.example "$challenge") $(who_answers alias.four.example /) $(who_answers www.four.example "$challenge") $(status www.four.example /)"
  assert_equal 'blue blue 404' "$(who_answers alias.five.example "$challenge") $(who_answers alias.five.example /x) $(status alias.five.example /)"
  assert_equal 'blue red' "$(who_answers alias.in-place.example "$challenge") $(who_answers alias.in-place.example /)"
  assert_equal 'AnnotationRefused: e2e/both
AnnotationRefused: e2e/foreign
AnnotationRefused: e2e/foreign
AnnotationRefused: e2e/more
HostTaken: other/both-solver' "$(problems | cut -d: -f 1,2)" # aliases and www that somebody else has
}

@test "what an alias protects holds there, too, while a challenge of its own is there; and of two Ingresses that want an alias, the older has it that is more than a challenge" {
  ingress guard one.example / red server-alias=alias.one.example whitelist-source-range=10.0.0.0/8
  ingress solver alias.one.example "Exact:$challenge" blue
  ingress other/passing passing.example "Exact:$challenge" red server-alias=wanted.example from-to-www-redirect=true
  ingress app two.example / red server-alias=wanted.example
  serve
  assert_equal '200 403 403' "$(statuses alias.one.example{"$challenge","${challenge}s",/})"
  assert_equal red "$(who_answers wanted.example /)"
}
