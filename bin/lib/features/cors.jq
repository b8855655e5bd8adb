# enable-cors, cors-allow-origin, -methods, -headers, -credentials, cors-expose-headers, cors-max-age: which web pages
# may use what a path answers (https://fetch.spec.whatwg.org/#http-cors-protocol). Their preflight requests are answered
# here: 204.
#
# The headers are set at http level, from variables that a location sets when the origin is allowed: a location with an
# add_header of its own would lose Strict-Transport-Security. What the pod says about it is dropped, since browsers take
# only one. One map says for every list which origins are in it:
#
#   map "$origins $http_origin" $allowed_origin {            $origins: the number of the location's list
#     "1 https://a.example" $http_origin;
#     "2 https://b.example" $http_origin;
#   }
#
# "https://*.a.example" stands there as it is, and the origin's first label is made a "*" before it is looked up: no
# expression comes from an Ingress, and many lists are as fast as one.
include "claims";
include "quoting";

# input: [answered claim] / output: the same, with .cors: the number of its annotations
#
# An error of ours loses its annotations in the model, but a page is to be able to read it.
def claims($context): map(if annotations($context.options)["enable-cors"] then .cors = .options else . end);

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

# input: [[origin]] / output: the http block's lines; each list's number stands before its origins
def lines:
  def entries(which):
    to_entries[]
    | .key as $key
    | .value[]
    | select(contains("*") == which)
    | "    \("\($key + 1) \(.)" | string) $http_origin;";
  "  map \"$origins $http_origin\" $allowed_origin {",
  "    default $allowed_subdomain;",
  entries(false),
  "  }",
  "  map \"$origins $origin_with_wildcard\" $allowed_subdomain {",
  "    default \"\";",
  entries(true),
  "  }",
  "  map $http_origin $origin_with_wildcard {",
  "    \"~*^(?<origin_scheme>[a-z]+://)[a-z0-9-]+(?<origin_parent>[.].+)$\" \"$origin_scheme*$origin_parent\";",
  "  }",
  "  map $origins $cors_vary {",
  "    default Origin;",
  "    \"\" \"\";",
  "  }",
  "  add_header Access-Control-Allow-Origin $cors_origin always;",
  "  add_header Access-Control-Allow-Credentials $cors_credentials always;",
  "  add_header Access-Control-Allow-Methods $cors_methods always;",
  "  add_header Access-Control-Allow-Headers $cors_headers always;",
  "  add_header Access-Control-Expose-Headers $cors_exposed always;",
  "  add_header Access-Control-Max-Age $cors_max_age always;",
  "  add_header Vary $cors_vary always; # a cache must not give one origin the answer for another",
  "";

# input: {annotation: value} / output: the directives of a location; $kind is proxy or grpc
def directives($kind):
  ( "set $cors_methods \(.["cors-allow-methods"] // "GET, PUT, POST, DELETE, PATCH, OPTIONS" | string); "
  + "set $cors_headers \(.["cors-allow-headers"] // "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization" | string); "
  + "set $cors_credentials \(if .["cors-allow-credentials"] == false then "\"\"" else "true" end); "
  + "set $cors_exposed \(.["cors-expose-headers"] // "" | string); "
  + "set $cors_max_age \(.["cors-max-age"] // 1728000); "
  + "set $cors_preflight $request_method; " ) as $headers
  | "set $origins \"\(.origins // "")\"; "
    + (if .origins then "if ($allowed_origin) { set $cors_origin $allowed_origin; \($headers)} "
       else "set $cors_origin \"*\"; \($headers)"
       end)
    + "if ($cors_preflight = OPTIONS) { return 204; } "
    + ( ["Allow-Origin", "Allow-Credentials", "Allow-Methods", "Allow-Headers", "Expose-Headers", "Max-Age"
         | "\($kind)_hide_header Access-Control-\(.); "]
        | add )
  ;

# input:  model
# output: the same with the headers, the lists of origins, and the directives, as .cors, in each element of options
def model:
  ([.options[] | origins | values | select(. != ["*"])] | unique) as $lists
  | ($lists | to_entries | map({(.value | tojson): (.key + 1)}) | add // {}) as $numbers
  | .options |= map(
      origins as $origins
      | if $origins == null or $origins == ["*"] then . else .origins = $numbers[$origins | tojson] end
      | if $origins then .cors = {proxy: directives("proxy"), grpc: directives("grpc")} else . end)
  | .options as $options
  | if any(.servers[].locations[]; .cors) then .lines += [$lists | lines] else . end
  | .servers |= map(
      .locations |= map(if .cors and .status then .directives = $options[.cors - 1].cors.proxy else . end));

# input: a location / output: its directives
def location: .set.cors[kind] // "";
