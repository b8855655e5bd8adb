# Written by write_features (features.bash) from features.json; features-program.jq says what hooks are.
include "annotations/hooks"; # all_loaded, with_directives
import "annotations/features/access" as access;
import "annotations/features/affinity" as affinity;
import "annotations/features/balancing" as balancing;
import "annotations/features/basic-auth" as basic_auth;
import "annotations/features/buffers" as buffers;
import "annotations/features/canary" as canary;
import "annotations/features/ciphers" as ciphers;
import "annotations/features/client-certificates" as client_certificates;
import "annotations/features/cors" as cors;
import "annotations/features/custom-headers" as custom_headers;
import "annotations/features/directives" as directives;
import "annotations/features/errors" as errors;
import "annotations/features/external-auth" as external_auth;
import "annotations/features/headers" as headers;
import "annotations/features/mirror" as mirror;
import "annotations/features/proxy-redirect" as proxy_redirect;
import "annotations/features/proxy-ssl" as proxy_ssl;
import "annotations/features/rates" as rates;
import "annotations/features/redirects" as redirects;
import "annotations/features/rewrite" as rewrite;
import "annotations/features/satisfy" as satisfy;

def loaded: ["access","affinity","balancing","basic-auth","buffers","canary","ciphers","client-certificates","cors","custom-headers","directives","errors","external-auth","headers","mirror","proxy-redirect","proxy-ssl","rates","redirects","rewrite","satisfy"];

def feature_claims($context; answer):
  all_loaded($context.features; loaded)
  | redirects::claims($context; answer)
  | canary::claims($context; answer)
  | rewrite::claims($context; answer)
  | basic_auth::claims($context; answer)
  | client_certificates::claims($context; answer)
  | ciphers::claims($context; answer)
  | affinity::claims($context; answer)
  | balancing::claims($context; answer)
  | proxy_ssl::claims($context; answer)
  | canary::upstreams($context; answer)
  | proxy_ssl::upstreams($context; answer)
  | mirror::claims($context; answer)
  | external_auth::claims($context; answer)
  | rates::claims($context; answer)
  | custom_headers::claims($context; answer)
  | errors::claims($context; answer)
  | cors::claims($context; answer)
  | buffers::claims($context; answer)
  ;

def with_features:
  if (.features // []) == [] then .
  else
    all_loaded(.features; loaded)
    | errors::model
    | access::model
    | affinity::model
    | balancing::model
    | canary::model
    | client_certificates::model
    | ciphers::model
    | cors::model
    | custom_headers::model
    | external_auth::model
    | basic_auth::model
    | headers::model
    | mirror::model
    | proxy_ssl::model
    | rates::model
    | redirects::model
    | rewrite::model
    | with_directives(
        custom_headers::location,
        client_certificates::location,
        access::location,
        cors::location,
        headers::location,
        redirects::location,
        affinity::location,
        canary::location,
        basic_auth::location,
        satisfy::location,
        external_auth::location,
        proxy_ssl::location,
        directives::location,
        errors::location,
        rates::location,
        buffers::location,
        proxy_redirect::location,
        mirror::location,
        "")
  end;
