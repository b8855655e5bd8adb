# Paths for ACME challenges, where an authority asks before it gives a host a certificate: beside what protects their host,
# and while they come and go.
load words

challenge=/.well-known/acme-challenge/token

@test "an authority reaches its challenge beside a protected path that is refused, unless that is one of a challenge" {
  local number=0 path long answers
  printf -v long '/%01100d' 0
  shut() { # ANSWERS PATH [ANNOTATION...]   of the challenge, of a path beside, of the host's other paths
    number=$((number + 1))
    ingress "guard-$number" "h$number.example" "$2" red whitelist-source-range=10.0.0.0/8 "${@:3}"
    ingress "solver-$number" "h$number.example" "Exact:$challenge" blue whitelist-source-range=0.0.0.0/0,::/0
    ingress "beside-$number" "h$number.example" /docs/here blue
    ingress "rest-$number" "h$number.example" / blue
    expected+=("$1 $2") hosts+=("h$number.example"{"$challenge",/docs/here,/})
  }
  local expected=() hosts=()
  shut '200 200 503' '/a b'
  shut '200 200 503' '/my%20files'
  shut '200 200 503' /ü
  shut '200 200 503' /%C3%BC
  shut '200 200 503' "$long"
  shut '200 503 503' /docs/here%7e/../x
  shut '200 503 503' /docs/%68ere
  shut '200 200 503' /docs/a%20b
  # what could be meant anywhere in its folder
  shut '200 503 503' /a%2Fb
  shut '200 503 503' /docs/a%2Fb
  shut '200 503 503' /docs/a%2e
  shut '200 503 503' /docs/a%5cb
  shut '200 503 503' /docs/a%25b
  shut '200 503 503' /docs/a%00b
  shut '200 503 503' /docs/a%ff
  shut '200 503 503' /docs/100%
  shut '200 200 503' /.well-known/a%2Fb
  shut '200 503 503' '/(a|b)+/x' use-regex=true
  shut '200 503 503' '/(?!api).*' use-regex=true
  shut '200 503 503' '/.{1,200}' use-regex=true
  # among challenges
  shut '503 200 503' '/.well-known/acme-challenge/a b'
  shut '503 200 503' /.well-known/acme-challenge/a%2Fb
  shut '503 200 503' /.well-known/acme-challenge/a%20b
  shut '503 200 503' "/.well-known/acme-challenge$long"
  shut '503 200 503' /.well-known/acme%2Dchallenge/a%2Fb
  shut '503 503 503' /.well-known%2facme-challenge%2ftoken
  shut '503 503 503' '/\.well-known/acme-challenge/(a|b)+' use-regex=true
  serve
  read -ra answers <<<"$(statuses "${hosts[@]}")"
  for number in "${!expected[@]}"; do
    assert_equal "${expected[number]}" "${answers[*]:number*3:3} ${expected[number]:12}"
  done
}

@test "beside a protected path that could be any, the challenge is all that is open: no other path, and none that the pod gets as another" {
  ingress guard one.example /a%2Fb red auth-url=http://nobody
  ingress all one.example /.well-known/acme-challenge blue
  ingress alike one.example /.well-known/acme-challenges blue
  ingress above one.example /.well-known blue
  ingress moved two.example "Exact:$challenge" blue rewrite-target=/admin
  ingress moved-guard two.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  ingress regex three.example "$challenge.*" blue use-regex=true
  ingress regex-guard three.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  # what the Ingress protects that has the path holds, too
  ingress own four.example "Exact:$challenge" blue whitelist-source-range=10.0.0.0/8
  ingress own-guard four.example /a%2Fb red whitelist-source-range=10.0.0.0/8
  # all of them, and those of their folder
  ingress folder five.example /.well-known/acme-challenge blue
  ingress folder-guard five.example '/.well-known/acme-challenge/a b' red whitelist-source-range=10.0.0.0/8
  serve
  assert_equal '200 200 503 503' "$(statuses one.example/.well-known/{acme-challenge{,/x,s},x})"
  assert_equal '503 503 403 503' "$(statuses {two,three,four,five}.example"$challenge")"
}
