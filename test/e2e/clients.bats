# Clients as they are: what they send arrives as they send it, and nothing is kept on the way.
load helpers

setup_file() {
  create_ingress client 'client.example/*=backend:80'
  wait_for 10 always_status 200 client.example /
}
teardown() { [[ -n ${BATS_TEST_COMPLETED-} ]] || explain_failure; }
teardown_file() { kubectl -n e2e delete ingress --all --wait=false; }

# Makes every replica load a new configuration.
reload() {
  create_ingress "reload-$BATS_TEST_NUMBER" "reload-$BATS_TEST_NUMBER.example/=backend:80"
  wait_for 10 always_status 200 "reload-$BATS_TEST_NUMBER.example" /
}

@test "HTTP/1.1 and HTTP/1.0 are answered" {
  assert_equal '1.1 200' "$(ask client.example / --http1.1 -o /dev/null -w '%{http_version} %{http_code}')"
  assert_equal 200 "$(ask client.example / --http1.0 -o /dev/null -w '%{http_code}')"
}

@test "HEAD gets the header of the answer, with the length that a GET would have, and no body" {
  run ask client.example '/download?bytes=12345' --head
  assert_equal 0 "$status"
  assert_contains "$output" 'HTTP/1.1 200'
  assert_contains "$output" 'Content-Length: 12345'
  # curl does not look for a body, so: all that comes until the connection is closed
  exec {connection}<>"/dev/tcp/$(address_with_port | tr : /)"
  printf 'HEAD /download?bytes=12345 HTTP/1.1\r\nHost: client.example\r\nConnection: close\r\n\r\n' >&"$connection"
  timeout 20 cat <&"$connection" >"$BATS_TEST_TMPDIR/answer"
  assert_equal $'HTTP/1.1 200 OK\r' "$(head -n 1 "$BATS_TEST_TMPDIR/answer")"
  assert_equal 0 "$(sed $'1,/^\r$/d' "$BATS_TEST_TMPDIR/answer" | wc -c)"
  exec {connection}>&-
}

@test "OPTIONS and methods that nobody knows go to the pod" {
  assert_equal OPTIONS "$(ask client.example / -X OPTIONS | jq -r .method)"
  assert_equal BREW "$(ask client.example / -X BREW | jq -r .method)"
}

@test "a path with a dot segment gets a 400 with a sentence, over HTTP/1.1 and HTTP/2; a query may have one" {
  for version in --http1.1 --http2-prior-knowledge; do
    for path in /a/../b /a/%2e%2E/b /a/..%2fb '/a/..;/b'; do
      assert_equal 'The path has a segment "." or ".." in it, which is not served: resolve it first. 400 text/plain' \
        "$(ask client.example "$path" "$version" -w '%{http_code} %{content_type}' | paste -sd ' ')"
    done
    assert_equal '/a%2Fb?/../c' "$(ask client.example '/a%2Fb?/../c' "$version" | jq -r .uri)"
  done
}

# Prints a frame of HTTP/2 (RFC 9113, section 4.1) in the notation of printf.
# shellcheck disable=SC2059 # the payload is in the notation of printf
frame() { # TYPE FLAGS STREAM [PAYLOAD, in that notation]
  local length
  length=$(printf "${4-}" | wc -c)
  printf '\\x00\\x%02x\\x%02x\\x%02x\\x%02x\\x00\\x00\\x00\\x%02x%s' "$((length / 256))" "$((length % 256))" "$1" "$2" "$3" "${4-}"
}

# The same of a header that is written out (RFC 7541, section 6.2.2).
field() { # NAME VALUE
  printf '\\x00\\x%02x%s\\x%02x%s' "${#1}" "$1" "${#2}" "$2"
}

# Prints what comes back for a GET over HTTP/2 with one header more. (curl leaves some out.)
# shellcheck disable=SC2059 # the frames are
ask_with_frames() { # HOST NAME VALUE
  local block
  block=$(field :method GET && field :scheme http && field :path / && field :authority "$1" && field "$2" "$3")
  exec {connection}<>"/dev/tcp/$(address_with_port | tr : /)"
  printf "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n$(frame 4 0 0)$(frame 1 5 1 "$block")" >&"$connection"
  timeout 2 cat <&"$connection" | tr -cd '[:print:]' || true # nginx keeps the connection open
  exec {connection}>&-
}

@test "over HTTP/2 nobody gets an upgrade, which would let a pod write past the frames" {
  assert_contains "$(ask_with_frames client.example x-custom mine)" '"X-Custom":["mine"]'
  assert_contains "$(ask_with_frames client.example upgrade websocket)" 'An upgrade is not possible with HTTP/2.'
}

@test "an answer whose pod offers an upgrade gets to clients of HTTP/2, without the offer; those of HTTP/1.1 hear it, with a 426 too" {
  local offer='header=Upgrade:h2,h2c&header=Proxy-Connection:keep-alive' status
  offers() { # STATUS CURL_OPTION...
    ask client.example "/?status=$1&$offer" -o /dev/null -D - "${@:2}" | tr -d '\r' | grep -iE '^(HTTP/|upgrade:|proxy-connection:)' | cut -d ' ' -f 2 | xargs
  }
  for status in 200 426; do
    assert_equal "$status" "$(offers "$status" --http2-prior-knowledge)"
    assert_equal "$status h2,h2c" "$(offers "$status" --http1.1)"
  done
}

@test "what a client says in a proxy's name does not reach the pod" {
  run ask client.example / -H 'X-Forwarded-For: 6.6.6.6' -H 'Forwarded: for=6.6.6.6' -H 'X-Forwarded-Prefix: 6.6.6.6' -H 'X-Original-URL: 6.6.6.6' \
    -H 'True-Client-IP: 6.6.6.6' -H 'X-Auth-Request-User: 6.6.6.6' -H 'X-Custom: mine'
  assert_contains "$output" '"X-Custom":["mine"]'
  refute_contains "$output" 6.6.6.6
}

@test "a pod that closes the connection is named by its Service, in plain text" {
  assert_equal 'Service e2e/backend closed the connection before nginx had an answer: Ingress e2e/client. 502 text/plain' \
    "$(ask client.example /drop -X POST -w '%{http_code} %{content_type}' | paste -sd ' ')"
}

@test "a body in chunks arrives whole, in both directions" {
  assert_equal hello "$(ask client.example / -H 'Transfer-Encoding: chunked' --data hello | jq -r .body)"
  long=$(seq 20000)
  run ask client.example / -i -H 'Transfer-Encoding: chunked' --data "$long"
  assert_contains "$output" 'Transfer-Encoding: chunked' # the pod does not know the length of a long answer
  assert_equal "$long" "$(tail -n 1 <<<"$output" | jq -r .body)"
}

@test "a client that waits for 100 Continue is told to go on" {
  run ask client.example / -v -H 'Expect: 100-continue' --expect100-timeout 60 --data hello
  assert_contains "$output" 'HTTP/1.1 100 Continue'
  assert_contains "$output" '"body":"hello"'
}

@test "a client that reads or writes slowly gets through" {
  assert_equal 6000000 "$(ask client.example '/download?bytes=6000000' --limit-rate 3M -o /dev/null -w '%{size_download}')"
  assert_equal received "$(head -c 60000 /dev/zero | ask client.example /upload --limit-rate 30k -T -)"
}

@test "a WebSocket carries messages in both directions, also through a reload" {
  mkfifo "$BATS_TEST_TMPDIR/say"
  heard=$BATS_TEST_TMPDIR/heard
  "$(go_program probe)" websocket "$(address_with_port)" client.example /websocket <"$BATS_TEST_TMPDIR/say" >"$heard" 3>&- &
  exec 4>"$BATS_TEST_TMPDIR/say"
  echo before >&4
  wait_for 10 grep -q before "$heard"
  reload
  echo after >&4
  wait_for 10 grep -q after "$heard"
  exec 4>&-
  wait "$!"
}

@test "a stream of server-sent events arrives one by one, also through a reload, without a gap" {
  events=$BATS_TEST_TMPDIR/events
  curl -sN --max-time 30 -H 'Host: client.example' "http://$ADDRESS/events" >"$events" 3>&- &
  wait_for 10 grep -q 'data: 2' "$events"
  reload
  last=$(grep -c data "$events")
  wait_for 10 grep -q "data: $((last + 3))" "$events"
  kill "$!"
  assert_equal "$(seq -f 'data: %g' "$((last + 3))")" "$(grep data "$events" | head -n "$((last + 3))")"
}

# Prints the peak of POD's memory in MiB, in its control group (version 2 or 1) and
# so with files in memory, until the standard input ends.
memory_peak() { # POD
  kubectl -n bash-ingress exec -i "$1" -- bash -c '
    file=/sys/fs/cgroup/memory.current most=0
    [[ -r $file ]] || file=/sys/fs/cgroup/memory/memory.usage_in_bytes
    while
      read -r usage <"$file"
      ((usage <= most)) || most=$usage
      read -r -t 0.05
      (($? > 128)) # no input yet
    do :; done
    echo "$((most / 1048576))"'
}

# Runs COMMAND and sets $memory to the sum of what the controller's pods had at most meanwhile.
measure_memory() { # COMMAND...
  local pod watching=() watcher
  rm -f "$BATS_TEST_TMPDIR"/{end,peak-*}
  mkfifo "$BATS_TEST_TMPDIR/end"
  for pod in $(controller_pods); do
    memory_peak "$pod" <"$BATS_TEST_TMPDIR/end" >"$BATS_TEST_TMPDIR/peak-${pod#pod/}" 3>&- &
    watching+=("$!")
  done
  exec 4>"$BATS_TEST_TMPDIR/end"
  "$@"
  exec 4>&-
  for watcher in "${watching[@]}"; do wait "$watcher"; done
  memory=$(cat "$BATS_TEST_TMPDIR"/peak-* | jq -s add)
}

@test "an upload and a download of 1 GiB take no memory to speak of" {
  gibibyte=$((1024 * 1024 * 1024))
  upload() { assert_equal received "$(head -c "$gibibyte" /dev/zero | ask client.example /upload --max-time 60 -T -)"; }
  download() { assert_equal "$gibibyte" "$(ask client.example "/download?bytes=$gibibyte" --max-time 60 -o /dev/null -w '%{size_download}')"; }
  measure_memory sleep 3
  before=$memory
  ((before > 0))
  for transfer in upload download; do
    measure_memory "$transfer"
    echo "$transfer: from $before MiB to $memory MiB"
    ((memory - before <= 64))
  done
}
