# Level 1 stands alone: nothing of the mechanism hides behind a word of level 2.
load helpers

# A copy of level 1, and of what is everybody's (settings, allow.jq, quoting.jq and the like). Of all other files there
# are only the words, which do nothing. So what is tested here is all that a reader of level 1 has read.
setup_file() {
  cd "$BATS_TEST_DIRNAME/../.."
  local file copy=$BATS_FILE_TMPDIR/alone
  while read -r file; do
    mkdir -p "$copy/${file%/*}"
    if is_read "$file"; then cat "$file"; else words_of "$file"; fi >"$copy/$file"
  done < <(find bin templates -type f ! -name '*.md')
  echo 'def with_features: .;' >"$copy/bin/lib/annotations/features.jq" # which is written where it is run
  : >"$copy/bin/lib/annotations/feature-files.jq"
  words_by_hand >>"$copy/bin/lib/common.bash"
  chmod +x "$copy/bin/"{settings,loop,fetch,route,render,apply}
}

setup() {
  common_setup
  unset features_in_use
  alone=$BATS_FILE_TMPDIR/alone
}
teardown() { common_teardown; }

# (lists.bash is the table of what is read, and fetch.bash names the files of that folder.)
is_read() { # FILE
  [[ " ${level_1[*]} " == *" $1 "* || $1 == bin/settings || $1 == bin/lib/fetch/@(lists|fetch).bash || $1 =~ ^bin/lib/[^/]+$ ]]
}

# A word of jq gives what it gets (those for a problem and for what is not HTTP give none); a word of bash does nothing.
words_of() { # FILE
  case $1 in
    */namespaces.jq) echo empty ;; # a program: no namespace is being deleted
    *.jq) sed -nE 's/^def (refused_name|streams):.*/def \1: empty;/p; t; s/^def ([^:]+):.*/def \1: .;/p' "$1" ;;
    *.bash) sed -nE 's/^([a-z_]+)\(\).*/[[ $(type -t \1) == function ]] || \1() { :; }/p' "$1" ;;
    *.json) cat "$1" ;;
  esac
}

# The words that more hangs on: what runs a command, hands on what it reads, or sets something. In place of the fragments
# of nginx.conf, there is what nginx needs to run as anybody.
words_by_hand() {
  cat <<'END'
# loop
step() { "$bin/$1" "${@:2}"; }

# fetch
in_time() {
  while read -r name word; do state[$name]=$word; done < <("$1")
}
take_short_list() { false; }
beside() { "${@:2}" >"$folder/new/$1" && names+=("${1%.summary}"); }
wait_for_all() {
  for name in "${names[@]}"; do "$2" "$name"; done
  names=()
}
within_cidrs() { "$@"; }
only_new_items() { "${@:2}"; }
summarise_what_is_beside() { touch "$folder"/last/{secrets,outside}.summary; }
names=()

# render
template_names='${ADMIN_PORT} ${STATE_DIR}'
with_fragments() {
  sed -e 's|^@processes.conf.template@|pid ${STATE_DIR}/run/nginx.pid; error_log stderr;|' \
    -e 's|^@space.conf.template@|  client_body_temp_path ${STATE_DIR}/a; proxy_temp_path ${STATE_DIR}/b; fastcgi_temp_path ${STATE_DIR}/c; uwsgi_temp_path ${STATE_DIR}/d; scgi_temp_path ${STATE_DIR}/e;|' \
    -e 's|^@answers.conf.template@|  map "" $nginx_says { default ""; }|' -e '/^@.*template@$/d'
}

# apply
receive() { cat >"$new" && [[ -e $live/nginx.conf ]] || : >"$live/nginx.conf"; }
is_live() { false; }
within_bounds() { "$@"; }
nginx_runs() { [[ -s $STATE_DIR/run/nginx.pid ]] && master=$(<"$STATE_DIR/run/nginx.pid"); }
is_served() { [[ $(curl -s "http://127.0.0.1:$ADMIN_PORT/config-hash") == "$(sed -n '1s/.*config-hash \([^ ]*\).*/\1/p' "$1")" ]]; }
END
}

# What level 2 adds to locations and servers. The model has it for level 2 alone, and so do the goldens.
without_level_2='del(.servers[] | .redirect, .others) | del(.servers[].locations[] | .options, .protocol, .redirect)
  | {servers, upstreams}'

@test "level 1 alone, route: on the fixture rules, servers and upstreams are those of the whole controller" {
  "$alone/bin/route" <"$fixtures/rules/snapshot" | jq "$without_level_2" >"$dir/alone.json"
  jq "$without_level_2" "$fixtures/rules/model.json" | diff - "$dir/alone.json"
}

# (Which Ingresses are ours is for level 2 to say.)
@test "level 1 alone, fetch's summaries: the claims of the fixture rules are those of the whole controller" {
  bin=$alone/bin
  jq -c '.ingresses.items[] | select(.spec.ingressClassName == "bash") | {metadata} + .' "$fixtures/rules/lists.json" >"$dir/items"
  jq -c '.ingressClasses.items[] | {metadata} + .' "$fixtures/rules/lists.json" >"$dir/classes"
  jq -n -R -c -L "$bin/lib" -f "$bin/lib/fetch/ingresses.jq" --rawfile classes "$dir/classes" --arg class bash \
    --arg controller bash-ingress.local/controller "$dir/items" | jq -c 'select(.claims) | .claims[]' >"$dir/claims"
  jq -c 'select(.claims) | .claims[]' "$fixtures/rules/snapshot" | diff - "$dir/claims"
}

@test "level 1 alone, render: the servers of the fixture rules have the same locations" {
  # (nginx would redirect /foo to an Exact /foo/: what is against that is of level 2.)
  locations() { sed -nE '/^  # --- routes/,$ { /location = "[^"]+" [{] return 404/d; /^    (location|server_name|server) /p }'; }
  "$bin/render" <"$fixtures/rules/model.json" >"$dir/nginx.conf"
  jq "$without_level_2" "$fixtures/rules/model.json" | "$alone/bin/render" | locations >"$dir/alone.conf"
  diff <(locations <"$dir/nginx.conf") "$dir/alone.conf"
}

@test "level 1 alone, the loop: passes serve a plain Ingress, and follow it with a reload" {
  start_api rules '.ingresses.items |= [first]'
  use_quick_kubectl
  start_pods
  mkdir -p "$STATE_DIR"/{live,run,keys,scratch/{loop,nginx}}
  touch "$STATE_DIR"/{keys/default.pem,scratch/loop/quarantine}
  "$alone/bin/loop" --once
  nginx -e stderr -c "$STATE_DIR/live/nginx.conf" 2>>"$dir/nginx.log"
  wait_for 15 served fruit.example /apple apple
  assert_equal apple "$(who_answers fruit.example /apple/pie)"
  assert_equal 404 "$(who_answers fruit.example /apples)"
  cluster_is rules '.ingresses.items |= [first | .spec.rules[0].http.paths[0].path = "/apples"]'
  "$alone/bin/loop" --once
  assert_contains "$(ask fruit.example /apples)" apple # apply has proved it
}
