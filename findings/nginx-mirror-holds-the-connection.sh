#!/usr/bin/env bash
# A mirrored request is answered at once, but the next one on its connection waits for the copy
#
# Software:      nginx 1.22.1 (Debian bookworm)
# Behaviour:     With `mirror`, the client has its answer in milliseconds, though the pod that gets the copy takes 3 s. But
#                nginx takes the request for unfinished until the copy is: the log's request_time is 3 s, and a second
#                request on the same kept connection is answered only then. Each connection of its own is fast.
# Likely guess:  "Responses to mirror subrequests are ignored" (nginx's documentation): so a slow one delays nobody.
# Source:        ngx_http_mirror_module in nginx's documentation; a subrequest in the background still belongs to its main
#                request, whose finalization starts the next one of a keep-alive connection.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl perl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1

# shellcheck disable=SC2016 # the dollar signs are Perl's
start_pod 'sleep 3 if $sent =~ m{^GET /copy}; print { $_ } "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n"'
start_nginx <<CONF
log_format short '\$request_uri \$request_time'; access_log $folder/access short;
server {
  listen unix:$folder/nginx;
  location / { mirror /copy; proxy_pass http://unix:$folder/pod; }
  location = /copy { internal; proxy_pass http://unix:$folder/pod; }
}
CONF

speed() { awk '{ print $NF < 1.5 ? "at once" : "late" }' | paste -sd ,; }
ask -o /dev/null -o /dev/null -w '%{time_total}\n' http://a.test/first http://a.test/second >"$folder/times"
seen 'two requests on one connection are answered' 'at once,late' "$(speed <"$folder/times")"
for path in third fourth; do ask -o /dev/null -w '%{time_total}\n' "http://a.test/$path"; done >"$folder/times"
seen 'and on a connection for each' 'at once,at once' "$(speed <"$folder/times")"
logged() { [[ $(wc -l <"$folder/access") == 4 ]]; }
wait_for logged
cat "$folder/access"
seen "by request_time in nginx's log" 'late,late,late,late' "$(speed <"$folder/access")"
verdict
