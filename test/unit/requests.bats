# What clients send to harm others: each request goes to real nginx byte by byte,
# and either gets an error or comes to the pod as one request that means one thing.
load helpers

setup() {
  common_setup
  export CLIENT_HEADER_TIMEOUT=1
  start_witness
  serve rules '.endpointSlices.items[0].endpoints |= .[:1] | .ingresses.items += [.ingresses.items[0]
    | .metadata.name = "any" | .spec.rules = [{http: {paths: [.spec.rules[0].http.paths[0] | .path = "/any"]}}]]'
}
teardown() { common_teardown; }

# A pod of apple that takes whatever headers come, and writes down each request that it understands.
start_witness() {
  mkdir -p "$dir/witness"
  cat >"$dir/witness.conf" <<CONF
pid $dir/witness.pid;
error_log $dir/witness.log;
worker_processes 1;
events {}
http {
$(temp_paths "$dir/witness")
  underscores_in_headers on;
  ignore_invalid_headers off;
  large_client_header_buffers 8 64k;
  map \$status \$understood { 200 1; default 0; }
  map \$http_x_custom\$http_x_smuggled \$more { "" ""; default " and more"; }
  log_format seen '\$request_method \$uri \$http_host\$more';
  access_log $dir/seen seen if=\$understood;
  server {
    listen 127.77.0.1:8080;
    location / { return 200 "\$http_x_real_ip \$http_x_forwarded_for\nID: \$http_x_request_id\n"; }
  }
}
CONF
  nginx -e stderr -c "$dir/witness.conf"
}

# Sends the lines of REQUEST, with "|" between, and then a request for /end that
# closes the connection; prints the status codes of the answers. "H" is a line "Host: fruit.example".
answers_to() { # REQUEST
  local request=${1//|H|/|Host: fruit.example|}
  printf '%b' "${request//|/\\r\\n}" 'GET /apple/end HTTP/1.1\r\nHost: fruit.example\r\nConnection: close\r\n\r\n' >"$dir/request"
  exec 5<>"/dev/tcp/127.0.0.1/$HTTP_PORT"
  cat "$dir/request" >&5 2>/dev/null || true # nginx may have closed the connection already
  timeout 10 cat <&5 >"$dir/answer" 2>/dev/null || (($? != 124))
  exec 5>&-
  grep -aoE '^HTTP/1.1 [0-9]+' "$dir/answer" | cut -d ' ' -f 2 | paste -sd ' '
}

# Rows: REQUEST, its ANSWERS as an expression, and what the pod SEES of it, if anything.
assert_requests() {
  local request answers sees
  while IFS=$'\t' read -r request answers sees; do
    : >"$dir/seen"
    assert_row matches "$([[ $(answers_to "$request") =~ ^($answers)$ ]] && echo matches || tr -d '\0' <"$dir/answer" | head -n 1)" "$request" "$answers"
    assert_row "$sees" "$(grep -v ' /apple/end ' "$dir/seen" | paste -sd ';')" "$request"
  done < <(rows)
}

@test "a request whose length could be read in two ways is refused" {
  # "400 ": the connection is closed, so the rest is no second request
  assert_requests <<'ROWS'
    # request                                                                                    answers  the pod sees
    POST /apple HTTP/1.1|H|Content-Length: 3||abc                                                200 200  POST /apple fruit.example
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||3|abc|0||                                 200 200  POST /apple fruit.example
    POST /apple HTTP/1.1|H|Content-Length: 6|Transfer-Encoding: chunked||0||G                    400
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked|Content-Length: 6||0||G                    400
    POST /apple HTTP/1.1|H|Content-Length: 3|Content-Length: 4||abcd                             400
    POST /apple HTTP/1.1|H|Content-Length: 3|Content-Length: 3||abc                              400
    POST /apple HTTP/1.1|H|Content-Length: 3, 3||abc                                             400
    POST /apple HTTP/1.1|H|Content-Length: +3||abc                                               400
    POST /apple HTTP/1.1|H|Content-Length: -1||abc                                               400
    POST /apple HTTP/1.1|H|Content-Length: 0x3||abc                                              400
    POST /apple HTTP/1.1|H|Content-Length: 99999999999999999999||abc                             400
    POST /apple HTTP/1.1|H|Transfer-Encoding: xchunked||0||                                      501
    POST /apple HTTP/1.1|H|Transfer-Encoding: identity||                                         501
    POST /apple HTTP/1.1|H|Transfer-Encoding: gzip, chunked||0||                                 501
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked|Transfer-Encoding: identity||0||           400
    POST /apple HTTP/1.1|H|Transfer-Encoding: \x0bchunked||0||                                   501
    POST /apple HTTP/1.0|H|Transfer-Encoding: chunked||0||                                       400
    POST /apple HTTP/1.1|H|Transfer-Encoding : chunked|Content-Length: 3||abc                    400
    POST /apple HTTP/1.1|H|X-A: b| Transfer-Encoding: chunked|Content-Length: 3||abc             400
    POST /apple HTTP/1.1|H|Transfer-Encoding:| chunked|Content-Length: 3||abc                    400
    POST /apple HTTP/1.1|H|X-A: b\rTransfer-Encoding: chunked|Content-Length: 3||abc             400
    # these mean one thing to nginx, and it says them again to the pod
    POST /apple HTTP/1.1|H|Transfer_Encoding: chunked|Content-Length: 3||abc                     200 200  POST /apple fruit.example
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||3;a=b|abc|0||                             200 200  POST /apple fruit.example
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||3|abc|0|X-Smuggled: x||                   200 200  POST /apple fruit.example
    GET /apple HTTP/1.1|H|Content-Length: 26||GET /smuggled HTTP/1.1||||                         200 200  GET /apple fruit.example
ROWS
}

@test "chunks whose length could be read in two ways end the connection" {
  # What came before them may have reached the pod, as the beginning of a request without an end
  assert_requests <<'ROWS'
    # request                                                                                    answers
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||-3|abc|0||                                400
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||0x3|abc|0||                               400
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||FFFFFFFFFFFFFFFFF|abc|0||                 400
    POST /apple HTTP/1.1|H|Transfer-Encoding: chunked||3|abcdef|0||                              400
ROWS
}

@test "what is no header ends the request" {
  assert_requests <<'ROWS'
    # request                                                          answers  the pod sees
    GET /apple HTTP/1.1|H|X-A: b||                                     200 200  GET /apple fruit.example
    GET /apple HTTP/1.1|H|X-A: b| c: d||                               400
    GET /apple HTTP/1.1|H|X A: b||                                     400
    GET /apple HTTP/1.1|H|X-A : b||                                    400
    GET /apple HTTP/1.1|H|X\x01A: b||                                  400
    GET /apple HTTP/1.1|H|X-A: b\x00c||                                400
    GET /apple HTTP/1.1|H|X-A: b\rc||                                  400
    GET /apple\x01 HTTP/1.1|H||                                        400
    GET /apple%00 HTTP/1.1|H||                                         400
    GET /apple/../../../etc HTTP/1.1|H||                               400
    GET /apple HTTP/2.1|H||                                            505
    GET /apple HTTP/1.1 x|H||                                          400
    CONNECT fruit.example:80 HTTP/1.1|H||                              40[05]
    TRACE /apple HTTP/1.1|H||                                          405( 200)?
    # a line may end without CR (RFC 9112, section 2.2), and the pod gets it with one
    GET /apple HTTP/1.1\nHost: fruit.example\n\n                       200 200  GET /apple fruit.example
ROWS
}

@test "the pod sees the host by which it was chosen, or none" {
  assert_requests <<'ROWS'
    # request                                                          answers      the pod sees
    GET /apple HTTP/1.1|Host: fruit.example:80||                       200 200      GET /apple fruit.example:80
    GET /apple HTTP/1.1|Host: FRUIT.Example||                          200 200      GET /apple FRUIT.Example
    GET /apple HTTP/1.1|Host: fruit.example.||                         200 200      GET /apple fruit.example.
    GET /any HTTP/1.1|Host: [::1]:80||                                 200 200      GET /any [::1]:80
    GET /any HTTP/1.0|Connection: keep-alive||                         200 200      GET /any no-host.invalid
    GET http://fruit.example/apple HTTP/1.0|Connection: keep-alive||   200 200      GET /apple fruit.example
    GET /apple HTTP/1.1||                                              400
    GET /any HTTP/1.1|Host:||                                          400
    GET /apple HTTP/1.1|H|Host: fruit.example||                        400
    GET /apple HTTP/1.1|H|Host: shop.example||                         400
    GET /apple HTTP/1.1|Host: fruit.example..||                        400
    GET /apple HTTP/1.1|Host: fruit.example evil.example||             400
    GET /apple HTTP/1.1|Host: fruit.example/evil.example||             400
    GET /apple HTTP/1.1|Host: fruit.example\tevil.example||            400
    # an older nginx reads no further than the colon, or takes it for any host; then the pod gets no Host and refuses
    GET /apple HTTP/1.1|Host: fruit.example:80@evil.example||          400.*
    GET /apple HTTP/1.1|Host: fruit.example:@evil.example||            400.*
    GET /apple HTTP/1.1|Host: fruit.example:evil||                     400.*
    GET /apple HTTP/1.1|Host: fruit.example:999999||                   400.*
    GET /any HTTP/1.1|Host: fruit.example@evil.example||               400.*
    GET /any HTTP/1.1|Host: fruit.example,evil.example||               400.*
    GET /any HTTP/1.1|Host: fruit.example?evil.example||               400.*
    GET /any HTTP/1.1|Host: fruit.example#evil.example||               400.*
    GET /any HTTP/1.1|Host: fruit.example\\\\evil.example||            400.*
    GET /any HTTP/1.1|Host: "><script>||                               400.*
    GET /any HTTP/1.1|Host: fr\xc3\xbcit.example||                     400.*
    GET /any HTTP/1.1|Host: [::1]evil.example||                        400.*
    GET /any HTTP/1.1|Host: [::1||                                     400.*
    # the host in a request line counts, whatever the method and the scheme
    GET http://fruit.example/apple HTTP/1.1|Host: shop.example||       200 200      GET /apple fruit.example
    M-SEARCH http://fruit.example/apple HTTP/1.1|Host: shop.example||  200 200      M-SEARCH /apple fruit.example
    GET ws+x://fruit.example/apple HTTP/1.1|Host: shop.example||       200 200      GET /apple fruit.example
    GET http://shop.example@fruit.example/apple HTTP/1.1|H||           400
ROWS
}

@test "a path that a pod could take for another one is refused, and ordinary ones are not" {
  assert_requests <<'ROWS'
    # request                                                          answers  the pod sees
    GET /apple/../any HTTP/1.1|H||                                     400 200
    GET /apple/.. HTTP/1.1|H||                                         400 200
    GET /apple/./any?x HTTP/1.1|H||                                    400 200
    GET /./apple HTTP/1.1|H||                                          400 200
    GET /apple/. HTTP/1.1|H||                                          400 200
    GET /apple/%2e%2E/any HTTP/1.1|H||                                 400 200
    GET /apple/.%2e?x HTTP/1.1|H||                                     400 200
    GET /apple/..%2fany HTTP/1.1|H||                                   400 200
    GET /apple%2F..%2Fany HTTP/1.1|H||                                 400 200
    GET /apple/..%5cany HTTP/1.1|H||                                   400 200
    GET /apple/x%5C..%5C..%5Cany HTTP/1.1|H||                          400 200
    GET /apple/\x5c..\x5cany HTTP/1.1|H||                              400 200
    GET /apple\x5cany HTTP/1.1|H||                                     400 200
    GET /apple/..;/any HTTP/1.1|H||                                    400 200
    GET /apple/.;x=y/any HTTP/1.1|H||                                  400 200
    GET /apple/..%3Bx/any HTTP/1.1|H||                                 400 200
    GET /apple//../any HTTP/1.1|H||                                    400 200
    GET /apple#/any HTTP/1.1|H||                                       400 200
    GET /apple/..#/any HTTP/1.1|H||                                    400 200
    GET http://fruit.example/apple/../any HTTP/1.1|H||                 400 200
    GET http://fruit.example?apple HTTP/1.1|H||                        400 200
    POST /apple/../any HTTP/1.1|H|Content-Length: 3||abc               400 200
    # what stands in a query, and what is only part of a segment, means nothing
    GET /apple?/../x&#/../ HTTP/1.1|H||                                200 200  GET /apple fruit.example
    GET /apple?..%2f..%5c HTTP/1.1|H||                                 200 200  GET /apple fruit.example
    GET /apple/... HTTP/1.1|H||                                        200 200  GET /apple/... fruit.example
    GET /apple/..a/b../.well-known/a.b HTTP/1.1|H||                    200 200  GET /apple/..a/b../.well-known/a.b fruit.example
    GET /apple/group%2Fproject HTTP/1.1|H||                            200 200  GET /apple/group/project fruit.example
    GET /apple//x HTTP/1.1|H||                                         200 200  GET /apple/x fruit.example
    GET /apple/a;b=c/%252e%252e HTTP/1.1|H||                           200 200  GET /apple/a;b=c/%2e%2e fruit.example
    GET /apple/C:%5Cx HTTP/1.1|H||                                     200 200  GET /apple/C:\x5Cx fruit.example
ROWS
  assert_equal 'The path has a segment "." or ".." in it, which is not served: resolve it first.' "$(ask fruit.example /apple/../any)"
}

@test "HTTP/2 gets the same refusals, in plain text" {
  grep -q '^ *http2 on' "$STATE_DIR/live/nginx.conf" || skip 'this nginx is too old for HTTP/2'
  for path in /apple/../any /apple/%2e%2E/any /apple/..%5cany '/apple/..;/any'; do
    assert_equal '2 400 text/plain' "$(ask fruit.example "$path" --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code} %{content_type}')"
  done
  assert_equal '2 200' "$(ask fruit.example '/apple?/../x' --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}')"
  assert_equal '2 405 text/plain' "$(ask fruit.example /apple --http2-prior-knowledge -X TRACE -o /dev/null -w '%{http_version} %{http_code} %{content_type}')"
}

# Prints status, type and text of the first answer.
answer_to() { # REQUEST
  answers_to "$1" >/dev/null
  tr -d '\r' <"$dir/answer" | awk 'NR == 1 { status = $2 } /^Content-Type: / { type = $2 } body { print status, type, $0; exit } /^$/ { body = 1 }'
}

@test "what nginx says itself is plain text, one sentence, without its version" {
  long=$(printf '%017000d' 0)
  rows <<ROWS | while IFS=$'\t' read -r request answer; do assert_row "$answer" "$(answer_to "${request/LONG/$long}")" "$request"; done
    # request                                                answer
    GET /apple/../x HTTP/1.1|H||                             400 text/plain The path has a segment "." or ".." in it, which is not served: resolve it first.
    GET /apple#x HTTP/1.1|H||                                400 text/plain The path has a "#" or a backslash in it, which is not served: write it as %23 or %5C.
    GET /x.html HTTP/1.1|H||                                 404 text/plain No rule of an Ingress matches host fruit.example and path /x.html.
    NONSENSE||                                               400 text/plain This is not an HTTP request that could be understood.
    GET /apple HTTP/1.1||                                    400 text/plain This is not an HTTP request that could be understood.
    GET /apple HTTP/1.1|Host: a b||                             400 text/plain This is not an HTTP request that could be understood.
    TRACE /apple HTTP/1.1|H||                                405 text/plain This method is not possible here.
    GET /LONG HTTP/1.1|H||                                   414 text/plain The request line is too long: it may have 16 kB.
    GET /apple HTTP/1.1|H|A: LONG||                          431 text/plain The header of the request is too large: a line may have 16 kB, all of it 64 kB.
    POST /apple HTTP/1.1|H|Transfer-Encoding: gzip||         501 text/plain This Transfer-Encoding is unknown: only chunked is possible.
    GET /apple HTTP/2.1|H||                                  505 text/plain This version of HTTP is unknown: 1.0, 1.1 and 2 are possible.
ROWS
  assert_equal 'This port is for HTTPS, and the request came without TLS.' "$(curl -s "http://127.0.0.1:$HTTPS_PORT/")"
  rm -f "$STATE_DIR/admin/ready"
  assert_equal '503 Service Temporarily Unavailable: try again later. 503 text/plain' "$(curl -s "127.0.0.1:$ADMIN_PORT/readyz" -w '%{http_code} %{content_type}' | paste -sd ' ')"
  assert_equal 'This is not an HTTP request that could be understood.' "$(curl -s "127.0.0.1:$ADMIN_PORT/" -H 'Host: a b')"
  assert_equal 400 "$(ask fruit.example /apple/../x --head -o /dev/null -w '%{http_code}')"
  for request in 'GET /apple/../x HTTP/1.1|H||' 'NONSENSE||'; do
    answers_to "$request" >/dev/null
    assert_equal 'Server: nginx' "$(grep -a -m 1 '^Server:' "$dir/answer" | tr -d '\r')"
  done
}

@test "a client that is sent to HTTPS is told so in plain text" {
  serve rules '.ingresses.items[0].metadata.annotations = {"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}'
  assert_equal '308 https://fruit.example/apple?x text/plain' "$(ask fruit.example '/apple?x' -o "$dir/answer" -w '%{http_code} %{redirect_url} %{content_type}')"
  assert_equal 'This is served over HTTPS only.' "$(<"$dir/answer")"
}

odd_requests=(
  'GET /apple/gr\xc3\xb6\xc3\x9fe?x=y HTTP/1.1|H|User-Agent: \x9b31m and \xff\xfe "quoted" \x5c||'
  'GET /apple/\x9b2J\x80 HTTP/1.1|Host: fr\xc3\xbcit.example|User-Agent: a\tb||'
  'GET /apple HTTP/1.1|H|X-Request-ID: \x9b "x" \xc3||'
  'GET /\xff"\x5c" HTTP/1.1|H||'
  'GET /apple||'
  '\x16\x03\x01\xff||'
  'TRACE /apple HTTP/1.1|H||'
)

# Sends them all, and prints the lines that they leave in the log.
log_of_odd_requests() { # FORM
  local request
  ACCESS_LOG=$1 serve rules
  : >"$dir/access.log"
  for request in "${odd_requests[@]}"; do answers_to "$request" >/dev/null; done
  ask fruit.example /last >/dev/null
  wait_for 15 grep -q /last "$dir/access.log"
  cat "$dir/access.log"
}

@test "each line of the log is printable ASCII, whatever bytes a client sends" {
  for form in text json; do
    log_of_odd_requests "$form" >"$dir/lines"
    (($(wc -l <"$dir/lines") > ${#odd_requests[@]}))
    run env LC_ALL=C grep -vnE '^[ -~]*$' "$dir/lines"
    assert_equal '' "$output"
  done
  assert_equal "$(wc -l <"$dir/lines")" "$(jq -c . "$dir/lines" | wc -l)"
  assert_equal '["GET","/apple/gr[...]e?x=y","[...] \"quoted\" \\",200]' "$(jq -c 'select(.uri | contains("/gr")) | [.method, .uri, .user_agent, .status]' "$dir/lines")"
  assert_equal 405 "$(jq 'select(.method == "TRACE").status' "$dir/lines")"
}

@test "a request ID that not every log could show is replaced" {
  assert_equal 'X-Request-ID: a-1_b:/+=@~.' "$(request_id 'a-1_b:/+=@~.')"
  for bad in 'a b' 'a"b' $'a\x9b' "$(printf '%0129d' 0)"; do
    [[ $(request_id "$bad") =~ ^X-Request-ID:\ [0-9a-f]{32}$ ]]
  done
}

request_id() { # ID   prints what the pod gets
  ask fruit.example /apple -H "X-Request-ID: $1" | sed -n 's/^ID: /X-Request-ID: /p'
}

@test "a header that a program could take for one of nginx's own does not get past it" {
  assert_requests <<'ROWS'
    # request                                                          answers  the pod sees
    GET /apple HTTP/1.1|H|X-Custom: seen||                             200 200  GET /apple fruit.example and more
    GET /apple HTTP/1.1|H|X_Custom: seen||                             200 200  GET /apple fruit.example
    GET /apple HTTP/1.1|H|X-Custom_: seen|X.Custom: seen||             200 200  GET /apple fruit.example
ROWS
  assert_equal 200\ 200 "$(answers_to 'GET /apple HTTP/1.1|H|X_Real_IP: 6.6.6.6|X-Real-IP: 6.6.6.6|X_Forwarded_For: 6.6.6.6|Connection: X-Real-IP, X-Forwarded-For||')"
  assert_contains "$(<"$dir/answer")" '127.0.0.1 127.0.0.1'
  refute_contains "$(<"$dir/answer")" 6.6.6.6
}

@test "a cookie of 15 kB is passed on; a header that is larger than 16 kB, or 64 kB as a whole, is refused" {
  kilobytes() { printf "%0$((1000 * $1))d" 0; }
  assert_equal '200 200' "$(answers_to "GET /apple HTTP/1.1|H|Cookie: $(kilobytes 15)||")"
  assert_equal '200 200' "$(answers_to "GET /apple?$(kilobytes 15) HTTP/1.1|H||")"
  assert_equal '200 200' "$(answers_to "GET /apple HTTP/1.1|H|A: $(kilobytes 15)|B: $(kilobytes 15)|C: $(kilobytes 15)||")"
  assert_equal 431 "$(answers_to "GET /apple HTTP/1.1|H|Cookie: $(kilobytes 17)||")"
  assert_equal 414 "$(answers_to "GET /apple?$(kilobytes 17) HTTP/1.1|H||")"
  assert_equal 431 "$(answers_to "GET /apple HTTP/1.1|H|A: $(kilobytes 15)|B: $(kilobytes 15)|C: $(kilobytes 15)|D: $(kilobytes 15)|E: $(kilobytes 15)||")"
  assert_equal 431 "$(answers_to "GET /apple HTTP/1.1|Host: $(kilobytes 17)||")"
}

# Sends "x" again and again, and succeeds when nginx closes the connection.
is_closed() { # PORT BEGINNING
  local dripping status=0
  exec 5<>"/dev/tcp/127.0.0.1/$1"
  printf '%b' "$2" >&5
  while printf x >&5 && sleep 0.1; do :; done 2>/dev/null 3>&- &
  dripping=$!
  timeout 20 cat <&5 >/dev/null 2>&1 || status=$?
  exec 5>&-
  kill "$dripping" 2>/dev/null || true # it may have found out by itself
  ((status != 124))
}

@test "a client that sends its header or its handshake byte by byte loses the connection after CLIENT_HEADER_TIMEOUT" {
  is_closed "$HTTP_PORT" 'GET /apple HTTP/1.1\r\nHost: fruit.example\r\nX-A: '
  is_closed "$HTTP_PORT" ''
  is_closed "$HTTPS_PORT" '\x16\x03\x01\x40\x00\x01\x00\x3f\xfc'
  assert_contains "$(<"$STATE_DIR/live/nginx.conf")" 'client_header_timeout 1s;'
}

@test "slow clients take nothing from others, and a body may take longer than a header" {
  for _ in {1..50}; do
    exec {fd}<>"/dev/tcp/127.0.0.1/$HTTP_PORT"
    printf 'POST /apple HTTP/1.1\r\nHost: fruit.example\r\nContent-Length: 3\r\nConnection: close\r\n\r\na' >&"$fd"
    slow+=("$fd")
  done
  for _ in {1..20}; do assert_equal 200 "$(ask fruit.example /apple -o /dev/null -w '%{http_code}')"; done
  sleep 1.5 # longer than CLIENT_HEADER_TIMEOUT
  for fd in "${slow[@]}"; do
    printf 'bc' >&"$fd"
    assert_contains "$(timeout 10 cat <&"$fd")" '200 OK'
    exec {fd}>&-
  done
}

@test "a pod's own Server header comes through, once" {
  serve rules # the pods are an nginx that tells its version
  assert_equal "Server: nginx/$(nginx -v 2>&1 | sed 's|.*/||; s/ .*//')" "$(ask fruit.example /apple -o /dev/null -D - | tr -d '\r' | grep -i '^server:')"
}
