#!/usr/bin/env bash
# A pod that refuses an upload by its header gets all of it: nginx says 100 Continue for the pod
#
# Software:      nginx 1.22.1 (Debian bookworm)
# Behaviour:     A client asks with "Expect: 100-continue" whether it may send a large body. Though nginx does not hold the
#                body (proxy_request_buffering off), it answers "100 Continue" by itself, before the pod says anything, and
#                the pod never sees the field. A 401 that the pod would give for the header comes after the upload has
#                begun. The 25 bytes of "100 Continue" count in bytes_sent, which is otherwise the size of the answer.
# Likely guess:  Without buffering, the question is the pod's to answer (RFC 9110, 10.1.1: a proxy forwards it, unless it
#                knows that the next server is too old for it).
# Source:        nginx's source: ngx_http_test_expect (ngx_http_request_body.c), called whenever a body is read; Expect
#                among the default headers of ngx_http_proxy_module.c.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl perl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1

# shellcheck disable=SC2016 # the dollar signs are Perl's
start_pod '
  $has = $sent =~ /^Expect:/mi ? "yes" : "no"; $length = length($sent =~ s/.*?\r\n\r\n//sr);
  print { $_ } "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nX-Expect: $has\r\nContent-Length: 0\r\n\r\n"; sleep 1'
start_nginx <<CONF
log_format short '\$request_method \$bytes_sent'; access_log $folder/access short;
server {
  listen unix:$folder/nginx; server_tokens off;
  location / { proxy_pass http://unix:$folder/pod; proxy_http_version 1.1; proxy_request_buffering off; }
}
CONF

head -c 2000 /dev/zero >"$folder/body"
ask -i -H 'Expect: 100-continue' --data-binary "@$folder/body" http://a.test/ | tr -d '\r' >"$folder/answer"
cat "$folder/answer"
seen 'what the client is told' '100 401' "$(grep -oE '^HTTP/1.1 [0-9]+' "$folder/answer" | cut -d ' ' -f 2 | xargs)"
seen 'whether the pod gets Expect' 'X-Expect: no' "$(grep X-Expect "$folder/answer")"
ask -o /dev/null -H 'Expect:' --data-binary "@$folder/body" http://a.test/
logged() { [[ $(wc -l <"$folder/access") == 2 ]]; }
wait_for logged
seen 'more bytes_sent with the question' 25 "$(awk '{ sent[NR] = $2 } END { print sent[1] - sent[2] }' "$folder/access")"
verdict
