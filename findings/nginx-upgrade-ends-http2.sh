#!/usr/bin/env bash
# A pod that offers HTTP/2 by Upgrade cannot be read over HTTP/2
#
# Software:      nginx 1.22.1 (Debian bookworm), curl with HTTP/2
# Behaviour:     Apache with mod_http2 says "Upgrade: h2,h2c" in its answers over HTTP/1.1, an offer that anybody may ignore.
#                nginx passes the field on. Clients of HTTP/1.1 see nothing of it. But in HTTP/2 the field is forbidden, so
#                clients of HTTP/2 take the whole answer for malformed, and drop it.
# Likely guess:  Upgrade is a field of one connection: a proxy drops it, as it drops Connection, above all towards HTTP/2.
# Source:        RFC 9113, 8.2.2 (connection-specific fields); RFC 9110, 7.8; nginx drops the field since 1.31.3.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl perl
curl -V | grep -qw HTTP2 || { echo 'this needs a curl with HTTP/2' >&2 && exit 1; }
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1 && curl -V | head -n 1

# shellcheck disable=SC2016 # the dollar signs are Perl's
start_pod 'print { $_ } "HTTP/1.1 200 OK\r\nUpgrade: h2,h2c\r\nConnection: Upgrade, close\r\nContent-Length: 6\r\n\r\nhello\n"'
start_nginx <<CONF
access_log off;
server { listen unix:$folder/nginx; location / { proxy_pass http://unix:$folder/pod; proxy_http_version 1.1; } }
server { listen unix:$folder/http2 http2; location / { proxy_pass http://unix:$folder/pod; proxy_http_version 1.1; } }
CONF

seen 'over HTTP/1.1' 'hello' "$(ask http://a.test/)"
status=0
curl -sS --max-time 9 --unix-socket "$folder/http2" --http2-prior-knowledge http://a.test/ >"$folder/answer" 2>&1 || status=$?
cat "$folder/answer"
seen "curl's status over HTTP/2 (92 is an error of the stream)" 92 "$status"
verdict
