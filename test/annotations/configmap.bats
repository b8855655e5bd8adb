# The ConfigMap that CONFIGMAP names: keys of ingress-nginx for all Ingresses, over the wire.
# shellcheck disable=SC2016,SC2154 # dollar signs of nginx; dir is of the helpers
load words

setup() {
  begin_test
  export CONFIGMAP=ing/keys
}

# The ConfigMap has these keys now, and no others.
keys_are() { # KEY=VALUE...
  without ing/keys
  configmap ing/keys "$@"
}

@test "keys of a ConfigMap are defaults of annotations: an Ingress may say otherwise; a change counts in the next pass" {
  keys_are proxy-body-size=10 whitelist-source-range=10.0.0.0/8
  ingress plain plain.example / red
  ingress open open.example / red whitelist-source-range=0.0.0.0/0
  serve
  assert_equal '403 200' "$(statuses {plain,open}.example/)"
  assert_equal '200 413' "$(status open.example / -d 0123456789 | tr '\n' ' ')$(status open.example / -d 0123456789a)"
  keys_are proxy-body-size=20
  serve
  assert_equal '200 200' "$(statuses {plain,open}.example/)"
  assert_equal '200 413' "$(status open.example / -d 0123456789a | tr '\n' ' ')$(status open.example / -d 0123456789abcdefghijk)"
}

@test "blocked are addresses, user agents and referers, on any host and before any redirect; two spellings of one text are one" {
  keys_are block-user-agents='Evil, "bad bot", evil, ~*crawler/[0-9]+$' block-referers='http://spam.example/, ~^https?://[^/]+[.]junk(/|$)' force-ssl-redirect=true
  ingress red red.example / red
  serve
  assert_equal '308 404' "$(statuses {red,nobody}.example/)"
  for host in red nobody; do
    assert_equal 403 "$(status $host.example / -A EVIL)"
    assert_equal 403 "$(status $host.example / -A 'Bad Bot')"
    assert_equal 403 "$(status $host.example / -A 'my CRAWLER/12')"
    assert_equal 403 "$(status $host.example / -e http://SPAM.example/)"
    assert_equal 403 "$(status $host.example / -e http://a.junk)"
  done
  assert_equal '308 308' "$(status red.example / -A 'Evil 2' | tr '\n' ' ')$(status red.example / -A 'crawler/12b')"
  keys_are block-cidrs='127.0.0.1/8, ::1'
  serve
  assert_equal '403 403' "$(statuses {red,nobody}.example/)"
  keys_are block-cidrs=
  serve
  assert_equal '200 404' "$(statuses {red,nobody}.example/)"
}

@test "a key that protects keeps its last good value when it is wrong, and all else is followed; it is told" {
  keys_are block-user-agents=evil proxy-body-size=10
  ingress red red.example / red
  serve
  assert_equal 403 "$(status red.example / -A evil)"
  keys_are block-user-agents='~ev(il' proxy-body-size=20
  ingress blue blue.example / blue
  serve
  assert_equal '403 403' "$(status red.example / -A evil | tr '\n' ' ')$(status blue.example / -A evil)"
  assert_equal 200 "$(status red.example / -d 0123456789a)"
  assert_contains "$(problems)" 'block-user-agents is "~ev(il"'
  assert_contains "$(problems)" 'Its last good value holds: "evil"'
  without ing/keys
  serve
  assert_equal '403 403' "$(status red.example / -A evil | tr '\n' ' ')$(status blue.example / -A evil)"
  assert_equal 200 "$(status red.example / -d 0123456789abcdefghijk)"
  assert_contains "$(problems)" 'ConfigMap ing/keys: it does not exist'
  keys_are proxy-body-size=20
  serve
  assert_equal 200 "$(status red.example / -A evil)"
}

@test "without a last good value, a wrong key that protects closes all; and so do a web application firewall, and a ConfigMap that is missing" {
  ingress red red.example / red
  ingress moved moved.example / red permanent-redirect=https://www.example
  for wrong in block-cidrs=all denylist-source-range=1.2.3 force-ssl-redirect=yes global-auth-url=nowhere enable-modsecurity=true 'server-snippet=deny all;' limit-rate=010 add-headers=ing/none; do
    keys_are "$wrong"
    serve
    assert_equal '503 503' "$(statuses {red,moved}.example/)" || { echo "$wrong" && false; }
    assert_contains "$(problems)" "closed, because a protection is not available here: ConfigMap ing/keys: ${wrong%%=*} "
    rm "$STATE_DIR/live/snapshot"
  done
  without ing/keys
  serve
  assert_equal 503 "$(status red.example /)"
  assert_contains "$(problems)" 'it does not exist: make it, or take it out of CONFIGMAP'
}

@test "an empty value is 0, false or nothing, and closes nothing" {
  keys_are force-ssl-redirect= limit-rate= block-cidrs= block-user-agents= whitelist-source-range= global-auth-url= enable-modsecurity= server-snippet= add-headers= use-forwarded-headers= no-auth-locations=
  ingress red red.example / red
  serve
  assert_equal 200 "$(status red.example /)"
  assert_equal '' "$(problems)"
}

@test "use-gzip compresses what is long enough and of such a type, for clients that can read it" {
  keys_are use-gzip=true gzip-min-length=10 gzip-types='application/json text/plain'
  ingress red red.example / red
  serve
  assert_equal gzip "$(header content-encoding red.example / -H 'Accept-Encoding: gzip')"
  assert_equal '' "$(header content-encoding red.example /)"
  keys_are use-gzip=true gzip-min-length=100000
  serve
  assert_equal '' "$(header content-encoding red.example / -H 'Accept-Encoding: gzip')"
}

@test "the redirect to HTTPS has http-redirect-code, and not for no-tls-redirect-locations; / frees nothing" {
  keys_are force-ssl-redirect=true http-redirect-code=307 no-tls-redirect-locations=/open
  ingress red red.example / red
  ingress open red.example /open red
  serve
  assert_equal '307 200' "$(statuses red.example/{,open})"
  keys_are force-ssl-redirect=true http-redirect-code=303 no-tls-redirect-locations='/, /open'
  serve
  assert_equal '308 200' "$(statuses red.example/{,open})"
  assert_contains "$(problems)" 'http-redirect-code is "303"'
  assert_contains "$(problems)" 'would free everything, and so frees nothing'
}

@test "hsts: its keys together make one header, over HTTPS" {
  keys_are hsts=true hsts-max-age=600 hsts-preload=true
  ingress red red.example / red
  serve
  assert_equal 'max-age=600; includeSubDomains; preload' "$(ask_tls red.example / -o /dev/null -D - | tr -d '\r' | sed -n 's/^strict-transport-security: //Ip')"
  assert_equal '' "$(header strict-transport-security red.example /)"
}

@test "log-format-upstream in JSON, as ingress-nginx documents it, and skip-access-log-urls" {
  keys_are log-format-escape-json=true log-format-upstream='{"time": "$time_iso8601", "remote_addr": "$proxy_protocol_addr", "x_forwarded_for": "$proxy_add_x_forwarded_for", "request_id": "$req_id", "remote_user": "$remote_user", "bytes_sent": $bytes_sent, "request_time": $request_time, "status": $status, "vhost": "$host", "request_proto": "$server_protocol", "path": "$uri", "request_query": "$args", "request_length": $request_length, "duration": $request_time,"method": "$request_method", "http_referrer": "$http_referer", "http_user_agent": "$http_user_agent", "namespace": "$namespace", "ingress": "$ingress_name", "service": "$service_name", "port": "$service_port" }' skip-access-log-urls='/quiet,~^/silent/[0-9]+$'
  ingress red red.example / red
  serve
  assert_equal '200 200 200 200' "$(statuses red.example/{quiet,silent/12,loud,quiet?a} -- -A 'a"b')"
  sleep 0.3
  assert_equal '/loud e2e red red 80 a"b
/quiet e2e red red 80 a"b' "$(grep '^{' "$dir/access.log" | jq -r '"\(.path) \(.namespace) \(.ingress) \(.service) \(.port) \(.http_user_agent)"')"
  keys_are log-format-upstream='$no_such_variable'
  serve
  assert_contains "$(problems)" 'log-format-upstream has a variable that a line of the log cannot have'
}

@test "a proxy in proxy-real-ip-cidr is believed; X-Forwarded-For is the client's address alone, or all of the way" {
  keys_are use-forwarded-headers=true block-cidrs=203.0.113.9
  ingress red red.example / red
  serve
  assert_contains "$(problems)" 'use-forwarded-headers needs proxy-real-ip-cidr'
  assert_equal 200 "$(status red.example / -H 'X-Forwarded-For: 203.0.113.9')"
  keys_are use-forwarded-headers=true proxy-real-ip-cidr=127.0.0.0/8 block-cidrs=203.0.113.9
  serve
  assert_equal 403 "$(status red.example / -H 'X-Forwarded-For: 203.0.113.9')"
  assert_equal 198.51.100.7 "$(pod_gets '.header["X-Forwarded-For"][0]' red.example / -H 'X-Forwarded-For: 10.1.1.1, 198.51.100.7')"
  keys_are use-forwarded-headers=true proxy-real-ip-cidr=127.0.0.0/8 compute-full-forwarded-for=true
  serve
  assert_equal '10.1.1.1, 198.51.100.7, 127.0.0.1' "$(pod_gets '.header["X-Forwarded-For"][0]' red.example / -H 'X-Forwarded-For: 10.1.1.1, 198.51.100.7')"
  keys_are use-forwarded-headers=false
  serve
  assert_equal 127.0.0.1 "$(pod_gets '.header["X-Forwarded-For"][0]' red.example / -H 'X-Forwarded-For: 10.1.1.1, 198.51.100.7')"
}

@test "global-auth-url asks for each Ingress, but those that say otherwise and those of no-auth-locations" {
  keys_are global-auth-url='http://auth.e2e.svc.cluster.local/?status=401' no-auth-locations=/free
  ingress plain plain.example / red
  ingress free plain.example /free red
  ingress off off.example / red enable-global-auth=false
  ingress own own.example /free red auth-url='http://auth.e2e.svc.cluster.local/?status=401'
  serve
  assert_equal '401 200 200 401' "$(statuses plain.example/ plain.example/free off.example/ own.example/free)"
  keys_are global-auth-url='http://auth.e2e.svc.cluster.local/?status=401' no-auth-locations=/
  serve
  assert_equal '401 401' "$(statuses plain.example/ plain.example/free)"
}

@test "hide-headers hides headers of pods, also where an Ingress has headers of its own" {
  keys_are hide-headers='x-pod, Content-Type, not/a/name'
  ingress red red.example / red
  serve
  assert_equal '' "$(header content-type red.example /)"
  assert_contains "$(problems)" 'hide-headers has "not/a/name", which is left out'
}

@test "add-headers names a ConfigMap of headers for each answer; a change counts, and what is wrong or gone keeps the last good ones" {
  keys_are add-headers=ing/answers
  configmap ing/answers X-Frame-Options=DENY X-Seen='$host "a\b"' Content-Type=text/html
  configmap headers X-Own=1
  ingress red red.example / red
  ingress own own.example / red custom-headers=headers
  serve
  for host in red own nobody; do
    assert_equal DENY "$(header x-frame-options $host.example /)"
    assert_equal "$host.example \"a\\b\"" "$(header x-seen $host.example /)"
  done
  assert_equal 1 "$(header x-own own.example /)"
  assert_contains "$(problems)" 'add-headers names ConfigMap ing/answers: Content-Type is left out'
  without ing/answers
  configmap ing/answers X-Frame-Options=SAMEORIGIN
  serve
  assert_equal SAMEORIGIN "$(header x-frame-options red.example /)"
  without ing/answers
  configmap ing/answers 'X-Frame-Options=$nothing'
  serve
  assert_equal SAMEORIGIN "$(header x-frame-options red.example /)"
  assert_contains "$(problems)" 'X-Frame-Options has a variable that a header cannot have. The last good headers hold'
  without ing/answers
  serve
  assert_equal SAMEORIGIN "$(header x-frame-options red.example /)"
}

@test "proxy-set-headers names a ConfigMap of headers for pods, instead of the client's; not of those that pods believe" {
  keys_are proxy-set-headers=ing/pods
  configmap ing/pods X-Team=blue X-Path='$request_uri "q"' X-Real-IP=1.2.3.4 Host=evil X-Auth-Request-User=root
  ingress red red.example / red
  serve
  assert_equal 'blue /a?b "q"' "$(pod_gets '"\(.header["X-Team"][0]) \(.header["X-Path"][0])"' red.example '/a?b' -H 'X-Team: red')"
  assert_equal '127.0.0.1 red.example null' "$(pod_gets '"\(.header["X-Real-Ip"][0]) \(.host) \(.header["X-Auth-Request-User"])"' red.example /)"
  assert_contains "$(problems)" 'Host, X-Auth-Request-User, X-Real-IP is left out'
}
