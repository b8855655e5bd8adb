#!/usr/bin/env bash
# With proxy_request_buffering off, the client's timing decides whether a pod gets a Content-Length or chunks
#
# Software:      nginx 1.22.1 (Debian bookworm)
# Behaviour:     A client sends a body in chunks. If all of it has come together with the header, nginx knows its length,
#                and the pod gets a Content-Length. If the end comes later, the same request becomes chunked for the pod.
#                So a pod that reads no chunks works in every quick test, and gets empty uploads from slow clients.
# Likely guess:  "off" streams a body as it came: in chunks if it came in chunks; or the length is unknown in both cases.
# Source:        proxy_request_buffering in nginx's documentation ("the request body is sent to the proxied server
#                immediately as it is received"), which does not say in which form.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl perl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1

# shellcheck disable=SC2016 # the dollar signs are Perl's
start_pod '
  $sent =~ /^((?:Content-Length|Transfer-Encoding): \S+)/m; $form = "$1\n";
  print { $_ } "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " . length($form) . "\r\n\r\n$form"; sleep 2'
start_nginx <<CONF
access_log off;
server {
  listen unix:$folder/nginx;
  location / { proxy_pass http://unix:$folder/pod; proxy_http_version 1.1; proxy_request_buffering off; }
}
CONF

in_chunks=(-X POST -H 'Transfer-Encoding: chunked' -H 'Expect:' http://a.test/)
seen 'all at once' 'Content-Length: 5' "$(ask -d hello "${in_chunks[@]}")"
seen 'with a pause' 'Transfer-Encoding: chunked' "$({ printf hel && sleep 1 && printf lo; } | ask -T - "${in_chunks[@]}")"
verdict
