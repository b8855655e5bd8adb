# nginx - an nginx of explain's own, which says where requests go: it has the servers that they can reach, and asks
# nobody
#
# Its configuration is the one that render writes for this part of the model, with three changes: it listens on the
# loopback address and a socket, each pod and login service is a socket of the same nginx, and nothing is left to
# chance. So nginx decides, and there is no second matcher that could be wrong.
#
# shellcheck shell=bash disable=SC2154 # bin and the settings are of settings, folder and model of explain

source "$bin/lib/apply/nginx.bash" # leave_out_what_is_not_here, find_half_of_memory, find_nginx_version

guessed='' port=''

# Writes to FOLDER/log a line for each request, in the order of FOLDER/asks, and to FOLDER/answers what the client got,
# with a record separator behind each. FOLDER/told has a line for each request that a pod or login service got.
ask_nginx() {
  : >"$folder/log"
  : >"$folder/told"
  : >"$folder/answers"
  [[ -s $folder/asks ]] || return 0 # it is about what is not HTTP
  write_configuration
  start_nginx
  send_requests
  stop_nginx
}

# render in a folder of its own. What depends on the machine is left out: proxies that are believed, say: the client's
# address is the one that the question names.
write_configuration() {
  mkdir -p "$folder"/state/{run,scratch/nginx,admin,keys} "$folder/sockets"
  run_jq -c -f "$bin/lib/explain/reduced.jq" --slurpfile questions "$folder/questions" \
    --arg folder "$folder/sockets" "$model" >"$folder/reduced.json"
  (render_it <"$folder/reduced.json") | change_configuration >"$folder/nginx.conf"
  (
    # a directive that this nginx does not know is no news here
    STATE_DIR=$folder/state program=explain leave_out_what_is_not_here "$folder/nginx.conf" 2>/dev/null
  )
  provide_keys
}

render_it() {
  source "$bin/render"
  export STATE_DIR=$folder/state TRUSTED_PROXIES='' PROXY_PROTOCOL=off WORKER_PROCESSES=1 ACCESS_LOG=off
  mark_locations
  render
}

# Puts a mark into each location, which nginx logs: its place in the model, and the path as nginx has read it.
mark_locations() {
  mkdir "$folder/features"
  cp -r "$features_in_use/annotations" "$folder/features"
  sed 's/^def with_features:/def with_features_only:/' "$features_in_use/annotations/features.jq" |
    cat - "$bin/lib/explain/marked.jq" >"$folder/features/annotations/features.jq"
  features_in_use=$folder/features
}

# The changes. A canary's share of requests is that of the way "share" (questions.jq).
#
# Where TLS is passed on, no header says the client's address: so for each one there is a socket with it in its name.
change_configuration() {
  local sockets names clients
  export sockets names clients
  if ((EUID == 0)); then echo 'user root;'; fi # it may read what this program has written
  sockets=$(jq -r '.upstreams[] | "    listen \(.endpoints[0])\(if .name | test("[.](https|grpcs)([.]|$)") then " ssl" else "" end);"' "$folder/reduced.json")
  names=$(header_names)
  clients=$(jq -r --arg folder "$folder" '"    listen unix:\($folder)/sockets/from-\(.from);"' "$folder/questions" | sort -u)
  awk -v http="$HTTP_PORT" -v https="$HTTPS_PORT" -v admin="$ADMIN_PORT" -v folder="$folder" '
    /^ *listen \[::\]:/ { next }
    $1 == "listen" && $2 ~ "^" http ";?$" { sub($2, "127.0.0.1:@PORT@" ($2 ~ /;/ ? ";" : "")) }
    $0 == "    listen " https ";" { $0 = ENVIRON["clients"] } # of what passes TLS on
    /^  geo [$]passed_/ { sub("geo", "geo $explained_from") }
    { sub(/^    pass [$]passed_to;/, "    proxy_pass $passed_to;") }
    $1 == "listen" && $2 ~ "^" https ";?$" { sub($2, "unix:" folder "/sockets/https" ($2 ~ /;/ ? ";" : "")) }
    $1 == "listen" && $2 ~ "^" admin ";?$" { sub($2, "unix:" folder "/sockets/admin" ($2 ~ /;/ ? ";" : "")) }
    /proxy_pass http:\/\/127[.]0[.]0[.]1:/ { sub("127[.]0[.]0[.]1:" admin, "unix:" folder "/sockets/admin:") }
    { sub(/proxy_cache auth_answers_256k;/, "proxy_cache off;") }
    /^  access_log / { $0 = "" }
    { gsub(/access_log off; /, "") } # of a location, which may have several lines
    /^  split_clients [$]request_id [$]in_[0-9]+_of_10000 [{]$/ {
      print "  map $http_x_request_id " $3 " { ~^share- 1; }"
      inside = 1
    }
    inside { if ($0 == "  }") inside = 0; next }
    { print }
    $0 == "stream {" {
      print "  map $server_addr $explained_from { volatile; ~/from-(?<explained_address>[0-9A-Fa-f.:]+)$ $explained_address; }"
      print "  log_format explained escape=json " q("{\"at\":\"$passed_service\",\"server\":\"\",\"path\":\"\",\"status\":\"$status\",\"upstream\":\"$upstream_addr\",\"certificate\":\"\"}") ";"
    }
    $0 == "    set $entrance \"TLS passed on\"; set $service \"\";" || $0 == "    set $entrance \"TLS passed on\";" {
      print "    access_log " folder "/log explained;"
    }
    $0 == "  # --- routes" {
      print "  set_real_ip_from 127.0.0.1; set_real_ip_from unix:; real_ip_header X-Explain-From;"
      print "  log_format explained escape=json " q("{\"at\":\"$explained\",\"server\":\"$explained_server\",\"path\":\"$explained_path\",\"status\":\"$status\",\"upstream\":\"$upstream_addr\",\"ingress\":\"$ingress\",\"certificate\":\"$certificate_1\"}") ";"
      print "  log_format told escape=json " q("{\"id\":\"$http_x_request_id\",\"socket\":\"$server_addr\",\"method\":\"$request_method\",\"uri\":\"$request_uri\",\"question\":\"$http_x_original_method\",\"headers\":{" ENVIRON["names"] "}}") ";"
      print "  map \"$http_x_original_method|$http_x_request_id\" $login_says { ~^.+[|]denied- 401; default 200; }"
      print "  server {"
      print "    listen unix:" folder "/sockets/pod;"
      print ENVIRON["sockets"]
      print "    ssl_certificate " folder "/state/keys/default.pem; ssl_certificate_key " folder "/state/keys/default.pem;"
      print "    access_log " folder "/told told; error_page 599 /; large_client_header_buffers 16 16k; client_max_body_size 0;"
      print "    if ($login_says = 401) { return 401; }"
      print "    location / { return 200; }"
      print "  }"
      print "  access_log " folder "/log explained;"
    }
    function q(text) { return "\047" text "\047" }'
}

# What a pod may be told, beside what only connections need: each as an entry of a JSON object.
header_names() {
  local name variable text=''
  while read -r name; do
    variable=${name,,} variable=${variable//-/_}
    text+=",\"$name\":\"\$http_$variable\""
  done < <({
    printf '%s\n' Host X-Real-IP X-Forwarded-For X-Forwarded-Host X-Forwarded-Port X-Forwarded-Proto Upgrade Cookie Authorization
    jq -r '.headers[] | split(":")[0]' "$folder/questions"
    jq -r '.options[]? | to_entries[] | .value | if type == "object" then keys[] else empty end | select(test("^[A-Za-z][A-Za-z0-9-]*$"))' "$folder/reduced.json"
  } | grep -E '^[A-Za-z0-9-]+$' | grep -vixE 'x-request-id|x-explain-from|connection|content-length' | awk '!seen[tolower($0)]++' | head -n 60)
  printf '%s' "${text#,}"
}

# The keys of the controller, where they are at hand. What is missing is made: nginx only has to start with it. A file
# of passwords that is missing has those of the questions, and guessed says so: nobody knows whether they are right.
provide_keys() {
  local file
  for file in "$folder/manifests/state/keys" "$given_keys"; do
    [[ ! -d $file ]] || find "$file" -maxdepth 1 -name '*.*' -type f -exec ln -sf -t "$folder/state/keys" {} +
  done
  [[ -e $folder/state/keys/default.pem ]] || (STATE_DIR=$folder/state "$bin/certificates" default)
  while read -r file; do
    file=$folder/state/keys/$file
    if [[ -e $file ]]; then
      continue
    elif [[ $file == *.htpasswd ]]; then
      guessed=yes
      jq -r -f "$bin/lib/explain/passwords.jq" "$folder/questions" >"$file"
    else
      cp -p "$folder/state/keys/default.pem" "$file"
    fi
  done < <({
    sed -nE "s|.*$folder/state/keys/([A-Za-z0-9._-]+).*|\1|p" "$folder/nginx.conf"
    grep -oE '[A-Za-z0-9._-]+[.]htpasswd' "$folder/nginx.conf" || true # none
    jq -r '.certificates[].files[], (.defaultCertificate // empty)' "$folder/reduced.json"
  } | sort -u)
}

# Another program may have the port: then another one. (An nginx that fails leaves its sockets behind, which the next
# could not bind.)
start_nginx() {
  local try
  for try in {1..20}; do
    rm -f "$folder"/sockets/* "$folder"/state/run/*.sock
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
    sed "s/127[.]0[.]0[.]1:@PORT@/127.0.0.1:$port/" "$folder/nginx.conf" >"$folder/state/nginx.conf"
    if (
      ulimit -S -c 0 -t "$test_cpu_seconds" -v "$(find_half_of_memory)" 2>/dev/null || true
      exec timeout -k 1 "$test_seconds" nginx -e "$folder/errors" -c "$folder/state/nginx.conf"
    ) >/dev/null 2>"$folder/said"; then
      return
    fi
    grep -q 'Address already in use' "$folder/said" || break
    sleep "0.$try"
  done
  die 1 "the nginx that explains does not start: $(tail -n 1 "$folder/said")"
}

stop_nginx() {
  local pid
  [[ -s $folder/state/run/nginx.pid ]] || return 0
  read -r pid <"$folder/state/run/nginx.pid"
  kill -TERM "$pid" 2>/dev/null || true # it has ended
}

# One after the other, so that the lines of the log are in that order. (HTTPS needs a program that speaks TLS.)
send_requests() {
  local scheme host from text said socket number=0
  while read -r scheme host from text; do
    if [[ $scheme == https ]]; then
      socket=$folder/sockets/from-$from
      [[ -e $socket ]] || socket=$folder/sockets/https # all TLS ends here
      # shellcheck disable=SC2059 # the text is made for it
      printf "${text//%/%%}" | timeout 20 openssl s_client -quiet -ign_eof -unix "$socket" -servername "$host" 2>/dev/null | tr -d '\0' >>"$folder/answers" || true # the log says what came
      wait_for_log "$((number + 1))" 3 || printf '{"at":"","server":"","path":"","status":"000","upstream":"","certificate":""}\n' >>"$folder/log"
    else
      ask_by_http "$text"
      printf '%s' "$said" >>"$folder/answers"
    fi
    printf '\036' >>"$folder/answers"
    number=$((number + 1))
  done <"$folder/asks"
  wait_for_log "$number" 10 || die 1 "nginx has not answered all requests: $(tail -n 1 "$folder/errors")"
}

# Sets said to the answer.
ask_by_http() { # TEXT
  said=''
  {
    printf '%b' "$1" >&9
    IFS= read -r -d '' -t 20 said <&9 || true # it ends with the connection
  } 9<>"/dev/tcp/127.0.0.1/$port"
}

wait_for_log() { # LINES SECONDS
  local now end
  take_time
  end=$((now + $2))
  until (($(wc -l <"$folder/log") >= $1)); do
    take_time
    ((now < end)) || return
    nap 0.005
  done
}
