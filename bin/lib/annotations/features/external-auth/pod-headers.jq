# auth-response-headers: what the service answers, and the pod gets.
include "annotations/header-values"; # dropped_headers
include "annotations/claims";
include "quoting";

# How many different names auth-response-headers of one namespace may have: each is one more header for nginx to think
# of with every request, whoever's it is.
def most_names: 20;

# input: {annotation: value} / output: [name in its auth-response-headers, in small letters]
def response_headers: .["auth-response-headers"] // [] | map(ascii_downcase);

# input:  the name of a header, in small letters
# output: whether nginx says it itself: about the message, to the pod, or to a default backend (errors.jq). The pod must
#         not get it twice.
def not_from_a_service:
  IN("x-code", "x-format", "x-original-uri", "x-namespace", "x-ingress-name", "x-service-name", "x-service-port",
    "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "expect",
    "x-request-id", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
    "x-forwarded-prefix", "x-forwarded-scheme", "x-scheme", "cdn-loop");

# input: the same / output: whether the administrator says it to all pods: a second line would be what clients say
def set_for_all($settings): IN($settings.PROXY_SET_HEADERS | scan("(?<![^\n])([-A-Za-z0-9]+):")[0] | ascii_downcase);

# input: {annotation: value} of the claim / output: why its auth-response-headers are not possible, or nothing
#
# $first_named are those of the namespace that may be named. nginx's table of headers for gRPC has buckets of 64 bytes,
# and a longer name would keep it from taking its configuration.
def wrong_headers($first_named; $protocol; $settings):
  response_headers
  | if length > 20 then "auth-response-headers has more than 20 names"
    else
      (.[] | select(not_from_a_service) | "auth-response-headers cannot have \(.), which nginx itself tells the pod"),
      (.[] | select(set_for_all($settings)) | "auth-response-headers cannot have \(.), which PROXY_SET_HEADERS says to all pods"),
      (.[] | select(length > 46 and ($protocol // "" | startswith("GRPC")))
      | "auth-response-headers has \(.), and with gRPC a name may have 46 characters"),
      (.[] | select($first_named[.] | not)
      | "auth-response-headers of its namespace have more than \(most_names) different names, and \(.) is one too many")
    end;

# input:  [{options: their number, set: {annotation: value}}] of those with auth-url
# output: lines for each header that a service answers for the pod
#
# Where options 3 ask for X-User, the pod gets the service's, which `location` put into $service_says_x_user:
#
#   map $asks $pod_gets_x_user {
#     default $http_x_user;        the client's own; "" for a name that no client may say (dropped_headers)
#     3 $service_says_x_user;
#   }
#   proxy_set_header X-User $pod_gets_x_user;
#
# With TRUSTED_PROXIES, templates/proxy-headers.conf has a line for such a name already, with $said_NAME, what a trusted
# proxy says ($trusting). Then the map replaces that variable.
#
# For gRPC, nginx's table of names is nearly full (proxy-headers.conf): so there it has only what pods that speak it are
# to get; $grpc are the numbers of their options. Authorization is a matter of basic-auth.jq too: $logins are the
# locations with passwords.
def pod_header_lines($trusting; $grpc; $logins):
  ([dropped_headers | {(ascii_downcase): true}] | add) as $dropped
  | [.[] | .options as $options | .set["auth-response-headers"][]? | {$options, name: ., variable: as_variable}]
  | group_by(.variable)[]
  | .[0] as {$name, $variable}
  | $dropped[$name | ascii_downcase] as $is_dropped
  | ($is_dropped and $trusting) as $is_said
  | ($variable == "authorization" and $logins != []) as $is_password
  | "$\(if $is_said then "said" else "pod_gets" end)_\($variable)" as $got
  | (if $is_said then "$believed_\($variable)"
     elif $is_dropped then "\"\""
     elif $is_password then "$sent_authorization"
     else "$http_\($variable)"
     end) as $before
  | (select($is_said) | "  map $is_believed \($before) { 1 $http_\($variable); }"),
    map_lines("$asks"; $got;
      "default \($before);",
      (map(.options) | unique[] | "\(.) $service_says_\($variable);")),
    (select($is_said | not) | "  proxy_set_header \($name) \($got);"),
    # (proxy-headers.conf has a line of each such name for gRPC, too, but not of this one.)
    (select($is_said and $variable != "x_goog_authenticated_user_id" | not)
     | select(any(.[]; .options | IN($grpc[])) or ($is_password and any($logins[]; speaks_grpc)))
     | "  grpc_set_header \($name) \($got);");
