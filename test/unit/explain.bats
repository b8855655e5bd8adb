# What explain says of requests is what nginx does with them.
load helpers

setup() {
  common_setup
  export KUBECONFIG=/dev/null # there is no cluster
}
teardown() { common_teardown; }

# The pods of the clusters of combinations.jq. Each also plays a login service: it lets nobody in whose request says so.
start_random_pods() {
  local addresses
  addresses=$(printf '    listen %s;\n' 127.78.{0..5}.{1,2}:{8080,'8443 ssl'})
  "$bin/certificates" default
  printf 'joe:{PLAIN}good\n' | tee "$STATE_DIR/keys/users.map.htpasswd" >"$STATE_DIR/keys/users.file.htpasswd"
  chmod -R a+rX "$STATE_DIR/keys"
  cat >"$dir/pods.conf" <<CONF
pid $dir/pods.pid;
error_log $dir/pods.log crit;
events {}
http {
  access_log off;
$(temp_paths "$dir/pods")
  map "\$http_x_original_method|\$http_x_login" \$code { ~^.+[|]no\$ 401; default 200; }
  server {
$addresses
    ssl_certificate $STATE_DIR/keys/default.pem; ssl_certificate_key $STATE_DIR/keys/default.pem;
    large_client_header_buffers 16 16k;
    if (\$code = 401) { return 401; }
    location / { return 200; }
  }
}
CONF
  mkdir -p "$dir/pods"
  nginx -e stderr -c "$dir/pods.conf"
}

# A line of JSON on standard input becomes what curl is to do: each question is asked twice, as logins are given or not;
# and often where a canary may have its share. Its number and the way are its ID, which nginx logs.
curl_config() {
  jq -r --arg http "$HTTP_PORT" --arg https "$HTTPS_PORT" '
    def quoted: "\"\(gsub("\\\\"; "\\\\") | gsub("\""; "\\\""))\"";
    (.url | capture("^(?<scheme>[a-z]+)://(?<host>[^/]+)(?<target>.*)$")) as {$scheme, $host, $target}
    | ("yes", "no") as $login
    | range(if $login == "yes" then .times else 1 end) as $time
    | "next",
      "url = \("\($scheme)://\($host | sub("[.]?(:[0-9]+)?$"; ""))\($target)" | quoted)",
      "connect-to = \(if $scheme == "http" then "::127.0.0.1:\($http)" else "::127.0.0.1:\($https)" end | quoted)",
      "header = \("Host: \($host)" | quoted)", "header = \("X-Request-ID: \(.number)" | quoted)", "header = \("X-Login: \($login)" | quoted)",
      "header = \("X-Forwarded-For: \(.from)" | quoted)",
      (.headers[] | "header = \(quoted)"),
      "request = \(.method | quoted)", (select(.method == "POST") | "data = \"\""),
      "insecure", "http1.1", "path-as-is", "globoff", "silent", "output = \"/dev/null\"", "max-time = 20",
      "write-out = \"\(.number)\\t%{http_code}\\t%header{location}\\n\""'
}

# --- the proof

@test "whatever is asked of whatever cluster, the answer is one that explain names, and each that it names can be had" {
  local number=${FIRST_CLUSTER:-1} clusters=${CLUSTERS:-3} count=${REQUESTS:-30} asked=0 unsure=0
  start_random_pods
  export ACCESS_LOG=json TRUSTED_PROXIES=127.0.0.1
  while IFS= read -r lists; do
    "$fixtures/snapshot" <<<"$lists" >"$dir/snapshot"
    : >"$dir/access.log"
    serve_snapshot <"$dir/snapshot"
    jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson cluster "$number" --argjson count "$count" -f "$BATS_TEST_DIRNAME/tables/questions.jq" >"$dir/questions"
    "$bin/explain" --snapshot "$dir/snapshot" --questions "$dir/questions" --json >"$dir/explained" || (($? == 1))
    jq -c -s --slurpfile explained "$dir/explained" 'to_entries[] | .value + {number: .key, times: (if any($explained[.key].answers[].when // ""; test("share")) then 40 else 1 end)}' "$dir/questions" >"$dir/asks"
    curl_config <"$dir/asks" | curl -K - >"$dir/got"
    wait_for 15 all_logged
    compared=$(jq -n -r --slurpfile explained "$dir/explained" --rawfile got "$dir/got" --slurpfile log "$dir/logged" -f "$BATS_TEST_DIRNAME/tables/compared.jq")
    [[ $compared != *different* ]] || { echo "cluster $number: $compared" && return 1; }
    asked=$((asked + count)) unsure=$((unsure + ${compared##* })) number=$((number + 1))
  done < <(jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson first "$number" --argjson count "$clusters" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" \
    --argjson classes "$(jq -c .ingressClasses "$fixtures/rules/lists.json")" -f "$BATS_TEST_DIRNAME/tables/combinations.jq" | sed 's/"10[.]1[.]/"127.78./g')
  echo "# $asked requests, $((unsure * 1000 / asked)) in a thousand have several answers" >&3
  assert_equal "$((${FIRST_CLUSTER:-1} + clusters))" "$number"
  ((unsure * 100 < asked * 15))
}

all_logged() {
  grep -a '^{"time"' "$dir/access.log" >"$dir/logged"
  (($(wc -l <"$dir/logged") == $(wc -l <"$dir/got")))
}
