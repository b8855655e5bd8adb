#!/usr/bin/env bash
# nginx takes 103 Early Hints for the answer, and the answer behind it for its body
#
# Software:      nginx 1.22.1 (Debian bookworm)
# Behaviour:     A pod sends "103 Early Hints" and then its answer. nginx logs status 103, and passes the answer on byte
#                by byte, header and all, as the body of the 103. Over HTTP/1.1 it works by chance: to the client, these
#                bytes are the answer. Nothing that nginx is told for the answer is done: the log has no 404, and
#                proxy_hide_header, error_page and add_header do nothing to it.
# Likely guess:  A proxy drops or forwards interim answers, and goes on to wait for the final one (RFC 9110, 15.2).
# Source:        nginx's CHANGES: it knows code 103 since 1.29.0 (directive early_hints); nuxt/framework issue 8306.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl perl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1

# shellcheck disable=SC2016 # the dollar signs are Perl's and nginx's
start_pod '
  print { $_ } "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"; sleep 1;
  print { $_ } "HTTP/1.1 404 Not Found\r\nX-Hidden: 1\r\nContent-Length: 5\r\n\r\nnone\n"'
# shellcheck disable=SC2016 # the dollar signs are nginx's
start_nginx <<CONF
log_format short '\$status \$upstream_status'; access_log $folder/access short;
server {
  listen unix:$folder/nginx;
  location / { proxy_pass http://unix:$folder/pod; proxy_hide_header X-Hidden; add_header X-Added 1 always; }
}
CONF

ask -i http://a.test/ >"$folder/answer"
tr -d '\r' <"$folder/answer"
seen 'status lines that the client sees' 'HTTP/1.1 103 HTTP/1.1 404' "$(grep -o '^HTTP/1.1 [0-9]*' "$folder/answer" | xargs)"
wait_for test -s "$folder/access"
seen "status and upstream_status in nginx's log" '103 103' "$(<"$folder/access")"
verdict
