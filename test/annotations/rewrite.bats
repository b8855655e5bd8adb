# use-regex and rewrite-target: paths that are regular expressions, and other paths for the pods.
load words

# bats test_tags=cluster
@test "rewrite-target makes no segment .. of a request, so no pod is asked for a path that is protected" {
  ingress joined one.example '/joined(.*)' red 'rewrite-target=/in/$1'
  ingress middle one.example '/middle(.*)/x' red 'rewrite-target=/in/$1/x'
  ingress first one.example '/first(.*)' red 'rewrite-target=$1'
  ingress dotted one.example '/dotted/(.*)' red 'rewrite-target=/in/.$1'
  ingress whole one.example '/whole(/|$)(.*)' red 'rewrite-target=/in/$2'
  ingress bracket one.example '/bracket(.*\(/.*)' red 'rewrite-target=/in/$1'
  ingress either one.example '/either(a|\(/|$)(.*)' red 'rewrite-target=/in/$2'
  ingress backslash one.example '/backslash/([^x]*)x(.*)' red 'rewrite-target=/in/$1$2'
  serve
  assert_equal '400 400 400' "$(statuses one.example/{bracket..%2fsecret\(/x,backslash/foo%5cx..%5csecret,eithera../secret})"
  local name path
  for path in ../secret/x '..;/secret/x' %2e%2e/secret/x ..%2fsecret/x './secret/x' '..%5csecret/x'; do
    assert_equal "$path: 400 400 400" "$path: $(statuses one.example/{joined,middle,first}"$path")"
  done
  assert_equal '400 400' "$(statuses one.example/dotted/{.,./x})"
  for name in joined middle first; do assert_equal "$name: 200" "$name: $(status one.example "/$name/a..b/..c/x")"; done
  assert_equal '/in/a..b/..c' "$(pod_gets .uri one.example /whole/a..b/..c)"
  assert_equal 400 "$(status one.example /whole/../secret)"
  [[ ${TIER-unit} != unit ]] || refute_contains "$(grep whole "$STATE_DIR/live/nginx.conf")" 'if ($uri'
}

# bats test_tags=cluster
@test "rewrite-target gives the pod another path, with what the groups of the expression matched" {
  ingress groups one.example '/app(/|$)(.*)' red 'rewrite-target=/$2'
  ingress fixed two.example / red rewrite-target=/new/backend
  ingress plain two.example /.well-known/acme/challenge blue
  ingress exact three.example Exact:/only red rewrite-target=/other
  ingress query four.example '/q/(.*)' red 'rewrite-target=/search?term=$1&all=yes'
  ingress itself six.example / red rewrite-target=/
  ingress itself-below six.example /app blue rewrite-target=/app
  ingress no-slash five.example '/cut(/.*)' red 'rewrite-target=$1'
  ingress lazy eight.example '/a+?/(.*?)/c{1,2}?' red 'rewrite-target=/$1'
  ingress either seven.example '/cut(.*)' red 'rewrite-target=$1'
  serve
  assert_equal '/x/y?a=b' "$(pod_gets .uri one.example '/app/x/y?a=b')"
  assert_equal / "$(pod_gets .uri one.example /app)"
  assert_equal /x "$(pod_gets .uri one.example /APP/x)"
  assert_equal 404 "$(status one.example /apps)"
  assert_equal '/new/backend red' "$(pod_gets .uri two.example /any/thing) $(who_answers two.example /any/thing)"
  assert_equal '/.well-known/acme/challenge blue' "$(pod_gets .uri two.example /.well-known/acme/challenge) $(who_answers two.example /.well-known/acme/challenge)"
  assert_equal '/other 404' "$(pod_gets .uri three.example /only) $(status three.example /only/below)"
  assert_equal '/search?term=tea&all=yes' "$(pod_gets .uri four.example /q/tea)"
  assert_equal '/search?term=tea&all=yes&more=1' "$(pod_gets .uri four.example '/q/tea?more=1')"
  assert_equal /b "$(pod_gets .uri eight.example /aa/b/cc/c)"
  assert_equal /below "$(pod_gets .uri five.example /cut/below)"
  assert_equal '/below?a=b /below / /b' "$(for path in '/below?a=b' below '' /%2fb; do pod_gets .uri seven.example "/cut$path"; done | xargs)"
  assert_equal '/a%20b' "$(pod_gets .uri one.example /app/a%20b)"
  assert_equal '/x%2fy?a=b /app/x' "$(pod_gets .uri six.example '/x%2fy?a=b') $(pod_gets .uri six.example /app/x)" # nothing to rewrite
}

# bats test_tags=cluster
@test "rewrite-target with a URL redirects there with 302 and what the groups matched, and makes no host and no header of that" {
  moved() { ask "$@" -o /dev/null -w '%{http_code} %header{location}\n'; }
  ingress groups one.example '/old/(.*)' red 'rewrite-target=https://new.test/$1'
  ingress regex two.example '/old(/|$)(.*)' red 'rewrite-target=https://new.test:8443/in/$2?from=$1' use-regex=true
  ingress fixed three.example /old red rewrite-target=http://new.test
  ingress exact four.example Exact:/old red rewrite-target=https://new.test/only
  ingress beside five.example '/old(.*)' red 'rewrite-target=https://new.test$1'
  ingress path six.example '/a(.*)' red 'rewrite-target=$1'
  ingress nobody seven.example '/old/(.*)' absent 'rewrite-target=https://new.test/$1'
  ingress both eight.example '/old/(.*)' red 'rewrite-target=https://new.test/$1' permanent-redirect=https://first.test
  ingress shut nine.example '/old/(.*)' red 'rewrite-target=https://new.test/$1' denylist-source-range=0.0.0.0/0,::/0
  serve
  assert_equal '302 https://new.test/a/b 302 https://new.test/a?b=c 302 https://new.test/' "$({ moved one.example /old/a/b && moved one.example '/OLD/a?b=c' && moved one.example /old/; } | xargs)"
  assert_equal '302 https://new.test:8443/in/x?from=/ 404' "$({ moved two.example /old/x && status two.example /older; } | xargs)"
  assert_equal '302 http://new.test 302 https://new.test/only 404' "$({ moved three.example /old/x && moved four.example /old && status four.example /old/x; } | xargs)"
  assert_equal '302 https://new.test/a 302 https://new.test/.evil.test 302 https://new.test/@evil.test 302 https://new.test/:1@evil.test?a=b 302 https://new.test/evil.test 302 https://new.test/' \
    "$({ for path in /a .evil.test @evil.test ':1@evil.test?a=b' //evil.test ''; do moved five.example "/old$path"; done; } | xargs)"
  assert_equal '200 /https:/evil.test/' "$({ status six.example /ahttps://evil.test/ && pod_gets .uri six.example /ahttps://evil.test/; } | xargs)"
  assert_equal '302 https://new.test/x 301 https://first.test 403' "$({ moved seven.example /old/x && moved eight.example /old/x && status nine.example /old/x; } | xargs)"
  for path in one.example/old/ five.example/old; do
    assert_equal '' "$(header X-Evil "${path%%/*}" "/${path#*/}x%0d%0aX-Evil:%20yes%3fa%23b")"
    assert_contains "$(moved "${path%%/*}" "/${path#*/}x%0d%0aX-Evil:%20yes")" '302 https://new.test/x%0D%0AX-Evil:%20yes'
  done
}

# bats test_tags=cluster
@test "in a host with expressions the longest path comes first; those of other Ingresses are what they were" {
  ingress foo one.example /foo red
  ingress more one.example '/foo.+' blue use-regex=true rewrite-target=/new/backend
  ingress dots one.example /file.txt red
  ingress rest one.example / auth
  ingress digits two.example '/v[0-9]{1,3}/(a|b)' red use-regex=true
  ingress word two.example '/\w+\.html$' blue use-regex=true
  ingress off three.example '/foo(.*)' red use-regex=false
  serve
  assert_equal 'red blue blue' "$(who_answers one.example /foo) $(who_answers one.example /foo/bar) $(who_answers one.example /foobar)"
  assert_equal 'red auth auth auth' "$(who_answers one.example /file.txt) $(who_answers one.example /fileXtxt) $(who_answers one.example /file.txt2) $(who_answers one.example /FILE.txt)"
  assert_equal 'red red 404 404' "$(who_answers two.example /v12/a) $(who_answers two.example /V1/B/below) $(who_answers two.example /v1/c) $(who_answers two.example /v1234/a)"
  assert_equal 'blue 404' "$(who_answers two.example /page.html) $(who_answers two.example /page.html.bak)"
  assert_equal 'red 404' "$(who_answers three.example '/foo(.*)') $(who_answers three.example /foo/bar)"
}

@test "where only /x/ is Exact, what protects the expression that /x matches is in force for /x" {
  ingress exact one.example Exact:/admin/ red
  ingress guarded one.example '/adm.*' red use-regex=true denylist-source-range=0.0.0.0/0,::/0
  ingress rest one.example / blue
  ingress exact-two two.example Exact:/app/ red
  ingress literal two.example /ap+ auth use-regex=true
  ingress rest-two two.example / blue
  ingress exact-three three.example Exact:/app/ red
  ingress other three.example /other auth use-regex=true
  ingress prefix three.example /app blue
  serve
  assert_equal '403 200 403 200' "$(statuses one.example/{admin,admin/,administrator,other})"
  assert_equal 'auth red' "$(who_answers two.example /app) $(who_answers two.example /app/)"
  assert_equal 'auth auth blue' "$(who_answers two.example /app/x) $(who_answers two.example /app/%0a) $(who_answers two.example /ax)"
  assert_equal 'blue red' "$(who_answers three.example /app) $(who_answers three.example /app/)"
}

@test "the expressions of a closed Ingress stay closed, whatever else the host has" {
  ingress closed one.example '/private/[a-z]+' red use-regex=true auth-type=digest
  ingress rewritten one.example '/inside(/|$)(.*)' red 'rewrite-target=/$2' auth-type=digest
  ingress rest one.example / blue
  serve
  assert_equal '503 503 503 200 200' "$(statuses one.example/{private/x,PRIVATE/x/y,inside/x,private/1,x})"
}

@test "a line end in a path leads nobody past an expression and what protects it" {
  ingress guarded one.example '/private/(.*)$' red rewrite-target='/in/$1' allowlist-source-range=127.0.0.2
  ingress rest one.example / blue
  serve
  assert_equal '403 403 200' "$(statuses one.example/{private/x,private/x%0ay,other%0ay})"
  assert_equal '/in/x%0Ay' "$(ask one.example /private/x%0ay --interface 127.0.0.2 | jq -r .uri)"
}

@test "an expression with what is not let in, such as a group that repeats, or that is none, is a problem, and harms no other path" {
  local expression number=0
  while read -r expression; do
    number=$((number + 1))
    ingress "wrong-$number" "one.example" "$expression" red use-regex=true
  done <<'EXPRESSIONS'
/(ab)+$
/(ab|cd)*$
/(ab)*x
/[a]*[b]*[c]*[d]*[e]*[f]*[g]
/(?=a)b
/a*??
/(a)\1
/a{2,1}
/a**
/(a
/a)
/a"; return 200 "pwned
/a { }
/[[:alpha:]]
/(?i)a
/$(pwned)'
/[z-a]
/[\d-z]
/[^a-\w]
/[z-a]+b
/)+b
/x[:alpha:]
/x[.a.]
/x[=a=]+
EXPRESSIONS
  ingress target two.example '/x/(.*)' red 'rewrite-target=/$1"; return 200 "pwned'
  ingress variable two.example '/y/(.*)' red 'rewrite-target=/$host'
  ingress scheme two.example '/z/(.*)' red 'rewrite-target=ftp://evil.example/$1'
  ingress rest two.example / blue
  ingress ranges three.example '/[a-z-9\d.-][+--][A-z_-][^\w-]' red use-regex=true
  ingress good one.example '/good(/|$)(.*)' blue 'rewrite-target=/$2'
  serve
  assert_equal 24 "$(problems | grep -c '^PathRefused: e2e/wrong-')"
  assert_contains "$(problems)" 'PathRefused: e2e/wrong-5: the path "/(?=a)b" has (? in it, which is only let in as (?:'
  assert_contains "$(problems)" 'PathRefused: e2e/wrong-1: the path "/(ab)+$" repeats a group, which could take very long: only ? may follow a group'
  assert_equal 3 "$(problems | grep -c '^ProtectionNotAvailable: e2e/.*closed, because it is not clear where its requests are to go: rewrite-target is')"
  assert_equal '503 503 503 200' "$(statuses two.example/{x/a,y/a,z/a,other})" # not the next shorter path, either
  assert_equal '/tea' "$(pod_gets .uri one.example /good/tea)"
}

@test "each expression is tried for paths up to a length, the shorter the more it may cost: a longer path gets a 414" {
  ingress worst one.example '/(.*)a(.*)b(.*)c' red use-regex=true
  ingress other one.example /x blue
  ingress tail two.example '/.*.*[a]{99}[a]{99}[a]{99}[a]{99}[b0]' red use-regex=true
  ingress tail-two two.example '/.*[a]{99}[a]{99}[b0]' red use-regex=true
  ingress files three.example '/.*\.(png|jpe?g|gif|css|js|svg|ico|woff2?)$' red use-regex=true
  ingress folders three.example '/[^/]+/items/([a-z]+)/([0-9]+)$' blue use-regex=true
  ingress parts five.example "/$(printf 'a?%.0s' {1..60})" red use-regex=true
  for number in {1..20}; do ingress "many-$number" four.example "/(.*)/(.*)$number(.*)" red use-regex=true; done
  serve
  local long
  printf -v long '%04000d' 0
  assert_equal '414 404' "$(status one.example "/${long::200}") $(status one.example "/${long::80}")"
  assert_equal blue "$(who_answers one.example /x/below)"
  assert_contains "$(problems)" 'PathRefused: e2e/tail: the path "/.*.*[a]{99}[a]{99}[a]{99}[a]{99}[b0]" is a regular expression that could take too long'
  assert_contains "$(problems)" 'a... has more than 64 parts'
  assert_equal '414 404' "$(statuses "two.example/$long" "two.example/${long::900}")"
  assert_equal 'red blue' "$(who_answers three.example "/$long.jpeg") $(who_answers three.example "/$long/items/pear/7")"
  assert_equal '414 404' "$(statuses "four.example/${long::300}" "four.example/${long::60}")" # together they may cost no more than one
}

# bats test_tags=cluster
@test "on a shared host, a guest's expression comes before nothing of the owner's that is as long as its literal beginning" {
  ingress closed one.example /admin red auth-type=digest bash-ingress.local/share-host-with=other
  ingress open one.example /shop red
  ingress other/any one.example '/.*(aaaaaaaaaa)?' red use-regex=true
  ingress other/head one.example '/admi(n|q)(/.*)?(aaaaaaaaaa)?' red use-regex=true
  ingress other/below one.example '/admin/guest(/|$)(.*)' red use-regex=true
  ingress root two.example / red auth-type=digest bash-ingress.local/share-host-with=other
  ingress other/root two.example '/.*(aaaaaaaaaa)?' red use-regex=true
  ingress other/part two.example '/part/.*' red use-regex=true
  ingress expression three.example '/v[0-9]+/.*' red use-regex=true auth-type=digest bash-ingress.local/share-host-with=other
  ingress other/long three.example '/[a-z][0-9]+/[a-z]+.*' red use-regex=true
  ingress other/folder one.example '/admin/' red use-regex=true
  ingress other/slow four.example '/slow/.*.*[a]{40}[b0]' red use-regex=true
  ingress owner four.example / blue
  serve
  assert_equal '503 503 503' "$(statuses one.example/{admin,admin/x,admin/aaaaaaaaaa})"
  assert_equal 'red other/red other/red' "$(who_answers one.example /shop/x) $(who_answers one.example /else) $(who_answers one.example /admin/guest/x)"
  assert_equal '503 503 other/red' "$(status two.example /) $(status two.example /x) $(who_answers two.example /part/x)"
  assert_equal '503 other/red' "$(status three.example /v1/x) $(who_answers three.example /w1/x)"
}

@test "with HOST_OWNERSHIP=strict, the guest is who does not own the wildcard, also if it was the first to name the host" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress other/wildcard '*.strict.example' / red bash-ingress.local/share-host-with=e2e
  ingress guest a.strict.example '/.*(aaaaaaaaaaaaaaa)?' red use-regex=true
  ingress other/owner a.strict.example '/private/(.*)' red use-regex=true
  HOST_OWNERSHIP=strict serve
  assert_equal 'other/red red' "$(who_answers a.strict.example /private/x) $(who_answers a.strict.example /else)"
}

@test "without a host, too, an expression comes before nothing that is as long as its literal beginning, whoever was first" {
  ingress other/any '' '/.*(aaaaaaaaaa)?' red use-regex=true
  ingress login '' /login blue auth-type=digest
  ingress other/below '' /login/ red use-regex=true
  serve
  assert_equal '503 503 other/red' "$(status any.example /login) $(status any.example /login/x) $(who_answers any.example /else)"
}

@test "a canary without a main Ingress owns no host: it makes nobody a guest there" {
  ingress other/squat own.example /any red canary=true canary-weight=10
  ingress secret own.example '/.*[.]secret' red use-regex=true allowlist-source-range=192.0.2.1
  ingress api own.example /api red
  serve
  assert_equal '403 200' "$(statuses own.example/api/{x.secret,x})"
}
