# The files of the features, and what they include. It has no function: it is only for jq 1.8.2, which crashes unless
# the files that another one includes are loaded before that one, and it loads what is included last first.
import "features/access" as access;
import "features/basic-auth" as basic_auth;
import "features/client-certificates" as client_certificates;
import "features/directives" as directives;
import "features/proxy-ssl" as proxy_ssl;
import "features/satisfy" as satisfy;
include "named";
include "networks";
include "quoting";
include "allow";
