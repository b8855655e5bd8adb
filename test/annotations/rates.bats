# limit-rps, limit-rpm, limit-connections, limit-rate and what belongs to them: how much one client may have.
load words

# Each replica counts for itself: there are two in the e2e tier.
replicas=1
[[ ${TIER-} != e2e ]] || replicas=2

# Fails unless of TIMES requests, LET_IN or more for each replica get a 200, and all others a 503.
assert_let_in() { # LET_IN TIMES HOST [CURL_OPTION...]
  local urls=() answers passed
  for ((i = 0; i < $2; i++)); do urls+=("$3/$i"); done
  answers=$(statuses "${urls[@]}" -- "${@:4}" | tr ' ' '\n')
  passed=$(grep -c 200 <<<"$answers")
  (($1 <= passed && passed <= $1 * replicas)) || { echo "$3: $passed let in" && return 1; }
  assert_equal "$(($2 - passed))" "$(grep -c 503 <<<"$answers")"
}

# bats test_tags=cluster
@test "who asks more often than limit-rps or limit-rpm let, gets a 503; each Ingress has a count of its own" {
  ingress minute minute.example / red limit-rpm=1 limit-burst-multiplier=2
  ingress other other.example / red limit-rpm=1 limit-burst-multiplier=2
  ingress strict strict.example / red limit-rpm=1 limit-burst-multiplier=0
  ingress default default.example / red limit-rpm=1
  ingress second second.example / red limit-rps=1 limit-burst-multiplier=1
  ingress both both.example / red limit-rps=100 limit-rpm=1 limit-burst-multiplier=1
  ingress free free.example / red limit-rpm=1 limit-burst-multiplier=0 limit-allowlist=0.0.0.0/0,::/0
  ingress alias alias.example / red limit-rpm=1 limit-burst-multiplier=0 limit-whitelist=0.0.0.0/0,::/0 allowlist-source-range=0.0.0.0/0,::/0
  ingress elsewhere elsewhere.example / red limit-rpm=1 limit-burst-multiplier=0 limit-allowlist=192.0.2.0/24
  ingress none none.example / red limit-rpm=0 limit-rps=0 limit-connections=0 limit-rate=0
  serve
  assert_let_in 3 9 minute.example
  assert_let_in 3 9 other.example
  assert_let_in 1 6 strict.example -H 'X-Forwarded-For: 192.0.2.1' -H 'X-Real-IP: 192.0.2.2'
  assert_let_in 6 15 default.example
  assert_let_in 2 8 both.example
  assert_equal '200 200 200 200 200' "$(statuses free.example/{1,2,3,4,5})"
  assert_equal '200 200 200 200 200' "$(statuses alias.example/{1,2,3,4,5})"
  assert_let_in 1 6 elsewhere.example
  assert_equal '200 200 200 200 200' "$(statuses none.example/{1,2,3,4,5})"
  # Each replica has to have counted first.
  assert_contains "$(for _ in {1..8}; do ask strict.example /; done)" '503 Service Temporarily Unavailable: try again later.'
  wait_for 20 gets 503 second.example # a rate for each second is soon there again
  wait_for 20 gets 200 second.example
  assert_equal '' "$(problems)"
}

gets() { # STATUS HOST
  [[ " $(statuses "$2"/{1..9}) " == *" $1 "* ]]
}

@test "limit-req-status-code and limit-conn-status-code are the status beyond a limit, with a sentence" {
  ingress rate rate.example / red limit-rpm=1 limit-burst-multiplier=0 limit-req-status-code=429
  ingress wrong wrong.example / red limit-rpm=1 limit-burst-multiplier=0 limit-req-status-code=200 limit-conn-status-code=many
  serve
  assert_equal '200 200' "$(statuses {rate,wrong}.example/)"
  beyond() { [[ " $(statuses "$1".example/{1..6}) " == *" $2 "* ]]; } # of each replica
  wait_for 10 beyond rate 429
  wait_for 10 beyond wrong 503
  assert_contains "$(for _ in {1..6}; do ask rate.example /; done)" 'These are too many requests: try again later.'
  assert_equal 2 "$(problems | grep -c 'AnnotationRefused: e2e/wrong: the annotation limit-[a-z]*-status-code is')"
}

@test "limit-connections bounds how many requests of a client are answered at the same time" {
  ingress one one.example / red limit-connections=2
  serve
  local clients=()
  for number in {1..8}; do
    status one.example '/slow?seconds=2' >"$dir/status.$number" &
    clients+=($!)
  done
  wait "${clients[@]}"
  passed=$(cat "$dir"/status.* | grep -c 200)
  ((2 <= passed && passed <= 2 * replicas)) || { echo "$passed let in" && false; }
  assert_equal "$((8 - passed))" "$(cat "$dir"/status.* | grep -c 503)"
  assert_equal 200 "$(status one.example /)"
}

@test "limit-rate holds an answer back after what limit-rate-after lets pass, also if buffering is off" {
  ingress slow slow.example / red limit-rate=100 proxy-buffering=off
  ingress later later.example / red limit-rate=10 limit-rate-after=500
  serve
  takes() { ask "$1.example" "/download?bytes=$2" -o /dev/null -w '%{size_download} %{time_total}\n'; }
  read -r size seconds <<<"$(takes slow 300000)"
  assert_equal '300000 yes' "$size $(awk '{ print ($1 > 1.5 ? "yes" : $1) }' <<<"$seconds")"
  read -r size seconds <<<"$(takes later 500000)"
  assert_equal '500000 yes' "$size $(awk '{ print ($1 < 1 ? "yes" : $1) }' <<<"$seconds")"
}

@test "a wrong limit closes its Ingress and no other, and so does one that gRPC cannot have" {
  local wrong=(limit-rps=-1 limit-rps=many limit-rpm='1;}' limit-connections=65536 limit-connections='$x' limit-burst-multiplier=x limit-rate=1k
    limit-rate-after=-1 limit-allowlist=all limit-whitelist=10.0.0.0/33 limit-rps=)
  for number in "${!wrong[@]}"; do ingress "wrong-$number" "wrong-$number.example" / red "${wrong[number]}"; done
  ingress grpc grpc.example / red limit-rate=1 backend-protocol=GRPC
  ingress right right.example / red limit-rps=1000
  serve
  for number in "${!wrong[@]}"; do assert_equal "503 ${wrong[number]}" "$(status "wrong-$number.example" /) ${wrong[number]}"; done
  assert_contains "$(problems)" 'e2e/wrong-1: closed, because its protection is not available here: limit-rps is'
  assert_contains "$(problems)" 'e2e/grpc: closed, because its protection is not available here: limit-rate is not possible with gRPC'
  assert_equal 200 "$(status right.example /)"
}

@test "there are at most 50 different rates; each namespace has its first before another one has many" {
  for number in {1..51}; do ingress "rate-$number" "rate-$number.example" / red "limit-rps=$((1000 + number))"; done
  ingress same same.example / red limit-rps=1007
  ingress other/late late.example / red limit-rps=7
  serve
  assert_equal '200 200 503 503 200 200' "$(statuses {rate-1,rate-49,rate-50,rate-51,same,late}.example/)"
  assert_contains "$(problems)" 'ProtectionNotAvailable: e2e/rate-51: closed, because its protection is not available here: Ingresses have 50 different values of limit-rps and limit-rpm already, and its namespace has its share of them'
}

@test "limit-connections of one namespace has another memory than that of another" {
  ingress one one.example / red limit-connections=2
  ingress other/one other.example / red limit-connections=2
  serve
  assert_equal $'limit_conn_zone $limited_client zone=connections_e2e_512k:512k;\nlimit_conn_zone $limited_client zone=connections_other_512k:512k;' "$(grep -o 'limit_conn_zone.*' "$STATE_DIR/live/nginx.conf")"
  assert_equal '200 200' "$(statuses one.example/ other.example/)"
}
