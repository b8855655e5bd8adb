# auth-url and what belongs to it: a service decides about each request.
load words

auth=http://auth.e2e.svc.cluster.local

# bats test_tags=cluster
@test "auth-url: 2xx lets a request in, 401 and 403 do not, and any other answer, or none, is a 500 with a sentence" {
  local code
  for code in 200 204 401 403 301 302 304 400 404 500 503; do ingress "a$code" "a$code.example" / red "auth-url=$auth/check?status=$code"; done
  ingress slow slow.example / red "auth-url=$auth/slow?seconds=3" proxy-read-timeout=1
  ingress drop drop.example / red "auth-url=$auth/drop"
  ingress challenge challenge.example / red "auth-url=$auth/check?status=401&header=WWW-Authenticate:Basic"
  serve
  assert_equal '200 200 401 403 500 500 500 500 500 500 500' "$(statuses a{200,204,401,403,301,302,304,400,404,500,503}.example/)"
  assert_equal '500 500' "$(statuses slow.example/ drop.example/)"
  assert_equal red "$(who_answers a204.example /)"
  assert_equal '401 Authorization Required: the request has no login, or a wrong one.' "$(ask a401.example /)"
  assert_equal 'This is not allowed.' "$(ask a403.example /)"
  assert_equal 'You are not let in, because the authentication service gave no answer that says so: it ended with status 404.' "$(ask a404.example /)"
  assert_equal Basic "$(header WWW-Authenticate challenge.example /)"
  assert_equal '401 401 401 401' "$(statuses a401.example/{below,nginx-asks/1,nginx-says,a%2fb} -- -X POST -d body)"
  assert_equal '' "$(problems)"
}

# bats test_tags=cluster
@test "auth-url can be a Service of the namespace by any of its names, over TLS too; what is no such Service closes the path" {
  ingress full full.example / red "auth-url=$auth:80/"
  ingress short short.example / red auth-url=http://auth.e2e.svc/check
  ingress shortest shortest.example / red auth-url=http://auth.e2e
  ingress secure secure.example / red auth-url=https://auth.e2e.svc.cluster.local/check
  ingress secure-shut secure-shut.example / red 'auth-url=https://auth.e2e.svc/?status=403'
  ingress foreign foreign.example / red auth-url=http://red.other.svc.cluster.local/
  ingress missing missing.example / red auth-url=http://nobody.e2e.svc.cluster.local/
  ingress port port.example / red "auth-url=$auth:81/"
  ingress unknown unknown.example / red auth-url=http://auth.somewhere.example/check
  ingress address address.example / red auth-url=http://192.0.2.1/check
  ingress local local.example / red auth-url=http://127.0.0.1:8080/
  ingress bare bare.example / red auth-url=http://auth/
  ingress by-ip by-ip.example / red "auth-url=http://$(cluster_address auth)/check?status=401"
  ingress foreign-ip foreign-ip.example / red "auth-url=http://$(cluster_address other/red)/"
  serve
  assert_equal '200 200 200 200 403' "$(statuses {full,short,shortest,secure,secure-shut}.example/)"
  assert_equal '500 500 500 500 500 500 500' "$(statuses {foreign,missing,port,unknown,address,local,bare}.example/)"
  assert_equal '401 500' "$(statuses {by-ip,foreign-ip}.example/)"
  assert_contains "$(problems)" 'e2e/unknown: closed, because its protection is not available here: "auth.somewhere.example" is neither a host with rules of namespace e2e or of one in SHARED_NAMESPACES, nor a Service there'
  assert_contains "$(problems)" 'ProtectionNotAvailable: e2e/foreign: closed, because its protection is not available here: Service other/red is in a namespace that is neither'
}

@test "auth-url can have the address of a pod of the namespace: then its Service is asked" {
  ingress pod pod.example / red 'auth-url=http://127.77.0.3:8080/?status=401'
  ingress tls tls.example / red 'auth-url=https://127.77.0.3:8443/?status=403'
  ingress in in.example / red auth-url=http://127.77.0.3:8080
  ingress port port.example / red auth-url=http://127.77.0.3:8081/
  ingress foreign foreign.example / red auth-url=http://127.77.0.4:8080/
  ingress other/own own.example / red 'auth-url=http://127.77.0.4:8080/?status=401'
  serve
  assert_equal '401 403 200 500 500 401' "$(statuses {pod,tls,in,port,foreign,own}.example/)"
}

@test "auth-url with \$host is answered by the host's own rules, and that path itself stays open" {
  ingress app app.example / red 'auth-url=https://$host/oauth2/auth?status=202&header=X-User:alice' auth-response-headers=X-User
  ingress proxy app.example /oauth2 auth
  ingress shut shut.example / red 'auth-url=http://$best_http_host/oauth2/auth?status=401'
  ingress shut-proxy shut.example Exact:/oauth2/auth auth
  ingress by-name other.example / red 'auth-url=https://shut.example/oauth2/auth?status=403'
  ingress nobody nobody.example / red 'auth-url=https://$host/oauth2/auth'
  ingress near near.example / red 'auth-url=https://$host/oauth2/auth'
  ingress near-proxy near.example /oauth auth
  ingress gone gone.example / red 'auth-url=https://$host/oauth2/auth'
  ingress gone-proxy gone.example /oauth2 nobody
  ingress other/foreign foreign.example /oauth2 red
  ingress foreign bare.example / red 'auth-url=https://foreign.example/oauth2/auth'
  serve
  assert_equal '200 200 401 200 403' "$(statuses app.example/ app.example/oauth2/start shut.example/ shut.example/oauth2/auth other.example/)"
  assert_equal 'red auth' "$(who_answers app.example /) $(who_answers app.example /oauth2/start)"
  assert_equal alice "$(pod_gets '.header["X-User"][0]' app.example / -H 'X-User: mallory')"
  assert_equal '500 500 500 500' "$(statuses {nobody,near,gone,bare}.example/)"
  assert_contains "$(problems)" 'no rule without auth-url serves /oauth2/auth of host near.example'
  assert_contains "$(problems)" 'no rule without auth-url serves /oauth2/auth of host gone.example'
}

@test "the service is told what nginx knows and what the client's own headers say, but gets no body, nor what a client may not say" {
  ingress post post.example / red "auth-url=$auth/asked?of=\$request_uri&by=\$request_method" auth-method=POST auth-request-redirect=https://post.example/back?a=b auth-response-headers=X-Asked
  ingress get get.example / red "auth-url=$auth/asked" auth-response-headers=X-Asked auth-keepalive=5 auth-keepalive-requests=9 auth-keepalive-timeout=9 auth-keepalive-share-vars=true auth-cache-key='$cookie_a' 'auth-cache-duration=200 202 10m, 401 5m'
  serve
  local client=(-X PUT -d hello -H 'Cookie: a=1' -H 'Authorization: Bearer t' -H 'X-Api-Key: mine' -H 'X-Request-ID: seven' -H 'If-None-Match: *' -H 'Range: bytes=0-1' -H 'Upgrade: websocket' -H 'Connection: upgrade')
  local name
  for name in X-Original-URL X-Original-URI X-Original-Method X-Auth-Request-Redirect X-Forwarded-User X-Forwarded-For X-Forwarded-Proto X-Forwarded-Uri X-Real-IP X-Sent-From Remote-User; do client+=(-H "$name: evil"); done
  pod_gets '.header["X-Asked"][]' post.example '/a%20b?c=d&e' "${client[@]}" >"$dir/asked"
  assert_json '[.method, .host, .uri, .body]' '["POST","auth.e2e.svc.cluster.local","/asked?of=/a%20b?c=d&e&by=PUT",""]' <"$dir/asked"
  assert_json '.header | [.["X-Original-Url", "X-Original-Uri", "X-Original-Method", "X-Auth-Request-Redirect", "X-Sent-From", "Cookie", "Authorization", "X-Api-Key", "X-Request-Id"][]]' \
    '["http://post.example/a%20b?c=d&e","/a%20b?c=d&e","PUT","https://post.example/back?a=b","nginx-ingress-controller","a=1","Bearer t","mine","seven"]' <"$dir/asked"
  assert_json '[.header["If-None-Match", "Range", "Upgrade", "X-Asked", "X-Forwarded-Uri", "X-Forwarded-Proto"], (.header | tojson | test("evil"))]' '[null,null,null,null,null,null,false]' <"$dir/asked"
  assert_json '[.header["Content-Length"]] | inside([null, ["0"]])' true <"$dir/asked"
  pod_gets '.header["X-Asked"][]' get.example '/x?y' "${client[@]}" >"$dir/asked"
  assert_json '[.method, .header["X-Auth-Request-Redirect"][0], .header["Content-Length"]]' '["GET","/x?y",null]' <"$dir/asked"
  assert_equal '["PUT","hello","/a%20b?c=d&e",["a=1"],["*"]]' "$(pod_gets '[.method, .body, .uri, .header.Cookie, .header["If-None-Match"]] | tojson' post.example '/a%20b?c=d&e' "${client[@]}")"
}

@test "auth-response-headers reach the pod as the service says them, never as a client does; other Ingresses get what they got before" {
  ingress user user.example / red "auth-url=$auth/signed-in" 'auth-response-headers=X-User, X-Auth-Request-Email,Authorization'
  ingress email email.example / red "auth-url=$auth/check?header=X-Auth-Request-Email:a@b.example&header=Authorization:Basic%20xyz" 'auth-response-headers=x-auth-request-email,authorization'
  ingress none none.example / red "auth-url=$auth/check?header=X-User:bob"
  ingress plain plain.example / red
  ingress by by.example / red "auth-url=$auth/check" auth-response-headers=By # nginx.conf had a variable $passed_by
  serve
  assert_equal '["bash-ingress"]' "$(pod_gets '.header["Cdn-Loop"] | tojson' plain.example / -H 'By: evil')"
  local client=(-H 'Cookie: user=alice' -H 'X-User: evil' -H 'X-Auth-Request-Email: evil' -H 'Authorization: Bearer evil') headers='[.header["X-User", "X-Auth-Request-Email", "Authorization"]] | tojson'
  assert_equal '[["alice"],null,null]' "$(pod_gets "$headers" user.example / "${client[@]}")"
  assert_equal '[["evil"],["a@b.example"],["Basic xyz"]]' "$(pod_gets "$headers" email.example / "${client[@]}")"
  assert_equal '[["evil"],null,["Bearer evil"]]' "$(pod_gets "$headers" none.example / "${client[@]}")"
  assert_equal '[["evil"],null,["Bearer evil"]]' "$(pod_gets "$headers" plain.example / "${client[@]}")"
  assert_equal '401 200' "$(status user.example / -H 'X-User: evil') $(status user.example / -H 'Cookie: user=bob')"
}

@test "auth-signin: who is not signed in is sent there with the whole URL, whatever is in it" {
  ingress in in.example / red "auth-url=$auth/signed-in" 'auth-signin=https://$host/auth/start'
  ingress orig orig.example / red "auth-url=$auth/signed-in" 'auth-signin=http://login.example/?a=b' auth-signin-redirect-param=orig
  ingress rd rd.example / red "auth-url=$auth/signed-in" 'auth-signin=$scheme://$http_host/oauth2/start?rd=$escaped_request_uri&x=y'
  ingress rd-start rd.example /oauth2 auth
  ingress args args.example / red "auth-url=$auth/signed-in" 'auth-signin=https://login.example/?rd=https://$host/start$is_args$args'
  ingress path path.example / red "auth-url=$auth/signed-in" auth-signin=/login
  ingress shut shut.example / red "auth-url=$auth/check?status=403" auth-signin=https://login.example/
  ingress odd odd.example / red "auth-url=$auth/check?status=404" auth-signin=https://login.example/
  serve
  assert_equal '302 302 302 302 403 500 200' "$(statuses {in,orig,rd,path,shut,odd}.example/ rd.example/oauth2/start)"
  assert_equal 'https://in.example/auth/start?rd=http://in.example%2F%3Fa%3Db%26c%3Dd' "$(header Location in.example '/?a=b&c=d')"
  assert_equal 'http://login.example/?a=b&orig=http://orig.example%2Fx' "$(header Location orig.example /x)"
  assert_equal 'http://rd.example/oauth2/start?rd=%2Fx%3Fa&x=y' "$(header Location rd.example '/x?a')"
  assert_equal 'https://login.example/?rd=https://args.example/start?a=b' "$(header Location args.example '/x?a=b')"
  assert_equal 'http://path.example/login?rd=http://path.example%2F' "$(header Location path.example /)"
  assert_equal 200 "$(status in.example / -H 'Cookie: user=alice')"
  local uri sent
  for uri in '/a%20b/%2f%2F?a=b&c=d+e&f=%26%25%23%3d&g=h=i?j' "/!*'();:@&=+\$,/?[]" '/?"<>^`{|}~' '/a/b/c/d/e/f/g/h/i/j?k=l&m=n&o=p&q=r&s=t&u=v&w=x&y=z' "/?$(printf '%%%.0s' {1..300})" "/?$(printf '/%%22=a&%.0s' {1..1000})"; do
    sent=$(header Location in.example "$uri" -g)
    sent=${sent#*rd=}
    assert_equal "http://in.example$uri" "$(printf '%b' "${sent//%/\\x}")"
    [[ $sent != *[\&+#]* ]]
  done
  assert_equal https://in.example/auth/start "$(header Location in.example / -X POST -d body | cut -d '?' -f 1)"
}

@test "a long link goes along to the sign-in as long as its URL fits into a request line of 16 kB; beyond that its path does, and then nothing" {
  ingress in in.example / red "auth-url=$auth/signed-in" auth-signin=https://in.example/start
  ingress in-start in.example /start red
  ingress rd rd.example / red "auth-url=$auth/signed-in" 'auth-signin=https://rd.example/start?rd=https://$host$request_uri&of=$escaped_request_uri&x=y'
  ingress args args.example / red "auth-url=$auth/signed-in" 'auth-signin=https://args.example/start?rd=https://$host/x$is_args$args'
  serve
  local start='https://in.example/start?rd=http://in.example' most long
  most=$((16369 - $(length "/start?rd=http://in.example%2F%3F")))
  printf -v long "%0${most}d" 0
  assert_equal "$start%2F%3F$long" "$(header Location in.example "/?$long")"
  assert_equal '200 414' "$(status in.example "/start?rd=http://in.example%2F%3F$long") $(status in.example "/start?rd=http://in.example%2F%3F${long}0")"
  assert_equal "$start%2Fa%2526b" "$(header Location in.example "/a%26b?${long}0")"
  assert_equal "$start%2Fa%2526b" "$(header Location in.example "/a%26b?$(printf '&%.0s' {1..16000})")"
  assert_equal "$start%2F$(printf '%%3B%.0s' {1..5000})" "$(header Location in.example "/$(printf ';%.0s' {1..5000})?$(printf '%05000d' 0)")"
  assert_equal https://in.example/start "$(header Location in.example "/$(printf '%%25%.0s' {1..5000})")"
  assert_equal 'https://rd.example/start?rd=https://rd.example/a&of=%2Fa&x=y' "$(header Location rd.example "/a?$(printf '&%.0s' {1..5000})")"
  assert_equal 'https://rd.example/start?rd=https://rd.example&of=&x=y' "$(header Location rd.example "/$(printf '%%25%.0s' {1..3000})")"
  assert_equal "https://args.example/start?rd=https://args.example/x?${long::16000}" "$(header Location args.example "/?${long::16000}")"
  assert_equal 'https://args.example/start?rd=https://args.example/x' "$(header Location args.example "/?${long}0")"
}

length() { # TEXT
  echo "${#1}"
}

@test "cookies of the service reach the client with a good answer of the pod; with auth-always-set-cookie=true, with any" {
  ingress some some.example / red "auth-url=$auth/check?header=Set-Cookie:a=1"
  ingress always always.example / red "auth-url=$auth/check?header=Set-Cookie:a=1" auth-always-set-cookie=true
  ingress never never.example / red "auth-url=$auth/check?header=Set-Cookie:a=1" auth-always-set-cookie=false
  ingress many many.example / red "auth-url=$auth/check?header=Set-Cookie:a=1%3B%20Expires=Wed,%2021%20Oct%202037%2007:28:00%20GMT%3B%20Path=/&header=Set-Cookie:b=2&header=Set-Cookie:c=3"
  serve
  assert_equal 'a=1' "$(header Set-Cookie some.example /)"
  assert_equal 'b=2 a=1' "$(header Set-Cookie some.example '/?header=Set-Cookie:b=2' | xargs)"
  assert_equal 'a=1' "$(header Set-Cookie some.example '/?status=302')"
  assert_equal '' "$(header Set-Cookie some.example '/?status=503')"
  assert_equal '' "$(header Set-Cookie never.example '/?status=404')"
  assert_equal 'a=1' "$(header Set-Cookie always.example '/?status=503')"
  assert_equal 'a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Path=/' "$(header Set-Cookie many.example / | head -n 1)"
  [[ ${TIER-} != e2e ]] || assert_equal 3 "$(header Set-Cookie many.example / | wc -l)" # nginx before 1.23 has only the first
}

# bats test_tags=cluster
@test "each of up to 20 cookies of the service reaches the client, in a line of its own and beside all other headers; if there are more, the log says so" {
  ingress six six.example / red "auth-url=$auth/check?cookies=6" enable-cors=true
  ingress open six.example /open red
  ingress most most.example / red "auth-url=$auth/check?cookies=20"
  ingress more more.example / red "auth-url=$auth/check?cookies=23"
  ingress own own.example / red "auth-url=$auth/check?status=401&cookies=6" auth-always-set-cookie=true
  ingress own-open own.example /open red
  ingress in in.example / red "auth-url=$auth/check?status=401&cookies=6" auth-signin=https://login.example/
  ingress page page.example / red "auth-url=$auth/check?cookies=6" custom-http-errors=502 default-backend=blue
  ingress plain plain.example / red
  serve
  assert_equal "$(cookies 6)" "$(header Set-Cookie six.example /)"
  assert_equal "$({ cookies 6 && echo b=2; } | sort)" "$(header Set-Cookie six.example '/?header=Set-Cookie:b=2' | sort)"
  assert_equal '*' "$(header Access-Control-Allow-Origin six.example / -H 'Origin: https://a.example')"
  assert_equal bash-ingress "$(header Server six.example /anonymous)"
  assert_equal "$(cookies 20)" "$(header Set-Cookie most.example /)"
  assert_equal "$(cookies 20)" "$(header Set-Cookie more.example /)"
  assert_equal "$(cookies 6)" "$(header Set-Cookie own.example /)"
  assert_equal "$(cookies 6)" "$(header Set-Cookie in.example /)"
  assert_equal "$(cookies 6)" "$(header Set-Cookie page.example /drop)"
  assert_equal '' "$(header Set-Cookie six.example /open)$(header Set-Cookie own.example /open)$(header Set-Cookie plain.example /)"
  [[ ${TIER-unit} == unit ]] || return 0 # what follows reads nginx's files
  assert_equal '1 0' "$(lines_with 'add_header Set-Cookie $auth_cookie_20 ' six.example) $(lines_with add_header plain.example)"
  [[ $(cookies 2) == *c2=* ]] || return 0
  wait_for 5 grep -q 'auth-url: more.example, Ingress e2e/more: the authentication service set more than 20 cookies, and the client got the first 20' "$dir/access.log"
  assert_equal 1 "$(grep -c 'more than 20' "$dir/access.log")"
}

# The lines of Set-Cookie that say so many. An nginx before 1.23 knows only the first.
cookies() { # NUMBER
  local number last=$1
  [[ ${TIER-} == e2e || $(nginx -v 2>&1) != *1.22.* ]] || last=1
  for ((number = 1; number <= last; number++)); do echo "c$number=$number; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Path=/"; done
}

# How many lines of a host's server have that text.
lines_with() { # TEXT HOST
  sed -n "/server_name \"$2\"/,/^  }/p" "$STATE_DIR/live/nginx.conf" | grep -cF -- "$1"
}

@test "wrong values close the path, or where they change nothing are a problem; nothing gets out of its place" {
  local name=0 value
  for value in ftp://auth.e2e/ auth.e2e/ 'http://auth.e2e/ x' 'http://auth.e2e/;' 'http://auth.e2e/$http_cookie' 'http://auth.e2e/$' 'http://auth.e2e/"; return 200; #' $'http://auth.e2e/\nx' 'http://auth.e2e/{}' 'http://auth.e2e/\' \
    'https://invalid..auth.url' 'http://$hostile/' 'http://$host:81/' 'http://user@auth.e2e/' http://auth.e2e:0/ http://auth.e2e:99999/ 'http://unix:/tmp/x' 'http://[::1]/' '' 'http://auth.e2e/$host2' "http://auth.e2e/$(printf '%01100d' 0)"; do
    name=$((name + 1))
    ingress "wrong-$name" "wrong-$name.example" / red "auth-url=$value"
  done
  for value in auth-method=get auth-method=BREW auth-signin=x 'auth-signin=//evil.example/' 'auth-signin=javascript:x' 'auth-signin=https://x/"' 'auth-signin=https://x/$cookie_a' $'auth-signin=https://x/\r\nX: y' 'auth-signin-redirect-param=a=b' \
    'auth-request-redirect=$host' 'auth-request-redirect=a;b' auth-response-headers= auth-response-headers=X_User 'auth-response-headers=X User' auth-response-headers=Host auth-response-headers=X-A,Content-Length auth-response-headers=X-Forwarded-For \
    "auth-response-headers=$(printf 'X-%s,' {1..21})" 'auth-response-headers=X-A;' auth-always-set-cookie=maybe 'auth-cache-duration=200 202' auth-cache-duration=soon; do
    name=$((name + 1))
    ingress "wrong-$name" "wrong-$name.example" / red "auth-url=$auth/" "$value"
  done
  for value in auth-method=GET auth-signin=https://x/ auth-signin-redirect-param=x auth-request-redirect=/ auth-response-headers=X auth-always-set-cookie=true auth-snippet=x auth-proxy-set-headers=x enable-global-auth=true; do
    name=$((name + 1))
    ingress "wrong-$name" "wrong-$name.example" / red "$value"
  done
  ingress lacks lacks.example / red auth-keepalive=1 auth-response-headers=X-User
  ingress fine fine.example / red "auth-url=$auth/check" auth-keepalive=many auth-keepalive-share-vars=maybe 'auth-cache-key=a b' auth-keepalive-requests=x auth-keepalive-timeout=1s enable-global-auth=false
  ingress negative negative.example / red "auth-url=$auth/check" auth-keepalive=-1
  serve
  readarray -t wrong < <(seq -f 'wrong-%.0f.example/' "$name")
  assert_equal $'500\n503' "$(statuses "${wrong[@]}" | tr ' ' '\n' | sort -u)"
  assert_equal 503 "$(status wrong-11.example /)" # https://invalid..auth.url
  assert_equal '200 200' "$(statuses {fine,negative}.example/)"
  assert_contains "$(problems)" 'e2e/lacks: closed, because its protection is not available here: auth-response-headers needs auth-url'
  assert_equal 6 "$(problems | grep -c AnnotationRefused)"
  assert_equal "$((name + 1))" "$(problems | grep -c ProtectionNotAvailable)"
}

@test "a path for ACME challenges is open, by its own rule only: with auth-url and with passwords" {
  secret users Opaque 'auth=u:$apr1$a$WtaHPwLjsVBV9UVh8Vx7a/'
  for name in asks login; do
    annotations=("auth-url=$auth/check?status=401" auth-response-headers=X-User)
    [[ $name == asks ]] || annotations=(auth-type=basic auth-secret=users)
    ingress "$name" "$name.example" / red "${annotations[@]}"
    ingress "$name-challenge" "$name.example" /.well-known/acme-challenge blue "${annotations[@]}"
    ingress "$name-alike" "$name.example" /.well-known/acme-challenges blue "${annotations[@]}"
    ingress "no-rule-$name" "no-rule-$name.example" / red "${annotations[@]}"
    ingress "moved-$name" "moved-$name.example" Exact:/.well-known/acme-challenge/token red "${annotations[@]}" rewrite-target=/admin
  done
  serve
  for name in asks login; do
    assert_equal "$name: 200 200 401 401 401" "$name: $(statuses "$name.example"/{.well-known/acme-challenge{,/token,s,s/token},} | sed 's/ [^ ]*$//') $(status "no-rule-$name.example" /.well-known/acme-challenge/token)"
    assert_equal 401 "$(status "moved-$name.example" /.well-known/acme-challenge/token)"
  done
  assert_equal null "$(pod_gets '.header["X-User"] | tojson' asks.example /.well-known/acme-challenge/token -H 'X-User: admin')"
}

@test "the question is asked after lists of addresses and redirects, and for pods that speak TLS or gRPC, HEAD and WebSockets" {
  ingress list list.example / red "auth-url=$auth/check" denylist-source-range=0.0.0.0/0,::/0
  ingress secure secure.example / red:443 "auth-url=$auth/check?status=403" backend-protocol=HTTPS
  ingress signed signed.example / red:443 "auth-url=$auth/asked" backend-protocol=HTTPS auth-response-headers=X-Asked
  ingress grpc grpc.example / red "auth-url=$auth/check?status=403" backend-protocol=GRPC auth-response-headers=X-User
  ingress grpc-in grpc-in.example / red "auth-url=$auth/check" backend-protocol=GRPC
  ingress redirect redirect.example / red "auth-url=$auth/check?status=401" force-ssl-redirect=true
  serve
  assert_equal '403 403 200 308' "$(statuses {list,secure,signed,redirect}.example/)"
  assert_equal '403 502' "$(statuses {grpc,grpc-in}.example/)" # the pod speaks none
  assert_equal 401 "$(status_tls redirect.example /)"
  assert_equal 'https://signed.example/x' "$(ask_tls signed.example /x | jq -r '.header["X-Asked"][0] | fromjson | .header["X-Original-Url"][0]')"
  assert_equal '200 403' "$(status signed.example / -I) $(status secure.example / -I)"
  assert_equal 403 "$(status secure.example /websocket -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==')"
}

@test "auth-url does not get past what protects a path that another namespace has on the same host" {
  ingress other/theirs mine.example / red bash-ingress.local/share-host-with=e2e
  ingress other/open mine.example /open red
  ingress other/shut mine.example /shut red denylist-source-range=0.0.0.0/0,::/0
  ingress other/gated mine.example /gated red auth-url=http://red.other.svc/check?status=403
  ingress by-open mine.example /by-open red 'auth-url=https://$host/open?status=403'
  ingress by-shut mine.example /by-shut red 'auth-url=https://$host/shut'
  local name=0 path
  for path in /open/..%2fgated /open/%2e%2e/gated '/open/..;/gated' /open//gated '/open/$request_uri'; do
    name=$((name + 1))
    ingress "past-$name" mine.example "/past-$name" red "auth-url=https://\$host$path" auth-method=DELETE
  done
  serve
  assert_equal '200 200 403 403 500 403' "$(statuses mine.example/{,open,shut,by-open,by-shut,gated})"
  assert_equal '500 500 503 500 500' "$(statuses mine.example/past-{1..5})"
  assert_contains "$(ask mine.example /past-1)" "/open/..%2fgated of host mine.example is another namespace's"
  ingress other/expression mine.example '/open/(in|out).*' red use-regex=true denylist-source-range=0.0.0.0/0,::/0
  serve
  assert_equal '200 500' "$(statuses mine.example/{open,by-open})"
}

# bats test_tags=cluster
@test "no other namespace's path answers for the service that auth-url asks by \$host, on a host that is shared or nobody's" {
  ingress mine mine.example / red 'auth-url=https://$host/check?status=401' bash-ingress.local/share-host-with=other
  ingress check mine.example /check auth
  ingress nobodys '' / red 'auth-url=https://$host/check?status=401'
  ingress nobodys-check '' /check auth
  serve
  assert_equal '401 401' "$(statuses {mine,any}.example/)"
  ingress other/thief mine.example Exact:/check red
  ingress other/nobodys-thief '' Exact:/check red
  serve
  assert_equal '500 500' "$(statuses {mine,any}.example/)"
  assert_contains "$(ask mine.example /)" "/check of host mine.example is another namespace's"
}

@test "each namespace asks its own service, also where two have the same annotations and one names the other's pod" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier can give a pod to two Services'
  local asked=(auth-url=http://127.77.0.3:8080/asked auth-response-headers=X-Asked) answered_by='.header["X-Asked"][0] | fromjson | .address'
  ingress mine mine.example / red "${asked[@]}" bash-ingress.local/share-host-with=other
  ingress other/guest mine.example /longer red "${asked[@]}"
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '.endpointSlices.items[3].endpoints += .endpointSlices.items[2].endpoints' | serve_lists
  for _ in {1..6}; do pod_gets "$answered_by" mine.example /; done >"$dir/answers"
  assert_equal 127.77.0.3:8080 "$(sort -u "$dir/answers")"
  assert_equal 200 "$(status mine.example /longer)"
}

@test "a Service of another namespace is asked only if SHARED_NAMESPACES has that one" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress central central.example / red 'auth-url=http://red.other.svc.cluster.local/check?status=202&header=X-User:alice' auth-response-headers=X-User
  ingress other/login login.example / red
  ingress host host.example / red 'auth-url=https://login.example/check?status=401'
  serve
  assert_equal '500 500' "$(statuses {central,host}.example/)"
  SHARED_NAMESPACES=third,other serve
  assert_equal '200 401' "$(statuses {central,host}.example/)"
  assert_equal alice "$(pod_gets '.header["X-User"][0]' central.example /)"
  SHARED_NAMESPACES=o run "$bin/settings"
  assert_equal 0 "$status"
  SHARED_NAMESPACES='other, third' run "$bin/settings"
  assert_equal 2 "$status"
}

@test "a trusted proxy's word about who the client is does not count where a service says it" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  ingress asks asks.example / red "auth-url=$auth/asked?header=X-Auth-Request-User:alice" auth-response-headers=X-Auth-Request-User,X-Auth-Request-Email,X-Asked
  ingress plain plain.example / red
  ingress grpc grpc.example / red "auth-url=$auth/asked" backend-protocol=GRPC auth-response-headers=X-Goog-Authenticated-User-Id
  TRUSTED_PROXIES=127.0.0.1 serve
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" 'grpc_set_header X-Goog-Authenticated-User-Id $said_x_goog_authenticated_user_id;'
  local said=(-H 'X-Auth-Request-User: eve' -H 'X-Auth-Request-Email: eve' -H 'X-Auth-Request-Groups: staff' -H 'X-Original-URL: http://evil/' -H 'X-Forwarded-Proto: https')
  assert_equal '[["alice"],null,["staff"]]' "$(pod_gets '[.header["X-Auth-Request-User", "X-Auth-Request-Email", "X-Auth-Request-Groups"]] | tojson' asks.example / "${said[@]}")"
  assert_equal '[["eve"],["eve"]]' "$(pod_gets '[.header["X-Auth-Request-User", "X-Auth-Request-Email"]] | tojson' plain.example / "${said[@]}")"
  assert_equal '["https://asks.example/"]' "$(pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Original-Url"] | tojson' asks.example / "${said[@]}")"
  assert_equal "$(sed -nE 's/^ *proxy_set_header ([^ ]+) .*/\1/p' "$templates/proxy-headers.conf")" "$(jq -r '.[]' "$bin/lib/annotations/features/dropped-headers.json")"
}

@test "a service without a ready pod, or one that is gone, closes the path" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier can do so to a pod'
  ingress asks asks.example / red "auth-url=$auth/check"
  ingress own own.example / red 'auth-url=https://$host/oauth2/auth'
  ingress proxy own.example /oauth2 auth
  serve
  assert_equal '200 200' "$(statuses {asks,own}.example/)"
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '.endpointSlices.items[2].endpoints = []' | serve_lists
  assert_equal '500 500' "$(statuses {asks,own}.example/)"
  assert_equal 'closed, because its protection is not available here: Service e2e/auth has no ready endpoint: path / of Ingress e2e/asks.' "$(ask asks.example /)"
  assert_contains "$(problems)" 'NoReadyEndpoints: e2e/asks: Service e2e/auth, which auth-url asks, has no ready endpoint for port 80'
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '.endpointSlices.items[2].endpoints[0].addresses = ["127.77.0.9"]' | serve_lists
  assert_equal 500 "$(statuses {asks,own}.example/ | tr ' ' '\n' | sort -u)"
  assert_equal 500 "$(for _ in {1..250}; do printf 'url = "http://127.0.0.1:%s/"\noutput = /dev/null\n' "$HTTP_PORT"; done | curl -s -K - -H 'Host: asks.example' -w '%{http_code}\n' | sort -u)"
}

@test "the location in which nginx asks is out of every client's reach" {
  ingress asks asks.example / red "auth-url=$auth/check?status=401"
  ingress open asks.example /open red
  ingress second asks.example /second red "auth-url=$auth/check?status=403"
  serve
  assert_equal '401 401 401 401' "$(statuses asks.example/{nginx-asks,nginx-asks/1,%6eginx-asks/1,//nginx-asks/1})"
  assert_equal '200 403 403' "$(statuses asks.example/{open,second,second/nginx-asks/1})"
  assert_equal '400' "$(status asks.example / --request-target nginx-asks/1)"
}

@test "what PROXY_SET_HEADERS says to all pods is nothing that a service may say: its Ingress is closed" {
  export PROXY_SET_HEADERS='X-Team: blue'
  ingress team team.example / red "auth-url=$auth/check" auth-response-headers=x-team
  ingress other/plain plain.example / red
  serve
  assert_equal '503 ["blue"]' "$(status team.example /) $(pod_gets '.header["X-Team"] | tojson' plain.example / -H 'X-Team: evil')"
}

@test "no header that a service may say is a variable that nginx.conf has for something else" {
  local names duplicates
  ingress user user.example / red "auth-url=$auth/check" auth-response-headers=X-User
  ingress backend backend.example / red custom-http-errors=404 default-backend=blue
  serve
  # Of each variable, such as $one_request_id, what may be behind the beginning of another one: Request-Id and Id.
  mapfile -t names < <(defined_variables | sort -u | awk '{ while (sub(/^[^_]*_/, "")) print }' | tr _ - | sort -u)
  duplicates=$(defined_variables | sort | uniq -d)
  ((${#names[@]} > 40))
  while ((${#names[@]} > 0)); do
    for name in "${names[@]:0:20}"; do ingress "$name" "$name.example" / red "auth-url=$auth/check" "auth-response-headers=$name"; done
    names=("${names[@]:20}")
    serve
    assert_equal "$duplicates" "$(defined_variables | sort | uniq -d)"
  done
}

# Some maps of features replace those of templates: such a variable is there twice.
defined_variables() {
  sed -nE 's/^ *(map|split_clients) .*\$([a-z0-9_]+) \{.*/\2/p' "$STATE_DIR/live/nginx.conf"
}

@test "a name in auth-response-headers that is too long for gRPC closes its Ingress and no other" {
  long=$(printf 'X-%062d' 0)
  ingress long long.example / red "auth-url=$auth/check" "auth-response-headers=$long"
  ingress grpc grpc.example / red "auth-url=$auth/check" "auth-response-headers=$long" backend-protocol=GRPC
  ingress longest longest.example / red "auth-url=$auth/check?status=403" "auth-response-headers=${long:0:46}" backend-protocol=GRPC
  serve
  assert_equal '200 503 403' "$(statuses {long,grpc,longest}.example/)"
  assert_contains "$(problems)" "auth-response-headers has ${long,,}, and with gRPC a name may have 46 characters"
}

@test "a namespace with too many names in auth-response-headers closes its own younger Ingresses, and no other namespace's" {
  ingress first first.example / red "auth-url=$auth/check" "auth-response-headers=$(seq -s, -f 'X-A-%.0f' 20)"
  ingress again again.example / red "auth-url=$auth/check" auth-response-headers=x-a-1,X-A-20
  ingress one-more one-more.example / red "auth-url=$auth/check" auth-response-headers=X-A-1,X-B
  ingress other/neighbour neighbour.example / red 'auth-url=http://red.other.svc/check?header=X-B:alice' auth-response-headers=X-B
  serve
  assert_equal '200 200 503 200' "$(statuses {first,again,one-more,neighbour}.example/)"
  assert_equal alice "$(pod_gets '.header["X-B"][0]' neighbour.example /)"
  assert_contains "$(problems)" 'e2e/one-more: closed, because its protection is not available here: auth-response-headers of its namespace have more than 20 different names, and x-b is one too many'
}

@test "a sign-in redirect has the cookies of the authentication service and the headers of CORS" {
  ingress in in.example / red "auth-url=$auth/check?status=401&header=Set-Cookie:a=1" 'auth-signin=https://$host/start' enable-cors=true
  serve
  assert_equal '302 a=1 *' "$(status in.example /) $(header Set-Cookie in.example /) $(header Access-Control-Allow-Origin in.example / -H 'Origin: https://a.example')"
  assert_equal '204 302' "$(status in.example / -X OPTIONS -H 'Origin: https://a.example') $(status in.example / -X POST -d x)"
}

@test "with auth-cache-key, an answer counts again for the same client and path, as long as auth-cache-duration says, even when the service is gone" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier can do so to a pod'
  local key='auth-cache-key=$remote_user${http_authorization}-$cookie_a' asked=(auth-response-headers=X-Asked)
  ingress kept kept.example /a red "auth-url=$auth/asked" "$key" "${asked[@]}"
  ingress other-path kept.example /b red "auth-url=$auth/asked" "$key" "${asked[@]}"
  ingress fixed fixed.example / red "auth-url=$auth/signed-in" auth-cache-key=fixed 'auth-cache-duration=200 202 1h 30m, 401 2y'
  ingress brief brief.example / red "auth-url=$auth/asked" "$key" auth-cache-duration=0s "${asked[@]}"
  ingress few few.example / red "auth-url=$auth/asked" "$key" 'auth-cache-duration=401 099 5m' "${asked[@]}"
  ingress without without.example / red "auth-url=$auth/asked" auth-cache-duration=5m "${asked[@]}"
  ingress unknown unknown.example / red "auth-url=$auth/asked" 'auth-cache-key=$http_x_user' "${asked[@]}"
  serve
  first_is_second() { # HOST PATH HOST PATH [CURL_OPTION...]
    local id second
    id=$(pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Request-Id"][0]' "$1" "$2")
    [[ $id == ????* ]] || return 2
    shift 2
    second=$(pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Request-Id"][0]' "$@")
    if [[ $id == "$second" ]]; then echo kept; else echo asked; fi
  }
  assert_equal kept "$(first_is_second kept.example /a kept.example /a/below)"
  assert_equal asked "$(first_is_second kept.example /a kept.example /b)"
  local different
  for different in 'Cookie: a=1' 'Cookie: b=1' 'Authorization: Basic YTpi' 'Authorization: Bearer x'; do assert_equal "$different asked" "$different $(first_is_second kept.example /a kept.example /a -H "$different")"; done
  assert_equal asked "$(first_is_second kept.example /a kept.example /a -X PUT -d x)"
  for host in brief few without unknown; do assert_equal "$host asked" "$host $(first_is_second "$host.example" / "$host.example" /)"; done
  assert_equal '200 401 401' "$(status fixed.example / -H 'Cookie: user=alice') $(statuses fixed.example/ fixed.example/x)"
  assert_contains "$(problems)" 'e2e/unknown: auth-cache-key has no effect: of variables, it may have $cookie_ with a name, and $host'
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '.endpointSlices.items[2].endpoints = []' | serve_lists
  assert_equal '200 200 500' "$(statuses kept.example/{a,b} without.example/)"
  assert_equal '200 401' "$(status fixed.example / -H 'Cookie: user=alice') $(status fixed.example /)"
  assert_equal '500 500' "$(status fixed.example / -H 'Cookie: user=bob') $(status kept.example /a -H 'Authorization: Bearer y')"
}

@test "auth-cache-key may have the path as \$uri: it is that of the request" {
  ingress kept kept.example / red "auth-url=$auth/asked" 'auth-cache-key=$uri' auth-response-headers=X-Asked
  serve
  asked_uri() { pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Original-Uri"][0]' "$@"; }
  assert_equal '/a /b /a' "$({ asked_uri kept.example /a && asked_uri kept.example /b && asked_uri kept.example '/a?c'; } | xargs)"
}

@test "the service is told the whole of a URL, however many special characters it has; what no request line holds is refused, and nobody is asked about another one" {
  ingress asks asks.example / red "auth-url=$auth/check?header=X-Path:\$escaped_request_uri" auth-response-headers=X-Path
  serve
  local uri
  for uri in /x '/x?a=b&c' "/x?$(printf '&%.0s' {1..3000})"; do
    assert_equal "$uri" "$(pod_gets '.header["X-Path"][0]' asks.example "$uri")"
  done
  [[ ${TIER-unit} == unit ]] || return 0 # templates of one's own
  cp -r "$templates" "$dir/templates"
  edit "$dir/templates/clients.conf.template" 's/large_client_header_buffers .*/large_client_header_buffers 4 64k;/'
  TEMPLATES_DIR=$dir/templates serve
  assert_equal '200 414' "$(status asks.example "/$(printf '%01000d' 0)") $(status asks.example "/$(printf '%016384d' 0)")"
}

@test "a kept answer counts for no other path or client, whatever paths and cookies hold, and a long one is not kept" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier sees the files of nginx'
  local asked=(auth-response-headers=X-Asked)
  ingress uri uri.example / red "auth-url=$auth/asked" 'auth-cache-key=$request_uri' "${asked[@]}"
  ingress question question.example / red "auth-url=$auth/asked?of=\$request_uri" auth-cache-key=k "${asked[@]}"
  ingress long long.example / red "auth-url=$auth/download?bytes=2000000" 'auth-cache-key=$request_uri'
  ingress longer longer.example / red "auth-url=$auth/download?bytes=1000" 'auth-cache-key=$request_uri'
  ingress short short.example / red "auth-url=$auth/download?bytes=999" 'auth-cache-key=$request_uri'
  serve
  asked_uri() { pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Original-Uri"][0]' "$@" -g; }
  local host path
  for host in uri question; do
    for path in '/a|GET||y' '/a||k|GET||y'; do
      assert_equal "$host $path" "$host $(asked_uri "$host.example" "$path" -H 'Cookie: c')"
      assert_equal "$host /a" "$host $(asked_uri "$host.example" /a -H "Cookie: ${path##*|}||k|GET||c")"
      assert_equal "$host /a" "$host $(asked_uri "$host.example" /a -H "Cookie: ${path##*|}|GET||c")"
    done
  done
  assert_equal '200 200 200' "$(statuses {long,longer,short}.example/x)"
  is_kept() { grep -rqsF "/download?bytes=$1" "$STATE_DIR/scratch/nginx/auth"; }
  wait_for 10 is_kept 999
  run is_kept 1000
  assert_equal 1 "$status"
  run is_kept 2000000
  assert_equal 1 "$status"
}

# bats test_tags=cluster
@test "what an Ingress says of its answers holds for the service's, too: a header as large as proxy-buffer-size, timeouts, the version of HTTP" {
  ingress large large.example / red "auth-url=$auth/check?large=24000" proxy-buffer-size=64k
  ingress as-is as-is.example / red "auth-url=$auth/check?large=24000"
  ingress kept kept.example / red "auth-url=$auth/check?large=24000" proxy-buffer-size=64k 'auth-cache-key=$cookie_a'
  ingress grpc grpc.example / red "auth-url=$auth/check?large=24000" proxy-buffer-size=64k backend-protocol=GRPC
  ingress cookies cookies.example / red "auth-url=$auth/check?large=24000&cookies=6" proxy-buffer-size=64k proxy-buffers-number=8 proxy-busy-buffers-size=128k
  ingress all all.example / red "auth-url=$auth/slow?seconds=2" proxy-http-version=1.0 proxy-connect-timeout=3 proxy-send-timeout=4 proxy-read-timeout=1
  serve
  assert_equal '200 500 200 502 200 500' "$(statuses {large,as-is,kept,grpc,cookies,all}.example/)" # the pod speaks no gRPC
  assert_equal "$(cookies 6)" "$(header Set-Cookie cookies.example /)"
  [[ ${TIER-unit} == unit ]] || return 0
  assert_equal 1 "$(lines_with 'proxy_http_version 1.0; proxy_connect_timeout 3s; proxy_send_timeout 4s; proxy_read_timeout 1s; proxy_pass' all.example)"
}

# bats test_tags=cluster
@test "cookies of 15, 20 and 44 kB reach the service and the pod, in lines of at most 16 kB; so browsers send them with HTTP/2" {
  ingress asks asks.example / red "auth-url=$auth/check" 'auth-cache-key=$cookie_a' proxy-buffer-size=64k
  serve
  local version=--http1.1 half most
  printf -v half 'b=%09996d' 0
  printf -v most 'c=%014664d' 0
  for version in --http1.1 --http2-prior-knowledge; do
    [[ $version == --http1.1 || ${TIER-} == e2e || $(nginx -v 2>&1) != *1.22.* ]] || continue # it knows no HTTP/2
    assert_equal "$version 15000" "$version $(pod_gets '.header.Cookie | join("; ") | length' asks.example / "$version" -H "Cookie: ${most}$(printf '%0334d' 0)")"
    assert_equal "$version 19998" "$version $(pod_gets '.header.Cookie | join("; ") | length' asks.example / "$version" -H "Cookie: $half" -H "Cookie: $half")"
    assert_equal "$version 44002" "$version $(pod_gets '.header.Cookie | join("; ") | length' asks.example / "$version" -H "Cookie: $most" -H "Cookie: $most" -H "Cookie: $most")"
  done
  assert_equal 'The header of the request is too large: a line may have 16 kB, all of it 64 kB.' "$(ask asks.example / --http1.1 -H "Cookie: $half; $half")"
}

@test "however large the answers and cookies of different clients are, those that are kept take no more than 20 kB each" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier sees the files of nginx'
  ingress kept kept.example / red "auth-url=$auth/check?large=250000" proxy-buffer-size=256k 'auth-cache-key=$cookie_a'
  ingress middle middle.example / red "auth-url=$auth/check?large=9000&status=204" proxy-buffer-size=256k 'auth-cache-key=$cookie_a' 'auth-cache-duration=204 5m'
  serve
  local number cookie answers=$STATE_DIR/scratch/nginx/auth
  for ((number = 0; number < ${KEPT_ANSWERS:-200}; number++)); do
    printf 'url = "http://127.0.0.1:%s/"\nheader = "Host: kept.example"\nheader = "Cookie: a=%s"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\nnext\n' "$HTTP_PORT" "$number"
  done | sed '$d' | curl -s -K - >"$dir/codes"
  assert_equal "${KEPT_ANSWERS:-200} 200" "$(sort "$dir/codes" | uniq -c | xargs)"
  for number in 1000 5000 9000 15000; do
    printf -v cookie 'a=%0*d' "$number" 0
    assert_equal 200 "$(status middle.example / -H "Cookie: $cookie")"
  done
  are_kept() { [[ $(find "$answers" -type f | wc -l) == 2 ]]; }
  wait_for 10 are_kept # those of 1,000 and 5,000 bytes
  assert_equal '' "$(find "$answers" -type f -size +20k)"
}

@test "a guest's auth-url asks no pod of the owner whose clients need certificates" {
  [[ ${TIER-unit} == unit ]] || skip 'one tier is enough'
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=ca -keyout "$dir/ca.key" -out "$dir/ca.crt" 2>/dev/null
  secret authority Opaque "ca.crt=@$dir/ca.crt"
  ingress owner shared.example /own red auth-tls-secret=authority bash-ingress.local/share-host-with=other
  ingress plain shared.example /private blue
  ingress other/guest shared.example /guest red auth-tls-verify-client=off 'auth-url=https://$host/private/asked' auth-method=DELETE
  serve
  assert_equal '400 500' "$(status_tls shared.example /private) $(status_tls shared.example /guest)"
  assert_contains "$(ask_tls shared.example /guest)" "/private/asked of host shared.example is another namespace's"
}

@test "auth-url takes little time to find its path among thousands, and asks no regular expression" {
  [[ ${TIER-unit} == unit ]] || skip 'no cluster is needed'
  jq -n -c '[range(3000) | {path: "/p\(.)", pathType: "Prefix", backend: {service: {name: "red", port: {number: 80}}}}] as $paths
    | def rule($paths): {host: "many.example", http: {$paths}};
      def ingress($name; $annotations; $paths): {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: {namespace: "e2e", $name, creationTimestamp: "2026-01-01T00:00:00Z",
        annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/" + .))}, spec: {ingressClassName: "bash", rules: [rule($paths)]}};
      ingress("asks"; {"auth-url": ("https://$host/" + "a" * 900)}; $paths[:1500]), ingress("plain"; {}; $paths[1500:]),
      ingress("expressions"; {"use-regex": "true"}; [range(100) | $paths[0] | .pathType = "ImplementationSpecific" | .path = "/a+a+a+b"])' >"$dir/many"
  cluster_with_pods "$dir/many" >"$dir/lists"
  "$fixtures/snapshot" <"$dir/lists" >"$dir/snapshot"
  (ulimit -t 15 && "$bin/route" <"$dir/snapshot" >"$dir/model.json" && "$bin/render" <"$dir/model.json" >"$dir/nginx.conf")
  assert_contains "$(jq -r '.servers[].locations[] | select(.path == "/p0").message' "$dir/model.json")" 'no rule without auth-url serves /aaaa'
}
