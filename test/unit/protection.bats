# What asks for protection is never served without it. Each row of these tables has annotations of ingress-nginx,
# and what must become of requests: to an Exact, a Prefix and a default path, over HTTP and HTTPS.
load helpers

setup() {
  common_setup
  start_pods
}
teardown() { common_teardown; }

# Rows: NAME=VALUE; NAME=VALUE, ANSWER, and what the problem says, if there is one.
assert_annotations() { # [WHY]
  local why=${1:-its protection is not available here} number annotations answer problem url actual
  rows | awk -F '\t' -v OFS='\t' '{ print NR, $0 }' >"$dir/rows"
  snapshot_of annotations --rawfile rows "$dir/rows" | serve_snapshot
  cut -f 1 "$dir/rows" | urls_of_rows >"$dir/urls"
  statuses_of_urls <"$dir/urls" >"$dir/statuses"
  paste "$dir/urls" "$dir/statuses" >"$dir/actual"
  while IFS=$'\t' read -r number annotations answer problem; do
    while IFS=$'\t' read -r url actual; do
      assert_row "$answer" "$actual" "$annotations" "$url"
    done < <(grep "//row-${number}[.]" "$dir/actual")
    [[ $answer != 503 ]] || assert_contains "$(ask "row-$number.example" /prefix)" "503 Service Temporarily Unavailable: closed, because $why (its Events say why): path "
    [[ -n $problem || $answer == 200 || $answer == 403 ]] || problem=ProtectionNotAvailable
    if [[ -n $problem ]]; then assert_contains "$(row_problems "$number")" "$problem"; else assert_equal '' "$(row_problems "$number")"; fi
  done <"$dir/rows"
  assert_equal "$((8 * $(wc -l <"$dir/rows")))" "$(grep -c '\.example/.*[0-9]$' "$dir/actual")"
}

# Four paths over HTTP and HTTPS for each row.
urls_of_rows() { # <NUMBERS
  local number
  while read -r number; do
    printf '%s\n' {http,https}"://row-$number.example"/{prefix,prefix/below,exact,other}
  done
}

# One curl asks them all.
statuses_of_urls() { # <URLS
  sed 's|.*|url = "&"\noutput = /dev/null|' |
    curl -sk --max-time 10 --connect-to ":80:127.0.0.1:$HTTP_PORT" --connect-to ":443:127.0.0.1:$HTTPS_PORT" -w '%{http_code}\n' -K -
}

status_of() { # NUMBER PATH [CURL_OPTION...]
  ask "row-$1.example" "$2" "${@:3}" -o /dev/null -w '%{http_code}'
}

# Rows: NAME=VALUE; NAME=VALUE, the client's address, ANSWER.
assert_clients() {
  local number annotations client answer
  rows | awk -F '\t' -v OFS='\t' '{ print NR, $0 }' >"$dir/rows"
  snapshot_of annotations --rawfile rows "$dir/rows" | serve_snapshot
  while IFS=$'\t' read -r number annotations client answer; do
    [[ $client != *:* || -e /proc/net/if_inet6 ]] || continue
    assert_row "$answer" "$(status_from "$client" "$number")" "$annotations" "$client"
  done <"$dir/rows"
}

status_from() { # CLIENT NUMBER
  local address=127.0.0.1
  [[ $1 != *:* ]] || address="[::1]"
  curl -s --max-time 10 --interface "$1" -o /dev/null -w '%{http_code}' -H "Host: row-$2.example" "http://$address:$HTTP_PORT/prefix"
}

@test "an annotation that asks for a protection which is not there closes its paths: 503 (500 where auth-url finds nobody to ask), with the reason, and a problem" {
  assert_annotations <<'ROWS'
    # annotations                              answer
    auth-url=http://auth.example/              500
    auth-type=basic                            503
    auth-type=basic; auth-secret=users         503
    auth-secret=users                          503
    auth-realm=here                            503
    auth-signin=https://auth.example/          503
    auth-tls-secret=demo/ca                    503
    auth-tls-verify-client=on                  503
    auth-tls-verify-client=optional            503
    auth-snippet=deny all;                     503
    configuration-snippet=deny all;            503
    server-snippet=deny all;                   503
    stream-snippet=deny all;                   503
    modsecurity-snippet=SecRuleEngine On       503
    enable-modsecurity=true                    503
    enable-owasp-core-rules=true               503
    enable-global-auth=true                    503
    satisfy=some                               503
    satisfy=any; auth-url=http://a             500
    limit-rps=-1                               503
    limit-connections=many                     503
    limit-whitelist=all                        503
    proxy-ssl-verify=on                        503
    proxy-ssl-verify=maybe                     503
    ssl-passthrough=perhaps                    503
    custom-headers=demo/headers                503
ROWS
}

@test "a name that ingress-nginx does not document closes the path if it looks like a protection" {
  assert_annotations <<'ROWS'
    whitelist-source-ranges=10.0.0.0/8         503
    whitelist=10.0.0.0/8                       503
    Whitelist-Source-Range=0.0.0.0/0           503
    denylist=10.0.0.0/8                        503
    blacklist-source-range=10.0.0.0/8          503
    allow-from=10.0.0.0/8                      503
    authentication-url=http://a                503
    rate-limit=5                               503
    tls-client-ca=ca                           503
    secure-verify-ca-secret=ca                 503
    enable-waf=true                            503
    Satisfy=any                                503
    my-snippet=deny all;                       503
    allow-from-anywhere=                       503
    made-up=yes                                200   AnnotationNotSupported
ROWS
}

@test "an annotation that says where requests go closes its paths if its value is not let in; an empty one is a problem only" {
  assert_annotations 'it is not clear where its requests are to go' <<'ROWS'
    permanent-redirect=ftp://a.example         503
    permanent-redirect=https://a.example$uri   503
    permanent-redirect=                        200   AnnotationRefused
    temporal-redirect=//$host                  503
    rewrite-target=ftp://a.example/$1          503
    rewrite-target=https://$host/              503
    rewrite-target=https://a.example:$1        503
    rewrite-target=x/$1                        503
    rewrite-target=                            200   AnnotationRefused
    use-regex=yes                              503
    use-regex=                                 200   AnnotationRefused
    upstream-vhost=$http_x                     503
    upstream-vhost=                            200   AnnotationRefused
    permanent-redirect-code=200                200   AnnotationRefused
    mirror-target=elsewhere                    200   AnnotationRefused
    default-backend=-                          200   AnnotationRefused
    service-upstream=yes                       200   AnnotationRefused
    from-to-www-redirect=yes                   200   AnnotationRefused
ROWS
}

@test "what is switched off asks for nothing, and a convenience that is not there is a problem while the path is served" {
  assert_annotations <<'ROWS'
    -                                          200
    ssl-passthrough=false                      200
    ssl-passthrough=F                          200
    enable-modsecurity=false                   200
    enable-global-auth=0                       200
    proxy-ssl-verify=off                       200
    auth-tls-verify-client=off                 200
    allow-from-anywhere=false                  200
    limit-everything=off                       200
    configuration-snippet=                     200
    secure-backends=true                       200   AnnotationNotSupported
    tls-acme=true                              200   AnnotationNotSupported
    enable-rewrite-log=true                    200   AnnotationNotSupported
    http2-push-preload=true                    200   AnnotationNotSupported
    enable-cors=maybe                          200   AnnotationRefused
    cors-allow-origin=;                        200   AnnotationRefused
    proxy-body-size=8m                         200
    proxy-body-size=much                       200   AnnotationRefused
    backend-protocol=SPDY                      200   AnnotationRefused
    backend-protocol=FCGI                      503   ProtectionNotAvailable
    http2-push-preload=x; auth-url=http://a    500   AnnotationNotSupported
ROWS
}

@test "ssl-redirect and force-ssl-redirect are read as Go reads booleans, and what is none closes the path" {
  assert_annotations <<'ROWS'
    ssl-redirect=0                             200
    ssl-redirect=f                             200
    ssl-redirect=F                             200
    ssl-redirect=false                         200
    ssl-redirect=False                         200
    ssl-redirect=FALSE                         200
    force-ssl-redirect=FALSE                   200
    ssl-redirect=true                          200
    ssl-redirect=yes                           503   ssl-redirect is "yes"; allowed: true and false
    ssl-redirect=on                            503
    ssl-redirect=tRUE                          503
    ssl-redirect=                              503
    ssl-redirect=true\n                        503
    force-ssl-redirect=2                       503
    force-ssl-redirect=yes; ssl-redirect=true  503
ROWS
  snapshot_of annotations --arg rows "$(printf '%s\n' {1,t,T,true,True,TRUE} | awk '{ print NR "\tforce-ssl-redirect=" $0 }')" | "$bin/route" |
    assert_json '[.servers[] | select(.host != "") | [.locations[].redirect] | unique]' '[[true],[true],[true],[true],[true],[true]]'
}

@test "the lists of source ranges turn away whom they do not let in, by the address of the connection" {
  assert_clients <<'ROWS'
    # annotations                                                    client      answer
    whitelist-source-range=127.0.0.0/8                               127.0.0.1   200
    whitelist-source-range=127.0.0.1                                 127.0.0.1   200
    whitelist-source-range=127.0.0.1                                 127.0.0.2   403
    whitelist-source-range=127.0.0.1/32                              127.0.0.2   403
    whitelist-source-range=127.0.0.2/31                              127.0.0.3   200
    whitelist-source-range=127.0.0.2/31                              127.0.0.4   403
    whitelist-source-range=127.0.0.3/31                              127.0.0.2   200
    whitelist-source-range=10.0.0.0/8                                127.0.0.1   403
    whitelist-source-range=10.0.0.0/8,127.0.0.5                      127.0.0.5   200
    whitelist-source-range=10.0.0.0/8 , 127.0.0.5                    127.0.0.5   200
    whitelist-source-range= 10.0.0.0/8,\t127.0.0.5\n                 127.0.0.5   200
    whitelist-source-range=10.0.0.0/8,127.0.0.5                      127.0.0.6   403
    whitelist-source-range=0.0.0.0/0                                 127.0.0.1   200
    whitelist-source-range=0.0.0.0/0                                 ::1         403
    whitelist-source-range=::/0                                      127.0.0.1   403
    whitelist-source-range=::/0                                      ::1         200
    whitelist-source-range=0.0.0.0/0,::/0                            127.0.0.1   200
    whitelist-source-range=0.0.0.0/0,::/0                            ::1         200
    whitelist-source-range=::1                                       ::1         200
    whitelist-source-range=0:0:0:0:0:0:0:1                           ::1         200
    whitelist-source-range=::2                                       ::1         403
    whitelist-source-range=::2/127                                   ::1         403
    whitelist-source-range=::3/126                                   ::1         200
    whitelist-source-range=2001:db8::/32                             ::1         403
    whitelist-source-range=2001:db8:1:2:3:4:5::/112,::1              ::1         200
    allowlist-source-range=127.0.0.1                                 127.0.0.1   200
    allowlist-source-range=127.0.0.1                                 127.0.0.2   403
    allowlist-source-range=127.0.0.1; whitelist-source-range=127.0.0.1   127.0.0.1   200
    allowlist-source-range=127.0.0.1; whitelist-source-range=127.0.0.2   127.0.0.1   503
    denylist-source-range=127.0.0.2                                  127.0.0.2   403
    denylist-source-range=127.0.0.2                                  127.0.0.1   200
    denylist-source-range=127.0.0.2                                  ::1         200
    denylist-source-range=::/0                                       ::1         403
    denylist-source-range=::/0                                       127.0.0.1   200
    denylist-source-range=0.0.0.0/0,::/0                             127.0.0.1   403
    # deny comes first, also if its network is the wider one
    denylist-source-range=127.0.0.2; whitelist-source-range=127.0.0.0/8   127.0.0.2   403
    denylist-source-range=127.0.0.2; whitelist-source-range=127.0.0.0/8   127.0.0.3   200
    denylist-source-range=127.0.0.0/8; whitelist-source-range=127.0.0.2   127.0.0.2   403
    denylist-source-range=127.0.0.2; whitelist-source-range=127.0.0.3     127.0.0.4   403
    # a wrong entry closes the path for everybody
    whitelist-source-range=127.0.0.0/8,nonsense                      127.0.0.1   503
    whitelist-source-range=127.0.0.0/33                              127.0.0.1   503
    whitelist-source-range=127.0.0.0/                                127.0.0.1   503
    whitelist-source-range=127.0.0.0/08                              127.0.0.1   503
    whitelist-source-range=127.0.0.1,                                127.0.0.1   503
    whitelist-source-range=127.0.0.1 10.0.0.1                        127.0.0.1   503
    whitelist-source-range=127.0.0.1;                                127.0.0.1   503
    whitelist-source-range=127.0.0.01                                127.0.0.1   503
    whitelist-source-range=127.0.0                                   127.0.0.1   503
    whitelist-source-range=256.0.0.1                                 127.0.0.1   503
    whitelist-source-range=::ffff:7f00:1                             127.0.0.1   503
    whitelist-source-range=fe80::1%lo                                127.0.0.1   503
    whitelist-source-range=::/129                                    127.0.0.1   503
    whitelist-source-range=all                                       127.0.0.1   503
    whitelist-source-range=                                          127.0.0.1   503
    denylist-source-range=nonsense                                   127.0.0.1   503
    denylist-source-range=::ffff:7f00:1                              127.0.0.1   503
ROWS
}

@test "who is turned away is told so in plain text, before any redirect, over HTTP/2 too, and it does not count what the client says" {
  snapshot_of annotations --arg rows $'1\tdenylist-source-range=127.0.0.1; force-ssl-redirect=true' | serve_snapshot
  assert_equal 'This path is not open to your address, 127.0.0.1.' "$(ask row-1.example /prefix -H 'X-Forwarded-For: 10.0.0.1' -H 'X-Real-IP: 10.0.0.1')"
  assert_equal 'text/plain 403' "$(ask row-1.example /exact -o /dev/null -w '%{content_type} %{http_code}')"
  # nginx of this machine may be too old for HTTP/2 here; the image's is not
  assert_equal 403 "$(curl -sk --http2 -o /dev/null -w '%{http_code}' --connect-to "::127.0.0.1:$HTTPS_PORT" https://row-1.example/prefix)"
}

@test "what the http block says of addresses stays in force beside the list of a location" {
  mkdir "$dir/templates"
  cp "$templates"/* "$dir/templates"
  edit "$dir/templates/clients.conf.template" 's|^  server_tokens off;|&\n  deny 127.0.0.9;|'
  export TEMPLATES_DIR=$dir/templates
  assert_clients <<'ROWS'
    whitelist-source-range=127.0.0.0/8    127.0.0.9   403
    whitelist-source-range=127.0.0.0/8    127.0.0.8   200
    -                                     127.0.0.9   403
ROWS
}

@test "a payload in a value changes nothing but its own Ingress" {
  local payloads=('127.0.0.1;} } http { server {' '127.0.0.1";allow all;#' "127.0.0.1';deny" '127.0.0.1\n;allow all' '$remote_addr'
    '127.0.0.1\\"' '\0' '127.0.0.1\0' '{}' "$(printf '%0100000d' 0)" "$(printf '127.%s.0/24,' {0..3}.{0..255})127.0.0.2")
  annotated() { # VALUE...   an Ingress for each, and one without
    printf '%s\n' "$@" | awk '{ print NR "\twhitelist-source-range=" $0 } END { print "0\t-" }' >"$dir/rows"
    snapshot_of annotations --rawfile rows "$dir/rows" | "$bin/route" | "$bin/render" | sed -E '/annotated-row-[1-9][0-9]*"/ s/return 503 "[^"]*"/503/; /config-hash|return 200/d'
  }
  annotated "${payloads[@]/*/wrong}" >"$dir/expected"
  assert_equal "${#payloads[@]}" "$(grep -oE 'annotated-row-[1-9][0-9]*"; 503' "$dir/expected" | sort -u | wc -l)"
  annotated "${payloads[@]}" >"$dir/actual"
  diff "$dir/expected" "$dir/actual"
}

@test "a protection that loses its path to an older Ingress is told that it is not in force there" {
  lists_of annotations --arg rows $'1\t-\n2\twhitelist-source-range=10.0.0.1\n3\tauth-url=http://a' |
    jq '.ingresses.items[1, 2] |= (.spec.rules[0].host = "row-1.example" | .metadata.creationTimestamp = "2002")
      | .ingresses.items[2].spec.rules[0].http.paths[0].path = "/protected"' | serve_lists
  assert_equal 200 "$(status_of 1 /prefix)"
  assert_equal 500 "$(status_of 1 /protected/below)"
  assert_contains "$(row_problems 2)" 'Exact path /exact of host row-1.example is already taken by Ingress demo/annotated-row-1, so what protects this one is not in force there: "whitelist-source-range"'
  assert_contains "$(row_problems 3)" 'so what protects this one is not in force there: "auth-url"'
}

@test "a protected path stays closed beside an unprotected Ingress of the same host, whichever is older" {
  local years
  for years in '"2001", "2002"' '"2002", "2001"'; do
    lists_of annotations --arg rows $'1\twhitelist-source-range=10.0.0.1\n2\t-' |
      jq "[$years]"' as $years | .ingresses.items[0].metadata.creationTimestamp = $years[0] | .ingresses.items[1].metadata.creationTimestamp = $years[1]
        | .ingresses.items[1].spec.rules[0] |= (.host = "row-1.example" | .http.paths = [.http.paths[0] | .path = "/"])' | serve_lists
    assert_equal '403 403 200' "$(status_of 1 /prefix/x) $(status_of 1 /exact) $(status_of 1 /elsewhere)"
  done
}

@test "Ingresses with the same source ranges share one list, and another order makes no other configuration" {
  lists_of annotations --arg rows $'1\twhitelist-source-range=10.0.0.1, 10.0.0.2\n2\tallowlist-source-range=10.0.0.2/32,10.0.0.1\n3\tdenylist-source-range=10.0.0.1,10.0.0.2' >"$dir/snapshot.json"
  digest_lists <"$dir/snapshot.json" | "$bin/route" | assert_json .options '[{"allowlist-source-range":["10.0.0.1/32","10.0.0.2/32"]},{"denylist-source-range":["10.0.0.1/32","10.0.0.2/32"]}]'
  digest_lists <"$dir/snapshot.json" | "$bin/route" | "$bin/render" | grep -c '^  geo $in_networks' | grep -x 1
  cmp <(digest_lists <"$dir/snapshot.json" | "$bin/route") <(jq '.ingresses.items |= reverse' "$dir/snapshot.json" | digest_lists | "$bin/route")
}

@test "an Ingress in a namespace that is being deleted gives way to any other, and serves what nobody else wants" {
  serve rules '.ingresses.items |= [.[0] | .spec.rules = [.spec.rules[0] | .host = "gives.example" | .http.paths |= [.[0] | .path = "/"]] | .metadata.creationTimestamp = "2001"
      | (., (.metadata |= (.namespace = "shop" | .name = "younger" | .creationTimestamp = "2002")), (.spec.rules[0].host = "alone.example" | .metadata.name = "alone"))]
    | .terminatingNamespaces.items = [{metadata: {name: "demo"}}]'
  assert_equal shop "$(who_answers gives.example /)"
  assert_equal apple "$(who_answers alone.example /)"
  assert_contains "$(problems)" 'HostTaken: demo/fruit: host gives.example belongs to namespace shop, whose Ingress shop/younger is the oldest with a rule for it (2002'
}
