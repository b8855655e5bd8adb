#!/usr/bin/env bash
# A name in the handshake with a dot at its end finds its server, but not its place in a map
#
# Software:      nginx 1.22.1 and OpenSSL 3.0 (Debian bookworm)
# Behaviour:     A client says "a.test." in its TLS handshake. nginx drops the dot to choose the server, so the client gets
#                that server's certificate; but $ssl_server_name still has it. So a map of that variable (to choose a
#                certificate, or an upstream in the stream module) knows "a.test" and misses "a.test.".
# Likely guess:  What chose the server is what the variable says.
# Source:        RFC 6066, section 3 (no dot at the end); $ssl_server_name in nginx's documentation; ngx_http_ssl_servername
#                gives the name to ngx_http_validate_host, the variable asks OpenSSL.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs openssl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1 && openssl version

pair() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=$1" \
    -keyout "$folder/$1.key" -out "$folder/$1.crt" 2>/dev/null
}
for name in the-default by-server by-map-default by-map; do pair "$name"; done
chmod 644 "$folder"/*.key # nginx's workers read those of the map
start_nginx <<CONF
access_log off;
map \$ssl_server_name \$pair { default by-map-default; map.test by-map; }
server { listen unix:$folder/nginx ssl; ssl_certificate $folder/the-default.crt; ssl_certificate_key $folder/the-default.key; }
server { listen unix:$folder/nginx ssl; server_name a.test; ssl_certificate $folder/by-server.crt; ssl_certificate_key $folder/by-server.key; }
server { listen unix:$folder/nginx ssl; server_name map.test; ssl_certificate $folder/\$pair.crt; ssl_certificate_key $folder/\$pair.key; }
CONF

shown() { # NAME_IN_THE_HANDSHAKE
  openssl s_client -unix "$folder/nginx" -servername "$1" </dev/null 2>/dev/null | sed -n 's/^subject=CN = //p'
}
seen 'a.test' by-server "$(shown a.test)"
seen 'a.test. is the same server' by-server "$(shown a.test.)"
seen 'map.test' by-map "$(shown map.test)"
seen 'map.test. is not in the map' by-map-default "$(shown map.test.)"
verdict
