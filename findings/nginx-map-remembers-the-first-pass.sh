#!/usr/bin/env bash
# A map that was read before an internal redirect keeps its value after it
#
# Software:      nginx 1.22.1 (Debian bookworm)
# Behaviour:     A map of $uri is read while the server decides something, in an `if`. Then try_files or error_page sends
#                the request to another URI. $uri is the new one, but the map still says what it said for the old one: a
#                variable of a map is computed once for each request. Without the `if`, the same map says the new one.
#                So whether something reads the variable early decides what it is late.
# Likely guess:  A variable of a map is what its source is mapped to, at each moment: $uri changes, so it does.
# Source:        `volatile` of ngx_http_map_module ("the variable is not cacheable", 1.11.7), in nginx's documentation.

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs curl
debian nginx=1.22.1-9+deb12u9
"$folder/root/usr/sbin/nginx" -v 2>&1

server() { # WHAT_READS_THE_MAP [HOST]
  cat <<CONF
server {
  listen unix:$folder/nginx; server_name $2; $1
  location / { error_page 404 = /missing; return 404; }
  location = /missing { return 200 "\$uri is \$section, \$volatile_section\n"; }
}
CONF
}
start_nginx <<CONF
access_log off;
map \$uri \$section { default page; /missing error; }
map \$uri \$volatile_section { volatile; default page; /missing error; }
$(server "if (\$section = none) { return 403; } if (\$volatile_section = none) { return 403; }" early.test)
$(server '' late.test)
CONF

seen 'read early' '/missing is page, error' "$(ask http://early.test/x)"
seen 'read only late' '/missing is error, error' "$(ask http://late.test/x)"
verdict
