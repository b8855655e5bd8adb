# proxy-buffering and what belongs to it: how much of an answer or a body nginx holds.
load words

# bats test_tags=cluster
@test "sizes that do not fit together are made to fit, so nginx takes them, and answers come whole" {
  ingress fits fits.example / red proxy-buffering=on proxy-buffers-number=8 proxy-buffer-size=8k proxy-busy-buffers-size=16k
  ingress few few.example / red proxy-buffering=on proxy-buffers-number=2
  ingress busy busy.example / red proxy-buffering=off proxy-busy-buffers-size=1m proxy-buffer-size=1k
  ingress idle idle.example / red proxy-buffering=on proxy-busy-buffers-size=1 proxy-max-temp-file-size=1k proxy-buffer-size=256k proxy-buffers-number=64
  ingress file file.example / red proxy-buffering=on 'proxy-max-temp-file-size= 1g '
  ingress wrong wrong.example / red proxy-buffering=maybe proxy-buffers-number=1 proxy-buffer-size=512k proxy-busy-buffers-size=2m \
    proxy-max-temp-file-size=big client-body-buffer-size=0 proxy-request-buffering=yes proxy-http-version=2
  serve
  local host
  for host in fits few busy idle file wrong; do
    assert_equal 3000000 "$(ask "$host.example" '/download?bytes=3000000' | wc -c)"
  done
  assert_equal 8 "$(problems | grep -c 'AnnotationRefused: e2e/wrong: ')"
  assert_equal 0 "$(problems | grep -vc e2e/wrong)"
}

@test "however slowly a client reads, nothing of an answer goes to a file, whose memory is that of the configuration" {
  [[ ${TIER-unit} == unit ]] || skip 'one tier is enough'
  ingress file file.example / red proxy-buffering=on proxy-max-temp-file-size=1m
  serve
  ask file.example '/download?bytes=30000000' --limit-rate 1k -o /dev/null --max-time 5 3>&- &
  reader=$!
  is_read() { ss -Htn state established "( sport = :$HTTP_PORT )" | awk '$2 > 100000 { found = 1 } END { exit !found }'; }
  wait_for 10 is_read
  assert_equal '' "$(find /proc/[0-9]*/fd -lname "$STATE_DIR/scratch/nginx/*deleted*" 2>/dev/null)"
  kill "$reader"
}

@test "the header of a pod's answer has to fit into proxy-buffer-size: else a 502" {
  ingress standard one.example / red
  ingress small two.example / red proxy-buffer-size=1k
  ingress large three.example / red proxy-buffer-size=8k proxy-buffering=on
  serve
  assert_equal '200 502 200' "$(statuses {one,two,three}.example/"?header=X-Long:$(printf '%02000d' 0)")"
}

@test "with proxy-request-buffering the pod gets a body whose length is known, if two such bodies fit into what a namespace may have" {
  ingress as-it-comes one.example / red proxy-request-buffering=off
  ingress held two.example / red proxy-request-buffering=on
  ingress small three.example / red proxy-request-buffering=on proxy-body-size=1k client-body-buffer-size=8k
  ingress large four.example / red proxy-request-buffering=on proxy-body-size=65m
  ingress old five.example / red proxy-http-version=1.0
  ingress new six.example / red proxy-http-version=1.1 client-body-buffer-size=1k
  ingress most seven.example / red proxy-request-buffering=on proxy-body-size=8m
  ingress kept eight.example / red proxy-http-version=1.0 proxy-body-size=65m
  ingress held-large nine.example / red proxy-request-buffering=on proxy-body-size=50m
  ingress old-large ten.example / red proxy-http-version=1.0 proxy-body-size=9m
  serve
  head -c 500000 /dev/zero | tr '\0' x >"$dir/body"
  head -c 2000000 /dev/zero | tr '\0' x >"$dir/large"
  local host answers=''
  for host in one two four five six seven nine ten; do
    answers+="$(pod_gets '"\(.header["Content-Length"][0] // "-")/\(.body | length) "' "$host.example" / -H 'Transfer-Encoding: chunked' --data-binary "@$dir/body")"
  done
  assert_equal '-/500000 500000/500000 -/500000 500000/500000 -/500000 500000/500000 500000/500000 500000/500000 ' "$answers"
  assert_equal '200 413' "$(status three.example / -d small) $(status three.example / --data-binary "@$dir/body")"
  assert_equal '200 413 413 200 413 200 200' "$(statuses {one,two,three,four,five,six,seven}.example/ -- --data-binary "@$dir/large")"
  local why='has no effect: proxy-body-size is 0, or so large that 2 such bodies come to more than 134217728 bytes, the limit namespace_body_bytes'
  assert_equal "AnnotationRefused: e2e/kept: proxy-http-version: 1.0 $why
AnnotationRefused: e2e/large: proxy-request-buffering: on $why" "$(problems)"
}

@test "large bodies are held for as many clients at once as fit into what their namespace may have; others, and requests without such a body, do not wait" {
  ingress held one.example / red proxy-request-buffering=on proxy-body-size=50m limit-conn-status-code=429
  ingress smaller two.example / blue proxy-request-buffering=on proxy-body-size=9m
  ingress small three.example / red proxy-request-buffering=on proxy-body-size=8m
  ingress other/held four.example / red proxy-request-buffering=on proxy-body-size=50m
  serve
  head -c 2000000 /dev/zero >"$dir/large"
  local host rest open=()
  for host in one two; do # an upload of each goes on until its pipe is closed
    mkfifo "$dir/rest-$host"
    { head -c 1900000 "$dir/large" && cat "$dir/rest-$host"; } |
      status "$host.example" / -X POST -T - -H 'Transfer-Encoding: chunked' --max-time 90 >"$dir/status-$host" 3>&- &
    exec {rest}>"$dir/rest-$host"
    open+=("$rest")
  done
  no_more() { [[ $(status one.example / -H 'Transfer-Encoding: chunked' -d x) == 429 ]]; }
  wait_for 20 no_more
  assert_equal '429 503 200 200' "$(statuses {one,two,three,four}.example/ -- --data-binary "@$dir/large")"
  assert_equal '200 200' "$(status one.example / -d short) $(status one.example /)"
  for rest in "${open[@]}"; do exec {rest}>&-; done
  wait_for 20 test -s "$dir/status-one" -a -s "$dir/status-two"
  assert_equal '200 200' "$(<"$dir/status-one") $(<"$dir/status-two")"
  assert_equal 200 "$(status one.example / --data-binary "@$dir/large")"
  assert_equal '' "$(problems)"
}

@test "a default of proxy-request-buffering holds no bodies of more than 8 MiB, and is no problem" {
  [[ ${TIER-unit} == unit ]] || skip 'only the unit tier has settings of its own'
  export DEFAULT_ANNOTATIONS='proxy-request-buffering: on'
  ingress default one.example / red
  ingress large two.example / red proxy-body-size=9m
  serve
  head -c 500000 /dev/zero | tr '\0' x >"$dir/body"
  length() { pod_gets '.header["Content-Length"][0] // "-"' "$1" / -H 'Transfer-Encoding: chunked' --data-binary "@$dir/body"; }
  assert_equal '500000 -' "$(length one.example) $(length two.example)"
  assert_equal '' "$(problems)"
}
