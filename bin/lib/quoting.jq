# How text from the cluster is written into nginx.conf.

# input: text / output: the same with "?" for each character that could mean something within a quoted nginx string:
# `"`, `$`, `\`, and all that is not printable ASCII
#
# Mostly there is none, and that is quickly known: JSON writes them all longer than they are, except `$`.
def harmless:
  if (tojson | utf8bytelength) == length + 2 and (contains("$") | not) then . else gsub("[^ !#%-\\[\\]-~]"; "?") end;

# input: what claims something, "Ingress demo/apple" / output: "demo/apple", which nginx.conf has as $ingress
def object: split(" ")[1];

# input: text / output: a quoted nginx string
def in_quotes: "\"\(harmless)\"";

# input: a location that nginx itself answers / output: what it says, for a quoted string
def sentence: "\(.message | split("\"") | join("'")): path \(.path) of \(.of)." | harmless;

# input: a host / output: a quoted expression of nginx for it: "*.a.example" => "~^[^.]+[.]a[.]example$"
def as_expression: "\"~^\(harmless | gsub("[.]"; "[.]") | sub("^[*]"; "[^.]+"))$\"";

# input: the name of an upstream, SERVICE.NAMESPACE.PORT... / output: for which name its pods have a certificate
def certificate_name: split(".")[:2] | join(".") + ".svc" | in_quotes;

# output: variables that annotations may use, by ingress-nginx's names, and those of nginx.conf that hold such a value
def variables: {
  "$host": "plain_host", "$http_host": "request_host", "$best_http_host": "request_host", "$forwarded_host": "client_host",
  "$scheme": "client_scheme", "$pass_access_scheme": "client_scheme",
  "$request_method": "request_method", "$remote_addr": "remote_addr",
  "$request_uri": "request_uri", "$escaped_request_uri": "escaped_request_uri",
  "$is_args": "is_args", "$args": "args", "$query_string": "args"
};

# input: text / output: the same for a quoted nginx string, in which these variables count, also as ${host}; any other
#         "$" is "?"
def with_variables:
  variables as $variables
  | [ match("\\$(?:\\{[a-z_]+\\}|[a-z_]*)|[^$]+"; "g").string
      | $variables[if startswith("$") then gsub("[{}]"; "") else . end] as $name
      | if $name then "${\($name)}" else harmless end ]
  | add // "";

# input: text / output: a quoted nginx string with these variables
def in_quotes_with_variables: "\"\(with_variables)\"";
