# Annotations that are one directive of nginx each.
load words

# bats test_tags=cluster
@test "proxy-body-size bounds the body of a request; 0 is any size; a wrong size is a problem, and counts as 1 MiB" {
  ingress small one.example / red proxy-body-size=1k
  ingress any two.example / red proxy-body-size=0
  ingress wrong three.example / red proxy-body-size=1x
  serve
  head -c 1500 /dev/zero >"$dir/body"
  assert_equal '413 200 200' "$(statuses {one,two,three}.example/ -- --data-binary "@$dir/body")"
  assert_equal 200 "$(status one.example / --data-binary small)"
  head -c 1100000 /dev/zero >"$dir/body"
  assert_equal '413 200 413' "$(statuses {one,two,three}.example/ -- --data-binary "@$dir/body")"
  assert_contains "$(problems)" 'AnnotationRefused: e2e/wrong: the annotation proxy-body-size is "1x"; allowed: sizes such as 8k or 1m, up to 1024g'
}

# bats test_tags=cluster
@test "proxy-read-timeout, proxy-send-timeout and proxy-connect-timeout are seconds: a slower pod gets a 504" {
  ingress quick one.example / red proxy-read-timeout=1 proxy-send-timeout=9 proxy-connect-timeout=3
  ingress slow two.example / red proxy-read-timeout=5
  serve
  assert_equal 504 "$(status one.example '/slow?seconds=2')"
  assert_equal 200 "$(status two.example '/slow?seconds=2')"
}

# Notes in the file $dir/NAME what becomes of a client that does nothing for so many seconds in the midst of each: an
# upload; an upload that is answered meanwhile; a download. It is "received 28 20000000" where each goes on.
be_silent() { # SECONDS NAME
  local from=$dir/$2 host=$2.example
  ask "$host" /upload -T - < <(printf hello && sleep "$1" && echo) >"$from.1" 3>&- &
  clients+=("$!")
  ask "$host" /events -o /dev/null --max-time "$(($1 + 1))" -T - -X POST -H 'Expect:' < <(printf hello && sleep "$(($1 + 1))") 3>&- || echo "$?" >"$from.2" &
  clients+=("$!")
  ask "$host" '/download?bytes=20000000' | { sleep "$1" && wc -c; } >"$from.3" 3>&- &
  clients+=("$!")
}

@test "a client may be silent or read nothing for as long as proxy-read-timeout or proxy-send-timeout lets a pod, and never less than PROXY_READ_TIMEOUT" {
  [[ ${TIER-} != e2e ]] || skip 'a setting of the controller'
  ingress plain plain.example / red
  ingress reads reads.example / red proxy-read-timeout=30
  ingress sends sends.example / red proxy-send-timeout=30 proxy-read-timeout=4
  ingress less less.example / red proxy-read-timeout=1 proxy-send-timeout=1
  ingress grpc grpc.example / red proxy-read-timeout=3600 backend-protocol=GRPC
  PROXY_READ_TIMEOUT=3 serve
  assert_contains "$(grep 'grpc_pass' "$STATE_DIR/live/nginx.conf")" 'client_body_timeout 3600s; send_timeout 3600s; '
  be_silent 5 plain
  be_silent 5 reads
  be_silent 5 sends
  be_silent 2 less
  wait "${clients[@]}" || true # those that were cut have failed; the pods go on
  result() { cat "$dir/$1".{1,2,3} | xargs; }
  assert_equal 'received 28 20000000' "$(result reads)"
  assert_equal 'received 28 20000000' "$(result sends)"
  assert_equal 'received 28 20000000' "$(result less)"
  refute_contains "$(result plain)" received
  refute_contains "$(result plain)" 28
  refute_contains "$(result plain)" 20000000
}

@test "proxy-next-upstream takes nginx's words, -timeout and -tries are numbers; what is wrong is a problem, and the path is served" {
  ingress words one.example / red proxy-next-upstream='error timeout  http_502 non_idempotent' proxy-next-upstream-timeout=999999 proxy-next-upstream-tries=10
  ingress off two.example / red proxy-next-upstream=off proxy-next-upstream-timeout=0 proxy-next-upstream-tries=1
  ingress wrong three.example / red proxy-next-upstream='error; return 200' proxy-next-upstream-timeout=1s proxy-next-upstream-tries=11 \
    proxy-connect-timeout=50k proxy-read-timeout=0 proxy-send-timeout=20k
  ingress common four.example / red proxy-connect-timeout=3600
  serve
  assert_equal '200 200 200 200' "$(statuses {one,two,three,four}.example/)"
  assert_equal '503 502' "$(status one.example '/?status=503') $(status one.example /drop -d x)"
  assert_equal 6 "$(problems | grep -c 'AnnotationRefused: e2e/wrong: ')"
  assert_contains "$(problems)" 'the annotation proxy-next-upstream is "error; return 200"; allowed: error, timeout, '
}

@test "proxy-cookie-domain and proxy-cookie-path change the cookies of pods" {
  ingress changed one.example / red proxy-cookie-domain='localhost example.org' proxy-cookie-path='/one/ /'
  ingress off two.example / red proxy-cookie-domain=off proxy-cookie-path=off
  ingress wrong three.example / red proxy-cookie-domain='~(.*) $1' proxy-cookie-path='/one/ /"; }'
  ingress one-word four.example / red proxy-cookie-domain=localhost proxy-cookie-path='/a /b /c'
  serve
  cookie() { header Set-Cookie "$1" '/?header=Set-Cookie:a=b%3B%20Domain=localhost%3B%20Path=/one/two'; }
  assert_equal 'a=b; Domain=example.org; Path=/two' "$(cookie one.example)"
  local host
  for host in two three four; do assert_equal 'a=b; Domain=localhost; Path=/one/two' "$(cookie "$host.example")"; done
  assert_equal '2 2' "$(problems | grep -c e2e/wrong) $(problems | grep -c e2e/one-word)"
}

@test "flags in proxy-cookie-path are given to all cookies of the pods, or the path is closed" {
  ingress flags one.example / red 'proxy-cookie-path=/ "/; HTTPOnly; Secure"'
  ingress moved two.example / red "proxy-cookie-path=/ '/shop; secure;samesite=None;'"
  local values=('/one/ "/; Secure"' '/ "/; Secure; Partitioned"' '/ /; HttpOnly' '~*^/.* "$0; SameSite=strict"' '/ "/; Secure' '/ "/; Secure" x' "/ \"/$(printf 'x%.0s' {1..200}); Secure\"; x")
  local number
  for number in "${!values[@]}"; do ingress "closed-$number" "closed-$number.example" / red "proxy-cookie-path=${values[number]}"; done
  ingress domain domain.example / red 'proxy-cookie-domain=~(.+) "$1; secure"'
  ingress grpc grpc.example / red backend-protocol=GRPC 'proxy-cookie-path=/ "/; Secure"'
  serve
  cookie() { header Set-Cookie "$1" "/?header=Set-Cookie:a=b$2"; }
  assert_equal 'a=b; Path=/; Secure; HttpOnly' "$(cookie one.example '%3B%20Path=/')"
  assert_equal 'a=b; Secure; HttpOnly' "$(cookie one.example)"
  assert_equal 'a=b; Path=/shop; SameSite=None; Secure' "$(cookie two.example '%3B%20Path=/%3B%20SameSite=Lax')"
  assert_equal '503 503 503 503 503 503 503 503 503' "$(statuses {closed-{0..6},domain,grpc}.example/)"
  assert_equal 9 "$(problems | grep -c ProtectionNotAvailable)"
}

@test "proxy-redirect-from and proxy-redirect-to change the Location of pods, and nothing but its beginning" {
  ingress changed one.example / red proxy-redirect-from=http://inner.test/ proxy-redirect-to=https://outer.test/a/
  ingress to-path two.example / red proxy-redirect-from=http://inner.test/ proxy-redirect-to=/a/
  ingress off three.example / red proxy-redirect-from=off proxy-redirect-to=https://outer.test/
  ingress default four.example / red proxy-redirect-from=default proxy-redirect-to=https://outer.test/
  ingress to-off five.example / red proxy-redirect-from=http://inner.test/ proxy-redirect-to=off
  ingress wrong six.example / red proxy-redirect-from='~^http' proxy-redirect-to='https://$host/'
  ingress relative seven.example / red proxy-redirect-from=http://inner.test/ proxy-redirect-to=/a/ relative-redirects=true
  serve
  location() { header Location "$1" '/?status=302&header=Location:http://inner.test/x?y'; }
  assert_equal 'https://outer.test/a/x?y' "$(location one.example)"
  assert_equal 'http://two.example/a/x?y /a/x?y' "$(location two.example) $(location seven.example)"
  local host
  for host in three four five six; do assert_equal 'http://inner.test/x?y' "$(location "$host.example")"; done
  assert_equal 2 "$(problems | grep -c 'AnnotationRefused: e2e/wrong')"
}

@test "enable-access-log=false leaves the requests of an Ingress out of the log, and no others" {
  ingress logged one.example / red enable-access-log=true
  ingress quiet two.example / red enable-access-log=false
  ingress wrong three.example / red enable-access-log=/etc/passwd
  serve
  assert_equal '200 200 200' "$(statuses {two,one,three}.example/noted)"
  [[ ${TIER-} == e2e ]] || {
    wait_for 15 grep -q 'three.example/noted' "$dir/access.log"
    assert_equal 'one.example/noted three.example/noted' "$(grep -o '[a-z]*.example/noted' "$dir/access.log" | sort | xargs)"
  }
}

@test "backend-protocol=FCGI closes the Ingress, another word that is not known is a problem" {
  ingress fcgi one.example / red backend-protocol=fcgi
  ingress spdy two.example / red backend-protocol=SPDY
  ingress https three.example / red:443 backend-protocol=HTTPS proxy-buffering=on proxy-cookie-path='/one/ /'
  serve
  assert_equal '503 200 200' "$(statuses {one,two,three}.example/)"
  assert_equal true "$(pod_gets .tls three.example /)"
}

@test "a payload in a value changes nothing but its own Ingress" {
  local names=(proxy-next-upstream proxy-buffering proxy-buffer-size proxy-buffers-number proxy-busy-buffers-size proxy-max-temp-file-size proxy-request-buffering
    client-body-buffer-size proxy-http-version proxy-cookie-domain proxy-cookie-path proxy-redirect-from proxy-redirect-to enable-access-log cors-allow-origin
    cors-allow-methods cors-allow-headers cors-expose-headers cors-max-age cors-allow-credentials limit-rps limit-rate limit-allowlist backend-protocol)
  local payloads=('off; return 200 "x"; #' $'off;\n} } server { listen 1; }' '$pid' "off'; return 200;" '{}' 'a "' '\\' "$(printf '%090000d' 0)")
  for name in "${!names[@]}"; do
    for payload in "${!payloads[@]}"; do ingress "p-$name-$payload" "p-$name-$payload.example" / red enable-cors=true "${names[name]}=${payloads[payload]}"; done
  done
  ingress neighbour neighbour.example / red
  serve
  for name in "${!names[@]}"; do
    for payload in "${!payloads[@]}"; do
      answer=$(who_answers "p-$name-$payload.example" /)
      [[ $answer == red || ($answer == 503 && ${names[name]} == limit-*) ]] || { echo "${names[name]}=${payloads[payload]:0:50}: $answer" && false; }
    done
  done
  assert_equal red "$(who_answers neighbour.example /)"
  assert_equal '' "$(header Access-Control-Allow-Origin neighbour.example /)"
}
