# Headers: which of them others say, and how the value of one from a ConfigMap (config-maps.jq) is written for nginx.
include "quoting";
import "annotations/features/dropped-headers" as $dropped;

# output: the names of headers that clients must not say: they could be anybody
def dropped_headers: $dropped[0][];

# input:  the name of a header, in small letters
# output: whether other proxies tell it the authentication service. Clients must not say it, but a ConfigMap may.
def is_of_other_proxies: IN("x-forwarded-method", "x-forwarded-uri");

# output: the variables that a header for the authentication service may have; the encoded path is not always there, and
#         the query would be that of the question
def question_variables: variables | del(.["$escaped_request_uri", "$is_args", "$args", "$query_string"]);

# input: the value of a header / output: the parts of it: a variable, another "$", a quote or backslash, or text
def parts: match("\\$(?:\\{[a-z_]+\\}|[a-z_]*)|[\"\\\\]|[^$\"\\\\]+"; "g").string;

# input: such a part / output: the variable of nginx.conf that it means; nothing if none
def variable($use):
  select($use == "question-headers") | gsub("[{}]"; "") as $name | question_variables[$name] | values;

# input:  the value of a header
# output: a quoted nginx string, in which $dollar is a "$" (nginx knows no other way to write it)
def header_value($use):
  [ parts
    | if startswith("$") then [variable($use) | "${\(.)}"][0] // "${dollar}" + .[1:]
      elif IN("\"", "\\") then "\\" + .
      else harmless
      end ]
  | "\"\(add // "")\"";
