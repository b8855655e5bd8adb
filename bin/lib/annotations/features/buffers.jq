# proxy-buffering, proxy-buffer-size, proxy-buffers-number, proxy-busy-buffers-size, proxy-max-temp-file-size,
# proxy-request-buffering, proxy-http-version, client-body-buffer-size: what nginx holds of an answer or a request.
#
# nginx holds data for slow senders and slow readers, and all Ingresses share its memory.
#
# - A body that is held takes 32k of memory, and the rest goes to a file on a volume of its own, whose size is fixed:
#   when it is full, a request with a larger body gets a 500. So the number of these files has a limit, too: 8,192 of
#   256 MiB, for which the workers have descriptors. Where proxy-body-size allows more than 8 MiB, a body is held only
#   if the Ingress itself says so (a default does not count), and if two of them fit into the share of its namespace,
#   namespace_body_bytes in limits.json. Then nginx takes as many at once from all its clients as fit; one more is a
#   503. Else, bodies are passed on as they come.
# - An answer has at most 1 MiB in its buffers (answer_buffers in claims.jq), and nothing of it goes to a file
#   (proxy_max_temp_file_size): the number of such files has no limit.
include "annotations/claims";
include "quoting";

# input:  {annotation: value}
# output: whether nginx is to take the whole body before it asks a pod. HTTP/1.0 needs the length.
def holds_bodies: (.["proxy-request-buffering"] | IN("on", "default")) or .["proxy-http-version"] == "1.0";

# How many bodies of more than 8 MiB must fit into the share of a namespace: with one, uploads would mostly be refused.
def fewest_at_once: 2;

# input:  {annotation: value}; $share: how many bytes a namespace may have
# output: how many bytes a body may have that is held within that share; null if it is held anyway, or not at all
def large_body($share):
  if (.["proxy-request-buffering"] == "on" or .["proxy-http-version"] == "1.0") and greatest_held_body == null
    and .["proxy-body-size"] > 0 and .["proxy-body-size"] * fewest_at_once <= $share then .["proxy-body-size"]
  else null
  end;

# input:  {annotation: value}
# output: the annotation that has no effect as the bodies are too great; nothing if there is none, or if it is a default
def too_great($share):
  select(greatest_held_body == null and large_body($share) == null)
  | (select(.["proxy-request-buffering"] == "on") | "proxy-request-buffering: on"),
    (select(.["proxy-http-version"] == "1.0") | "proxy-http-version: 1.0");

# input:  [answered claim]
# output: the same, those whose large bodies are held with .holds: how many at once for all of their namespace; and a
#         problem for each Ingress whose bodies are too great, or are held although it says off
def claims($context; answer):
  $context.limits.namespace_body_bytes as $share
  | [$context.options[] | large_body($share)] as $sizes
  | [$context.options[] | [too_great($share)]] as $too_great
  | [$context.options[] | .["proxy-request-buffering"] == "off"] as $is_off
  | def is_held:
      .mirror.body == "on" or (annotations($context.options) | .["proxy-http-version"] == "1.0" and [too_great($share)] == []);
  telling(.options and (speaks_grpc | not) and $too_great[.options - 1] != [];
    annotation_refused("\($too_great[.options - 1] | "\(join(" and ")) \(if length > 1 then "have" else "has" end)") no effect: proxy-body-size is 0, or so large that \(fewest_at_once) such bodies come to more than \($share) bytes, the limit namespace_body_bytes"))
  | telling(.options and (speaks_grpc | not) and $is_off[.options - 1] and is_held;
      annotation_refused("proxy-request-buffering: off has no effect: a body is held until all of it is there, because of \(if .mirror.body == "on" then "mirror-target" else "proxy-http-version: 1.0" end)"))
  | (reduce (.[] | select(.options and .upstream and (speaks_grpc | not))) as $claim ({};
      $sizes[$claim.options - 1] as $size
      | if $size then .[$claim | own_namespace] |= ([., $size] | max) else . end)) as $greatest
  | when($greatest != {};
      map(when(.options and .upstream and (speaks_grpc | not) and $sizes[.options - 1];
        .holds = ($share / $greatest[own_namespace] | floor))));

# input:  model
# output: the same with the zone that counts the requests of each namespace with a large body, or one of unknown length
def model:
  .lines += [
    select(any(.servers[].locations[]; .options and .holds))
    | map_lines("\"$http_transfer_encoding|$server_protocol $request_method $content_length\""; "$holds_large_body";
        "\"~ [0-9]{1,6}$\" \"\"; # less than 1 MB",
        "\"~^[|]HTTP/1[^ ]* [^ ]+ $\" \"\"; # no body",
        "\"~^[|]HTTP/[^ ]+ (GET|HEAD|OPTIONS) $\" \"\"; # hardly any has a body",
        "default $holds_for;"),
      "  limit_conn_zone $holds_large_body zone=held_bodies_512k:512k; # for each namespace, so there is room",
      "" ];

# input:  {annotation: value}
# output: the directives for requests; $is_copied: their bodies, too (mirror.jq), so nginx takes the whole; $is_large:
#         bodies of more than 8 MiB are held
def request_directives($is_copied; $is_large):
  (if .["client-body-buffer-size"] then [.["client-body-buffer-size"], 65536] | min else null end) as $buffer
  | if $is_large or ((holds_bodies or $is_copied) and greatest_held_body) then
      "proxy_request_buffering on; client_body_buffer_size \($buffer // "32k"); ",
      (select(has("proxy-body-size") | not) | "client_max_body_size \(greatest_held_body); "),
      (.["proxy-http-version"] // empty | "proxy_http_version \(.); ")
    else $buffer // empty | "client_body_buffer_size \(.); "
    end;

# input: a location / output: its directives. gRPC passes on byte by byte, always.
def location:
  if speaks_grpc then .set["proxy-buffer-size"] // empty | "grpc_buffer_size \(.); "
  else
    (.mirror.body == "on") as $is_copied
    | (.holds != null) as $is_large
    | (select($is_large) | "set $holds_for \(own_namespace | in_quotes); limit_conn held_bodies_512k \(.holds); limit_conn_log_level info; "),
      ( .set
        | request_directives($is_copied; $is_large),
          answer_buffers,
          (select(.["proxy-buffering"] == "on") | "proxy_buffering on; proxy_max_temp_file_size 0; ") )
  end;
