# upstream-hash-by, -subset, -subset-size, load-balance, service-upstream: which of a Service's pods gets a request.
load words

# Prints which pods answer.
pods_of() { # HOST PATH... [-- CURL_OPTION...]
  who_answers_paths "$@" | sort -u | xargs
}

@test "proxy-next-upstream and proxy-next-upstream-tries: where there are fewer pods than tries, a pod is asked again" {
  ingress tries one.example / red proxy-next-upstream-tries=5
  ingress words two.example / red proxy-next-upstream='error http_500'
  ingress off three.example / red proxy-next-upstream=off proxy-next-upstream-tries=5
  ingress once four.example / red proxy-next-upstream-tries=1
  ingress plain five.example / red
  ingress pods six.example / many proxy-next-upstream-tries=4
  ingress counts counts.example / blue
  serve
  drops() { ask counts.example /counts | jq '.GET // 0'; }
  for host in one two three four five six; do
    before=$(drops)
    assert_equal "$host 502" "$host $(status $host.example /drop)"
    echo "$host $(($(drops) - before))"
  done >"$dir/drops"
  assert_equal 'one 3 two 3 three 1 four 1 five 1 six 3' "$(xargs <"$dir/drops")"
  assert_equal 'auth blue red' "$(pods_of six.example /{,,,,,,,,,,,,})"
  assert_equal 'AnnotationRefused: e2e/off: proxy-next-upstream-tries has no effect beside proxy-next-upstream: off' "$(problems)"
}

# bats test_tags=cluster
@test "upstream-hash-by: requests for which the text is the same go to one pod, others to all" {
  ingress uri one.example / many 'upstream-hash-by=$request_uri'
  ingress both two.example / many 'upstream-hash-by=${request_uri}-text-$http_x_user'
  ingress argument three.example / many 'upstream-hash-by=$arg_user'
  ingress header five.example / many 'upstream-hash-by=$http_X_User'
  ingress free four.example / many
  serve
  assert_equal 1 "$(pods_of one.example /same{,,,,,,,,,} | wc -w)"
  assert_equal 'auth blue red' "$(pods_of one.example /{1..30})"
  assert_equal 1 "$(pods_of two.example /same{,,,,,,,,,} -- -H 'X-User: me' | wc -w)"
  assert_equal 'auth blue red' "$(for user in {1..30}; do pods_of two.example /same -- -H "X-User: $user"; done | sort -u | xargs)"
  assert_equal 1 "$(pods_of three.example /{1..10}?user=me | wc -w)"
  assert_equal 1 "$(pods_of five.example /{1..10} -- -H 'X-User: me' | wc -w)"
  assert_equal 'auth blue red' "$(pods_of four.example /same{,,,,,,,,,,,,})"
  assert_equal '' "$(problems)"
}

@test "upstream-hash-by-subset: requests for which the text is the same go to some pods, others to all" {
  local subset=('upstream-hash-by=$request_uri' upstream-hash-by-subset=true)
  ingress two two.example / many "${subset[@]}" upstream-hash-by-subset-size=2
  ingress standard three.example / many "${subset[@]}"
  ingress one one.example / many "${subset[@]}" upstream-hash-by-subset-size=1
  ingress off off.example / many 'upstream-hash-by=$request_uri' upstream-hash-by-subset=false upstream-hash-by-subset-size=2
  ingress main main.example / red "${subset[@]}"
  ingress new main.example / many canary=true canary-by-header=Can
  ingress wrong wrong.example / many "${subset[@]}" upstream-hash-by-subset-size=0
  ingress tls tls.example / many:443 "${subset[@]}" upstream-hash-by-subset-size=2 backend-protocol=HTTPS
  serve
  for path in /a /b /c; do
    assert_equal '2 3 1 1 2' "$(for host in two three one off tls; do pods_of $host.example $path{,,,,,,,,,,,} | wc -w; done | xargs)"
  done
  for host in two one tls; do assert_equal 'auth blue red' "$(pods_of $host.example /{1..30})"; done
  assert_equal 'red 1' "$(pods_of main.example /{1..5}) $(pods_of main.example /same{,,,,,} -- -H 'Can: always' | wc -w)"
  assert_equal 200 "$(status wrong.example /)"
  assert_equal 'AnnotationRefused: e2e/off: upstream-hash-by-subset-size has no effect without upstream-hash-by-subset
AnnotationRefused: e2e/wrong: the annotation upstream-hash-by-subset-size is "0"; allowed: whole numbers from 1 to 1000' "$(problems)"
}

@test "load-balance: requests come to all pods" {
  ingress robin one.example / many load-balance=round_robin
  ingress ewma two.example / many load-balance=ewma
  ingress off three.example / many service-upstream=false
  serve
  for host in one two three; do assert_equal 'auth blue red' "$(pods_of $host.example /{,,,,,,,,,,,,})"; done
  assert_equal '' "$(problems)"
}

# A client of the Service is a replica of the controller, of which there may be two: so one or two of the three answer.
# bats test_tags=cluster
@test "service-upstream: the Service chooses the pod, by its own sessionAffinity, if it has an address" {
  ingress kept one.example / kept:8080 service-upstream=true 'upstream-hash-by=$request_uri'
  ingress pods two.example / kept:8080
  ingress headless three.example / headless:8080 service-upstream=true
  ingress main four.example / kept:8080 service-upstream=true
  ingress canary four.example / many canary=true canary-by-header=Can
  serve
  [[ "$(pods_of one.example /{a,b,c}{,,,,}{,,})" =~ ^(auth|blue|red)(\ (blue|red))?$ ]]
  for host in two three; do assert_equal 'auth blue red' "$(pods_of $host.example /{,,,,}{,,,})"; done
  [[ "$(pods_of four.example /{,,,,}{,,,})" =~ ^(auth|blue|red)(\ (blue|red))?$ ]]
  assert_equal 'auth blue red' "$(pods_of four.example /{,,,,}{,,,} -- -H 'Can: always')"
  assert_equal 'AnnotationRefused: e2e/kept: upstream-hash-by has no effect beside service-upstream' "$(problems)"
}

@test "affinity counts before upstream-hash-by, and a canary's requests go by the hash of its main Ingress" {
  ingress kept one.example / many affinity=cookie 'upstream-hash-by=$request_uri'
  ingress main two.example / red 'upstream-hash-by=$request_uri'
  ingress new two.example / many canary=true canary-by-header=Can
  serve
  who_answers one.example / -c "$dir/cookies"
  assert_equal 1 "$(pods_of one.example /{1..10} -- -b "$dir/cookies" | wc -w)"
  assert_equal 1 "$(pods_of two.example /same{,,,,,,,,,} -- -H 'Can: always' | wc -w)"
  assert_equal 'auth blue red' "$(pods_of two.example /{1..30} -- -H 'Can: always')"
}

@test "no value of these annotations becomes a directive, and no other variable is read: it is a problem, and the path is served" {
  local id=0
  for value in $'x"; } location /x { return 200 hacked; } #\n' '$ssl_client_raw_cert' '$request_uri2' '${request_uri' '$' '$http_' '"' 'a;b' 'a{b}' '\x' '$document_root'; do
    id=$((id + 1))
    ingress "hash-$id" "hash-$id.example" / many "upstream-hash-by=$value"
  done
  ingress load load.example / many $'load-balance=ewma;\n}'
  ingress service service.example / many $'service-upstream=true;\n}'
  serve
  problems=$(problems)
  for name in hash-{1..11} load service; do
    assert_contains "$problems" "AnnotationRefused: e2e/$name: "
    assert_equal '200 200' "$(statuses "$name.example"/{,x})"
  done
}

@test "upstream-hash-by of one namespace reads at most 20 headers, cookies and arguments: the oldest Ingresses count" {
  local id
  for id in {1..21}; do ingress "a$id" "a$id.example" / red "upstream-hash-by=\$arg_a$id"; done
  ingress other/b b.example / red 'upstream-hash-by=$arg_b'
  ingress same same.example / red 'upstream-hash-by=${arg_a1}$request_uri'
  serve
  assert_equal '200 200 200 200' "$(statuses {a1,a21,b,same}.example/)"
  assert_equal 'LimitExceeded: e2e/a21: upstream-hash-by has no effect: those of its namespace read more than 20 different headers, cookies and arguments' "$(problems)"
}
