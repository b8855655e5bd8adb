# auth-type, auth-secret, auth-secret-type, auth-realm, satisfy: only users with a password get in.
load words

# A Secret whose key auth has a line "NAME:HASH" for a user of each kind of hash. The password of each is "secret".
secret_of_users() { # [NAMESPACE/]NAME
  secret "$1" Opaque "auth=apr1:$(openssl passwd -apr1 secret)
sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=
md5:$(openssl passwd -1 -salt abcd secret)
sha512:$(openssl passwd -6 secret)
sha256:$(openssl passwd -5 secret)
bcrypt:$bcrypt
des:abNANd1rDfiNc
# a comment

locked:"
}
bcrypt='$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW'

@test "while the Service of the only login has no ready pod, its path is a 503, and nginx takes the configuration" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier can do so to a pod'
  secret_of_users users
  ingress file one.example / red auth-type=basic auth-secret=users
  ingress open two.example / blue
  serve
  assert_equal '401 200' "$(statuses {one,two}.example/)"
  jq -c 'if .slice == "e2e/red-1" then .ready = [] else . end' "$dir/snapshot" | serve_snapshot
  assert_equal '503 200' "$(statuses {one,two}.example/)"
  assert_equal 'NoReadyEndpoints: e2e/file: Service e2e/red has no ready endpoint for port 80' "$(problems)"
}

# bats test_tags=cluster
@test "only users with the right password get in, and the pod does not get the password" {
  secret_of_users users
  secret map Opaque "alice=$(openssl passwd -apr1 secret)" "bob=$bcrypt"
  ingress file one.example / red auth-type=basic auth-secret=users 'auth-realm=The inner circle (staff only)'
  ingress map two.example / red auth-type=basic auth-secret=e2e/map auth-secret-type=auth-map
  ingress open three.example / red
  serve
  assert_equal '401 401 200' "$(statuses {one,two,three}.example/)"
  for user in apr1 sha md5 sha256 sha512 bcrypt des; do
    assert_equal "$user 200 401" "$user $(status one.example / -u "$user:secret") $(status one.example / -u "$user:wrong")"
  done
  for user in locked: locked:secret nobody:secret :secret '# a comment' "$(printf 'apr1:secret%0100000d' 0)"; do assert_equal "401" "$(status one.example / -u "$user" | sed 's/431/401/')"; done
  assert_equal '200 200 401 401' "$(for user in alice:secret bob:secret alice:wrong apr1:secret; do status two.example / -u "$user"; done | xargs)"
  assert_equal 'Basic realm="The inner circle (staff only)"' "$(header WWW-Authenticate one.example /)"
  assert_equal 'Basic realm="Authentication Required"' "$(header WWW-Authenticate two.example /)"
  assert_equal '401 Authorization Required: the request has no login, or a wrong one.' "$(ask one.example /)"
  assert_equal null "$(pod_gets '.header.Authorization' two.example / -u alice:secret)"
  assert_equal 'Bearer x' "$(pod_gets '.header.Authorization[0]' three.example / -H 'Authorization: Bearer x')"
  assert_equal '401 200' "$(status_tls one.example /) $(status_tls one.example / -u apr1:secret)"
  assert_equal '' "$(problems)"
}

@test "a password of more than 1,000 characters in base64 is refused, even if it is right" {
  local short long
  printf -v short '%0700d' 0
  printf -v long '%0800d' 0
  sha() { printf '{SHA}%s' "$(printf %s "$1" | openssl dgst -sha1 -binary | base64)"; }
  secret users Opaque "auth=short:$(sha "$short")
long:$(sha "$long")"
  ingress one one.example / red auth-type=basic auth-secret=users
  ingress any any.example / red auth-type=basic auth-secret=users allowlist-source-range=0.0.0.0/0,::/0 satisfy=any
  serve
  assert_equal '200 403 200' "$(status one.example / -u "short:$short") $(status one.example / -u "long:$long") $(status any.example / -u "long:$long")"
  assert_equal 403 "$(status one.example / -H "Authorization: bAsIc   $(printf 'long:%s' "$long" | base64 -w 0)")"
}

# bats test_tags=cluster
@test "without the Secret, or with one that cannot be used, nobody gets in; nor after it is deleted" {
  secret_of_users users
  secret other/users Opaque "auth=x:$(openssl passwd -apr1 secret)"
  secret plain Opaque 'auth={PLAIN}secret' 'alice={PLAIN}secret'
  secret costly Opaque 'auth=alice:$6$rounds=5001$abc$8rwq1z8E6y/I9QVpEnW3Er.M3JvhoWUpYaEIH8.oAYzvZzwdnfsL.gr6jmzsLKo.7d7/g8ZjNnde0c7kuKnrJ0' # 5,000 are usual
  secret bcrypt Opaque 'auth=alice:$2y$11$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW'
  secret none Opaque 'users=x'
  secret many Opaque "auth=$(printf "user-%d:$bcrypt\n" {1..1001})"
  ingress right right.example / red auth-type=basic auth-secret=users
  ingress missing missing.example / red auth-type=basic auth-secret=nowhere
  ingress foreign foreign.example / red auth-type=basic auth-secret=other/users
  ingress plain plain.example / red auth-type=basic auth-secret=plain
  ingress plain-map plain-map.example / red auth-type=basic auth-secret=plain auth-secret-type=auth-map
  ingress costly costly.example / red auth-type=basic auth-secret=costly
  ingress bcrypt bcrypt.example / red auth-type=basic auth-secret=bcrypt
  ingress none none.example / red auth-type=basic auth-secret=none
  ingress many many.example / red auth-type=basic auth-secret=many
  ingress digest digest.example / red auth-type=digest auth-secret=users
  ingress no-type no-type.example / red auth-secret=users
  ingress no-secret no-secret.example / red auth-type=basic
  ingress wrong-type wrong-type.example / red auth-type=basic auth-secret=users auth-secret-type=auth-list
  ingress off off.example / red auth-type=basic auth-secret=users auth-realm=off
  ingress quote quote.example / red auth-type=basic auth-secret=users 'auth-realm=x"; auth_basic off; #'
  ingress variable variable.example / red auth-type=basic auth-secret=users 'auth-realm=$host'
  ingress line variable.example /line red auth-type=basic auth-secret=users $'auth-realm=x\nauth_basic off;'
  ingress path path.example / red auth-type=basic auth-secret=../e2e/users
  ingress name name.example / red auth-type=basic 'auth-secret=users;'
  serve
  assert_equal '401 200' "$(status right.example /) $(status right.example / -u apr1:secret)"
  for host in missing foreign plain plain-map costly bcrypt none many digest no-type no-secret wrong-type off quote variable path name; do
    assert_equal "$host 503 503 503" "$host $(status $host.example /) $(status $host.example /line -u alice:secret) $(status_tls $host.example / -u alice:secret)"
  done
  if [[ ${TIER-unit} == unit ]]; then
    assert_equal 'apr1 bcrypt des md5 sha sha256 sha512' "$(cat "$STATE_DIR"/keys/*.htpasswd | sed 's/:.*//' | sort -u | xargs)" # nginx gets none of the others
  fi
  said=$(problems)
  assert_contains "$said" 'e2e/missing: closed, because its protection is not available here: Secret e2e/nowhere does not exist'
  assert_contains "$said" 'e2e/foreign: closed, because its protection is not available here: Secret other/users is not of namespace e2e'
  assert_contains "$said" 'e2e/costly: closed, because its protection is not available here: Secret e2e/costly: the hash of a password in it is none of apr1'
  assert_contains "$said" 'e2e/none: closed, because its protection is not available here: Secret e2e/none: it has no key "auth"'
  assert_contains "$said" 'e2e/many: closed, because its protection is not available here: Secret e2e/many: it has more than 1000 users'
  refute_contains "$said" PLAIN
  without users
  serve
  wait_for 20 statuses_are '503 503' right.example/ right.example/x -- -u apr1:secret
  wait_for 20 statuses_are '503 503' right.example/ right.example/x # perhaps of the other replica
}

@test "a changed password counts, and the old one no longer" {
  secret users Opaque "auth=alice:$(openssl passwd -apr1 first)"
  ingress one one.example / red auth-type=basic auth-secret=users
  serve
  assert_equal '200 401' "$(status one.example / -u alice:first) $(status one.example / -u alice:second)"
  without users
  secret users Opaque "auth=alice:$(openssl passwd -apr1 second)"
  serve
  assert_equal '401 200' "$(status one.example / -u alice:first) $(status one.example / -u alice:second)"
}

@test "with satisfy: any, an address or a password is enough; with all, it takes both; a denied address has no use for a password" {
  secret_of_users users
  for satisfy in any all; do
    ingress "$satisfy-in" "$satisfy-in.example" / red auth-type=basic auth-secret=users allowlist-source-range=0.0.0.0/0,::/0 "satisfy=$satisfy"
    ingress "$satisfy-out" "$satisfy-out.example" / red auth-type=basic auth-secret=users allowlist-source-range=192.0.2.1 "satisfy=$satisfy"
    ingress "$satisfy-denied" "$satisfy-denied.example" / red auth-type=basic auth-secret=users denylist-source-range=0.0.0.0/0,::/0 "satisfy=$satisfy"
    ingress "$satisfy-free" "$satisfy-free.example" / red auth-type=basic auth-secret=users "satisfy=$satisfy"
    ingress "$satisfy-address" "$satisfy-address.example" / red allowlist-source-range=192.0.2.1 "satisfy=$satisfy"
    ingress "$satisfy-alone" "$satisfy-alone.example" / red "satisfy=$satisfy"
  done
  ingress default default.example / red auth-type=basic auth-secret=users allowlist-source-range=192.0.2.1
  ingress missing missing.example / red auth-type=basic auth-secret=nowhere allowlist-source-range=0.0.0.0/0,::/0 satisfy=any
  ingress wrong wrong.example / red allowlist-source-range=0.0.0.0/0,::/0 satisfy=some
  ingress url url.example / red auth-url=http://127.0.0.1/ satisfy=any auth-type=basic auth-secret=users
  serve
  assert_equal '200 401 403 401 403 200' "$(statuses any-{in,out,denied,free,address,alone}.example/)"
  assert_equal '200 200 403 200 403 200' "$(statuses any-{in,out,denied,free,address,alone}.example/ -- -u apr1:secret)"
  assert_equal '200 401 403 401 403 200' "$(statuses any-{in,out,denied,free,address,alone}.example/ -- -u apr1:wrong)"
  assert_equal '401 403 403 401 403 200' "$(statuses all-{in,out,denied,free,address,alone}.example/)"
  assert_equal '200 403 403 200 403 200' "$(statuses all-{in,out,denied,free,address,alone}.example/ -- -u apr1:secret)"
  assert_equal '403 503 503 500' "$(statuses {default,missing,wrong,url}.example/ -- -u apr1:secret)"
  assert_equal 'Basic realm="Authentication Required"' "$(header WWW-Authenticate any-out.example /)"
}

# bats test_tags=cluster
@test "with satisfy: any, the word of an authentication service is enough, too, or makes up for a wrong password" {
  secret_of_users users
  local auth=http://auth.e2e.svc.cluster.local everybody=allowlist-source-range=0.0.0.0/0,::/0 nobody=allowlist-source-range=192.0.2.1 password=(auth-type=basic auth-secret=users)
  for satisfy in any all; do
    ingress "$satisfy-two" "$satisfy-two.example" / red "auth-url=$auth/signed-in" "${password[@]}" "satisfy=$satisfy" 'auth-signin=http://$host/start'
    ingress "$satisfy-in" "$satisfy-in.example" / red "auth-url=$auth/signed-in" "${password[@]}" "$everybody" "satisfy=$satisfy"
    ingress "$satisfy-out" "$satisfy-out.example" / red "auth-url=$auth/signed-in" "${password[@]}" "$nobody" "satisfy=$satisfy"
    ingress "$satisfy-list" "$satisfy-list.example" / red "auth-url=$auth/signed-in" "$everybody" "satisfy=$satisfy"
    ingress "$satisfy-denied" "$satisfy-denied.example" / red "auth-url=$auth/signed-in" "${password[@]}" denylist-source-range=0.0.0.0/0,::/0 "satisfy=$satisfy"
    ingress "$satisfy-broken" "$satisfy-broken.example" / red "auth-url=$auth/check?status=503" "${password[@]}" "satisfy=$satisfy"
    ingress "$satisfy-token" "$satisfy-token.example" / red "auth-url=$auth/check?header=Authorization:Bearer%20x" "${password[@]}" "satisfy=$satisfy" auth-response-headers=Authorization,X-User
  done
  serve
  any=(any-{two,in,out,list,denied,broken}.example/) all=(all-{two,in,out,list,denied,broken}.example/)
  assert_equal '302 200 401 200 403 500' "$(statuses "${any[@]}")"
  assert_equal '200 200 200 200 403 200' "$(statuses "${any[@]}" -- -u apr1:secret)"
  assert_equal '200 200 200 200 403 500' "$(statuses "${any[@]}" -- -H 'Cookie: user=alice')"
  assert_equal '200 200 200 200 403 500' "$(statuses "${any[@]}" -- -H 'Cookie: user=alice' -u apr1:wrong)"
  assert_equal '302 401 403 401 403 401' "$(statuses "${all[@]}")"
  assert_equal '302 401 403 401 403 500' "$(statuses "${all[@]}" -- -u apr1:secret)"
  assert_equal '302 401 403 200 403 401' "$(statuses "${all[@]}" -- -H 'Cookie: user=alice')"
  assert_equal '200 200 403 200 403 500' "$(statuses "${all[@]}" -- -H 'Cookie: user=alice' -u apr1:secret)"
  assert_equal 'http://any-two.example/start?rd=http://any-two.example%2F%3Fa%3Db%26c%3Dd' "$(header Location any-two.example '/?a=b&c=d')"
  assert_equal 'Bearer x' "$(pod_gets '.header.Authorization[0]' all-token.example / -u apr1:secret)"
  assert_equal '["Bearer x"]-null' "$(pod_gets '"\(.header.Authorization)-\(.header["X-User"])"' any-token.example / -H 'X-User: evil')"
  assert_equal 'null-null' "$(pod_gets '"\(.header.Authorization)-\(.header["X-User"])"' any-token.example / -u apr1:secret -H 'X-User: evil')"
}

@test "no header of a client replaces the password, and a protected path does not open another of its host" {
  secret_of_users users
  ingress inner one.example /inner red auth-type=basic auth-secret=users
  ingress outer one.example / blue
  serve
  assert_equal '401 401 200 200' "$(statuses one.example/{inner,inner/below,innermost,outer})"
  for header in 'X-Forwarded-User: apr1' 'Remote-User: apr1' 'X-Original-URL: /outer' 'Authorization: Basic' 'Authorization: Bearer x' 'Proxy-Authorization: Basic YXByMTpzZWNyZXQ='; do
    assert_equal "$header 401" "$header $(status one.example /inner -H "$header")"
  done
  assert_equal '' "$(pod_gets '.header["Remote-User"][0] // ""' one.example /inner -u apr1:secret -H 'Remote-User: root')"
}
