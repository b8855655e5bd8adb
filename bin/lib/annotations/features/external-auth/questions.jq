# The locations in which nginx asks, and what it tells the service.
include "annotations/features/external-auth/targets"; # url, who_is_asked
include "annotations/features/external-auth/kept-answers"; # kept
include "annotations/header-values"; # dropped_headers
include "annotations/claims";
include "route/ownership";
include "quoting";
include "allow";

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
# With satisfy: any, it does not ask about clients from the addresses of allowlist-source-range. What the Ingress says
# of its pods' answers (buffers, timeouts, the version of HTTP) is also for the service's, as in ingress-nginx: large
# cookies are in both.
def question($who; $host):
  (select(.satisfy == "any" and .allow) | "if ($in_networks_\(.allow)) { return 204; } "),
  kept($host),
  (.["auth-method"] // empty | "proxy_method \(.); "),
  answer_buffers,
  (.["proxy-http-version"] // empty | "proxy_http_version \(.); "),
  (.["proxy-connect-timeout"] // empty | "proxy_connect_timeout \(.)s; "),
  (.["proxy-send-timeout"] // empty | "proxy_send_timeout \(.)s; "),
  "proxy_read_timeout \(.["proxy-read-timeout"] // 60)s; ",
  (select($who.protocol == "HTTPS") | "proxy_ssl_name \($who.upstream | certificate_name); "),
  "proxy_pass \("\(if $who.protocol == "HTTPS" then "https" else "http" end)://\($who.upstream)\(.["auth-url"] | url.path)" | in_quotes_with_variables);";

# input: a location with .who / output: the name of the location in which nginx asks
def asked_at: "nginx-asks/\(.options)/\(.who.upstream)";

# input:  a server
# output: the same, with locations in which nginx asks, and .who: whom, or .nobody: why not, in those that ask
def with_questions($header; $locations; $upstreams; $options):
  .host as $host
  | .locations |= map(when(.asks and .upstream;
      who_is_asked($host; $locations; $upstreams; $options) as $who
      | if $who.wrong then .nobody = $who.wrong else .who = $who end))
  | ([ .locations[] | select(.who) | .who as $who
       | {name: asked_at, question: ([annotations($options) | question($who; $host)] | add)} ]
     | unique_by(.name)) as $questions
  | [ "      internal;", "      error_page 599 /;", "      proxy_pass_request_body off;",
      "      proxy_headers_hash_bucket_size 512;", # so many names take 3 kB less then, of some 50
      $header[] ] as $common
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
