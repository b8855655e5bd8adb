# derived-values - what the frame is made of beside nginx.conf.template and the settings: fragments, and values that
# are worked out of the settings
#
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # dollar signs of nginx; names for envsubst

# Puts each other template in the place of its name, on a line of its own. (sed takes the rest of the line after "r" as
# the file's name, so the } needs an -e of its own.)
with_fragments() { # <TEMPLATE
  local template edits=()
  for template in "$TEMPLATES_DIR"/*.conf.template; do
    edits+=(-e "/^@${template##*/}@/ { r $template" -e 'd }')
  done
  if ((${#directives[@]} == 0)); then sed "${edits[@]}"; else sed "${edits[@]}" | with_directives; fi
}

# Puts directives of a ConfigMap in the place of the lines that begin with their names, outside of servers; those that
# have no such line come before the routes. (Between the marks @STREAM@ is what is not HTTP.)
with_directives() {
  local line indent fields name is_http=1
  while IFS= read -r line; do
    indent=${line%%[! ]*}
    read -ra fields <<<"$line" || true
    name=${fields[0]-}
    [[ -v directives[${name:-none}] ]] || name="${fields[*]:0:2}"
    [[ $line != @STREAM@ ]] || is_http=$((!is_http))
    if [[ $line == @ROUTES@ ]]; then
      directives_not_put | sort
    elif ((is_http && ${#indent} <= 2)) && [[ -v directives[${name:-none}] ]]; then
      [[ -v put[$name] ]] || printf '%s%s\n' "$indent" "${directives[$name]}"
      put[$name]=yes
      continue
    fi
    printf '%s\n' "$line"
  done
}

declare -A directives=() put=()

# What a ConfigMap says instead of the settings is in the model. Without one, nothing is to do where the frame is made
# already. (The model is read twice, so it has to be a file. What jq has prepared was started with the settings.)
take_configured() { # <MODEL
  local word name value model said
  [[ -z ${made_frame-} || -n $CONFIGMAP ]] || return 0
  if [[ ! -f /dev/stdin ]]; then
    model=$(mktemp)
    cat >"$model"
    exec <"$model"
    rm "$model"
  fi
  said=$(jq -r '.configured // {} | ("settings", "directives") as $kind
    | .[$kind] // {} | to_entries[] | [$kind[:-1], .key, .value] | @tsv' /dev/stdin) ||
    die 1 'what a ConfigMap says in the model cannot be read: jq says above why'
  while IFS=$'\t' read -r word name value && [[ -n $word ]]; do
    made_frame=''
    printf -v value '%b' "$value"
    if [[ $word == setting ]]; then export "$name=$value" waiting=''; else directives[$name]=$value; fi
  done <<<"$said"
}

directives_not_put() {
  local name
  for name in "${!directives[@]}"; do [[ -v put[$name] ]] || printf '  %s\n' "${directives[$name]}"; done
}

# What is not HTTP comes before the routes, if there is anything: "@STREAMS@ NUMBER", then as many characters. It moves
# from there to its place in the frame; without it, all between the two marks goes.
take_streams() { # sets frame and routes
  local mark=$'@STREAM@\n' number parts
  if [[ $routes != @STREAMS@* ]]; then
    mapfile -d $'\f' -t parts <<<"${frame//"$mark"/$'\f'}" # to cut at a pattern takes seconds of a long text
    frame=${parts[0]}${parts[-1]%$'\n'}
    return
  fi
  number=${routes:0:40} number=${number%%$'\n'*} # of a long text, that would take seconds, too
  routes=${routes:${#number}+1}
  number=${number#* }
  frame=${frame//"$mark"/}
  frame=${frame%@STREAMS@*}${routes:0:number}${frame##*@STREAMS@}
  routes=${routes:number+1}
}

# Sets and exports the values, and sets template_names: all that templates can use, as envsubst takes it.
#
# Writing each line of the log as it comes would halve the number of requests that can
# be served. A pipe takes 4k in one piece, so that the workers' lines do not mix.
derive_values() { # <MODEL
  take_configured
  [[ -z ${made_frame-} ]] || return 0
  local names=(WORKER_SHUTDOWN ACCESS_LOG_TARGET STREAM_LOG_TARGET REAL_IP STREAM_REAL_IP BELIEVED PROXY_HEADERS)
  export "${names[@]}"
  printf -v template_names '${%s} ' "${names[@]}" "${setting_names[@]}"
  WORKER_SHUTDOWN=${WORKER_SHUTDOWN_TIMEOUT:+$'\n'worker_shutdown_timeout ${WORKER_SHUTDOWN_TIMEOUT}s;}
  ACCESS_LOG_TARGET="/dev/stdout $ACCESS_LOG buffer=4k flush=100ms"
  STREAM_LOG_TARGET=${ACCESS_LOG_TARGET/stdout/fd\/1} # the same under another name: a buffer is HTTP's or the other's
  if [[ $ACCESS_LOG == off ]]; then ACCESS_LOG_TARGET=off STREAM_LOG_TARGET=off; fi
  REAL_IP='' STREAM_REAL_IP='' BELIEVED=''
  PROXY_HEADERS=$(<"$TEMPLATES_DIR/proxy-headers.conf")
  if [[ -n $TRUSTED_PROXIES ]]; then trust_proxies; fi
  if [[ -n $PROXY_SET_HEADERS ]]; then set_headers; fi
}

# A load balancer says the client's address in a header, or with the PROXY protocol.
# With that, the headers are the client's: they count for nothing.
#
# A header of the PROXY protocol has 4 KiB at most on a port for TLS (nginx: NGX_PROXY_PROTOCOL_MAX_HEADER). On the
# other, nginx reads it into the buffer for the header of a request, which would have 1 KiB: too little for a load
# balancer that adds much (TLVs of version 2).
# nginx takes no network with seven groups before "::", so what that stands for is written out.
trust_proxies() {
  local said_by=proxy_protocol room=$'\n  client_header_buffer_size 4k;' proxies=$TRUSTED_PROXIES
  while [[ $proxies =~ (([0-9a-fA-F]+:){7}): ]]; do proxies=${proxies/"${BASH_REMATCH[0]}"/"${BASH_REMATCH[1]}0"}; done
  if [[ $PROXY_PROTOCOL == off ]]; then
    room=''
    said_by=${FORWARDED_FOR_HEADER:-X-Forwarded-For}
    BELIEVED="${proxies//,/ 1; } 1;"
    PROXY_HEADERS=$(let_through <<<"$PROXY_HEADERS")
  fi
  STREAM_REAL_IP=$'\n'"  set_real_ip_from ${proxies//,/; set_real_ip_from };"
  REAL_IP="  set_real_ip_from ${proxies//,/; set_real_ip_from };
  real_ip_header $said_by;
  real_ip_recursive on;$room"
}

# Puts a variable in the place of "": what the header says, if a trusted proxy says it.
# (For so many variables nginx takes 2 ms more to read its configuration.)
let_through() {
  local line name
  while IFS= read -r line; do
    if [[ $line =~ ^\ *proxy_set_header\ ([^ ]+)\ '""' ]]; then
      name=${BASH_REMATCH[1],,} name=${name//-/_}
      printf '  map $is_believed $said_%s { 1 $http_%s; }\n' "$name" "$name"
      line=${line//'""'/"\$said_$name"}
    fi
    printf '%s\n' "$line"
  done
}

# Puts each header of PROXY_SET_HEADERS in the place of the same one in the list, or behind it.
set_headers() {
  local name value
  while IFS=: read -r name value && [[ -n $name ]]; do
    PROXY_HEADERS=$(grep -vi "^ *proxy_set_header $name " <<<"$PROXY_HEADERS")
    value=${value#"${value%%[! ]*}"} # without the spaces before it
    PROXY_HEADERS+=$'\n'"  proxy_set_header $name \"$value\"; grpc_set_header $name \"$value\";"
  done <<<"$PROXY_SET_HEADERS"
}
