# What the features share: what they ask of a claim or a location, how they close one, and how they write for nginx.

# input: a claim or location / output: the namespace of its Ingress
def own_namespace: .of | split(" ")[1] | split("/")[0];

# input: a claim or location / output: the {annotation: value} of its Ingress; $options are the context's or the model's
def annotations($options): if .options then $options[.options - 1] else {} end;

# input: anything / output: the same, changed if that holds
def when(condition; change): if condition then change else . end;

# input: a claim or location / output: whether nginx speaks TLS with its pods
def speaks_tls: .protocol | IN("HTTPS", "AUTO_HTTP", "GRPCS");

# input: a claim or location / output: whether its pods speak gRPC, for which nginx has directives of their own
def speaks_grpc: .protocol // "" | startswith("GRPC");

# input: a claim or location / output: the word with which nginx's directives for its pods begin
def kind: if speaks_grpc then "grpc" else "proxy" end;

# input: {annotation: value} / output: whether all requests are redirected
def moves_all:
  .["permanent-redirect"] or .["temporal-redirect"] or (.["rewrite-target"] // "" | startswith("http"));

# input: the reason of a problem / output: whether that is that a claim's Service cannot be found, or not be asked
def is_without_service:
  IN("ServiceNotFound", "ExternalNameNotServed", "ServicePortNotFound", "ServicePortNotTCP");

# input: a location / output: whether its clients are redirected although no pod serves it (redirects.jq)
#
# Where they need a certificate, only if nothing is asked of them but that (client-certificates.jq).
def moves_alone:
  .moves
  and (.bare or .client == null and (.reason | . == "NoReadyEndpoints" or is_without_service));

# input:  [answered claim, the oldest Ingress first]; $names has for each element of options the names that it asks for
# output: {"namespace": {name: true, ...}}: the first $most different ones of each
def first_names($names; $most):
  reduce (.[] | select(.options and .upstream)) as $claim ({};
    ($claim | own_namespace) as $of
    | reduce $names[$claim.options - 1][] as $name (.;
        if .[$of] | length < $most then .[$of][$name] = true else . end));

# input: a claim / output: a problem of its Ingress; annotation_refused: that an annotation does not count
def problem($reason; $message): {problem: {of, $reason, $message}};
def annotation_refused($message): problem("AnnotationRefused"; $message);

# input: [answered claim] / output: the same, and what `told` says of each Ingress that has such a claim
def telling(which; told): . + [[.[] | select(which)] | unique_by(.of)[] | told];

# output: why something is closed, in a sentence
def not_available($why): "closed, because its protection is not available here: \($why)";

# input: an answered claim / output: the same, closed
def closed($why):
  del(.upstream, .service, .port, .port_name, .protocol, .also, .balance)
  + {status: 503, reason: "ProtectionNotAvailable", message: not_available($why)};

# input: {annotation: value} / output: how many bytes a body that is held may have, or null if that is too many or any
def greatest_held_body:
  .["proxy-body-size"] // 1048576 | if . > 0 and . <= 8388608 then . else null end;

# output: how many bytes of an answer nginx holds at most
def most_held: 1048576;

# input: {annotation: value} / output: the directives for the buffers of answers, if it says something about these
#
# nginx rejects sizes that do not fit together (ngx_http_upstream.c: proxy_busy_buffers_size): they are made to fit.
def answer_buffers:
  (.["proxy-buffer-size"] // 16384) as $size
  | ([[.["proxy-buffers-number"] // 4, (most_held / $size | floor)] | min, 2] | max) as $number
  | ([[.["proxy-busy-buffers-size"] // (2 * $size), ($number - 1) * $size] | min, $size] | max) as $busy
  | select(.["proxy-buffer-size"] or .["proxy-buffers-number"] or .["proxy-busy-buffers-size"])
  | "proxy_buffer_size \($size); proxy_buffers \($number) \($size); proxy_busy_buffers_size \($busy); ";

# input: model / output: {"name of an upstream": true} of those with a pod that serves
def ready: [.upstreams[]? | {(.name): true}] | add // {};

# input: model / output: the same, each of its locations changed
def each_location(change): .servers |= map(.locations |= map(change));

# input: [value] / output: {"a value, as JSON text": its number, from 1}
def numbered: unique | to_entries | map({(.value | tojson): (.key + 1)}) | add // {};

# input: the name of a header / output: it in the name of a variable: X-User => x_user
def as_variable: ascii_downcase | gsub("-"; "_");

# output: lines of an nginx map
def map_lines($of; $variable; entries): "  map \($of) \($variable) {", "    \(entries)", "  }";

# --- lists of networks: nginx has a variable for each, which is 1 for the clients in it. Equal lists share one.

# input: model / output: the same with these variables for the annotation $name; each element of options that has it
# gets, as .[$into], the number of its variable, $in_networks_NUMBER
def number_networks($name; $into):
  ([.options[][$name] | values] | unique) as $lists
  | reduce $lists[] as $list (.;
      ($list | tojson) as $key
      | if .network_lists[$key] then .
        else
          .network_lists[$key] = (.network_lists | length) + 1
          | .lines += ["  geo $in_networks_\(.network_lists[$key]) {", ($list[] | "    \(.) 1;"), "  }", ""]
        end)
  | (.network_lists // {}) as $numbers
  | .options |= map(if .[$name] then .[$into] = $numbers[.[$name] | tojson] else . end);

# --- URLs that name a Service: by a name that the cluster gives it, or by its cluster address. nginx asks its pods, so
# no name has to be resolved.

# input: {"namespace/name": summary of a Service} / output: {address: "namespace/name"} of their cluster addresses
def service_addresses: [.[] | .service as $service | .addresses[]? | {(.): $service}] | add // {};

# input: the host of a URL / output: "namespace/name" of the Service that it names, or null; $addresses are these
def service_named($addresses):
  $addresses[ltrimstr("[") | rtrimstr("]")]
  // ([capture("\\A(?<name>[a-z0-9-]+)\\.(?<namespace>[a-z0-9-]+)(\\.svc(\\.cluster\\.local\\.?)?)?\\z")]
      | if . == [] then null else .[0] | "\(.namespace)/\(.name)" end);
