# Helpers of the unit tests: the steps on saved snapshots, real nginx, no cluster.
#
# Pods are played by one nginx that listens on the addresses which the fixtures'
# EndpointSlices name (127.77.0.*), and the API server by another that answers
# with the fixtures' lists, so that kubectl is the real one too.

bats_require_minimum_version 1.5.0
load ../helpers

# Every test has its own state folder and ports, or all of a file have if FOLDER is $BATS_FILE_TMPDIR.
common_setup() { # [FOLDER]
  note_lines_of_tests_only
  dir=${1-$BATS_TEST_TMPDIR}
  fixtures=$BATS_TEST_DIRNAME/../fixtures
  bin=$BATS_TEST_DIRNAME/../../bin
  templates=$BATS_TEST_DIRNAME/../../templates
  export STATE_DIR=$dir/state HTTP_PORT HTTPS_PORT ADMIN_PORT
  # As in the image, where bash takes less time, and as the controller does, where nginx starts in half the time.
  export LC_ALL=C MALLOC_MMAP_THRESHOLD_=4000000 MALLOC_TRIM_THRESHOLD_=8000000
  export SUMMARIES=$BATS_FILE_TMPDIR/summaries # for fixtures/snapshot: the tests of a file summarise each list once
  export features_in_use=$BATS_FILE_TMPDIR/features
  set_free_ports HTTP_PORT HTTPS_PORT ADMIN_PORT
  [[ -e $BATS_FILE_TMPDIR/nginx-version ]] || prepare_file
}

# What the tests of a file share.
prepare_file() {
  chmod a+rx "$BATS_RUN_TMPDIR" # for root's nginx, whose workers are another user
  load_features
  (source "$bin/lib/apply/nginx.bash" && find_nginx_version) >"$BATS_FILE_TMPDIR/nginx-version"
}

# Lets route and render load the features of those annotations only that the file of tests, or a table of it, names: to
# read all takes long, jq 1.6 above all. (If one is used that is not loaded, they fail.)
load_features() {
  local table name text files=("$BATS_TEST_FILENAME")
  text=$(<"$BATS_TEST_FILENAME")
  for table in "$BATS_TEST_DIRNAME"/../unit/tables/*; do
    name=${table##*/}
    if [[ $text =~ [^[:alnum:]_]${name%.*}[^[:alnum:]_] ]]; then files+=("$table"); fi
  done
  { # a key such as global-auth-url is an annotation's default
    grep -ohE '[a-z][a-z0-9-]+' "${files[@]}"
    grep -ohE 'global-auth-[a-z-]+' "${files[@]}" | cut -d- -f2- || true # none
  } | jq -n -R -c --slurpfile table "$bin/lib/annotations/annotations.json" '
    (reduce inputs as $word ({}; .[$word] = true)) as $named
    | {uses: [(if $named.configmap then "configmap" else empty end), ($table[0] | to_entries[] | select($named[.key]).value | if .alias then $table[0][.alias] else . end
              | (.feature // if .directive then "directives" else empty end), (.with // empty))] | unique}' >"$BATS_FILE_TMPDIR/uses"
  (source "$bin/settings" && source "$bin/lib/annotations/features.bash" && choose_features "$BATS_FILE_TMPDIR/uses")
}

# Ends what the test has started, and shows the logs if it failed.
common_teardown() {
  show_logs
  end_servers
  [[ -z ${controller-} ]] || stop_controller
}

show_logs() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || tail -n 20 "$dir"/*.log 2>/dev/null || true # there may be none
}

# (QUIT is for nginx only: where tests run in the background, others ignore it.)
end_servers() {
  local pid_file
  for pid_file in "$dir"/*.pid; do
    [[ ! -s $pid_file ]] || kill "$(<"$pid_file")" 2>/dev/null || true
  done
  [[ ! -s $STATE_DIR/run/nginx.pid ]] || kill -QUIT "$(<"$STATE_DIR/run/nginx.pid")" 2>/dev/null || true
}

# Prints FIXTURE's lists, after the jq filter EDIT if there is one.
lists() { # FIXTURE [EDIT] [JQ_OPTION...]
  jq "${@:3}" "${2:-.}" "$fixtures/$1/lists.json"
}

# Says that all Secrets and ConfigMaps were asked for at that time, which may be what is known already.
set_times() { # SECONDS
  local times
  times=$(sed "s/^[0-9]*/$1/" "$STATE_DIR/keys/times")
  printf '%s' "${times:+$times$'\n'}" >"$STATE_DIR/keys/times"
}

# Prints the snapshot that is made of the lists on standard input, by the real digests.
digest_lists() {
  "$fixtures/snapshot"
}

snapshot() { # FIXTURE [EDIT] [JQ_OPTION...]
  "$fixtures/snapshot" "${@:2}" <"$fixtures/$1/lists.json"
}

# Prints the snapshot that FIXTURE comes to with the settings of this test, which has other ports.
golden_snapshot() { # FIXTURE
  (source "$bin/settings" && routing_settings)
  tail -n +2 "$fixtures/$1/snapshot"
}

# Changes settings of the snapshot on standard input.
with_settings() { # NAME=VALUE...
  jq -c 'if .settings then reduce ($ARGS.positional[] | capture("(?<name>[^=]*)=(?<value>.*)")) as $it (.; .settings[$it.name] = $it.value) else . end' --args "$@"
}

model() { # FIXTURE [EDIT]
  snapshot "$@" | "$bin/route"
}

# Prints where an nginx may put what it does not hold in memory: its own folders are root's.
temp_paths() { # FOLDER
  printf "  %s_temp_path $1;\n" client_body proxy fastcgi uwsgi scgi
}

# --- pods

# ADDRESS:PORT=NAME of each. Those without a Service in the fixtures are for tables.
pods=(
  127.77.0.1:8080=apple-1
  127.77.0.2:8080=apple-2
  127.77.0.3:8080=banana-1
  127.77.0.3:8081=banana-2
  127.77.0.4:8080=cherry-1
  127.77.0.5:8080=shop-apple-1
  127.77.0.{10..19}:8080=ten
)
[[ ! -e /proc/net/if_inet6 ]] || pods+=('[::1]:8080=six')

# Each answers with its name, and with what it was asked.
start_pods() {
  local cookie
  printf -v cookie '%03000d' 0
  mkdir -p "$dir/pods"
  cat >"$dir/pods.conf" <<CONF
pid $dir/pods.pid;
error_log $dir/pods.log;
events {}
http {
  access_log off;
$(temp_paths "$dir/pods")
  map \$server_addr:\$server_port \$pod {
$(printf '    %s;\n' "${pods[@]/=/ }" | tr -d '[]')
  }
  server {
$(printf '    listen %s;\n' "${pods[@]%=*}")
    default_type text/plain;
    location / { return 200 "\$pod \$request_method \$request_uri\n"; }
    location /address { return 200 "\$server_addr:\$server_port\n"; }
    location /moved { return 302 \$arg_to; }
    location /redirecting { add_header X-Accel-Redirect /elsewhere; return 200 "my own answer\n"; }
    location /large-header { add_header A $cookie; add_header B $cookie; add_header C $cookie; return 200 "\n"; }
    location /headers { return 200 "Host: \$http_host\nX-Forwarded-For: \$http_x_forwarded_for\nX-Forwarded-Host: \$http_x_forwarded_host\nX-Forwarded-Port: \$http_x_forwarded_port\nX-Forwarded-Proto: \$http_x_forwarded_proto\nX-Real-IP: \$http_x_real_ip\nX-Request-ID: \$http_x_request_id\nConnection: \$http_connection\nUpgrade: \$http_upgrade\nUser-Agent: \$http_user_agent\nCDN-Loop: \$http_cdn_loop\nProtocol: \$server_protocol\n"; }
  }
}
CONF
  nginx -e stderr -c "$dir/pods.conf"
}

# --- the routes

# Starts nginx with what FIXTURE asks for.
serve() { # FIXTURE [EDIT]
  snapshot "$@" | serve_snapshot
}

# The same with the lists on standard input.
serve_lists() {
  digest_lists | serve_snapshot
}

# The same with a snapshot. An nginx that runs ends first: after a reload, its old
# workers would answer for a moment. What apply does is left to its own tests: nginx tests the configuration when it starts.
# shellcheck disable=SC2120 # the tests of annotations pass one
serve_snapshot() { # [QUARANTINE]
  [[ ! -s $STATE_DIR/run/nginx.pid ]] || { kill -TERM "$(<"$STATE_DIR/run/nginx.pid")" && wait_for 15 test ! -e "$STATE_DIR/run/nginx.pid"; }
  [[ -e $STATE_DIR/live ]] || mkdir -p "$STATE_DIR"/{live,admin,run,scratch/nginx}
  make_live "$@" 2>"$dir/apply.log"
  if declare -F change_live >/dev/null; then change_live; fi # a test may have one
  use_known_keys
  nginx -e stderr -c "$STATE_DIR/live/nginx.conf" 2>>"$dir/nginx.log" >>"$dir/access.log"
  wait_for 15 is_alive
}

# In one shell, as in the loop: to start, each of the programs takes longer than what it does.
make_live() ( # [QUARANTINE] <SNAPSHOT
  source "$bin/route"
  source "$bin/render"
  source "$bin/lib/apply/nginx.bash"
  by_hand jq # where all features are in use
  nginx_version=$(<"$BATS_FILE_TMPDIR/nginx-version")
  program=route route "$@" >"$dir/model.json"
  cp "$dir/model.json" "$STATE_DIR/live/model.json"
  program=render render <"$dir/model.json" >"$STATE_DIR/live/nginx.conf"
  program=apply leave_out_what_is_not_here "$STATE_DIR/live/nginx.conf"
)

is_alive() {
  [[ $(admin_page /healthz) == *alive ]]
}

# Prints what nginx answers on the admin port, the header too. (Tests ask for that again and again, and a curl takes 7 ms
# to start; 3 and 4 are bats' own.)
admin_page() { # PATH
  {
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&9
    local line
    while IFS= read -r line <&9 || [[ -n $line ]]; do printf '%s\n' "$line"; done
  } 2>/dev/null 9<>"/dev/tcp/127.0.0.1/$ADMIN_PORT"
}

# As bin/apply, but with another value for one of its constants.
apply_with() { # NAME=VALUE [MODEL] <NGINX_CONF
  bash -c 'source "$1" && program=apply && [[ -v ${2%%=*} ]] && declare -g "$2" && apply "${@:3}"' _ "$bin/apply" "$@"
}

# Whether no process of a read that was cut off is left. (Other tests have other folders.)
nothing_is_read() {
  local process
  for process in $(pgrep -x cat); do
    ! grep -qsz "^STATE_DIR=$STATE_DIR\$" "/proc/$process/environ" || return 1
  done
}

# The default certificate is made once for a file of tests: openssl takes longer than nginx.
use_known_keys() {
  [[ ! -e $STATE_DIR/keys/default.pem ]] || return 0
  [[ -e $BATS_FILE_TMPDIR/keys ]] || STATE_DIR=$BATS_FILE_TMPDIR "$bin/certificates" default
  cp -rp "$BATS_FILE_TMPDIR/keys" "$STATE_DIR"
}

# Asks nginx as a client of HOST would: method, headers and so on as curl options.
ask() { # HOST PATH [CURL_OPTION...]
  curl -s --path-as-is --max-time 10 -H "Host: $1" "${@:3}" "http://127.0.0.1:$HTTP_PORT$2"
}

served() { # HOST PATH TEXT
  [[ $(ask "$1" "$2") == *"$3"* ]]
}

# Prints who answers: the pods' application, or the status code if nginx itself does.
who_answers() { # HOST PATH [CURL_OPTION...]
  local answer
  answer=$(ask "$@" -w '%{http_code}')
  if [[ $answer == *200 ]]; then echo "${answer%%-*}"; else echo "${answer: -3}"; fi
}

# The same for a line "HOST<tab>PATH" of each request: one curl asks them all, one after the other.
who_answers_each() {
  sed -E 's/[\\"]/\\&/g; s|^([^\t]*)\t(.*)|header = "Host: \1"\nurl = "http://127.0.0.1:'"$HTTP_PORT"'\2"|
    s|$|\npath-as-is\ngloboff\nmax-time = 10\nwrite-out = "\\n=%{http_code}\\n"|; 1!s/^/next\n/' | curl -s -K - |
    awk '/^=[0-9]+$/ { sub(/-.*/, "", pod); print ($0 == "=200" ? pod : substr($0, 2)); pod = ""; next } pod == "" { pod = $0 }'
}

# Prints the problems that the live configuration has, a line for each.
problems() {
  jq -r '.problems[] | "\(.reason): \(.of | if . then ltrimstr("Ingress ") else . end): \(.message)"' "$dir/model.json" || { echo 'the problems cannot be read' && return 1; }
}

# --- tables: each row is a rule, a request and what must answer

# Prints the rows of the table on standard input: without comments, a tab between
# columns. Between columns, the table has two spaces or more.
rows() {
  sed -E 's/^ +//; /^(#|$)/d; s/  +/\t/g'
}

# Prints the fixture "rules" with other contents: what a table's jq program makes of ARGs.
lists_of() { # TABLE [JQ_OPTION...]
  jq -f "$BATS_TEST_DIRNAME/tables/$1.jq" "${@:2}" "$fixtures/rules/lists.json"
}

# The snapshot that is made of them.
snapshot_of() { # TABLE [JQ_OPTION...]
  "$fixtures/snapshot" "$(<"$BATS_TEST_DIRNAME/tables/$1.jq")" "${@:2}" <"$fixtures/rules/lists.json"
}

# Prints the problems of the objects that belong to that row, which have its number
# in their names; of all, if the row is alone. A table asks for each row, so they are kept.
row_problems() { # NUMBER
  [[ $dir/problems -nt $dir/model.json ]] || problems >"$dir/problems"
  if [[ $1 == - ]]; then cat "$dir/problems"; else sed -nE "s/[.-]row-$1\>//gp" "$dir/problems"; fi
}

# Fails and shows the row unless EXPECTED and ACTUAL are the same.
assert_row() { # EXPECTED ACTUAL COLUMN...
  assert_equal "$1" "$2" || { printf 'in row:   %s\n' "${*:3}" >&2 && return 1; }
}

# Fails and shows the row unless the problem begins with EXPECTED, or there is none if none is.
assert_problem() { # EXPECTED ACTUAL COLUMN...
  if [[ -n $1 ]]; then assert_row "$1" "${2:0:${#1}}" "${@:3}"; else assert_row '' "$2" "${@:3}"; fi
}

# --- the API server

# Answers with FIXTURE's lists. To spoil an answer, write "$api/KIND" or make
# the file "$api/forbidden" or "$api/slow".
start_api() { # FIXTURE [EDIT]
  api_port=$(free_port) api=$dir/api
  mkdir -p "$api"
  cat >"$dir/api.conf" <<CONF
pid $dir/api.pid;
error_log $dir/api.log;
worker_processes 1;
events {}
http {
  access_log $dir/api.access;
$(temp_paths "$api/tmp")
  default_type application/json;
  server {
    listen 127.0.0.1:$api_port;
    root $api;
    location ~ /leases/ { try_files /lease =404; }
    location ~ ^/api/v1/namespaces/(?<namespace>[^/]+)/(?<what>secret|configmap)s/(?<name>[^/]+)\$ {
      if (-f $api/forbidden-\$name) { return 403 '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"\${what}s \\\\\\"\$name\\\\\\" is forbidden: User cannot get resource","reason":"Forbidden","code":403}'; }
      try_files /\$what-\$namespace-\$name @none;
    }
    location @none { return 404 '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"\${what}s \\\\\\"\$name\\\\\\" not found","reason":"NotFound","code":404}'; }
    location ~ ^/apis?/(.*/)?(?<kind>[a-z]+)\$ {
      if (-f $api/forbidden) { return 403 '{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not allowed to list","reason":"Forbidden","code":403}'; }
      if (-f $api/slow) { set \$limit_rate 20; }
      try_files "/\$kind-\$arg_fieldSelector" /\$kind =404;
    }
  }
}
CONF
  cluster_is "$@"
  echo '{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}' >"$api/secrets"
  echo '{"kind": "Lease", "spec": {"holderIdentity": "another", "leaseDurationSeconds": 600}}' >"$api/lease" # it only answers: nobody can lead
  nginx -e stderr -c "$dir/api.conf"
  export KUBECONFIG=$dir/kubeconfig
  cat >"$KUBECONFIG" <<CONFIG
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "http://127.0.0.1:$api_port"}}], users: [{name: u, user: {}}]}
CONFIG
}

# Puts a program before kubectl that reads with curl what the API server gives, since that takes a fifth of the time. What it
# denies is asked by kubectl itself, which says why, as is all else.
use_quick_kubectl() {
  mkdir -p "$dir/quick"
  # shellcheck disable=SC2016 # the dollar signs are for the program
  printf '#!/bin/bash\nif [[ "$1 $2" == "get --raw" ]]; then curl -sf "http://127.0.0.1:%s$3" && exit; fi\nexec %s "$@"\n' \
    "$api_port" "$(command -v kubectl)" >"$dir/quick/kubectl"
  chmod +x "$dir/quick/kubectl"
  PATH=$dir/quick:$PATH
}

# Lets the API server be its own `kubectl proxy`, so that a fetch with a FOLDER starts no kubectl:
# six of them would take longer than all the rest of a pass.
be_the_proxy() {
  wait_for 15 test -s "$dir/api.pid"
  mkdir -p "$STATE_DIR/run"
  echo "$api_port / $(<"$dir/api.pid")" >"$STATE_DIR/run/proxy"
}

# Each list as the API server writes it: in one line, with a new resourceVersion.
cluster_is() { # FIXTURE [EDIT] [JQ_OPTION...]
  local kind list answers=$dir/answers
  if (($# > 1)); then answers_of "$@" >"$answers"; else answers=$(known_answers "$1"); fi
  revision=$((${revision:-1000} + 1))
  while read -r kind && IFS= read -r list; do
    printf '%s\n' "${list/REVISION/$revision}" >"$api/new"
    mv "$api/new" "$api/$kind"
  done <"$answers"
}

answers_of() { # FIXTURE [EDIT] [JQ_OPTION...]
  jq -r "${@:3}" "${2:-.}"' |
    {ingresses, ingressclasses: .ingressClasses, namespaces: .terminatingNamespaces, services, endpointslices: .endpointSlices}
    | to_entries[] | .key, (.value | {kind, apiVersion, metadata: {resourceVersion: "REVISION"}, items: (.items | map({metadata} + .))} | tojson)' "$fixtures/$1/lists.json"
}

# Most tests begin with a fixture as it is: its answers are made once for a file of tests.
known_answers() { # FIXTURE
  local known=$BATS_FILE_TMPDIR/answers-$1
  [[ -e $known ]] || answers_of "$1" >"$known"
  echo "$known"
}

# --- keys

# Makes FILE.crt and FILE.key, as make_pair does. A key of RSA takes openssl up to some seconds: one of each size is made
# once on a machine, since no test needs it to be secret.
make_rsa_pair() { # FILE HOSTS BITS
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/bash-ingress/test-keys
  if [[ ! -e $folder/$3.key ]]; then
    mkdir -p "$folder"
    openssl genpkey -algorithm RSA -pkeyopt "rsa_keygen_bits:$3" -out "$folder/$3.key.$$" 2>/dev/null
    mv -T "$folder/$3.key.$$" "$folder/$3.key"
  fi
  cp "$folder/$3.key" "$1.key"
  openssl req -x509 -key "$1.key" -days 1 -subj "/CN=${1##*/}" -addext "subjectAltName=DNS:${2//,/,DNS:}" -out "$1.crt"
}

# --- the clock

# Sets by_clock: words before a program that let it live by a clock of its own, which
# set_clock sets. (kubectl, a Go program, goes by the real one.) The second env is
# there because the library cannot enter bash but by way of another program.
use_own_clock() {
  set_clock +0
  # shellcheck disable=SC2016 # $LIB is for the dynamic linker
  by_clock=(env 'LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1' FAKETIME_TIMESTAMP_FILE="$dir/clock" FAKETIME_NO_CACHE=1
    FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 env)
}

# Removes what the library leaves of a process.
forget_clock() { # PID
  rm -f /dev/shm/*faketime_*"_$1"
}

set_clock() { # OFFSET   from the real time: +0, +1h, -1h
  echo "$1" >"$dir/clock.new"
  mv "$dir/clock.new" "$dir/clock"
}

# --- the whole controller

# The programs that a test runs are copies now, so that it can change what is a constant there.
copy_programs() {
  cp -r "$bin" "$templates" "$dir"
  bin=$dir/bin templates=$dir/templates
}

# Copies of a loop that looks for Secrets and ConfigMaps every second instead of every 5 s, also for those that are missing.
look_often() {
  copy_programs
  edit "$bin/lib/secrets/secrets.bash" 's/^keys=.* look_seconds=5 times_as_long=6/keys=$STATE_DIR\/keys look_seconds=1 times_as_long=0/'
  edit "$bin/lib/secrets/missing-secrets.jq" 's/^def seconds_before_asked_again: [0-9]*;/def seconds_before_asked_again: 0;/'
}

# (The first pass would start seven kubectl.)
start_controller() { # [NAME=VALUE...]
  [[ -e $dir/quick ]] || use_quick_kubectl
  "${by_clock[@]}" env DRAIN_SECONDS=0 POLL_SECONDS=0.3 "$@" "$bin/ingress-controller" >>"$dir/controller.log" 2>&1 3>&- &
  controller=$!
  wait_for 30 ready
  wait_for 30 has_metrics # written at the end of the first pass, after what makes it ready
}

ready() {
  [[ $(admin_page /readyz) == *' 200 '* ]]
}

has_metrics() {
  metric polls_total >/dev/null
}

stop_controller() {
  kill -TERM "$controller" 2>/dev/null || true
  wait "$controller" || true
  forget_clock "$controller"
  controller=''
}

# Succeeds if the log has a line that matches PATTERN.
logged() { # PATTERN
  grep -Eq "$1" "$dir/controller.log"
}

metric() { # NAME
  [[ $(admin_page /metrics) =~ $'\n'"bash_ingress_$1 "([^$'\n']*) ]] || return
  printf '%s\n' "${BASH_REMATCH[1]}"
}

polled_since() { # POLLS
  (($(metric polls_total) >= $1))
}
