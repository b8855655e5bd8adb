# proxy-buffering, proxy-buffer-size, proxy-buffers-number, proxy-busy-buffers-size, proxy-max-temp-file-size,
# proxy-request-buffering, proxy-http-version, client-body-buffer-size: what nginx holds of an answer or a request.
#
# nginx holds data for slow senders and slow readers, and all Ingresses share its memory.
#
# - A body that is held takes 32k of memory, and the rest goes to a file on a volume of its own, whose size is fixed:
#   when it is full, a request with a larger body gets a 500. So the number of these files has a limit, too: 8,192 of
#   256 MiB, for which the workers have descriptors. Bodies of more than 8 MiB are passed on as they come.
# - An answer has at most 1 MiB in its buffers (answer_buffers in claims.jq), and nothing of it goes to a file
#   (proxy_max_temp_file_size): the number of such files has no limit.
include "annotations/claims";

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

# input: a location / output: its directives. gRPC passes on byte by byte, always.
def location:
  if speaks_grpc then .set["proxy-buffer-size"] // empty | "grpc_buffer_size \(.); "
  else
    (.mirror.body == "on") as $is_copied
    | .set
    | request_directives($is_copied),
      answer_buffers,
      (select(.["proxy-buffering"] == "on") | "proxy_buffering on; proxy_max_temp_file_size 0; ")
  end;
