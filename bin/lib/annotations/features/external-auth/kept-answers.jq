# Answers of the authentication service that count again: auth-cache-key, auth-cache-duration.
include "annotations/claims"; # map_lines
include "quoting";

# output: {name: the variable of nginx} of those that auth-cache-key may have
#
# What tells who the client is, is in every key (`kept`): here it need not be.
def cache_variables: {
  remote_user: "", http_authorization: "", http_cookie: "",
  remote_addr: "${remote_addr}", host: "${plain_host}", http_host: "${request_host}",
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
# that their zone has room for some 2,000 keys, and that no answer is kept that has more than 16 kB with its key,
# however large the buffers of its Ingress are: in all, 39 MB.
def kept($host):
  select(keeps)
  | ("\(.["auth-method"] // "") \($host) \(.["auth-url"])" | in_quotes_with_variables | .[1:-1]) as $question
  | [ "$ingress", "$asks_for", "$request_method", "$ssl_client_fingerprint", "$http_authorization", "$http_cookie",
      $question, (.["auth-cache-key"] | cache_key) ] as $parts
  | "set $kept_as \"\($parts | join("\\n"))\"; proxy_cache auth_answers_256k; proxy_cache_key $kept_as; proxy_no_cache $is_long_answer $is_large_answer; proxy_buffering on; ",
    (.["auth-cache-duration"] // ["200 202 401 5m"] | .[] | validity | "proxy_cache_valid \(.); ");

# output: lines for the http block: where answers are kept, and which are not
#
# A map does not add: so for each thousand bytes that have come from the service, the key may have a thousand fewer.
# (They are those of the last of the pods that were asked.)
def lines_for_kept_answers:
  "  proxy_cache_path \("\($ENV.STATE_DIR)/scratch/nginx/auth" | in_quotes) keys_zone=auth_answers_256k:256k max_size=16m inactive=1d use_temp_path=off;",
  map_lines("\"$status $upstream_http_content_length\""; "$is_long_answer";
    "default 1;", "\"~204 $\" \"\";", "\"~ [0-9]{1,3}$\" \"\";"),
  map_lines("\"$upstream_bytes_received|$kept_as\""; "$is_large_answer";
    "volatile;",
    "default 1;",
    (range(1; 16)
     | "\"~(?s)^[0-9, :-]*\\b(\([range(1; .) | tostring] | join("|")))?[0-9]{1,3}[|].{0,\((16 - .) * 1000)}+$\" \"\";")),
  "  upstream nobody { server 127.0.0.1:1 down; }";
