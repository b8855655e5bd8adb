# proxy-buffering, proxy-buffer-size, proxy-buffers-number, proxy-busy-buffers-size, proxy-max-temp-file-size,
# proxy-request-buffering, proxy-http-version, client-body-buffer-size: what nginx holds of an answer or a request.
#
# nginx holds data for slow senders and slow readers, and all Ingresses share its memory.
#
# - A body that is held takes 32k of memory, and the rest goes to a file on a volume of its own, whose size is fixed:
#   when it is full, a request with a larger body gets a 500. So the number of these files has a limit, too: 8,192 of
#   256 MiB, for which the workers have descriptors. Bodies of more than 8 MiB are passed on as they come.
# - An answer has at most 1 MiB in its buffers, and nothing of it goes to a file (proxy_max_temp_file_size): the
#   number of such files has no limit. nginx rejects sizes that do not fit together (ngx_http_upstream.c:
#   proxy_busy_buffers_size): here they are made to fit.
include "annotations/claims";

# output: how many bytes of an answer nginx holds at most
def most_held: 1048576;

# input:  {annotation: value}
# output: whether nginx takes the whole body before it asks a pod. HTTP/1.0 needs the length.
def holds_bodies: .["proxy-request-buffering"] == "on" or .["proxy-http-version"] == "1.0";

# input: [answered claim] / output: the same, and a problem for each Ingress whose bodies are too great to be held
def claims($context; answer):
  ([$context.options[] | .["proxy-http-version"] == "1.0" and greatest_held_body == null]) as $is_too_great
  | telling(.options and $is_too_great[.options - 1];
      annotation_refused("proxy-http-version: 1.0 has no effect: proxy-body-size is 0 or more than 8m, and that much of a body is not held here"));

# input:  {annotation: value}
# output: the directives for requests; $is_copied: their bodies, too (mirror.jq), so nginx takes the whole
def request_directives($is_copied):
  (if holds_bodies or $is_copied then greatest_held_body else null end) as $body
  | if $body then
      "proxy_request_buffering on; client_body_buffer_size 32k; ",
      (select(has("proxy-body-size") | not) | "client_max_body_size \($body); "),
      (.["proxy-http-version"] // empty | "proxy_http_version \(.); ")
    else .["client-body-buffer-size"] // empty | "client_body_buffer_size \([., 65536] | min); "
    end;

# input: {annotation: value} / output: the directives for answers
def answer_directives:
  (.["proxy-buffer-size"] // 16384) as $size
  | ([[.["proxy-buffers-number"] // 4, (most_held / $size | floor)] | min, 2] | max) as $number
  | ([[.["proxy-busy-buffers-size"] // (2 * $size), ($number - 1) * $size] | min, $size] | max) as $busy
  | (select(.["proxy-buffer-size"] or .["proxy-buffers-number"] or .["proxy-busy-buffers-size"])
     | "proxy_buffer_size \($size); proxy_buffers \($number) \($size); proxy_busy_buffers_size \($busy); "),
    (select(.["proxy-buffering"] == "on") | "proxy_buffering on; proxy_max_temp_file_size 0; ");

# input: a location / output: its directives. gRPC passes on byte by byte, always.
def location:
  if speaks_grpc then .set["proxy-buffer-size"] // empty | "grpc_buffer_size \(.); "
  else
    (.mirror.body == "on") as $is_copied
    | .set | request_directives($is_copied), answer_directives
  end;
