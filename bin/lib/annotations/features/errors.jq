# default-backend, custom-http-errors, disable-proxy-intercept-errors: a Service that answers where another one cannot.
#
# default-backend answers for a Service that does not exist or has no ready endpoint; with custom-http-errors, also in
# the place of errors of these codes, the pod's or nginx's own. It is told by headers what happened, and its status
# counts. Without default-backend, DEFAULT_BACKEND answers for these codes, but for nothing else: so it answers for a
# Service without pods only if 503 is among them. Without either, the pods' own answers stay.
#
# An error_page of a location replaces all of the http block (templates/answers.conf.template). Where nginx intercepts
# errors, it does so for each code with an error_page, and the pods' other errors are to stay theirs: so of those only
# the codes that are never a pod's are repeated, and for the others nginx has its usual page.
#
# The default backend's status counts only after an error_page with "=", on whose way nginx forgets the code; and
# $upstream_status may be 103 (Early Hints), which was no answer. So the way has two steps: one without "=", whose path
# notes the code ($failure), and then an error that is nobody's, 599.
#
# nginx cannot send a body twice: if a pod got it, the default backend gets none, nor with nginx's own 500, which may
# come when half of it has been read. A body not yet read goes to the default backend. What becomes of a default
# backend that fails as well, nginx says itself (recursive_error_pages).
include "annotations/claims";
include "quoting";

# input: the summary of a Service / output: its first port, by name if it has one; nothing if it has none
def first_port:
  [.ports.names // {} | to_entries[] | select(.value.protocol | not).key] as $names
  | $names[0] // (.ports.numbers // {} | keys_unsorted[0] | values | tonumber);

# input: an answered claim / output: the Service of its default backend, or null
def default_service($context):
  annotations($context.options)["default-backend"] as $name
  | if $name then "\(own_namespace)/\($name)" else null end;

# input: [answered claim] / output: the same, each with the upstream of its default backend, as .fallback
#
# A login is looked for only where a Service is found (basic-auth.jq and others say `.upstream`). So without one, a path
# that needs a login stays an error: a default backend would answer everybody.
def claims($context; answer):
  ([.[] | default_service($context) | values] | unique
   | map({(.): [$context.services[.] // {} | first_port][0]}) | add) as $ports
  | map(
    default_service($context) as $service
    | annotations($context.options)["custom-http-errors"] as $codes
    # {service, upstream, port}, or {reason, message}
    | (if $service then {$service, port: ($ports[$service] // 0)} | answer
       elif $codes then $context.default_backend
       else null
       end) as $backend
    | (if $service then "default-backend" else "DEFAULT_BACKEND" end) as $whose
    | if $backend.upstream then
        if .upstream == null and .status and (annotations($context.options) | any(keys[]; startswith("auth-"))) then
          ., annotation_refused(
            "\($whose) does not answer for a Service that cannot be found, because the path needs a login")
        else
          .also += [$backend]
          | .fallback = {upstream: $backend.upstream, options, service: (.service // ""), port}
          | when($service == null; .fallback.for_errors = true)
        end
      elif $backend then ., annotation_refused("\($whose): \($backend.message)")
      elif $codes then
        ., annotation_refused(
          "custom-http-errors has no effect, and the pods' own answers stay: there is no default-backend, nor a DEFAULT_BACKEND of the controller")
      else .
      end);

# output: what a default backend is told, by the variables $its_NAME
def told: "namespace", "ingress", "service", "port";

# output: the codes that may be nginx's own before it has asked a pod or read a body
def before_pods: 401, 403, 405, 429, 503;

# input:  {annotation: value}
# output: [code] that go to the default backend; nginx would read what is too large after all, and takes no page for 499
def codes: [.["custom-http-errors"] // "" | scan("[0-9]+") | tonumber | select(. != 413 and . != 499)] | unique;

# input:  {backend: the name of an upstream, before_pods: whether one of these codes goes there}
# output: a server's lines: where nginx goes with an error, and then, with or without the body, to the default backend
#
# Each takes nginx some 8 kB for its blocks of settings, so there are as few as possible (custom-http-errors has their
# number in annotations.json).
def error_locations:
  .backend as $backend
  | (if .before_pods then "$and_body" else "" end) as $and_body
  | def error_location($name; directives): "    location \("@\($name).\($backend)" | in_quotes) { \(directives) }";
    "rewrite ^ / break; proxy_pass \("http://" + $backend | in_quotes);" as $asks
    | error_location("errors";
        "set $x_code $failed_with; recursive_error_pages on; error_page 599 = @told\($and_body).\($backend); return 599;"),
      error_location("told"; "proxy_method GET; proxy_set_body \"\"; \($asks)"),
      (select(.before_pods) | error_location("told-and-body"; $asks));

# input: the reason of a problem / output: whether a default backend answers then
def is_without_pods: IN("NoReadyEndpoints", "ServiceNotFound", "ServicePortNotFound");

# input: a location with .fallback / output: the same, served by its default backend if its own Service cannot; beside a
#         canary that can, with .instead, which answers what is not the canary's (canary.jq)
def with_fallback($ready):
  if $ready[.fallback.upstream] | not then del(.fallback)
  elif .upstream and .canary and $ready[.canary.upstream] then
    when((.reason | is_without_pods) and (speaks_grpc | not); .instead = .fallback.upstream | .falls_back = true)
  elif .reason | is_without_pods then
    .fallback as $fallback
    | del(.status, .reason, .message, .protocol, .canary)
    | .upstream = $fallback.upstream
    | .options = $fallback.options
    | .falls_back = true
    | when($fallback.for_errors; .rewrite = "rewrite ^ / break; ") # as for any error
  else .
  end;

# output: the codes of which nginx's own errors are sentences
def said_by_nginx:
  308, 400, 401, 403, 404, 405, 408, 410, 411, 412, 413, 414, 415, 416, 421, 429, 500, 501, 502, 503, 504, 505, 507;

# input: {annotation: value} / output: the directives for the errors that stay as they are in other locations
def other_errors:
  codes as $codes
  | (if .["disable-proxy-intercept-errors"] then
       "error_page \([said_by_nginx | select(IN($codes[]) | not) | tostring] | join(" ")) /nginx-says/$upstream_name; "
     else ""
     end)
    + "error_page 494 =431 /nginx-says; error_page 495 496 497 =400 /nginx-says; ";

# output: [what follows X- in the name of a header, the name of its variable, what pods get: the client's own; what the
#         default backend gets]
#
# X-Original-URI is none that a client may set (proxy-headers.conf).
def headers:
  ["Code", "code", "$http_x_code", "$x_code"],
  ["Format", "format", "$http_x_format", "$http_accept"],
  ["Original-URI", "original_uri", "\"\"", "$request_uri"],
  ["Namespace", "namespace", "$http_x_namespace", "$its_namespace"],
  ["Ingress-Name", "ingress", "$http_x_ingress_name", "$its_ingress"],
  ["Service-Name", "service", "$http_x_service_name", "$its_service"],
  ["Service-Port", "port", "$http_x_service_port", "$its_port"];

# input: model / output: lines for the http block: what the pod has answered, and what a default backend is told
def error_maps:
  map_lines("\"$upstream_status $failed_with\""; "$and_body"; # where no pod was asked
    "\"~^ (\([before_pods | tostring] | join("|")))$\" -and-body;",
    "default \"\";"),
  (headers
   | map_lines("$x_code"; "$told_\(.[1])";
       "volatile; # the pod is asked without, the default backend with it",
       "\"\" \(.[2]);",
       "default \(.[3]);"),
     "  proxy_set_header X-\(.[0]) $told_\(.[1]);");

# input:  {annotation: value}
# output: what its locations need of its codes: before_pods, whether there is one of these; unavailable, whether 503 is;
#         all, a text with them. (Thousands of locations may have the same annotations, and 198 codes: so this is done
#         once.)
def error_codes:
  codes | {before_pods: any(.[]; IN(before_pods)), unavailable: any(.[]; . == 503), all: (map(tostring) | join(" "))};

# input: what error_codes says, or null / output: whether there are any
def are_some: (.all // "") != "";

# input: model / output: the same with default backends where they answer
def model:
  ready as $ready
  | .options |= map(if .["custom-http-errors"] then .other_errors = other_errors | .error_codes = error_codes else . end)
  | .options as $options
  | .servers |= map(
      .locations |= map(
        when(.fallback.for_errors and (.reason | is_without_pods) and (.fallback | annotations($options).error_codes.unavailable | not);
          del(.fallback))
        | if .fallback then with_fallback($ready) else . end)
      | .error_lines = [
          [ .locations[] | select(.upstream and .fallback)
            | {backend: .fallback.upstream, codes: annotations($options).error_codes} | select(.codes | are_some) ]
          | group_by(.backend)[]
          | {backend: .[0].backend, before_pods: any(.[]; .codes.before_pods)}
          | error_locations ]
      | .lines += .error_lines)
  | .lines += [select(any(.servers[]; .error_lines != [] or any(.locations[]; .falls_back))) | error_maps, ""];

# input: a location / output: its directives
#
# Its error_page lines replace those of the http block (so that for auth-signin is repeated).
def location:
  .set as $set
  | $set.error_codes as $codes
  | (if $set["auth-signin"] then "error_page 401 $sign_in; " else "" end) as $sign_in
  | (if $set["disable-proxy-intercept-errors"] then "" else "\(kind)_intercept_errors on; " end) as $intercept
  | if .fallback then
      (.of | object | split("/")) as [$namespace, $ingress]
      | {$namespace, $ingress,
         service: (.fallback.service | split("/")[1] // ""), port: "\(.fallback.port // "")"} as $told
      | .fallback.upstream as $backend
      | (select(.falls_back)
         | if .instead then "if (\(.target) = \(.instead | in_quotes)) { set $x_code 503; } " else "set $x_code 503; " end),
        (select(.falls_back or ($codes | are_some)) | told as $word | "set $its_\($word) \($told[$word] | in_quotes); "),
        (select($codes | are_some)
         | "recursive_error_pages on; ", $intercept, $sign_in,
           "error_page \($codes.all) @errors$failure.\($backend); ",
           $set.other_errors)
    else empty
    end;
