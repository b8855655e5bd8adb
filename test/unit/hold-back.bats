# Who causes reloads all the time waits, and nobody else: the step alone, on saved snapshots, at times that the
# tests choose; and when the loop asks for it. What becomes of connections meanwhile is in e2e/faults-load.bats.
load helpers

# Two namespaces: "noisy" has a Service, and one that no Ingress names; "quiet" has one, too.
setup() {
  common_setup
  mkdir -p "$STATE_DIR/live"
  (source "$bin/settings" && routing_settings) >"$dir/now"
  cat >>"$dir/now" <<'SNAPSHOT'
{"service":"noisy/moves","ports":{"numbers":{"80":{"port":80,"name":""}},"names":{}}}
{"service":"noisy/unused","ports":{"numbers":{"80":{"port":80,"name":""}},"names":{}}}
{"service":"quiet/stays","ports":{"numbers":{"80":{"port":80,"name":""}},"names":{}}}
{"slice":"noisy/moves-a","service":"noisy/moves","ports":{"":8080},"ready":["10.0.0.1"],"ending":[]}
{"slice":"noisy/unused-a","service":"noisy/unused","ports":{"":8080},"ready":["10.0.0.1"],"ending":[]}
{"slice":"quiet/stays-a","service":"quiet/stays","ports":{"":8080},"ready":["10.1.0.1"],"ending":[]}
{"of":"Ingress noisy/moves","created":"2026-01-01T00:00:00Z","options":{},"claims":[{"host":"moves.example","path":"/","pathType":"Prefix","service":"noisy/moves","port":80}],"tls":[],"problems":[]}
{"of":"Ingress quiet/stays","created":"2026-01-01T00:00:00Z","options":{},"claims":[{"host":"stays.example","path":"/","pathType":"Prefix","service":"quiet/stays","port":80}],"tls":[],"problems":[]}
{"whole":true}
SNAPSHOT
  cp "$dir/now" "$STATE_DIR/live/snapshot"
  : >"$dir/accounts"
}

teardown() { common_teardown; }

# The cluster changes: these are now the ready pods of the Service's slice.
pods_are() { # SERVICE ADDRESS...
  jq -c --args '($ARGS.positional[1:]) as $pods | if .slice == "\($ARGS.positional[0])-a" then .ready = $pods else . end' "$@" <"$dir/now" >"$dir/new"
  mv "$dir/new" "$dir/now"
}

# A pass at that time: what may change goes live.
pass_at() { # SECONDS
  "$bin/hold-back" "$dir/accounts" "$1" <"$dir/now" >"$dir/used"
  mv "$dir/used" "$STATE_DIR/live/snapshot"
  mv "$dir/accounts.new" "$dir/accounts"
}

live_pods() { # SERVICE
  jq -r --arg slice "$1-a" 'select(.slice == $slice).ready | join(" ")' "$STATE_DIR/live/snapshot"
}

assert_live() { # SERVICE ADDRESS...
  assert_equal "${*:2}" "$(live_pods "$1")"
}

# In that second, the endpoint moves as often; each time there is a pass.
moves_at() { # SECONDS TIMES
  local i
  for ((i = 0; i < $2; i++)); do
    moved=$((${moved-1} + 1))
    pods_are noisy/moves "10.0.0.$moved"
    pass_at "$1"
  done
}

# It has changed something 40 times in second 1000.
has_moved_40_times() {
  echo '{"noisy":{"paid":1200,"changed":1000}}' >"$dir/accounts"
}

@test "what a namespace changes 40 times in a row goes live at once each time, and what it changes then is as it was, for up to 5 s" {
  moves_at 1000 40
  assert_live noisy/moves 10.0.0.41
  moves_at 1001 1
  assert_live noisy/moves 10.0.0.41
  moves_at 1004 2
  assert_live noisy/moves 10.0.0.41
  pass_at 1005 # nothing has changed since
  assert_live noisy/moves 10.0.0.44
  moves_at 1009 1
  assert_live noisy/moves 10.0.0.44
  pass_at 1010
  assert_live noisy/moves 10.0.0.45
}

@test "meanwhile, what other namespaces change goes live in the same pass" {
  has_moved_40_times
  for pod in 10.1.0.2 10.1.0.3 10.1.0.4; do
    pods_are quiet/stays "$pod"
    moves_at 1001 1
    assert_live quiet/stays "$pod"
    assert_live noisy/moves 10.0.0.1
  done
}

@test "a pod that is gone is taken out at once while its Service has another; the last one stays until the time is over" {
  pods_are noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3
  pass_at 1000
  has_moved_40_times
  pods_are noisy/moves 10.0.0.2 10.0.0.3 10.0.0.4
  pass_at 1001
  assert_live noisy/moves 10.0.0.2 10.0.0.3
  pods_are noisy/moves 10.0.0.3 10.0.0.4
  pass_at 1002
  assert_live noisy/moves 10.0.0.3
  pods_are noisy/moves 10.0.0.4
  pass_at 1003
  assert_live noisy/moves 10.0.0.3
  pass_at 1005
  assert_live noisy/moves 10.0.0.4
}

@test "nobody reloads without end by pods that come by the hundred and go one by one: after 40, they wait as well" {
  mapfile -t pods < <(printf '10.0.1.%s\n' {1..100})
  pods_are noisy/moves "${pods[@]}"
  pass_at 1000
  has_moved_40_times
  for i in {1..43}; do
    pods_are noisy/moves "${pods[@]:i}"
    pass_at 1001
  done
  assert_live noisy/moves "${pods[@]:40}"
  pass_at 1005
  assert_live noisy/moves "${pods[@]:43}"
}

# Prints what the Ingresses say of it.
told() {
  "$bin/route" <"$STATE_DIR/live/snapshot" | jq -r '.problems[] | select(.reason == "ChangesHeldBack") | "\(.of | ltrimstr("Ingress ")): \(.message)"'
}

@test "each Ingress of a namespace says while its changes wait, and the accounts since when; nobody does when half is paid" {
  has_moved_40_times
  pass_at 1000
  assert_equal '' "$(told)"
  moves_at 1001 1
  assert_equal "noisy/moves: namespace noisy changes something all the time: so that this cuts nobody's connections, a change may wait 5 s" "$(told)"
  assert_json '.noisy.held' 1001 <"$dir/accounts"
  pass_at 1104
  assert_contains "$(told)" noisy/moves
  pass_at 1106
  assert_equal '' "$(told)"
  moves_at 1107 5
  assert_live noisy/moves "10.0.0.$moved"
}

@test "time pays: in the end nobody owes anything, and the snapshot is that of fetch, byte for byte" {
  has_moved_40_times
  moves_at 1000 1
  pass_at 1005
  assert_live noisy/moves 10.0.0.2
  pass_at 1210
  cmp "$dir/now" "$STATE_DIR/live/snapshot"
  assert_equal '' "$(<"$dir/accounts")"
}

@test "a problem of a namespace's objects that changes all the time waits as well" {
  refuse() { jq -c --arg text "$1" 'if .whole then {problem: {namespace: "noisy", reason: "ObjectUnreadable", message: $text}}, . else select(.problem | not) end' "$dir/now" >"$dir/new" && mv "$dir/new" "$dir/now"; }
  told() { jq -r 'select(.problem.reason == "ObjectUnreadable").problem.message' "$STATE_DIR/live/snapshot"; }
  for number in {1..41}; do
    refuse "number $number"
    pass_at 1000
  done
  assert_equal 'number 40' "$(told)"
  pass_at 1005
  assert_equal 'number 41' "$(told)"
}

@test "what went live costs its namespaces the same, whether they are charged when it is decided or afterwards" {
  cp "$STATE_DIR/live/snapshot" "$dir/before"
  echo '{"quiet":{"paid":1003,"changed":998},"noisy":{"paid":1190,"changed":999}}' >"$dir/accounts"
  while IFS= read -r edit; do
    jq -c "$edit" "$dir/before" >"$dir/now"
    "$bin/hold-back" "$dir/accounts" 1000 <"$dir/now" >"$dir/used"
    mv "$dir/accounts.new" "$dir/when-decided"
    "$bin/hold-back" charge "$dir/accounts" 1000 "$dir/before" "$dir/used"
    assert_equal "$(jq -S -c . "$dir/when-decided")" "$(jq -S -c . "$dir/accounts.new")"
  done <<'EDITS'
.
if .slice == "quiet/stays-a" then .ready = ["10.9.0.1"] else . end
if .slice == "noisy/unused-a" then .ready = ["10.9.0.1"] else . end
if .slice then .ready = ["10.9.0.1"] else . end
if .service == "quiet/stays" then .ports.numbers["81"] = {port: 81, name: "b"} else . end
select(.of != "Ingress quiet/stays")
if .of == "Ingress noisy/moves" then .claims[0].service = "noisy/unused" else . end
EDITS
}

# When nobody has to wait any more, and when nobody owes anything any more.
times() {
  jq -r -L "$bin/lib" 'include "loop/hold-back"; times' "$dir/accounts"
}

@test "the accounts tell until when somebody may have to wait, and until when somebody owes something" {
  echo '{"quiet":{"paid":1003,"changed":998},"noisy":{"paid":1195,"changed":999}}' >"$dir/accounts"
  pass_at 1000
  assert_equal '1000 1195' "$(times)" # noisy may change one thing more
  moves_at 1000 1
  assert_equal '1005 1200' "$(times)"
  moves_at 1001 1 # it has to wait, and is told until it has paid half
  assert_equal '1100 1200' "$(times)"
}

@test "a namespace with a problem of its objects that does not change pays nothing while another waits" {
  edit "$dir/now" '/"slice":"quiet/ a {"problem":{"namespace":"quiet","reason":"ObjectUnreadable","message":"always the same"}}' # where fetch has it
  cp "$dir/now" "$STATE_DIR/live/snapshot"
  has_moved_40_times
  for second in {1001..1004}; do pass_at "$second"; done
  assert_json .quiet null <"$dir/accounts"
  cp "$STATE_DIR/live/snapshot" "$dir/before"
  "$bin/hold-back" charge "$dir/accounts" 1005 "$dir/before" "$dir/now" # as when nobody has to wait any more
  assert_json .quiet null <"$dir/accounts.new"
}

@test "who deletes all that it has still owes for it, while others change something" {
  has_moved_40_times
  cp "$dir/now" "$dir/before"
  grep -v '"noisy' "$dir/before" >"$dir/now"
  pass_at 1005
  pods_are quiet/stays 10.1.0.2
  pass_at 1006
  assert_json .noisy.paid 1205 <"$dir/accounts"
}

@test "Services that no Ingress names may change as often as they like" {
  for i in {1..40}; do
    pods_are noisy/unused "10.0.2.$i"
    pass_at 1000
    assert_live noisy/unused "10.0.2.$i"
  done
  assert_equal '' "$(<"$dir/accounts")"
}

@test "where an annotation may name a Service, no Service of its namespace is free, and none of SHARED_NAMESPACES" {
  local who uses charged
  export SHARED_NAMESPACES=other,noisy
  cp "$dir/now" "$dir/before"
  while read -r who uses charged; do
    jq -c --arg who "$who/" --arg uses "$uses" 'if .of // "" | startswith("Ingress \($who)") then .uses = [$uses] else . end' "$dir/before" >"$dir/now"
    cp "$dir/now" "$STATE_DIR/live/snapshot"
    cp "$dir/now" "$dir/was"
    : >"$dir/accounts"
    pods_are noisy/unused 10.0.2.1
    pass_at 1000
    assert_equal "$charged" "$(jq -r 'keys[]' "$dir/accounts")"
    : >"$dir/none"
    "$bin/hold-back" charge "$dir/none" 1000 "$dir/was" "$STATE_DIR/live/snapshot"
    cmp "$dir/accounts" "$dir/none.new"
  done <<'ROWS'
noisy errors noisy
noisy mirror noisy
noisy external-auth noisy
noisy cors
quiet cors
quiet mirror noisy
ROWS
}

@test "what is new, changed or gone of a namespace waits as a whole: Services, Ingresses, certificates" {
  has_moved_40_times
  before=$(grep -v '"quiet' "$STATE_DIR/live/snapshot")
  jq -c 'select(.service != "noisy/moves") | if .of == "Ingress noisy/moves" then .claims[0].host = "other.example" else . end' "$dir/now" >"$dir/new"
  sed -e '/"of":"Ingress noisy/ a {"of":"Ingress noisy/new","created":"2026-01-01T00:00:00Z","options":{},"claims":[],"tls":[],"problems":[]}' \
    -e '$ i {"certificate":"noisy/new","file":"1-1.pem","algorithm":"RSA","names":[],"notAfter":""}' "$dir/new" >"$dir/now"
  pass_at 1001
  assert_equal "$before" "$(grep -v -e '"quiet' -e '"problem"' "$STATE_DIR/live/snapshot")"
  pass_at 1005
  cmp "$dir/now" <(grep -v '"problem":{' "$STATE_DIR/live/snapshot")
}

@test "a snapshot that is cut is none" {
  head -n 4 "$dir/now" >"$dir/cut"
  run "$bin/hold-back" "$dir/accounts" 1000 <"$dir/cut"
  assert_equal 1 "$status"
}

# The loop, after so many reloads in second 1000.
loop_after() { # RELOADS
  program=loop now=1000
  mkdir -p "$next" "$STATE_DIR/admin"
  make_room_for_prepared # from here on, jq is what it is in the loop
  for ((i = 0; i < $1; i++)); do count_reload; done
}

# That many changes go live, one each second, each with its reload. (If all has to wait, hold_back_the_restless ends the
# pass, and so its shell.)
moves_for() { # SECONDS
  local end=$((now + $1))
  for (( ; now < end; now++)); do
    pods_are noisy/moves "10.0.$((now / 250)).$((now % 250))"
    cp "$dir/now" "$next/snapshot"
    (hold_back_the_restless)
    cp "$next/snapshot" "$live/snapshot.new" && mv "$live/snapshot.new" "$live/snapshot" # another file, as in a pass
    keep_accounts
    count_reload
  done
}

# A hold_back that only says that it was asked.
watch_hold_back() {
  hold_back() { touch "$dir/asked" && cat; }
}

@test "the loop charges nobody before 10 reloads are unpaid" {
  source "$bin/loop"
  loop_after 0
  moves_for 12
  [[ ! -e $next/accounts ]]
  moves_for 10
  assert_json .noisy.changed $((now - 1)) <"$next/accounts"
}

@test "a change waits for the question who it is only while somebody owes too much" {
  source "$bin/loop"
  loop_after 0
  watch_hold_back
  moves_for 50
  [[ ! -e $dir/asked ]]
  moves_for 20
  [[ -e $dir/asked ]]
}

@test "while nothing changes, nobody asks" {
  source "$bin/loop"
  loop_after 0
  watch_hold_back
  restless_until=2000
  fetch() { cat "$live/snapshot"; }
  pass
  [[ ! -e $dir/asked ]]
}

@test "if all that is new has to wait, the pass succeeds, and nothing is routed" {
  source "$bin/loop"
  loop_after 0
  has_moved_40_times
  cp "$dir/accounts" "$next/accounts"
  now=1001 restless_until=2000
  pods_are noisy/moves 10.0.0.2
  pass_at 1001 # what waits is told from now on
  cp "$dir/accounts" "$next/accounts"
  pods_are noisy/moves 10.0.0.3
  fetch() { cat "$dir/now"; }
  try pass
  assert_equal 0 "$status"
  assert_equal hold-back "$(<"$next/step")"
}

@test "a reload every 5 s for ever is no reason to ask" {
  source "$bin/loop"
  loop_after 10
  watch_hold_back
  for now in {1005..1500..5}; do count_reload; done
  [[ ! -e $next/accounts ]]
  moves_for 1
  [[ ! -e $dir/asked ]]
}

@test "a rolling update that changes something every second, 60 times, waits for nothing" {
  source "$bin/loop"
  loop_after 0
  for _ in {1..60}; do
    moves_for 1
    cmp "$dir/now" "$live/snapshot"
  done
  [[ -s $next/accounts ]] # the loop has asked
}

@test "while somebody may have to wait, the loop polls every second, so that nothing waits longer" {
  source "$bin/loop"
  loop_after 0
  POLL_SECONDS=30
  : >"$next/log"
  tell_success
  assert_equal 30 "$pause"
  now=1000 # tell_success sets it
  echo '{"noisy":{"paid":1200}}' >"$next/accounts.new"
  tell_success
  assert_equal 1 "$pause"
  now=1000
  echo '{"noisy":{"paid":1005}}' >"$next/accounts.new"
  tell_success
  assert_equal 30 "$pause"
}

@test "what did not go live costs nothing" {
  source "$bin/loop"
  loop_after 11
  pods_are noisy/moves 10.0.0.2
  count_reload # somebody else's
  [[ ! -s $next/accounts ]]
  cp "$dir/now" "$live/snapshot.new" && mv "$live/snapshot.new" "$live/snapshot"
  count_reload
  assert_json .noisy.paid 1005 <"$next/accounts"
}

@test "what a pass decided that failed counts for no later one" {
  source "$bin/loop"
  loop_after 0
  echo '{"noisy":{"paid":1200}}' >"$next/accounts.new" # of that pass
  begin_pass
  keep_accounts
  [[ ! -e $next/accounts ]]
}

@test "when nobody owes anything any more, the loop asks no more; a loop that was killed knows who owes what" {
  source "$bin/loop"
  loop_after 0
  moves_for 20
  [[ -s $next/accounts ]]
  restless_until=0 owed_until=0
  read_accounts
  ((owed_until > now))
  now=$((now + 300))
  count_reload
  [[ ! -e $next/accounts && ! -e $next/charged ]]
}

@test "if it fails, the log has the name of the program" {
  source "$bin/loop"
  loop_after 0
  echo 'what is no snapshot' >"$dir/cut"
  echo '{}' >"$next/accounts"
  run step hold_back "$next/accounts" 1000 <"$dir/cut"
  assert_equal 1 "$status"
  assert_contains "$output" ' hold-back: '
  assert_equal hold-back "$(<"$next/step")"
}

# --- additions

# Prints "now" or "later": whether a pass at that time makes the change live that these ready pods of a Service are.
goes_live() { # SECONDS SERVICE ADDRESS...
  now=$1
  pods_are "${@:2}"
  cp "$dir/now" "$next/snapshot"
  (let_additions_wait && echo now) | grep . || echo later
}

# These are its live pods, and nothing waits.
live_pods_are() { # SERVICE ADDRESS...
  pods_are "$@"
  cp "$dir/now" "$live/snapshot"
  rm -f "$next/added"
}

@test "a pod that becomes ready beside two others waits for the next change of anything, for 2 s at most" {
  source "$bin/loop"
  loop_after 0
  live_pods_are noisy/moves 10.0.0.1 10.0.0.2
  assert_equal later "$(goes_live 1000 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3)"
  assert_equal later "$(goes_live 1001 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4)"
  POLL_SECONDS=30 pause=30
  keep_accounts
  assert_equal 1 "$pause"
  assert_equal now "$(goes_live 1002 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4)"
  pause=30
  keep_accounts
  assert_equal 30 "$pause"
  live_pods_are noisy/moves 10.0.0.1 10.0.0.2
  assert_equal later "$(goes_live 1003 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3)"
  assert_equal now "$(goes_live 1003 quiet/stays 10.1.0.9)"
}

@test "no pod waits that is the first or second, or takes another's place; nor does one that is gone, or a new EndpointSlice" {
  source "$bin/loop"
  loop_after 0
  live_pods_are noisy/moves 10.0.0.1
  assert_equal now "$(goes_live 1000 noisy/moves 10.0.0.1 10.0.0.2)"
  live_pods_are noisy/moves
  assert_equal now "$(goes_live 1000 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3)"
  live_pods_are noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3
  assert_equal now "$(goes_live 1000 noisy/moves 10.0.0.1 10.0.0.2 10.0.0.4 10.0.0.5)"
  live_pods_are noisy/moves 10.0.0.1 10.0.0.2 10.0.0.3
  assert_equal now "$(goes_live 1000 noisy/moves 10.0.0.1 10.0.0.2)"
  jq -c 'if .slice == "noisy/moves-a" then ., (.slice = "noisy/moves-b") else . end' "$dir/now" >"$dir/new"
  mv "$dir/new" "$dir/now"
  assert_equal now "$(goes_live 1000 quiet/stays 10.1.0.1)"
}

@test "IPv6 addresses and names of ports with odd characters are compared as they are" {
  source "$bin/loop"
  loop_after 0
  edit "$dir/now" 's/"ports":{"":8080}/"ports":{"*[x]?":8080}/'
  live_pods_are noisy/moves '[fd00::1]' '[fd00::2]'
  assert_equal later "$(goes_live 1000 noisy/moves '[fd00::1]' '[fd00::2]' '[fd00::3]')"
  assert_equal now "$(goes_live 1000 noisy/moves '[fd00::1]' '[fd00::3]')"
}
