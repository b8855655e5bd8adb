# Headers from ConfigMaps: for clients, and for the authentication service.
load words

auth=http://auth.e2e.svc.cluster.local

# bats test_tags=cluster
@test "custom-headers: clients get the headers of the ConfigMap with each answer, in the place of the pod's, whatever their values hold" {
  configmap headers X-Frame-Options=DENY Content-Type=application/json X_Under-score=yes "Content-Security-Policy=default-src 'self'; img-src https:" \
    'X-Text=$remote_addr ${host} "quoted" back\slash {a;b} # 100%'
  configmap other X-Frame-Options=SAMEORIGIN
  ingress one one.example / red custom-headers=e2e/headers
  ingress two two.example / red custom-headers=other
  ingress plain plain.example / red
  serve
  assert_equal DENY "$(header X-Frame-Options one.example '/?header=X-Frame-Options:ALLOWALL')"
  assert_equal application/json "$(header Content-Type one.example '/?header=Content-Type:text/html')"
  assert_equal "default-src 'self'; img-src https:" "$(header Content-Security-Policy one.example /)"
  assert_equal '$remote_addr ${host} "quoted" back\slash {a;b} # 100%' "$(header X-Text one.example /)"
  assert_equal yes "$(header X_Under-score one.example /)"
  assert_equal SAMEORIGIN "$(header X-Frame-Options two.example /)"
  assert_equal 'ALLOWALL 1' "$(header X-Frame-Options plain.example '/?header=X-Frame-Options:ALLOWALL') $(header Content-Type plain.example / | wc -l)"
  assert_equal '' "$(problems)"
}

@test "custom-headers: where the administrator lists what is allowed, a ConfigMap with another header closes the path" {
  configmap allowed X-Allowed=1 x_also=2
  configmap more X-Allowed=1 X-More=2
  ingress allowed allowed.example / red custom-headers=allowed
  ingress more more.example / red custom-headers=more
  ALLOWED_RESPONSE_HEADERS=x-allowed,X-Also serve
  assert_equal '1 2' "$(header X-Allowed allowed.example /) $(header x_also allowed.example /)"
  assert_equal '200 503' "$(statuses {allowed,more}.example/)"
  assert_contains "$(problems)" 'e2e/more: closed, because its protection is not available here: ConfigMap e2e/more: its key "X-More" is a header that the setting ALLOWED_RESPONSE_HEADERS does not name'
}

@test "custom-headers: with ALLOWED_RESPONSE_HEADERS=none, each such Ingress is closed, but its service may get headers" {
  configmap headers X-A=1
  ingress shut shut.example / red custom-headers=headers
  ingress asks asks.example / red "auth-url=$auth/asked" auth-proxy-set-headers=headers
  ALLOWED_RESPONSE_HEADERS=none serve
  assert_equal '503 200' "$(statuses {shut,asks}.example/)"
}

# bats test_tags=cluster
@test "auth-proxy-set-headers: the authentication service gets the headers of the ConfigMap, which no client can say; the pod does not get them" {
  configmap question X-Key=42 'X-Way=$request_method ${scheme}://$http_host$request_uri "\' X-Forwarded-Method='$request_method' 'Authorization=Basic c2VydmljZQ=='
  configmap less X-Key=43 X_Under=yes
  ingress one one.example / red "auth-url=$auth/asked?one" auth-proxy-set-headers=question auth-response-headers=X-Asked
  ingress two one.example /two red "auth-url=$auth/asked?two" auth-proxy-set-headers=e2e/less auth-response-headers=X-Asked
  ingress plain one.example /plain red "auth-url=$auth/asked" auth-response-headers=X-Asked
  serve
  local headers='[.header["X-Key", "X-Way", "X-Forwarded-Method", "Authorization", "X_under"]]' client=(-H 'X-Key: mine' -H 'X-Forwarded-Method: mine' -H 'X_Under: mine' -u a:b)
  pod_gets '.header["X-Asked"][]' one.example '/a?b' "${client[@]}" -X PUT >"$dir/asked"
  assert_json "$headers" '[["42"],["PUT http://one.example/a?b \"\\"],["PUT"],["Basic c2VydmljZQ=="],null]' <"$dir/asked"
  pod_gets '.header["X-Asked"][]' one.example /two "${client[@]}" >"$dir/asked"
  assert_json "$headers" '[["43"],null,null,["Basic YTpi"],["yes"]]' <"$dir/asked"
  pod_gets '.header["X-Asked"][]' one.example /plain "${client[@]}" -H 'X-Way: mine' >"$dir/asked"
  assert_json "$headers" '[["mine"],["mine"],null,["Basic YTpi"],null]' <"$dir/asked"
  assert_equal '[["mine"],null,null,["Basic YTpi"],null]' "$(pod_gets "$headers | tojson" one.example / "${client[@]}")"
  assert_equal '' "$(problems)"
}

# bats test_tags=cluster
@test "a ConfigMap that is missing, another namespace's, or gone closes the path; one that has changed counts" {
  configmap headers X-A=1
  configmap other/foreign X-A=foreign
  for annotation in custom-headers auth-proxy-set-headers; do
    ingress "there-${annotation:0:4}" "there-${annotation:0:4}.example" / red "auth-url=$auth/asked" "$annotation=headers"
    ingress "missing-${annotation:0:4}" "missing-${annotation:0:4}.example" / red "auth-url=$auth/asked" "$annotation=nowhere"
    ingress "foreign-${annotation:0:4}" "foreign-${annotation:0:4}.example" / red "auth-url=$auth/asked" "$annotation=other/foreign"
  done
  ingress other/own own.example / red custom-headers=foreign
  serve
  assert_equal '200 503 503 200 503 503' "$(statuses {there,missing,foreign}-{cust,auth}.example/ | awk '{print $1, $3, $5, $2, $4, $6}')"
  assert_equal '1 foreign' "$(header X-A there-cust.example /) $(header X-A own.example /)"
  assert_contains "$(problems)" 'e2e/missing-auth: closed, because its protection is not available here: ConfigMap e2e/nowhere does not exist'
  assert_contains "$(problems)" 'e2e/foreign-cust: closed, because its protection is not available here: ConfigMap other/foreign is not of namespace e2e'
  without headers
  configmap headers X-B=2
  serve
  wait_for 20 header_is 2 X-B there-cust.example
  wait_for 20 header_is '' X-A there-cust.example
  without headers
  serve
  wait_for 20 statuses_are '503 503' there-cust.example/ there-auth.example/
}

header_is() { # VALUE NAME HOST
  [[ $(header "$2" "$3" /) == "$1" ]]
}

@test "what is no header for certain closes the path, and harms nobody else" {
  local entry hosts=() name=0
  for entry in X-A= $'X-A=a\nb' $'X-A=a\r\nX-Evil: 1' 'X.A=1' "X-A=$(printf '%03001d' 0)" "X-A=$(printf '$%.0s' {1..400})" Connection=close Content_Length=1 Set-Cookie=a=b ETag=x Last-Modified=x Strict-Transport-Security=max-age=1 Access-Control-Allow-Origin=*; do
    name=$((name + 1))
    configmap "wrong-$name" "$entry"
    ingress "a-$name" "a-$name.example" / red "custom-headers=wrong-$name"
    hosts+=("a-$name.example/")
  done
  for entry in X-A= $'X-A=a\nb' $'X-A=a\r\nX-Evil: 1' Host=x Transfer-Encoding=chunked X-Real-IP=1.1.1.1 X_Forwarded_For=1.1.1.1 X-Original-URL=x X-Forwarded-User=root 'X-A=$http_cookie' 'X-A=$' 'X-A=${host' 'X-A=$hostile'; do
    name=$((name + 1))
    configmap "wrong-$name" "$entry"
    ingress "q-$name" "q-$name.example" / red "auth-url=$auth/" "auth-proxy-set-headers=wrong-$name"
    hosts+=("q-$name.example/")
  done
  configmap twice X-A=1 x-a=2
  ingress twice twice.example / red custom-headers=twice
  configmap many X-{1..21}=1
  ingress many many.example / red custom-headers=many
  ingress alone alone.example / red auth-proxy-set-headers=fine
  ingress strange strange.example / red custom-headers=e2e/configmaps/fine
  configmap fine 'X-A=";} return 200 pwned; #' 'X-B=\' 'X-C=$'
  ingress fine fine.example / red custom-headers=fine
  configmap empty
  ingress empty empty.example / red custom-headers=empty
  serve
  assert_equal 503 "$(statuses "${hosts[@]}" {twice,many,alone,strange}.example/ | tr ' ' '\n' | sort -u)"
  assert_equal '200 200' "$(statuses {fine,empty}.example/)"
  assert_equal '";} return 200 pwned; # \ $' "$(header X-A fine.example /) $(header X-B fine.example /) $(header X-C fine.example /)"
  local said
  said=$(problems)
  assert_contains "$said" 'e2e/a-2: closed, because its protection is not available here: ConfigMap e2e/wrong-2: the value of its key "X-A" is empty, or not one line of printable ASCII'
  assert_contains "$said" 'e2e/a-9: closed, because its protection is not available here: ConfigMap e2e/wrong-9: its key "Set-Cookie" is a header that is not for Ingresses to say'
  assert_contains "$said" 'ConfigMap e2e/wrong-26: the value of its key "X-A" has a $ that is none of $best_http_host, $forwarded_host,'
  assert_equal "$((name + 4))" "$(grep -c ProtectionNotAvailable <<<"$said")"
}

@test "what nginx answers itself has the headers, and its own stay: HSTS, CORS, ETag, cookies; so do those of a default backend" {
  export HSTS='max-age=300'
  configmap headers X-Frame-Options=DENY Content-Type=text/css Vary=Accept Cache-Control=no-store Expires=0 'Link=</a>; rel=preload'
  ingress cors cors.example / red custom-headers=headers enable-cors=true cors-allow-origin=https://a.example affinity=cookie
  ingress login login.example / red custom-headers=headers "auth-url=$auth/check?status=401"
  ingress denied denied.example / red custom-headers=headers denylist-source-range=0.0.0.0/0,::/0
  ingress moved moved.example / red custom-headers=headers permanent-redirect=https://a.example
  ingress dead dead.example / red:443 custom-headers=headers
  ingress backend backend.example / nowhere custom-headers=headers default-backend=blue
  ingress shut shut.example / nowhere custom-headers=missing default-backend=blue
  ingress canary-main canary.example / red custom-headers=headers
  ingress canary canary.example / blue canary=true canary-weight=100 custom-headers=headers
  ingress grpc grpc.example / red backend-protocol=GRPC custom-headers=headers
  ingress plain plain.example / red
  serve
  ask_tls cors.example '/?header=ETag:x' -o /dev/null -D "$dir/header" -H 'Origin: https://a.example'
  for line in 'X-Frame-Options: DENY' 'Content-Type: text/css' 'Vary: Accept' 'Vary: Origin' 'ETag: x' 'Strict-Transport-Security: max-age=300' 'Access-Control-Allow-Origin: https://a.example' Set-Cookie; do
    assert_equal "$line 1" "$line $(tr -d '\r' <"$dir/header" | grep -cie "^$line")"
  done
  assert_equal '401 403 301 400 502' "$(statuses {login,denied,moved,dead,grpc}.example/)"
  local host
  for host in login denied moved dead grpc backend canary; do
    assert_equal "$host DENY" "$host $(header X-Frame-Options "$host.example" /)"
    assert_equal "$host 1" "$host $(header Content-Type "$host.example" / | wc -l)"
  done
  assert_equal '401 text/plain' "$(status login.example /) $(header Content-Type login.example /)"
  assert_equal 'blue blue 503' "$(who_answers backend.example /) $(who_answers canary.example /) $(who_answers shut.example /)"
  for line in ETag:x Last-Modified:today Cache-Control:public Expires:1 Link:b Vary:c; do
    assert_equal "$line" "${line%:*}:$(header "${line%:*}" plain.example "/?header=$line")"
  done
  assert_equal no-store "$(header Cache-Control login.example /)"
}

@test "what one namespace may have is bounded, whatever others have" {
  configmap first X-{1..12}=1
  configmap second X-{9..20}=1
  configmap third X-21=1
  configmap other/third X-21=1
  ingress first first.example / red custom-headers=first
  ingress second second.example / red custom-headers=second
  ingress third third.example / red custom-headers=third
  ingress other/third other.example / red custom-headers=third
  serve
  assert_equal '200 200 503 200' "$(statuses {first,second,third,other}.example/)"
  assert_contains "$(problems)" 'e2e/third: closed, because its protection is not available here: those of its namespace have more than 20 different headers in custom-headers'
}

@test "a header that ConfigMaps spell in two ways is one: no client can say it to an authentication service" {
  configmap one X-Token=real
  configmap two x-token=other
  ingress first one.example /a red "auth-url=$auth/asked" auth-proxy-set-headers=one auth-response-headers=X-Asked
  ingress second one.example /b red "auth-url=$auth/asked" auth-proxy-set-headers=two auth-response-headers=X-Asked
  serve
  token() { pod_gets '.header["X-Asked"][0] | fromjson | .header["X-Token"] | tojson' one.example "$1" -H 'X-Token: spoofed'; }
  assert_equal '["real"] ["other"]' "$(token /a) $(token /b)"
}

@test "the setting HSTS replaces what a pod says, also beside headers from a ConfigMap; without it, the pod's own goes on" {
  [[ ${TIER-unit} == unit ]] || skip 'this needs a setting'
  configmap headers X-Frame-Options=DENY
  ingress plain one.example / red
  ingress with-headers two.example / red custom-headers=headers
  hsts() { # HOST
    ask_tls "$1" '/?header=Strict-Transport-Security:max-age%3D1' -D - -o /dev/null | sed -n 's/^strict-transport-security: \(.*\)\r/\1/ip'
  }
  HSTS=max-age=9 serve
  assert_equal 'max-age=9 max-age=9' "$({ hsts one.example && hsts two.example; } | xargs)"
  serve
  assert_equal 'max-age=1 max-age=1' "$({ hsts one.example && hsts two.example; } | xargs)"
}

@test "what a pod says of its own connection is told to no client, also beside headers from a ConfigMap or for CORS" {
  configmap headers X-Frame-Options=DENY
  ingress plain one.example / red
  ingress with-headers two.example / red custom-headers=headers
  ingress cors three.example / red enable-cors=true
  ingress both four.example / red enable-cors=true custom-headers=headers
  serve
  local host version versions=(1.1)
  local -A upgrade=([1.1]='h2,h2c')
  ! grep -qs '^ *http2 on' "${STATE_DIR-}/live/nginx.conf" || versions+=(2-prior-knowledge)
  for version in "${versions[@]}"; do
    for host in one two three four; do
      # once, and for HTTP/1.1 alone
      assert_row "${upgrade[$version]-}" "$({ header Upgrade "$host.example" '/?header=Upgrade:h2,h2c&header=Proxy-Connection:close' "--http$version" &&
        header Proxy-Connection "$host.example" '/?header=Proxy-Connection:close' "--http$version"; } | xargs)" "$host $version"
    done
  done
}
