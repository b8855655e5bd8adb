# allowlist-source-range and denylist-source-range: who may use a path, by address.
load words

# bats test_tags=cluster
@test "only the addresses of allowlist-source-range get in, and those of denylist-source-range do not" {
  ingress open one.example / red
  ingress shut two.example / red allowlist-source-range=192.0.2.0/24
  ingress let three.example / red allowlist-source-range=0.0.0.0/0,::/0
  ingress denied four.example / red denylist-source-range=0.0.0.0/0,::/0
  ingress own-prefix five.example / red bash-ingress.local/denylist-source-range=0.0.0.0/0,::/0
  ingress embedded six.example / red denylist-source-range=64:ff9b::192.0.2.0/120,1:2:3:4:5:6:7::/112,::192.0.2.1
  serve
  assert_equal '200 403 200 403 403 200' "$(statuses {one,two,three,four,five,six}.example/)"
  assert_equal red "$(who_answers three.example /)"
}

@test "two names for one thing must say the same: else the Ingress is closed" {
  ingress same one.example / red allowlist-source-range=0.0.0.0/0,::/0 whitelist-source-range=0.0.0.0/0,::/0
  ingress other two.example / red allowlist-source-range=0.0.0.0/0,::/0 whitelist-source-range=192.0.2.1
  ingress twice three.example / red allowlist-source-range=0.0.0.0/0,::/0 bash-ingress.local/allowlist-source-range=192.0.2.1
  serve
  assert_equal '200 503 503' "$(statuses {one,two,three}.example/)"
  assert_contains "$(problems)" 'e2e/twice: closed, because its protection is not available here: allowlist-source-range is there twice, and its values differ'
  assert_contains "$(problems)" 'allowlist-source-range and whitelist-source-range are two names for one thing, but their values differ'
}

# --- what is protected and not served stays shut

@test "where an Ingress protects a path that is refused, no other Ingress of its namespace answers" {
  allow=allowlist-source-range=192.0.2.1
  ingress open open.example / red
  ingress beside open.example /beside red
  ingress below open.example /secret/a red
  ingress sign sign.example '/x;y' red "$allow"
  ingress root sign.example / red
  ingress beside-sign sign.example /x red
  ingress number open.example '/api/v[0-9]' red use-regex=true
  ingress space open.example '/secret/a%20b' red "$allow"
  ingress group open.example '/api/(v1)+/admin' red use-regex=true "$allow"
  ingress alternatives either.example '/api/a|/b(c' red use-regex=true "$allow"
  ingress whole either.example /whole red
  ingress alone alone.example '/x;y' red "$allow"
  ingress free free.example '/x;y' red
  ingress all free.example / red
  ingress own own.example / red allowlist-source-range=0.0.0.0/0,::/0
  jq '.spec.rules[0].http.paths += [.spec.rules[0].http.paths[0] | .path = "/x;y"]' "$BATS_TEST_TMPDIR"/objects/*-e2e-own.json >"$dir/own"
  cp "$dir/own" "$BATS_TEST_TMPDIR"/objects/*-e2e-own.json
  serve
  assert_equal '503 200 503 503 200' "$(statuses 'open.example/secret/a%20b' open.example/{secret/a,api/v1/admin,elsewhere,beside})"
  assert_equal '503 404 200 200' "$(statuses either.example/whole 'alone.example/x;y' 'free.example/x;y' 'own.example/x;y')"
  assert_equal '503 503 200' "$(statuses 'sign.example/x;y' sign.example/{y,x})"
  # what a path could mean: itself and what it is decoded to, or the folder with all that it could be
  assert_equal '/a;b /a|b /a/b c,/a/b%20c /a/ / /  /a / /a/ / / / /' "$(jq -n -r -L "$bin/lib" 'include "route/shut"; include "route/ownership"; include "allow";
    [("/a;b", "/a|b", "/a/b%20c", "/a/b%2Fc", "/a/%2e%2E/b", "/a/../b%", ("/", "/a/") + "é" * 1025, "é" * 1025 | [meanings(false)]),
     ("/a/b+/c", "/a/?b", "/a|/b", "/a/..", "x" | [meanings(true)]) | join(",")] | join(" ")')"
  assert_contains "$(problems)" 'ProtectionNotAvailable: e2e/number: closed because Ingress e2e/group protects a path that is not served, which could be this one'
}

@test "while an Ingress is quarantined, neither a wildcard nor rules without a host answer for its host, whosever they are" {
  ingress shut a.one.example / red allowlist-source-range=192.0.2.1
  ingress wild '*.one.example' / blue
  ingress plain b.two.example / red
  ingress all '*.three.example' / red
  ingress exact c.three.example / blue
  ingress other/any '' / red
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | digest_lists >"$dir/snapshot"
  jq -c 'select(.of | IN("Ingress e2e/shut", "Ingress e2e/plain", "Ingress e2e/all")) | {(.of): {summary: tojson, message: "no"}}' "$dir/snapshot" | jq -s add >"$dir/quarantine"
  serve_snapshot "$dir/quarantine" <"$dir/snapshot"
  assert_equal '503 503 503' "$(statuses {a.one,b.two,a.three}.example/)"
  assert_equal 'blue blue other/red' "$(who_answers b.one.example /) $(who_answers c.three.example /) $(who_answers b.b.two.example /)"
  assert_contains "$(ask a.one.example /)" 'this host has rules, but they are not served: nginx rejects their Ingress, or it is beyond a limit: path / of Ingress e2e/'
  # where there are too many of them, the namespace's own do not answer
  serve_snapshot "$dir/quarantine" < <(with_settings LIMITS=namespace_wildcards=2 <"$dir/snapshot")
  assert_equal '503 other/red 503' "$(status a.one.example /) $(who_answers b.two.example /) $(status a.three.example /)"
  jq -c 'map_values(.without_hosts = true)' "$dir/quarantine" >"$dir/without"
  serve_snapshot "$dir/without" <"$dir/snapshot"
  assert_equal '503 503 other/red' "$(statuses {a,b}.one.example/) $(who_answers b.two.example /)"
}

@test "while an Ingress is quarantined, its aliases stay shut, too, whatever else it asks for" {
  ingress shop shop.example / red server-alias=alias.example allowlist-source-range=192.0.2.1 enable-cors=true limit-rps=1 rewrite-target=/x
  ingress any '*.example' / blue
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | digest_lists >"$dir/snapshot"
  jq -c 'select(.of == "Ingress e2e/shop") | {(.of): {summary: tojson, message: "no"}}' "$dir/snapshot" >"$dir/quarantine"
  serve_snapshot "$dir/quarantine" <"$dir/snapshot"
  assert_equal '503 503 200' "$(statuses {shop,alias,other}.example/)"
  refute_contains "$(<"$STATE_DIR/live/nginx.conf")" 192.0.2.1
}

@test "a host whose Ingress is beyond a limit stays its owner's, and shut; so do its aliases, if nobody has them" {
  ingress one one.example / red
  ingress two two.example / red
  ingress three three.example / red
  ingress shop shop.example / red server-alias=alias.example,named.example allowlist-source-range=192.0.2.1
  ingress other/young shop.example / red
  ingress other/any '*.example' / red
  ingress other/named named.example / red
  LIMITS=namespace_ingresses=3 serve
  assert_equal '503 503 other/red other/red' "$(statuses {shop,alias}.example/) $(who_answers named.example /) $(who_answers any.example /)"
  assert_contains "$(problems)" 'HostTaken: other/young: host shop.example belongs to namespace e2e'
}

@test "what an Ingress beyond a limit protects stays shut" {
  ingress open open.example / red
  ingress beside open.example /beside red
  ingress wild '*.wild.example' / red
  ingress other/red red.example / red
  ingress shut open.example /admin red allowlist-source-range=192.0.2.1
  ingress host a.wild.example / red allowlist-source-range=192.0.2.1
  ingress taken red.example / red allowlist-source-range=192.0.2.1
  ingress free b.wild.example / blue
  LIMITS=namespace_ingresses=3 serve
  assert_equal '503 503 200 503 200 200' "$(statuses open.example/{,admin,beside} {a.wild,b.wild,red}.example/)"
  assert_contains "$(problems)" 'e2e/open: closed because Ingress e2e/shut protects /admin, and is not served: it is beyond a limit'
  without taken
  without free
  ingress many open.example /0 red allowlist-source-range=192.0.2.1
  for file in "$BATS_TEST_TMPDIR"/objects/*-e2e-many.json; do
    jq '.spec.rules[0].http.paths |= [range(9) as $n | .[0] | .path = "/\($n)"]' "$file" >"$dir/many" && cp "$dir/many" "$file"
  done
  LIMITS='namespace_ingresses=9 ingress_paths=5' serve
  assert_equal '403 503 503 503' "$(statuses open.example/{1,8,beside,admin})"
}
