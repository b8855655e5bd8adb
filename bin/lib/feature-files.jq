# The files of the features, and what they include. It has no function: it is only for jq 1.8.2, which crashes unless
# the files that another one includes are loaded before that one, and it loads what is included last first.
import "features/access" as access;
import "features/affinity" as affinity;
import "features/balancing" as balancing;
import "features/basic-auth" as basic_auth;
import "features/buffers" as buffers;
import "features/canary" as canary;
import "features/client-certificates" as client_certificates;
import "features/cors" as cors;
import "features/custom-headers" as custom_headers;
import "features/directives" as directives;
import "features/errors" as errors;
import "features/external-auth" as external_auth;
import "features/headers" as headers;
import "features/mirror" as mirror;
import "features/proxy_redirect" as proxy_redirect;
import "features/proxy-ssl" as proxy_ssl;
import "features/rates" as rates;
import "features/redirects" as redirects;
import "features/rewrite" as rewrite;
import "features/satisfy" as satisfy;
include "named";
include "header-values";
include "network-lists";
include "networks";
include "expressions";
include "quoting";
include "allow";
