# The headers in a ConfigMap, a key for each: what custom-headers and auth-proxy-set-headers name.
#
# Anybody who may write ConfigMaps in a namespace writes these, so no more is let in than what is a header for certain,
# says nothing that nginx says itself, and fits into a line of nginx.conf.
#
# $ENV: ALLOWED_RESPONSE_HEADERS
include "annotations/header-values";
include "quoting";
import "annotations/features/dropped-headers" as $dropped;

def most_headers: 20;
def longest_name: 46; # nginx's table of headers for gRPC has room for no more
def longest_value: 3000; # as it is written; nginx takes 4096
def largest: 8000;

# input: the name of a header / output: it as programs read it, many of which take "_" for "-"
def plain: ascii_downcase | gsub("_"; "-");

# input: such a name / output: whether it is about the message itself, which is nginx's to say
def is_of_the_message:
  IN("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "content-length", "expect", "cdn-loop")
  or startswith("proxy-") or startswith("x-accel-");

# input: such a name / output: whether nginx or another annotation says it to clients, or would lose it: with a
# Last-Modified or ETag from a variable, nginx removes that of all other answers
def is_said_to_clients:
  IN("date", "server", "location", "set-cookie", "www-authenticate", "strict-transport-security",
    "last-modified", "etag", "content-encoding", "content-range")
  or startswith("access-control-");

# input: such a name / output: whether clients must not say it: they could be anybody
def is_dropped: . as $name | any($dropped::dropped[0][]; ascii_downcase == $name);

# input: such a name / output: whether the authentication service believes that nginx says it, or it is about the body
def is_said_to_services:
  IN("host", "range", "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
    "x-sent-from", "x-request-id", "x-real-ip",
    "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto")
  or (is_dropped and (is_of_other_proxies | not));

# input: such a name / output: whether the administrator lets Ingresses say it to clients
def is_allowed:
  . as $name
  | $ENV.ALLOWED_RESPONSE_HEADERS
  | . == "any" or (. != "none" and any(split(",")[]; plain == $name));

# input: {key, value} of a ConfigMap / output: what is wrong with it, or nothing
def wrong_header($use):
  (.key | plain) as $name
  | "its key \(.key | [match("[A-Za-z0-9._-]"; "g").string] | add // "" | .[:60] | tojson)" as $shown
  | if .key | test("\\A[A-Za-z0-9_-]{1,\(longest_name)}\\z") | not then
      "\($shown) is not the name of a header: possible are up to \(longest_name) letters, digits, - and _"
    elif ($name | is_of_the_message)
      or ($use == "answer-headers" and ($name | is_said_to_clients))
      or ($use == "question-headers" and ($name | is_said_to_services)) then
      "\($shown) is a header that is not for Ingresses to say"
    elif $use == "answer-headers" and ($name | is_allowed | not) then
      "\($shown) is a header that the setting ALLOWED_RESPONSE_HEADERS does not name"
    elif .value | test("\\A[ -~]+\\z") | not then "the value of \($shown) is empty, or not one line of printable ASCII"
    elif $use == "question-headers"
      and ([.value | parts | select(startswith("$")) | select([variable($use)] == [])] != []) then
      "the value of \($shown) has a $ that is none of \(question_variables | keys | join(", "))"
    elif .value | header_value($use) | length > longest_value then
      "the value of \($shown) is too long: about \(longest_value) characters are possible"
    else empty
    end;

# input: a ConfigMap / output: {headers: {name: value}}, or {reason, message}
def headers($use):
  def refused($message): {reason: "ConfigMapRefused", $message};
  (.data // {}) as $data
  | if .binaryData // {} != {} then refused("it has binaryData, which cannot be headers")
    elif $data | length > most_headers then refused("it has more than \(most_headers) headers")
    elif [$data[] | length] | add // 0 | . > largest then refused("its values have more than \(largest) characters")
    elif [$data | keys[] | plain] | length != (unique | length) then refused("it has two keys that are one header")
    else
      [$data | to_entries[] | wrong_header($use)] as $wrong
      | if $wrong == [] then {headers: $data} else refused($wrong[0]) end
    end;
