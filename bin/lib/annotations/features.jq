# What annotations can ask for: the list of the features. Each is a file in features/, with up to three hooks
# (canary and proxy-ssl have a second one for claims):
#
#   claims    [answered claim, the oldest Ingress first] => the same, with others, fewer, or closed ones   (in route.jq)
#             $context: {features, options: [{annotation: value}], secrets, services, slices, shared: [namespace],
#             quarantined: {ingress: {...}}}. A claim's own annotations are `annotations($context.options)` (claims.jq).
#             answer: input {service, port, protocol} / output: the same with upstream, or with status, reason and
#             message; what is put into the claim's .also has an upstream of its own; .balance goes to its upstream in
#             the model
#   model     model => the same with lines for nginx.conf: in .lines for the http block, and in the .lines of a server
#             or an upstream; .head, .rewrite and .target of a location are its block's head and parts     (in nginx.jq)
#   location  a location, with its annotations in .set => each directive for its block, as text
#             with a space behind it                                                                    (in nginx.jq)
#
# They run in the order of their lines: aliases first, so that the others see all hosts. What `location` adds is written
# before what answers the request, and nginx runs `set`, `if` and `return` in that order, before `limit_req`,
# `auth_basic` and other directives.
#
# Reading programs costs jq more than running them, so lib/annotations/features.bash leaves out each line that names a feature
# which no Ingress uses. Every line that names one can therefore go alone, and names only one: hence the `.` and the ""
# in the lists, which stand where all others may be gone.
#
# To add a feature: its file; here its `import`, its name in `loaded`, and a line for each hook; its `import` in
# feature-files.jq; "feature" in the rows of annotations.json; tests in test/annotations.
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

# output: [feature that this file has]
def loaded: [
  "access",
  "affinity",
  "balancing",
  "basic-auth",
  "buffers",
  "canary",
  "ciphers",
  "client-certificates",
  "cors",
  "custom-headers",
  "directives",
  "errors",
  "external-auth",
  "headers",
  "mirror",
  "proxy-redirect",
  "proxy-ssl",
  "rates",
  "redirects",
  "rewrite",
  "satisfy",
  "" ];

# input: anything / output: the same; an error if one of these features is not loaded: what it protects would be open
def all_loaded($features):
  (($features // []) - loaded) as $missing
  | if $missing == [] then . else error("these features are not loaded: \($missing | join(", "))") end;

# input: {service, port_name} as `answer` has it / output: whether a pod of it is ready, or ends and still answers
def has_pods($context):
  .port_name as $name
  | any($context.slices[.service][]?; .ports[$name] and .ready + .ending != []);

# input: [answered claim, the oldest Ingress first] / output: the same, as the features change it
def feature_claims($context; answer):
  all_loaded($context.features)
  | redirects::claims($context)
  | canary::claims($context; has_pods($context))
  | rewrite::claims($context) # canaries own no host, so it comes after them
  | basic_auth::claims($context)
  | client_certificates::claims($context)
  | ciphers::claims($context)
  | affinity::claims($context)
  | balancing::claims($context)
  | proxy_ssl::claims($context)
  | canary::upstreams(answer) # of the same kind as the main Ingress's, so it comes after all that change that
  | proxy_ssl::for_both_schemes # after all that gives a claim another upstream
  | mirror::claims($context; answer; has_pods($context))
  | external_auth::claims($context; answer; has_pods($context))
  | rates::claims($context)
  | custom_headers::claims($context)
  | errors::claims($context; answer)
  | cors::claims($context)
  | buffers::claims($context)
  ;

# input: a location with .set / output: directives for its block
def feature_location: [
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
  "" ] | add;

# input: model / output: the same with what the features add
def with_features:
  if (.features // []) == [] then .
  else
    all_loaded(.features)
    | errors::model # which adds locations, so it comes before all that look at these
    | access::model
    | affinity::model
    | balancing::model
    | canary::model
    | client_certificates::model
    | ciphers::model
    | cors::model
    | custom_headers::model # which numbers what external_auth needs
    | external_auth::model
    | basic_auth::model # which looks at what external_auth has said
    | headers::model
    | mirror::model
    | proxy_ssl::model
    | rates::model
    | redirects::model
    | rewrite::model
    | .options as $options
    | .servers |= map(.locations |= map(
        if .options then .set = $options[.options - 1] | .directives = feature_location else . end))
  end;
