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
include "annotations/features/external-auth/questions"; # asked_at, question_header, with_questions
include "annotations/features/external-auth/targets"; # by_address, by_path, target, url
include "annotations/features/external-auth/kept-answers"; # cache_variables, keeps, lines_for_kept_answers
include "annotations/features/external-auth/pod-headers"; # most_names, pod_header_lines, response_headers, wrong_headers
include "annotations/features/external-auth/sign-in"; # sign_in_lines
include "annotations/header-values";
include "annotations/claims";
include "route/pods"; # has_pods, no_pods
include "route/ownership"; # owners
include "quoting";
include "allow"; # is_free_of

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
  | (if $context.settings.HOST_OWNERSHIP == "shared" then {} else owners($context) end) as $owners
  | by_host($context.options) as $hosts
  | first_names([$context.options[] | response_headers]; most_names) as $first_named
  | (if any($context.options[]; .["auth-url"] // "" | test("\\Ahttps?://(\\[|[0-9.]+([:/?]|\\z))")) then
       $context.all_slices | by_address($context.services)
     else {}
     end) as $pods
  # Many claims have the same annotations, so what is wrong with them is found out once.
  | ([ .[] | select(.options and .upstream) | select(annotations($context.options)["auth-response-headers"])
       | {of: own_namespace, options, protocol} ] | unique
     | map({(tojson): first((. as {$of, $options, $protocol}
         | $context.options[$options - 1] | wrong_headers($first_named[$of]; $protocol; $context.settings)), null)})
     | add // {}) as $wrong_headers
  | map(
      annotations($context.options) as $set
      | ($set | asking) as $asking
      | if $asking == [] or .upstream == null or .free_of_login or is_free_of("auth-url"; $set) then .
        elif $set["auth-url"] == null then closed("\($asking[0]) needs auth-url, which says who is asked")
        else
          . as $claim
          | $wrong_headers[{of: own_namespace, options, protocol} | tojson] as $wrong
          | ($set["auth-url"] | target($claim; $context; $addresses; $pods; $hosts; $owners; answer)) as $target
          | if $wrong then closed($wrong)
            elif $target.wrong then closed($target.wrong) | .status = 500
            elif $target.upstream then .asks = ($target | {upstream, service, protocol}) | .also += [$target]
            else .asks = $target
            end
            | .,
              (select(.asks.upstream and ($target | has_pods($context.slices) | not))
              | problem("NoReadyEndpoints";
                  "Service \($target.service), which auth-url asks, \($target | no_pods($context.slices))")),
              (select(.asks and $set["auth-cache-key"] and ($set | keeps | not))
              | annotation_refused(
                  "auth-cache-key has no effect: of variables, it may have $cookie_ with a name, and $\(cache_variables | keys | join(", $"))"))
        end);

# How many cookies of one answer of the service reach the client.
def most_cookies: 20;

# output: the directives that tell them to the client, in one line; the first one fills the others' variables
def cookie_lines: [range(1; most_cookies + 1) | "add_header Set-Cookie $auth_cookie_\(.) always;"] | join(" ");

# input:  a server
# output: the same; where the service is asked, the client is told its cookies beside the headers of the http block. So
#         they cost nobody else's requests anything
#
# The server's lines have them if all its locations ask, or if cookies come with what no location of theirs answers:
# nginx's own errors, which go through the server again, with auth-always-set-cookie; and default backends.
def with_cookies($options):
  "add_header_inherit merge; \(cookie_lines)" as $lines
  | if all(.locations[]; .who)
      or any(.locations[]; .who and (.fallback or annotations($options)["auth-always-set-cookie"])) then
      .lines += ["    \($lines)"]
    else .locations |= map(when(.who; .cookies = "\n      \($lines)\n      "))
    end;

# input: [{options: their number, set: {annotation: value}}] of those with auth-url / output: lines for the http block
#
# nginx joins several cookies with commas, which browsers do not understand: so they are taken apart, by the map of the
# first one. (A comma in a date, as in Expires, has no "name=" behind it.) The commented line is for an nginx that does
# not know add_header_inherit (leave_out_what_is_not_here in nginx.bash).
def http_lines($trusting; $grpc; $logins):
  "[^,]*+(?:,(?! [^ ;,=]+=)[^,]*+)*+" as $cookie
  | "  # external authentication",
  map_lines("$asks"; "$asked_host";
    "default $request_host;",
    (.[] | .options as $number | .set["auth-url"] | url.host | select(startswith("$") | not) | "\($number) \(in_quotes);")),
  map_lines("$asks"; "$asked_redirect";
    "default $request_uri;",
    (.[] | select(.set["auth-request-redirect"]) | "\(.options) \(.set["auth-request-redirect"] | in_quotes);")),
  map_lines("\"$asks|$auth_status\""; "$what_failed";
    "\"~^([|]|[0-9]+[|]2..$)\" \"The request failed within nginx: the controller's log says why.\\n\";",
    "default \"You are not let in, because the authentication service gave no answer that says so: it ended with status $auth_status.\\n\";"),
  "  map \"$auth_always $status\" $auth_cookies_told { \"~^(1 .*| (20[0146]|30[123478]))$\" $auth_cookies; }",
  map_lines("$auth_cookies_told"; "$auth_cookie_1";
    "\"\" \"\";",
    "\"~^(?<auth_first_cookie>\($cookie))\([range(2; most_cookies + 1) | "(?:, (?<auth_cookie_\(.)>\($cookie)))?+"] | add)(?<auth_cookies_left>.*)$\" $auth_first_cookie;"),
  "  # before nginx 1.29.3: \(cookie_lines)",
  "  log_format lost_cookies '$clock auth-url: $host, Ingress $ingress: the authentication service set more than \(most_cookies) cookies, and the client got the first \(most_cookies)';",
  "  access_log /dev/stdout lost_cookies if=$auth_cookies_left;",
  (select(any(.[].set; keeps)) | lines_for_kept_answers),
  pod_header_lines($trusting; $grpc; $logins),
  sign_in_lines,
  "";

# input: a server / output: lines for the headers of auth-proxy-set-headers, which replace the client's
def asked_headers:
  [.locations[].question_headers.variables // {} | to_entries[]] | unique[]
  | "      proxy_set_header \(.key) $\(.value);";

# input: model / output: the same with all of that
def model:
  .options |= map(when(.["auth-response-headers"];
    .from_service = (.["auth-response-headers"] | map(as_variable) | unique
      | map("auth_request_set $service_says_\(.) $upstream_http_\(.); ") | add)))
  | . as {$options}
  | ready as $upstreams
  | ([.servers[] | {(.host): (.locations | by_path)}] | add // {}) as $locations
  | any(.servers[].locations[]; .client and .upstream) as $verifies
  | [question_header($verifies)] as $header
  | .servers |= map(when(any(.locations[]; .asks);
      with_questions($header + [asked_headers]; $locations; $upstreams; $options) | with_cookies($options)))
  | ([.servers[].locations[] | select(.who).options] | unique | map({options: ., set: $options[. - 1]})) as $asking
  | [.servers[].locations[] | select(.who and speaks_grpc).options] as $grpc
  | [.servers[].locations[] | select(.users and .upstream)] as $logins
  | when($asking != [];
      .lines += [$asking | http_lines($ENV.TRUSTED_PROXIES != "" and $ENV.PROXY_PROTOCOL == "off"; $grpc; $logins)]
      | .says_authorization = any($asking[].set["auth-response-headers"][]?; ascii_downcase == "authorization"));

# input: a location / output: its directives
def location:
  if .set["auth-url"] and .upstream and (.free_of_login or is_free_of("auth-url"; .set)) then
    "set $asks \(.options); " # nobody is asked, so the headers of auth-response-headers are empty: no client can say them
  elif .set["auth-url"] and .upstream and (.who | not) then
    "return 500 \"\("\(not_available(.nobody // "auth-url asks nobody")): path \(.path) of \(.of)." | harmless)\\n\"; "
  elif .who then
    "set $asks \(.options); ",
    (select(.set["auth-url"] | contains("$escaped_request_uri"))
     | "if ($escaped_request_uri = \"\") { return 414 \"The URL is longer than the authentication service can be told.\\n\"; } "),
    (select(.set | keeps) | "set $asks_for \("\(.pathType) \(.path | @uri)" | in_quotes); set $asks_uri $uri; "),
    "set $auth_always \(if .set["auth-always-set-cookie"] then "1" else "\"\"" end); ",
    "auth_request \(asked_at); auth_request_set $auth_status $status; auth_request_set $auth_cookies $upstream_http_set_cookie; ",
    (.set.from_service // empty),
    (.cookies // empty)
  else empty
  end;
