# custom-headers, auth-proxy-set-headers: headers from a ConfigMap of the Ingress's namespace, for the client, and for
# the authentication service. config-maps.jq says which are let in; while there are none, the Ingress is closed.
#
# A client gets them with each answer of these paths, also nginx's own, in the place of the pod's. They are set at http
# level, for a location with an add_header of its own would lose all others: a location says by a number which ConfigMap
# counts, and one map for each header knows its value. So nginx looks up each of them for everybody's answers (20 take
# it a microsecond), and what one namespace may have of them is bounded.
include "annotations/claims";
include "secrets/named";
include "annotations/header-values";
include "quoting";

# output: for each annotation what its ConfigMap is for (named.jq), and where a claim and a location have its headers
def kinds:
  {annotation: "custom-headers", use: "answer-headers", field: "answer_headers"},
  {annotation: "auth-proxy-set-headers", use: "question-headers", field: "question_headers"};

# How many different headers each of these annotations of one namespace may have, and how many characters, counted for
# each path: so often they are in the model.
def most_names: 20;
def most_characters: 4000000;

# input: {names, characters} of a namespace / output: why these are too many, or nothing
def too_much($annotation):
  if .names | length > most_names then
    "those of its namespace have more than \(most_names) different headers in \($annotation)"
  elif .characters > most_characters then
    "those of its namespace have more than \(most_characters) characters of \($annotation), counted for each path"
  else empty
  end;

# input: an answered claim / output: the ConfigMap that it names, or nothing
#
# Without a Service, it may have a default backend (errors.jq).
def wanted($annotation; $context):
  annotations($context.options) as $set
  | select(.upstream or (.status and $set["default-backend"]))
  | $set[$annotation] | values;

# input: [answered claim, the oldest Ingress first] / output: the same, with headers of one kind; or closed
def with_headers($kind; $context):
  [ foreach .[] as $claim ({used: {}};
      .claim = $claim
      | [$claim | wanted($kind.annotation; $context)][0] as $name
      | if $name == null then .
        else
          ($claim | own_namespace) as $of
          | ($name | secret($kind.use; $of; $context)) as {$headers, $message}
          | (.used[$of] // {names: {}, characters: 0}
              | .names += ($headers // {} | map_values(true))
              | .characters += ($headers | tojson | length)) as $used
          | [$used | too_much($kind.annotation)][0] as $wrong
          | if $headers == null or $wrong then .claim |= closed($message // $wrong)
            else .used[$of] = $used | .claim[$kind.field] = $headers
            end
        end;
      .claim) ];

# input: [answered claim, the oldest Ingress first] / output: the same, with the headers of both kinds
def claims($context; answer):
  reduce kinds as $kind (.; with_headers($kind; $context))
  | map(when(.question_headers and .upstream and annotations($context.options)["auth-url"] == null;
      closed("auth-proxy-set-headers needs auth-url, which says who is asked")));

# --- model

# input:  the name of a header
# output: the variable of what a client says, for the questions of other Ingresses of its host; "" for what it must not
#         say, and for names that nginx does not let pass
def said:
  if contains("_") or (ascii_downcase | is_of_other_proxies) then "\"\"" else "$http_\(as_variable)" end;

# input: {name, variable, values: [{number, text}]} of a header / output: its map, and the directive for clients
#
# nginx says the type of its own sentences itself, in a field of its own: a Content-Type would be a second one there.
def map_and_directive($kind):
  (if $kind.use == "answer-headers" and (.name | ascii_downcase) == "content-type" then "|" else "" end) as $mark
  | "  map \(if $mark == "" then "$\($kind.field)" else "$\($kind.field)|$sent_http_content_type" end) $\(.variable) { # \(.name)",
    (if $kind.use == "question-headers" then "    default \(.name | said);" else empty end),
    (.values[] | "    \(.number)\($mark) \(.text | header_value($kind.use));"),
    "  }",
    (if $kind.use == "answer-headers" then "  add_header \(.name) $\(.variable) always;" else empty end);

# input: model / output: the same; a header has one name in all locations, however ConfigMaps spell it, and so one line
def with_one_spelling($field):
  ([.servers[].locations[][$field] // {} | keys[]] | unique | map({(ascii_downcase): .}) | add) as $names
  | each_location(when(.[$field]; .[$field] |= with_entries(.key |= $names[ascii_downcase])));

# input: model / output: the same with the headers of one kind at http level; in their place, locations have
# {number, variables: {name: variable}}
def with_maps($kind):
  $kind.field as $field
  | with_one_spelling($field)
  | ([.servers[].locations[] | select(.upstream)[$field] | values] | unique) as $sets
  | ($sets | numbered) as $numbers
  | ([$sets[] | keys[]] | unique | to_entries | map({(.value): "\($field)_\(.key + 1)"}) | add // {}) as $variables
  | each_location(
      if .[$field] | not then .
      elif .upstream | not then del(.[$field])
      else .[$field] |= {number: $numbers[tojson], variables: with_entries(.value = $variables[.key])}
      end)
  | .lines += [ $variables | to_entries[] | .key as $name
      | {$name, variable: .value,
          values: [$sets | to_entries[] | select(.value[$name]) | {number: (.key + 1), text: .value[$name]}]}
      | map_and_directive($kind) ];

# input: model / output: the same with the headers of both kinds
def model:
  when(any(.servers[].locations[]; .answer_headers or .question_headers);
    .lines += ["  # headers from ConfigMaps", "  geo $dollar { default \"$\"; }"]
    | reduce kinds as $kind (.; with_maps($kind))
    | .lines += [""]);

# output: the names of what is hidden for all (proxying.conf.template): a location with others has to repeat them
def hidden_for_all: "Strict-Transport-Security", "Upgrade", "Proxy-Connection";

# input: a location / output: its directives
def location:
  kind as $kind
  | (.answer_headers // empty
     | "set $answer_headers \(.number); ",
       (.variables | keys[], hidden_for_all | "\($kind)_hide_header \(.); ")),
    (.question_headers // empty | "set $question_headers \(.number); ");
