# nginx - which configuration it serves, and where it keeps things
#
# shellcheck shell=bash

nginx_version='' half_of_memory='' # the loop finds them out once
cgroup=/sys/fs/cgroup
test_seconds=30 test_cpu_seconds=15
reload_seconds=5 test_took=0 load_until=''
if_inet6=/proc/net/if_inet6 # is there if the kernel has IPv6

# Writes standard input to the file $new. (The rest makes what is missing at the first call, and leaves out directives
# that an old nginx does not know.) Sets in_place if the live file is the same already.
receive() { # [MODEL | test]
  [[ ${1-} != test ]] || new=$live/nginx.conf.test
  [[ -d $STATE_DIR/scratch/apply ]] || mkdir -p "$STATE_DIR"/{live,admin,run,scratch/{apply,nginx}}
  copy >"$new" || die 1 "cannot write $new; is $STATE_DIR full?"
  [[ -s $new ]] || die 1 'there is no configuration on standard input, so the live one stays'
  leave_out_what_is_not_here "$new"
  [[ -e $live/nginx.conf ]] || : >"$live/nginx.conf"
  [[ -e $live/model.json ]] || echo '{}' >"$live/model.json"
  [[ -e $STATE_DIR/keys/default.pem ]] || "$bin/certificates" default
  if [[ ${1-} != test ]] && is_same_file "$new" "$live/nginx.conf"; then in_place=yes; fi
}

# The first line has a hash of the rest: mostly, it says that they differ.
is_same_file() { # NGINX_CONF NGINX_CONF
  local one='' other=''
  read -r one <"$1" || true # it has only one line
  read -r other <"$2" || true
  [[ $one == "$other" ]] && cmp -s "$1" "$2"
}

# The new configuration is "in place" if live/nginx.conf is the same, and "live" if nginx serves it. In place but not
# live is what nginx has not loaded yet, because apply was killed after `mv`, say. While no nginx runs, in place is
# enough: the next nginx reads it.
is_live() {
  [[ -n $in_place ]] && { ! nginx_runs || is_served "$live/nginx.conf"; }
}

# Whether nginx serves this file now. The first line of the file names its hash.
is_served() { # NGINX_CONF [ADDRESS]
  local hash served
  read -r _ _ hash _ <"$1" && find_served_hash "${@:2}" && [[ $served == "$hash" ]]
}

# Sets served to the hash of the configuration that the nginx of this pod serves, or the one at
# ADDRESS; to "" if it does not answer. The last line of the answer is its body.
find_served_hash() { # [ADDRESS]
  local line
  served=''
  {
    printf 'GET /config-hash HTTP/1.0\r\n\r\n' >&3
    while read -r -t 1 line <&3; do served=$line; done
  } 2>/dev/null 3<>"/dev/tcp/${1-127.0.0.1}/$ADMIN_PORT" || true
}

# Sets master: the number of nginx's main process.
nginx_runs() {
  [[ -s $STATE_DIR/run/nginx.pid ]] && read -r master <"$STATE_DIR/run/nginx.pid" && kill -0 "$master" 2>/dev/null
}

# Prints the sockets of a process of nginx as /proc names them, a line each.
sockets_of() { # PID
  # A connection may end while find looks, and then find fails.
  find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null || true
}

# Runs nginx's test within bounds, since tenants wrote what it reads. Sets said to what it says, and test_took
# to its seconds. (A configuration for 5,000 hosts takes nginx 1.22 and 1.30 0.6 s, and 400 MiB of address space.) Its
# last words are its status: `wait` does not always know that, see findings/bash-wait-loses-a-short-process.sh. If it
# has none, as it was killed, it is run once more, by a shell that tells its status.
within_bounds() { # COMMAND...
  local now began output late='' status began_at=${EPOCHREALTIME/./}
  take_time
  began=$now
  run_in_time exec "$@"
  case ${said%$'\n'} in
    *' test is successful') status=0 ;;
    *' test failed') status=1 ;;
    *)
      [[ -n $late ]] || run_in_time tell_status_of "$@"
      status=${said##*$'\n'} said=${said%$'\n'*}
      [[ $status == [0-9]* ]] || status=137 said='' # the shell around it was killed
      ;;
  esac
  said=${said%$'\n'}
  case $status in
    0 | 1) ;;
    137) said+=${late:-"nginx's test was killed, perhaps because there is not enough memory"} ;;
    152) said+="nginx's test took more than $test_cpu_seconds s of CPU time" ;;
    *) said+="nginx's test ended with status $status" ;;
  esac
  take_time
  test_took=$((now - began))
  took test "$began_at"
  return "$status"
}

# Sets said, and late if it took too long.
run_in_time() { # COMMAND...
  exec {output}< <(
    # This fails where there are narrower bounds already.
    ulimit -S -c 0 -t "$test_cpu_seconds" -v "${half_of_memory:-$(find_half_of_memory)}" 2>/dev/null || true
    "$@" 2>&1
  )
  if ! read_to_end "$output" "$test_seconds"; then
    late="nginx's test took longer than $test_seconds s" said=$'\n137'
    end_with_children "$!" 2>/dev/null || true # it may just have ended
  fi
  exec {output}<&-
}

tell_status_of() { # COMMAND...
  local status=0
  { "$@" 2>&1 || status=$?; } 2>/dev/null # bash would say if a signal has ended it
  printf '\n%s' "$status"
}

end_with_children() { # PID
  local children=()
  read -ra children <"/proc/$1/task/$1/children" || true # it has no line end
  kill -KILL "$1" "${children[@]}"
}

# nginx needs about as long to load a configuration as to test it, unless it is busy. The time begins at the first call.
may_still_load() {
  local now
  take_time
  load_until=${load_until:-$((now + reload_seconds + 3 * test_took))}
  ((now <= load_until))
}

# For what reads what tenants wrote. Prints KiB of address space: half of the container's memory, since nginx itself
# needs the rest, and some for what is no memory, such as libraries.
find_half_of_memory() {
  local limit used most=8000000000 # without a limit, as if there were this one
  read_memory
  ((${limit/max/$most} < most)) || limit=$most
  echo "$((limit / 2048 + 100000))"
}

# Sets limit, which may be "max", and used: how many bytes of memory the container may have, and has (cgroup v2 or v1).
read_memory() {
  { read -r limit <"$cgroup/memory.max" && read -r used <"$cgroup/memory.current"; } 2>/dev/null ||
    { read -r limit <"$cgroup/memory/memory.limit_in_bytes" &&
      read -r used <"$cgroup/memory/memory.usage_in_bytes"; } 2>/dev/null ||
    limit=max
}

# If root starts nginx, its workers are another user, and it is they who read the keys.
let_nginx_read() { # FILE
  ((EUID != 0)) || chown nobody "$1"
}

# An nginx of a learner's own machine may be older than the image's, and would not start with a directive that it does
# not know; nor with a `listen [::]`, where the kernel has no IPv6.
leave_out_what_is_not_here() { # NGINX_CONF
  local version=${nginx_version:-$(find_nginx_version)} edits=()
  [[ -e $if_inet6 ]] || edits+=(-e '/^ *listen \[::\]/d')
  leave_out keepalive_min_timeout 1.27.4 'reloads may lose requests of keep-alive clients'
  leave_out ssl_certificate_cache 1.27.4 'TLS handshakes take a little longer'
  leave_out http2 1.25.1 'there is no HTTP/2, and so no gRPC'
  if is_older "$version" 1.29.6 && has_directive sticky "$1"; then
    leave_out sticky 1.29.6 'affinity-mode persistent is like balanced'
    edits+=(-e 's/^\( *server .*\) route=[^;]*;/\1;/')
  fi
  if is_older "$version" 1.29.3 && has_directive add_header_inherit "$1"; then
    leave_out add_header_inherit 1.29.3 'with auth-url, all requests take a little longer'
    edits+=(-e 's/^ *# before nginx 1[.]29[.]3: /  /')
  fi
  if is_older "$version" 1.25.5 && has_directive pass "$1"; then use_proxy_protocol_within; fi
  ((${#edits[@]} == 0)) || sed -i "${edits[@]}" "$1"
}

has_directive() { # NAME NGINX_CONF
  local text line=$'\n *'"$1 "
  if read_short "$2"; then [[ $text =~ $line ]]; else grep -q "^ *$1 " "$2"; fi
}

# Before `pass` (stream-blocks.jq), a connection within nginx can say in the PROXY protocol only whose it is.
use_proxy_protocol_within() {
  [[ -e $STATE_DIR/live/nginx.conf && $(<"$STATE_DIR/live/nginx.conf") == *'listen unix:'*proxy_protocol* ]] ||
    log "this nginx is $version, and pass came with 1.25.5. Connections that are not passed on take a little longer."
  edits+=(-e 's/^\( *\)pass \(.*\);/\1proxy_pass \2; proxy_protocol on;/'
    -e 's/^\( *\)\(listen unix:.*\);/\1\2 proxy_protocol;/' -e '/passed[.]sock proxy_protocol;/s/$/ set_real_ip_from unix:;/')
  case $TRUSTED_PROXIES$PROXY_PROTOCOL in
    off) edits+=(-e '/^  # --- routes/s/$/\n  set_real_ip_from unix:; real_ip_header proxy_protocol;/') ;;
    *on) edits+=(-e '/^  # --- routes/s/$/\n  set_real_ip_from unix:;/') ;; # else a header would say it, and anybody could
  esac
}

# Adds a command for sed to edits. Logs it, unless the live configuration leaves the directive out as well.
leave_out() { # DIRECTIVE FIRST_VERSION CONSEQUENCE
  local left_out="left out, nginx $version does not know it:"
  is_older "$version" "$2" || return 0
  edits+=(-e "s/^ *$1 .*/  # $left_out &/")
  [[ -e $STATE_DIR/live/nginx.conf && $(<"$STATE_DIR/live/nginx.conf") == *"$left_out"*([ ])"$1 "* ]] ||
    log "this nginx is $version, and $1 came with $2. It is left out: $3."
}

# The first version without faults that its project has published since; older ones may have some (.github/SECURITY.md).
# shellcheck disable=SC2034 # for those who source this
oldest_nginx=1.30.6

find_nginx_version() {
  local version
  version=$(nginx -v 2>&1)
  version=${version#*/}
  echo "${version%% *}"
}

is_older() { # VERSION OTHER_VERSION
  local a b
  # shellcheck disable=SC2086 # each number is a word
  printf -v a '%d%03d%03d' ${1//./ } && printf -v b '%d%03d%03d' ${2//./ }
  ((a < b))
}
