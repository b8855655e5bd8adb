# auth-url and what belongs to it: a service decides about each request. nginx asks it first (`auth_request`).
#
#   auth-url                  whom nginx asks; see `target` for what it can be. No name is ever resolved: one that is
#                             not known would keep nginx from starting, and a tenant could have nginx ask anybody
#   auth-method, auth-request-redirect, auth-response-headers, auth-always-set-cookie
#                             what it is asked, and what of its answer reaches the pod and the client
#   auth-signin, auth-signin-redirect-param                  where a client is sent that is not signed in
#   auth-cache-key, auth-cache-duration                      answers that count again, so that the service is asked less
#   auth-keepalive*                                          no effect
#   auth-proxy-set-headers                                   more headers for it (custom-headers.jq)
#
# 2xx lets a request in, 401 and 403 do not, and after any other answer, or none, nginx answers 500; also where there
# is nobody to ask. A path for ACME challenges is open: nobody is signed in who asks there.
#
# nginx asks by a subrequest to a location of the same server: "nginx-asks/3/auth.demo.80", where 3 is the number of the
# options, and the rest is the upstream: for the same options, that may be another one in another namespace. A client's
# path begins with "/", so no client gets there. It has proxy_set_header lines of its own, which is why those of the
# http block do not count: the service must believe what they say, so nothing there is the client's.
#
# Subrequests share the variables that `set` makes: $asks is the number of the options, and tells the maps of the http
# block whom a request is for. (Of two maps for one variable, nginx takes the later one: so the maps of this file
# replace those for $sign_in and $what_failed in templates/answers.conf.template, and for headers in
# lib/render/derived-values.bash.)
include "annotations/claims";
include "route/ownership"; # owners
include "allow";
include "quoting";
include "annotations/service-urls";
import "annotations/features/dropped-headers" as $dropped;

# input: "namespace/name" of an Ingress or Service / output: the namespace
def namespace: split("/")[0];

# --- answers that are kept

# output: {name: the variable of nginx} of those that auth-cache-key may have
#
# What tells who the client is, is in every key (`kept`): here it need not be.
def cache_variables: {
  remote_user: "", http_authorization: "", http_cookie: "",
  remote_addr: "${remote_addr}", host: "${host}", http_host: "${request_host}",
  request_uri: "${request_uri}", uri: "${asks_uri}", # $uri itself is that of the question
  request_method: "${request_method}", scheme: "${client_scheme}"
};

# input: an auth-cache-key / output: it as nginx has it, or null if it has a variable that is none of these
def cache_key:
  [ match("\\$\\{?(?<name>[A-Za-z0-9_]*)\\}?|[^$]+"; "g")
    | (.captures[0].string // null) as $name
    | if $name == null then .string
      elif $name | ascii_downcase | startswith("cookie_") then ""
      else cache_variables[$name | ascii_downcase]
      end ]
  | if all(. != null) then join("") else null end;

# input:  "200 202 1h 30m"
# output: "200 202 5400s"; nothing if it has codes, and none of them is possible. At most for a day.
def validity:
  {ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 604800, M: 2592000, y: 31536000} as $units
  | [scan("[^ ]+")]
  | (map(select(test("\\A[0-9]{3}\\z"))) | map(select(test("\\A[2-5]")))) as $codes
  | (map(capture("\\A(?<number>[0-9]+)(?<unit>[a-zA-Z]+)\\z") | (.number | tonumber) * $units[.unit])
    | add | floor) as $seconds
  | select($codes != [] or all(test("[a-zA-Z]")))
  | $codes + ["\([$seconds, 86400] | min)s"] | join(" ");

# input: {annotation: value} / output: whether answers are kept
def keeps: .["auth-cache-key"] // null | . != null and cache_key != null;

# input: {annotation: value} / output: directives of the question, so that its answers are kept; $host is the server's
#
# An answer counts again for one path of one Ingress, the same question, and a client with the same method, certificate,
# Authorization and cookies, whatever auth-cache-key says. If the service decides by anything else, such as the URL or
# another header, auth-cache-key must have it. Between the parts of the whole key are line ends,
# which no header can have, and no URL before it is decoded; so what may be decoded comes last. (nginx compares the
# whole key, not only its hash.) Answers with a Set-Cookie, or whose Cache-Control forbids it, are not kept, nor those
# with a body of 1,000 bytes or more.
#
# They are files in memory. nginx looks only every 10 s whether they take more than max_size, so what bounds them is
# that their zone has room for some 2,000 keys: with the longest keys and headers, which have to fit into 16 kB, 39 MB.
def kept($host):
  select(keeps)
  | ("\(.["auth-method"] // "") \($host) \(.["auth-url"])" | in_quotes_with_variables | .[1:-1]) as $question
  | [ "$ingress", "$asks_for", "$request_method", "$ssl_client_fingerprint", "$http_authorization", "$http_cookie",
      $question, (.["auth-cache-key"] | cache_key) ] as $parts
  | "proxy_cache auth_answers_256k; proxy_cache_key \"\($parts | join("\\n"))\"; proxy_no_cache $is_long_answer; proxy_buffering on; ",
    (.["auth-cache-duration"] // ["200 202 401 5m"] | .[] | validity | "proxy_cache_valid \(.); ");

# --- claims: who is asked

# input: an auth-url / output: {scheme, host, port, path}
def url:
  capture("\\A(?<scheme>https?)://(?<host>\\[[^]]+\\]|[^/?:]+)(:(?<port>[0-9]+))?(?<path>.*)\\z")
  | .path |= (if startswith("/") then . else "/" + . end)
  | .host |= ascii_downcase
  | .port = if .port then .port | tonumber elif .scheme == "https" then 443 else 80 end;

# input:  [claim or location of a host, in the order in which they count]
# output: the same by their paths, for `serving`
def by_path:
  def of(choose): map(select(choose) | {(.path): .}) | reverse | add // {};
  {exact: of(.pathType == "Exact"), prefix: of(.pathType | IN("Prefix", "Default")),
    expressions: any(.[]; .pathType == "RegularExpression")};

# input: what by_path says / output: what of it serves $path, or null: Exact before Prefix, and the longest first
#
# Regular expressions are not asked: to try them all for each auth-url would take too long. (A rule's path has 64
# elements at most.)
def serving($path):
  . as {$exact, $prefix}
  | ($path | split("/")) as $elements
  | $exact[$path]
    // first(range([$elements | length, 66] | min; 1; -1) as $many | $prefix[$elements[:$many] | join("/")] | values)
    // $prefix["/"];

# input: a claim's auth-url / output: whom nginx asks, or {wrong: why nobody}
#
#   {host: ""}             the host of the Ingress itself, by its own rules     https://$host/oauth2/auth
#   {host: "a.example"}    another host, with rules of the namespace            https://a.example/oauth2/auth
#   {upstream, ...}        a Service                                            http://auth.demo.svc.cluster.local/check
#                          or one of whose pods this is the address             http://10.244.0.7:8080/check
#
# Namespaces are the Ingress's own and those of SHARED_NAMESPACES; and for its own host, the one that it belongs to
# ($owners): a guest may ask the owner, but no guest's path may answer for the owner's. $hosts is {host: {namespaces:
# {name: true}, open: what by_path says of the claims without auth-url}}. Only the model says for certain who serves a
# host's path: so it is looked up once more there.
def target($claim; $context; $addresses; $pods; $hosts; $owners; answer):
  def by_rules($host; $shown):
    (.path | split("?")[0]) as $path
    | if $hosts[$host].open | serving($path) then {host: $shown}
      else {wrong: "no rule without auth-url serves \($path) of host \($host); regular expressions are not asked"}
      end;
  url as $url
  | ([$claim.ingress | namespace] + $context.shared) as $namespaces
  | ($url.host | service_named($addresses)) as $service
  | ($service != null and ($service | namespace | IN($namespaces[]))) as $is_near
  | (if $is_near and $context.services[$service] then {$service, port: $url.port}
     else [$pods[$url | "\(.host):\(.port)"] | .[$namespaces[]]? | values][0]
     end) as $found
  | if ($url.host | startswith("$")) or $url.host == $claim.host then
      $url | by_rules($claim.host; "") + {$namespaces, owner: $owners[$claim.host]}
    elif $found then
      $found + {protocol: (if $url.scheme == "https" then "HTTPS" else null end)}
      | answer
      | if .upstream then . else {wrong: .message} end
    elif any($namespaces[]; $hosts[$url.host].namespaces[.]) then $url | by_rules($url.host; $url.host) + {$namespaces}
    elif $is_near then {wrong: "Service \($service) does not exist"}
    elif $service and $context.services[$service] then
      {wrong: "Service \($service) is in a namespace that is neither the Ingress's own nor one of SHARED_NAMESPACES"}
    else
      {wrong: "\($url.host | quoted) is neither a host with rules of namespace \($namespaces[0]) or of one in SHARED_NAMESPACES, nor a Service there, such as http://auth.\($namespaces[0]).svc.cluster.local"}
    end;

# input: {"namespace/name of a Service": [digest of an EndpointSlice]} / output: {"address:port" of a pod: {namespace:
# {service, port}}}; $services are the Services
#
# Of several Services, the first by name. A port of a Service without a name is found by its number.
def by_address($services):
  reduce (to_entries | sort_by(.key)[]) as {key: $service, value: $slices} ({};
    ($service | namespace) as $of
    | reduce ($slices[] | (.ready[]?, .ending[]?) as $address | .ports // {} | to_entries[] | {$address} + .) as $it (.;
        ( if $it.key != "" then $it.key
          else [$services[$service].ports.numbers // {} | keys_unsorted[0] | values | tonumber][0]
          end ) as $port
        | .["\($it.address):\($it.value)"][$of] //= {$service, $port}));

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
def set_for_all: IN($ENV.PROXY_SET_HEADERS // "" | scan("(?<![^\n])([-A-Za-z0-9]+):")[0] | ascii_downcase);

# input: {annotation: value} of the claim / output: why its auth-response-headers are not possible, or nothing
#
# $first_named are those of the namespace that may be named. nginx's table of headers for gRPC has buckets of 64 bytes,
# and a longer name would keep it from taking its configuration.
def wrong_headers($first_named; $protocol):
  response_headers
  | if length > 20 then "auth-response-headers has more than 20 names"
    else
      (.[] | select(not_from_a_service) | "auth-response-headers cannot have \(.), which nginx itself tells the pod"),
      (.[] | select(set_for_all) | "auth-response-headers cannot have \(.), which PROXY_SET_HEADERS says to all pods"),
      (.[] | select(length > 46 and ($protocol // "" | startswith("GRPC")))
      | "auth-response-headers has \(.), and with gRPC a name may have 46 characters"),
      (.[] | select($first_named[.] | not)
      | "auth-response-headers of its namespace have more than \(most_names) different names, and \(.) is one too many")
    end;

# input: {annotation: value} / output: [the names of those that ask for any of this]
def asking:
  [ keys[]
    | select(startswith("auth-url")
        or IN("auth-method", "auth-signin", "auth-signin-redirect-param", "auth-request-redirect",
          "auth-response-headers", "auth-always-set-cookie", "auth-cache-duration")) ];

# input:  [answered claim]
# output: {host: {namespaces: {namespace: true} that have pods there, open: its paths without auth-url}}, as `target`
#         wants them
def by_host($options):
  map(select(.upstream)) | group_by(.host)
  | map({(.[0].host): {
      namespaces: (map({(own_namespace): true}) | add),
      open: (map(select(annotations($options)["auth-url"] | not)) | by_path) }})
  | add // {};

# input: [answered claim, the oldest Ingress first] / output: the same, with .asks: whom nginx asks; or closed
def claims($context; answer):
  ($context.services | service_addresses) as $addresses
  | (if $ENV.HOST_OWNERSHIP == "shared" then {} else owners($context) end) as $owners
  | by_host($context.options) as $hosts
  | first_names([$context.options[] | response_headers]; most_names) as $first_named
  | (if any($context.options[]; .["auth-url"] // "" | test("\\Ahttps?://(\\[|[0-9.]+([:/?]|\\z))")) then
       $context.slices | by_address($context.services)
     else {}
     end) as $pods
  # Many claims have the same annotations, so what is wrong with them is found out once.
  | ([ .[] | select(.options and .upstream) | select(annotations($context.options)["auth-response-headers"])
       | {of: own_namespace, options, protocol} ] | unique
     | map({(tojson): first((. as {$of, $options, $protocol}
         | $context.options[$options - 1] | wrong_headers($first_named[$of]; $protocol)), null)})
     | add // {}) as $wrong_headers
  | map(
      annotations($context.options) as $set
      | ($set | asking) as $asking
      | if $asking == [] or .upstream == null or needs_no_login($set) then .
        elif $set["auth-url"] == null then closed("\($asking[0]) needs auth-url, which says who is asked")
        else
          . as $claim
          | (if $set["auth-response-headers"] then $wrong_headers[{of: own_namespace, options, protocol} | tojson] else null end) as $wrong
          | (if $wrong then {} else $set["auth-url"] | target($claim; $context; $addresses; $pods; $hosts; $owners; answer) end) as $target
          | if $wrong then closed($wrong)
            elif $target.wrong then closed($target.wrong) | .status = 500
            elif $target.upstream then .asks = ($target | {upstream, service, protocol}) | .also += [$target]
            else .asks = $target
            end
            | .,
              (select($target.upstream and ($target | has_pods($context) | not))
              | problem("NoReadyEndpoints";
                  "Service \($target.service), which auth-url asks, has no ready endpoint for port \($target.port)")),
              (select(.asks and $set["auth-cache-key"] and ($set | keeps | not))
              | annotation_refused(
                  "auth-cache-key has no effect: of variables, it may have $cookie_ with a name, and $\(cache_variables | keys | join(", $"))"))
        end);

# --- model

# input: a location with .asks / output: {upstream, protocol} of whom nginx asks, or {wrong: why nobody}
#
# What protects the path that is asked does not count for the question. So a path of the host's owner, if that is
# another namespace, is asked only if it has no annotations, its host asks for no client certificates, and $path cannot
# mean another path: nobody resolves or decodes it to one (..%2f), and its host has no regular expressions, which
# `serving` does not know.
def who_is_asked($host; $locations; $upstreams; $options):
  .asks as $asks
  | .options as $number
  | if $asks.upstream then $asks
    else
      (if $asks.host == "" then $host else $asks.host end) as $host
      | ($options[.options - 1]["auth-url"] | url.path | split("?")[0]) as $path
      | ($locations[$host].expressions or ($path | path_refusal) != null) as $is_doubtful
      | $locations[$host] | serving($path)
      | if .upstream == null then {wrong: "no pod serves \($path) of host \($host)"}
        elif .asks then {wrong: "\($path) of host \($host) is itself behind auth-url"}
        elif speaks_grpc then {wrong: "\($path) of host \($host) speaks gRPC"}
        elif (.ingress | namespace | IN($asks.namespaces[]) | not)
          and ((.ingress | namespace) != $asks.owner or .options or .client or $is_doubtful) then
          {wrong: "\($path) of host \($host) is another namespace's"}
        else {upstream, protocol, service}
        end
    end
  | if .upstream == null or $upstreams[.upstream] then .
    elif $options[$number - 1] | keeps then {upstream: "nobody"} # so that kept answers count
    else {wrong: "Service \(.service) has no ready endpoint"}
    end;

# output: the names of headers that a client must not set
def dropped_headers: $dropped[0][];

# output: what nginx tells the service; $verifies: whether some clients have certificates (client-certificates.jq has
#         these variables)
def told($verifies): {
  Host: "$asked_host",
  "X-Original-URL": "$client_scheme://$client_host$request_uri",
  "X-Original-URI": "$request_uri",
  "X-Original-Method": "$request_method",
  "X-Sent-From": "nginx-ingress-controller",
  "X-Auth-Request-Redirect": "$asked_redirect",
  "X-Request-ID": "$one_request_id",
  "X-Real-IP": "$remote_addr",
  "X-Forwarded-For": "$way",
  "X-Forwarded-Host": "$client_host",
  "X-Forwarded-Port": "$client_port",
  "X-Forwarded-Proto": "", # as in ingress-nginx: a service that insists on HTTPS would answer with a redirect
  "X-Scheme": "$client_scheme",
  "CDN-Loop": "$passed_by"
} + if $verifies then {
  "ssl-client-verify": "$client_verify",
  "ssl-client-subject-dn": "$client_subject",
  "ssl-client-issuer-dn": "$client_issuer",
  "ssl-client-cert": "$client_certificate"
} else {} end;

# Those of the request that are about its body, its connection, or about what the client has of the pod's answer.
def of_the_request:
  "Content-Length", "Connection", "Upgrade",
  "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since";

# output: lines for the header of the question. All else that the client sent reaches the service as it is.
def question_header($verifies):
  told($verifies) as $told
  | ($told | with_entries({key: .key | ascii_downcase, value: true})) as $is_told
  | ($told | to_entries[] | "      proxy_set_header \(.key) \"\(.value)\";"),
    ((of_the_request, dropped_headers) | select($is_told[ascii_downcase] | not) | "      proxy_set_header \(.) \"\";");

# input: {annotation: value} / output: what nginx asks; $who is {upstream, protocol}
#
# With satisfy: any, it does not ask about clients from the addresses of allowlist-source-range.
def question($who; $host):
  (select(.satisfy == "any" and .allow) | "if ($in_networks_\(.allow)) { return 204; } "),
  kept($host),
  (.["auth-method"] // empty | "proxy_method \(.); "),
  "proxy_read_timeout \(.["proxy-read-timeout"] // 60)s; ",
  (select($who.protocol == "HTTPS") | "proxy_ssl_name \($who.upstream | certificate_name); "),
  "proxy_pass \("\(if $who.protocol == "HTTPS" then "https" else "http" end)://\($who.upstream)\(.["auth-url"] | url.path)" | in_quotes_with_variables);";

# input: a location with .who / output: the name of the location in which nginx asks
def asked_at: "nginx-asks/\(.options)/\(.who.upstream)";

# input:  a server
# output: the same, with locations in which nginx asks, and .who: whom, or .nobody: why not, in those that ask
def with_questions($header; $locations; $upstreams; $options):
  .host as $host
  | .locations |= map(
      if .asks and .upstream then
        who_is_asked($host; $locations; $upstreams; $options) as $who
        | if $who.wrong then .nobody = $who.wrong else .who = $who end
      else . end)
  | . as $server
  | [.locations[] | select(.who) | {name: asked_at, question: (.who as $who | [annotations($options) | question($who; $host)] | add)}]
  | unique_by(.name) as $questions
  | ["      internal;", "      error_page 599 /;", "      proxy_pass_request_body off;", $header[]] as $common
  | $server
  | if $questions == [] then .
    elif ($questions | length) == 1 then
      .lines += [
        "    location = \($questions[0].name) {",
        $common[],
        "      \($questions[0].question)",
        "    }" ]
    else
      .lines += [
        "    location nginx-asks/ {",
        $common[],
        ($questions[] | "      location = \(.name) { internal; \(.question) }"),
        "    }" ]
    end;

# input: the name of a header / output: what it is in the name of a variable: X-User => x_user
def as_variable: ascii_downcase | gsub("-"; "_");

# input:  [[number of options, {annotation: value}]] of those with auth-url
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
def header_lines($trusting; $grpc; $logins):
  (reduce dropped_headers as $name ({}; .[$name | ascii_downcase] = true)) as $is_dropped
  | [.[] | .[0] as $number | .[1]["auth-response-headers"][]? | {$number, name: ., variable: as_variable}]
  | group_by(.variable)[]
  | .[0] as {$name, $variable}
  | ($is_dropped[$name | ascii_downcase] and $trusting) as $is_said
  | ($variable == "authorization" and $logins != []) as $is_password
  | (if $is_said then "$believed_\($variable)"
     elif $is_dropped[$name | ascii_downcase] then "\"\""
     elif $is_password then "$sent_authorization"
     else "$http_\($variable)"
     end) as $before
  | (if $is_said then "  map $is_believed \($before) { 1 $http_\($variable); }" else empty end),
    "  map $asks $\(if $is_said then "said" else "pod_gets" end)_\($variable) {",
    "    default \($before);",
    (map(.number) | unique[] | "    \(.) $service_says_\($variable);"),
    "  }",
    (if $is_said then empty else "  proxy_set_header \($name) $pod_gets_\($variable);" end),
    # (proxy-headers.conf has a line of each such name for gRPC, too, but not of this one.)
    (if ($is_said and $variable != "x_goog_authenticated_user_id")
       or (any(.[]; .number | IN($grpc[])) or ($is_password and any($logins[]; speaks_grpc)) | not) then empty
     else "  grpc_set_header \($name) $\(if $is_said then "said" else "pod_gets" end)_\($variable);"
     end);

# input:  an auth-signin with its parameter, {auth-signin, auth-signin-redirect-param}
# output: the URL for the client, for nginx
def sign_in_page:
  .["auth-signin"] as $url
  | (.["auth-signin-redirect-param"] // "rd") as $parameter
  | (if $url | startswith("/") then "$scheme://$forwarded_host" else "" end) + $url
    + if any($url | split("?")[1:] | join("?") | split("&")[];
          startswith($parameter + "=") and length > ($parameter | length) + 1) then ""
      else
        (if $url | contains("?") then "&" else "?" end)
        + $parameter + "=$scheme://$forwarded_host$escaped_request_uri"
      end
  | in_quotes_with_variables;

# output: maps that encode the path and query of a request: "/a?b=c" => "%2Fa%3Fb%3Dc", as $escaped_request_uri
#
# nginx has no function for that, but a map can put together what a regular expression has found. A map cannot look up a
# code for each character, so it searches a text in which the codes stand already: the request, a space, and a table
# "!%21#%23..." of all characters with their codes. For each special character in the request, the expression looks
# ahead into the table, finds it there once more (\k<...>), and takes the code that follows it.
#
# One map does so for up to 16 special characters, because nginx takes no longer text than that needs, and 16 maps
# follow each other. Each passes on "what is done", a space, and "the rest"; a URL has no space itself:
#
#   " /a?b=c"            what $uri_after_1 is made of: nothing is done yet
#   "%2Fa%3Fb%3Dc "      $uri_after_1: no rest
#
# So if there is a rest after the last map, the URL has too many of them, and $escaped_request_uri stays empty.
# ("$" cannot stand in the table. It means nothing in a query, so it stays as it is. ++, *+ and ?+ never go back, so
# that the time grows with the length of the URL alone.)
def encoding:
  16 as $maps
  | "[A-Za-z0-9._~$\\x80-\\xff-]" as $plain
  | "[^A-Za-z0-9._~$\\x80-\\xff -]" as $special
  | ( "!\"#%&'()*+,/:;<=>?@[\\]^`{|}"
      | [ explode[] | [.] | implode
          # jq 1.6 leaves these five as they are
          | . + ({"'": "%27", "!": "%21", "(": "%28", ")": "%29", "*": "%2A"}[.] // @uri) ]
      | add | gsub("(?<c>[\"\\\\])"; "\\\(.c)") ) as $table
  | [ range(1; 17)
      # one, or none
      | "(?:(?<uri_special_\(.)>\($special))(?=[^ ]*+ [^ ]*?\\k<uri_special_\(.)>(?<uri_code_\(.)>%[0-9A-F]{2})))?+"
        + "(?<uri_plain_\(.)>\($plain)*+)" ] as $groups # and what follows it
  | ( range(1; $maps + 1)
      | "  map \"\(if . == 1 then " $request_uri" else "$uri_after_\(. - 1)" end) \($table)\" $uri_after_\(.) {",
        "    \"~^(?<uri_done>[^ ]*) (?<uri_plain_0>\($plain)*+)\($groups | add)(?<uri_rest>[^ ]*) \" \"$uri_done$uri_plain_0\([range(1; 17) | "$uri_code_\(.)$uri_plain_\(.)"] | add) $uri_rest\";",
        "  }" ),
    "  map $uri_after_\($maps) $escaped_request_uri {",
    "    \"~^(?<uri_encoded>%2F[^ ]*) $\" $uri_encoded;",
    "  }";

# input:  [[number of options, {annotation: value}]] of those with auth-url
# output: lines for auth-signin, if one has it
def sign_in_lines:
  map(select(.[1]["auth-signin"])) as $pages
  | (if any(.[]; .[1]["auth-signin"] or (.[1]["auth-url"] | contains("$escaped_request_uri"))) then encoding
     else empty
     end),
    if $pages == [] then empty
    else
      "  map $asks $sign_in_page {", ($pages[] | "    \(.[0]) \(.[1] | sign_in_page);"), "  }",
      "  map \"$upstream_status|$escaped_request_uri|$client_host|$sign_in_page\" $sign_in { # a 401 of the pod is none of these",
      "    default /nginx-says/$upstream_name;",
      "    \"~^[|][^|]+[|][^|]+[|]http\" $sign_in_page;",
      "  }"
    end;

# input: [[number of options, {annotation: value}]] of those with auth-url / output: lines for the http block
#
# nginx joins several cookies with commas, which browsers do not understand: so they are taken apart, up to four. A step
# takes the first of $auth_cookies_1 into $auth_cookie_1, and leaves the others for the next, as $auth_cookies_2. (A
# comma in a date, as in Expires, has no "name=" behind it.)
def http_lines($trusting; $grpc; $logins):
  def cookie($number):
    "$auth_cookies_\($number)" as $from
    | "  map \($from) $auth_cookie_\($number) { \"~^(?<one_cookie>.+?), [^ ;,=]+=\" $one_cookie; default \($from); }",
    "  map \($from) $auth_cookies_\($number + 1) { \"~^.+?, (?<other_cookies>[^ ;,=]+=.*)$\" $other_cookies; }",
    "  add_header Set-Cookie $auth_cookie_\($number) always;";
  "  # external authentication",
  "  map $asks $asked_host {", "    default $request_host;",
  (.[] | .[0] as $number | .[1]["auth-url"] | url.host | select(startswith("$") | not)
    | "    \($number) \(in_quotes);"),
  "  }",
  "  map $asks $asked_redirect {", "    default $request_uri;",
  (.[] | select(.[1]["auth-request-redirect"]) | "    \(.[0]) \(.[1]["auth-request-redirect"] | in_quotes);"), "  }",
  "  map \"$asks|$auth_status\" $what_failed {",
  "    \"~^([|]|[0-9]+[|]2..$)\" \"The request failed within nginx: the controller's log says why.\\n\";",
  "    default \"You are not let in, because the authentication service gave no answer that says so: it ended with status $auth_status.\\n\";",
  "  }",
  "  map \"$auth_always $status\" $auth_cookies_1 { \"~^(1 .*| (20[0146]|30[123478]))$\" $auth_cookies; }",
  (range(1; 5) as $number | cookie($number)),
  (if any(.[][1]; keeps) then
     "  proxy_cache_path \("\($ENV.STATE_DIR)/scratch/nginx/auth" | in_quotes) keys_zone=auth_answers_256k:256k max_size=16m inactive=1d use_temp_path=off;",
     "  map \"$upstream_status $upstream_http_content_length\" $is_long_answer { default 1; \"~204 $\" \"\"; \"~ [0-9]{1,3}$\" \"\"; }",
     "  upstream nobody { server 127.0.0.1:1 down; }"
   else empty
   end),
  header_lines($trusting; $grpc; $logins),
  sign_in_lines,
  "";

# input: a server / output: lines for the headers of auth-proxy-set-headers, which replace the client's
def asked_headers:
  [.locations[].question_headers.variables // {} | to_entries[]] | unique[]
  | "      proxy_set_header \(.key) $\(.value);";

# input: model / output: the same with all of that
def model:
  .options |= map(
    if .["auth-response-headers"] then
      .from_service = (.["auth-response-headers"] | map(as_variable) | unique
        | map("auth_request_set $service_says_\(.) $upstream_http_\(.); ") | add)
    else .
    end)
  | . as {$options}
  | ready as $upstreams
  | ([.servers[] | {(.host): (.locations | by_path)}] | add // {}) as $locations
  | any(.servers[].locations[]; .client and .upstream) as $verifies
  | [question_header($verifies)] as $header
  | .servers |= map(
      if any(.locations[]; .asks) then
        with_questions($header + [asked_headers]; $locations; $upstreams; $options)
      else . end)
  | ([.servers[].locations[] | select(.who).options] | unique | map([., $options[. - 1]])) as $asking
  | [.servers[].locations[] | select(.who and speaks_grpc).options] as $grpc
  | [.servers[].locations[] | select(.users and .upstream)] as $logins
  | if $asking == [] then .
    else
      .lines += [$asking | http_lines($ENV.TRUSTED_PROXIES != "" and $ENV.PROXY_PROTOCOL == "off"; $grpc; $logins)]
      | .says_authorization = any($asking[][1]["auth-response-headers"][]?; ascii_downcase == "authorization")
    end;

# --- location

# input: a location / output: its directives
def location:
  if .set["auth-url"] and .upstream and needs_no_login(.set) then
    "set $asks \(.options); " # nobody is asked, so the headers of auth-response-headers are empty: no client can say them
  elif .set["auth-url"] and .upstream and (.who | not) then
    "return 500 \"\("\(not_available(.nobody // "auth-url asks nobody")): path \(.path) of Ingress \(.ingress)." | harmless)\\n\"; "
  elif .who then
    "set $asks \(.options); ",
    (select(.set["auth-url"] | contains("$escaped_request_uri"))
     | "if ($escaped_request_uri = \"\") { return 414 \"The URL has more special characters than the authentication service can be told.\\n\"; } "),
    (select(.set | keeps) | "set $asks_for \("\(.pathType) \(.path | @uri)" | in_quotes); set $asks_uri $uri; "),
    "set $auth_always \(if .set["auth-always-set-cookie"] then "1" else "\"\"" end); ",
    "auth_request \(asked_at); auth_request_set $auth_status $upstream_status; auth_request_set $auth_cookies $upstream_http_set_cookie; ",
    (.set.from_service // empty)
  else empty
  end;
