# enable-cors, cors-allow-origin, -methods, -headers, -credentials, cors-expose-headers, cors-max-age: which web pages
# may use what a path answers (https://fetch.spec.whatwg.org/#http-cors-protocol). Their preflight requests are answered
# here: 204.
#
# Everything stands once, at http level: a location only says by $cors which policy it has, the number of all its cors-*
# annotations together. (With an add_header of its own, it would lose Strict-Transport-Security; and a proxy_hide_header
# of its own costs nginx a table of headers.) What the pod says about it is dropped, since browsers take only one; where
# there is no policy, it is put back. One map says for all policies which origins they let in:
#
#   map "$cors $http_origin" $allowed_origin {
#     "1 https://a.example" $http_origin;
#     "2 https://b.example" $http_origin;
#   }
#
# "https://*.a.example" stands there as it is, and the origin's first label is made a "*" before it is looked up: no
# expression comes from an Ingress, and many policies are as fast as one.
include "annotations/claims";
include "quoting";

# input: [answered claim] / output: the same, with .cors: {options: the number of its annotations}
#
# An error of ours loses its annotations in the model, but a page is to be able to read it.
def claims($context; answer): map(if annotations($context.options)["enable-cors"] then .cors = {options} else . end);

# input: {annotation: value} / output: [origin], "*" for all; null without CORS
#
# An entry without a scheme is dropped: the Origin of a browser has one.
def origins:
  if .["enable-cors"] != true then null
  else
    (.["cors-allow-origin"] // []) as $written
    | if $written == [] or any($written[]; . == "*") then ["*"]
      else $written | map(ascii_downcase | select(. == "null" or contains("://"))) | unique
      end
  end;

# output: what follows Access-Control- in the names of the headers
def names: "Allow-Origin", "Allow-Credentials", "Allow-Methods", "Allow-Headers", "Expose-Headers", "Max-Age";

# input: {annotation: value} / output: {origins, and what follows Access-Control- in the names of the other headers: its
#         value}; null without CORS
def policy:
  origins as $origins
  | if $origins == null then null
    else
      {$origins,
       "Allow-Methods": (.["cors-allow-methods"] // "GET, PUT, POST, DELETE, PATCH, OPTIONS"),
       "Allow-Headers": (.["cors-allow-headers"] // "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"),
       "Allow-Credentials": (if .["cors-allow-credentials"] == false then "" else "true" end),
       "Expose-Headers": (.["cors-expose-headers"] // ""),
       "Max-Age": "\(.["cors-max-age"] // 1728000)"}
    end;

# input: [{key: number, value: policy}] / output: lines of the http block: which origin is let in, $cors_origin
def origin_lines:
  def entries(which):
    .[] | .key as $key
    | .value.origins[]
    | select(. != "*" and contains("*") == which)
    | "\("\($key) \(.)" | in_quotes) $http_origin;";
  map_lines("$cors"; "$cors_origin";
    "default $allowed_origin;",
    (.[] | select(.value.origins == ["*"]) | "\(.key) \"*\";")),
  map_lines("\"$cors $http_origin\""; "$allowed_origin"; "default $allowed_subdomain;", entries(false)),
  map_lines("\"$cors $origin_with_wildcard\""; "$allowed_subdomain"; "default \"\";", entries(true)),
  map_lines("$http_origin"; "$origin_with_wildcard";
    "\"~*^(?<origin_scheme>[a-z]+://)[a-z0-9-]+(?<origin_parent>[.].+)$\" \"$origin_scheme*$origin_parent\";");

# input: the same / output: lines of the http block: the headers
#
# $cors_answer is the number of the policy, "" where the origin is not let in, and "pod" where there is no policy.
def answer_lines:
  map_lines("$cors_origin"; "$policy_in_force"; "\"\" \"\";", "default $cors;"),
  map_lines("$cors"; "$cors_answer"; "\"\" pod;", "default $policy_in_force;"),
  map_lines("\"$policy_in_force $request_method\""; "$is_preflight"; "\"~^[0-9]+ OPTIONS$\" 1;"),
  map_lines("$cors"; "$cors_vary";
    "default Origin;",
    "\"\" \"\";",
    (.[] | select(.value.origins == ["*"]) | "\(.key) \"\";")),
  ( names as $name
    | ($name | as_variable) as $variable
    | map_lines("$cors_answer"; "$cors_\($variable)";
        "pod $upstream_http_access_control_\($variable);",
        if $name == "Allow-Origin" then "default $cors_origin;"
        else .[] | "\(.key) \(.value[$name] | in_quotes);"
        end),
      "  proxy_hide_header Access-Control-\($name);",
      "  grpc_hide_header Access-Control-\($name);",
      "  add_header Access-Control-\($name) $cors_\($variable) always;" ),
  "  add_header Vary $cors_vary always; # a cache must not give one origin the answer for another",
  "";

# input:  model
# output: the same with lines of the http block; .cors in each element of options are the directives of a location
def model:
  ([.options[] | policy | values] | unique) as $policies
  | ($policies | numbered) as $numbers
  | .options |= map(
      policy as $policy
      | when($policy; .cors = "set $cors \($numbers[$policy | tojson]); if ($is_preflight) { return 204; } "))
  | .options as $options
  | when(any(.servers[].locations[]; .cors);
      .lines += [$policies | to_entries | map(.key += 1) | origin_lines, answer_lines]
      | each_location(
          if .cors and .status then .directives = $options[.cors.options - 1].cors
          elif .answer_headers then .hides_cors = true # custom-headers.jq hides headers there, in the place of these
          else .
          end));

# input: a location / output: its directives
def location:
  kind as $kind
  | (.set.cors // empty), (select(.hides_cors) | names | "\($kind)_hide_header Access-Control-\(.); ");
