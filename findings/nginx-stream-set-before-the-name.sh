#!/usr/bin/env bash
# In nginx's stream module, a `set` that copies the client's name empties that name for all that comes later
#
# Software:      nginx 1.22.1 with its stream module, and OpenSSL 3.0 (Debian bookworm)
# Behaviour:     With `ssl_preread on` and `map $ssl_preread_server_name $pod { ... }`, proxy_pass and access_log know the
#                name in the handshake. If the server also has `set $copy $pod`, for the log say, then the name itself is
#                empty everywhere, and the map has its default: each connection goes to the default pod. nginx does not
#                warn, the order of the lines does not matter, and `volatile` in the map does not help.
# Likely guess:  `set` is evaluated where its variable is used, or at least after the handshake that it asks for; and it
#                changes nothing but its own variable.
# Source:        nginx's source: ngx_stream_set_module runs in Pre-access; its documentation of the stream module: Preread
#                comes after that. A variable that was read once keeps what it was, also "not known".

# shellcheck disable=SC2016 # the dollar signs are for nginx
source "${BASH_SOURCE[0]%/*}/lib.bash"
needs openssl
debian nginx=1.22.1-9+deb12u11 libnginx-mod-stream=1.22.1-9+deb12u11
"$folder/root/usr/sbin/nginx" -v 2>&1

server() { # NAME LINE...   on a socket of that name; it notes what it knows when the connection ends
  echo "server { listen unix:$folder/$1; ssl_preread on; ${*:2} access_log $folder/$1.log known; return -; }"
}
cat >"$folder/nginx.conf" <<CONF
load_module $folder/root/usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; pid $folder/pid; error_log $folder/log; events { }
stream {
  log_format known '\$ssl_preread_server_name goes to \$pod, or \$again';
  map \$ssl_preread_server_name \$pod { default nobody; a.test pod-a; }
  map \$ssl_preread_server_name \$again { volatile; default nobody; a.test pod-a; }
  $(server without)
  $(server with 'set $copy $pod;')
  $(server volatile 'set $copy $again;')
}
CONF
"$folder/root/usr/sbin/nginx" -e "$folder/log" -c "$folder/nginx.conf" &
wait_for test -S "$folder/volatile"

known() { # SOCKET (it gets no handshake)
  openssl s_client -unix "$folder/$1" -servername a.test </dev/null >/dev/null 2>&1 || true
  wait_for test -s "$folder/$1.log" && cat "$folder/$1.log"
}
seen 'as it is' 'a.test goes to pod-a, or pod-a' "$(known without)"
seen 'with a copy of $pod' '- goes to nobody, or nobody' "$(known with)"
seen 'with a copy of what a volatile map says' '- goes to nobody, or nobody' "$(known volatile)"
verdict
