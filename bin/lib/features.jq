# What annotations can ask for: the list of the features. Each is a file in features/, with up to three hooks:
#
#   claims    [answered claim, the oldest Ingress first] => the same, with others, fewer, or closed ones   (in route.jq)
#             $context: {options: [{annotation: value}], secrets, services}. A claim's own are $context.options[.options - 1].
#             answer: input {service, port, protocol} / output: the same with upstream, or with status, reason and message;
#             what is put into the claim's .also has an upstream of its own; .balance goes to its upstream in the model
#   model     model => the same with lines for nginx.conf: in .lines for the http block, and in the .lines of a server or
#             an upstream; .own_tls: true gives a server the directives of its certificates             (in nginx.jq)
#   location  a location, with .host, and its annotations in .set => directives for its block, as text  (in nginx.jq)
#
# They run in the order of their lines. What `location` adds is written before what answers the request, and nginx
# runs `set`, `if` and `return` in that order, before `limit_req`, `auth_basic` and other directives.
#
# Reading programs costs jq more than running them, so lib/features.bash leaves out each line that names a feature
# which no Ingress uses. Every line that names one can therefore go alone, and names only one. feature-files.jq lists
# their files once more.
import "features/access" as access;
import "features/basic-auth" as basic_auth;
import "features/client-certificates" as client_certificates;
import "features/directives" as directives;
import "features/proxy-ssl" as proxy_ssl;
import "features/satisfy" as satisfy;

# output: [feature that this file has]
def loaded: [
  "access",
  "basic-auth",
  "client-certificates",
  "directives",
  "proxy-ssl",
  "satisfy",
  "" ];

# input: {features} / output: the same; an error if one of them is not loaded, since what it protects would be open
def all_loaded:
  ((.features // []) - loaded) as $missing
  | if $missing == [] then . else error("these features are not loaded: \($missing | join(", "))") end;

# input: [answered claim, the oldest Ingress first] / output: the same, as the features change it
def feature_claims($context; answer):
  ($context | all_loaded) as $_
  | .
  | satisfy::claims($context)
  | basic_auth::claims($context)
  | client_certificates::claims($context)
  | proxy_ssl::claims($context)
  ;

# input: a location with .host and .set / output: directives for its block
def feature_location:
  ""
  + client_certificates::location
  + access::location
  + basic_auth::location
  + directives::location
  + proxy_ssl::location
  ;

# input: model / output: the same with what the features add
def with_features:
  if (.features // []) == [] then .
  else
    all_loaded
    | access::model
    | client_certificates::model
    | .options as $options
    | .servers |= map(.host as $host | .locations |= map(if .options then {$host, set: $options[.options - 1]} + . | .directives = feature_location else . end))
  end;
