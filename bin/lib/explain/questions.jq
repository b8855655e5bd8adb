# What is asked, and how nginx is asked: a URL with a method, headers and a client's address becomes raw requests.
#
# input:  {url, method, headers: ["Name: value"], from} of each question, a line each (jq -n -r)
# output: "question JSON" for each, with {scheme, host, port, target} of its URL; then, for each way in which chance and
#         other services can decide, "ask SCHEME HOST FROM TEXT": TEXT is a request as `printf %b` takes it.
#         "wrong SENTENCE" instead, if it is no question. Of a port of TCP or UDP nginx is asked nothing
#
# A request has its number and way in X-Request-ID, which pods and login services are told (headers.conf.template):
#   plain    no canary has it for its share, and every login service lets it in
#   share    canaries have it for their share
#   denied   every login service says 401
#   stranger with another password than the request has: for where the controller's passwords are not at hand

# input: text / output: it as `printf %b` takes it
def escaped: gsub("\\\\"; "\\\\") | gsub("\r"; "\\r") | gsub("\n"; "\\n") | gsub("\t"; "\\t");

# input: a header / output: whether it is a name with a password
def is_login: test("\\A(?i:authorization: *basic )");

# input: a question / output: the same with the parts of its URL; or {wrong: sentence}
def parts:
  .url as $url
  | [ $url | capture("\\A(?<scheme>tcp|udp)://[^/:?#\\s]*:(?<port>[0-9]{1,5})/?\\z") ] as [$stream]
  | [ $url
      | capture("\\A((?<scheme>https?)://)?(?<host>\\[[0-9A-Fa-f:.]+\\]|[^][/:?#@\\s]+)(:(?<port>[0-9]{1,5}))?(?<path>/[^?#]*)?(?<query>[?][^#]*)?(#.*)?\\z") ]
    as [$parts]
  | if $stream then . + {scheme: $stream.scheme, host: "", port: ($stream.port | tonumber), ways: []}
    elif $parts == null then {wrong: "\($url) is no URL: write http://HOST/PATH, https://HOST/PATH, tcp://:PORT or udp://:PORT"}
    elif $url | test("[\\x00-\\x20\\x7f]") then {wrong: "the URL has a space or a control character: write a space as %20"}
    elif .method | test("\\A[A-Z][A-Z_-]*\\z") | not then {wrong: "\(.method) is no method"}
    elif any(.headers[]; test("\\A[!#$%&'*+.^_`|~0-9A-Za-z-]+: *[^\\r\\n\\x00]*\\z") | not) then
      {wrong: "a header is written as 'Name: value'"}
    elif .from | test("\\A[0-9A-Fa-f:.]+\\z") | not then {wrong: "\(.from) is no address"}
    else
      ([.headers[] | capture("\\A(?i:host): *(?<host>[^:]*|\\[.*\\])(:[0-9]*)?\\z").host][0] // $parts.host) as $host
      | . + {scheme: ($parts.scheme // "http"), host: ($host | ascii_downcase | rtrimstr(".")), port: $parts.port,
             target: (($parts.path // "/") + ($parts.query // ""))}
      | .named = $parts.host + if .port then ":\(.port)" else "" end
      | .ways = ["plain", "share", "denied"] + if any(.headers[]; is_login) then ["stranger"] else [] end
    end;

# input: a question / output: the request
def request($id):
  ([.headers[] | select(test("\\A(?i:host|connection|content-length|x-request-id|x-explain-from):") | not)]) as $headers
  | ([.headers[] | select(test("\\A(?i:host):"))][0] // "Host: \(.named)") as $host
  | "\(.method) \(.target) HTTP/1.1\r\n\($host)\r\nX-Request-ID: \($id)\r\nX-Explain-From: \(.from)\r\n"
    + ($headers | map(. + "\r\n") | add // "")
    + (if .method | IN("POST", "PUT", "PATCH") then "Content-Length: 0\r\n" else "" end)
    + "Connection: close\r\n\r\n";

[inputs | parts] as $questions
| [$questions[].wrong | values] as $wrong
| if $wrong != [] then "wrong \($wrong[0])"
  else
    ($questions[] | "question \(tojson)"),
    ($questions | to_entries[] | .key as $number | .value
     | .ways[] as $way
     | (if $way == "stranger" then .headers |= map(if is_login then "Authorization: Basic Og==" else . end) else . end)
     | "ask \(.scheme) \(.host) \(.from) \(request("\($way)-\($number)") | escaped)")
  end
