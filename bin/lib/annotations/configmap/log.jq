# The access log as keys of a ConfigMap want it.
include "annotations/configmap/blocks"; # patterns

# output: the variables that a line of the log may have, and what they are here if it is not the same
def log_variables:
  ( "remote_addr", "remote_user", "remote_port", "time_local", "time_iso8601", "msec", "request", "request_method", "request_uri",
    "uri", "args", "query_string", "is_args", "scheme", "host", "http_host", "server_name", "server_port", "server_addr",
    "server_protocol", "status", "body_bytes_sent", "bytes_sent", "request_length", "request_time", "request_id",
    "connection", "connection_requests", "pipe", "pid", "hostname", "content_length", "content_type",
    "upstream_addr", "upstream_status", "upstream_response_time", "upstream_response_length", "upstream_connect_time",
    "upstream_header_time", "upstream_bytes_received", "upstream_bytes_sent", "upstream_cache_status",
    "proxy_add_x_forwarded_for", "proxy_host", "proxy_port", "proxy_protocol_addr", "proxy_protocol_port",
    "realip_remote_addr", "realip_remote_port", "ssl_protocol", "ssl_cipher", "ssl_server_name", "ssl_session_reused",
    "ssl_session_id", "ssl_client_verify", "ssl_client_s_dn", "ssl_client_i_dn", "ssl_client_serial",
    "ssl_client_fingerprint", "ssl_curve", "nginx_version", "limit_rate", "time_local", "binary_remote_addr" | {(.): .}),
  { req_id: "one_request_id", the_real_ip: "remote_addr", pass_access_scheme: "client_scheme", best_http_host: "request_host",
    proxy_upstream_name: "upstream_name", proxy_alternative_upstream_name: "",
    namespace: "log_namespace", ingress_name: "log_ingress", service_name: "log_service", service_port: "log_port" };

# output: the same that a header may have
def variables_of_requests:
  log_variables | with_entries(select(.value | startswith("log_") or startswith("upstream_") or . == "" | not));

# input: text with variables / output: it for a quoted string of nginx; null if it has what nginx would not take
def text_for_nginx(variables):
  ([variables] | add) as $variables
  | [ match("\\$(\\{[A-Za-z0-9_]*\\}|[A-Za-z0-9_]*)|[^$]+"; "g").string
      | if startswith("$") then
          gsub("[${}]"; "") as $name
          | if $variables[$name] then $variables[$name] | if . == "" then "" else "${\(.)}" end
            elif $name | test("\\A(http|cookie|arg|sent_http|upstream_http|upstream_cookie)_[a-z0-9_]{1,64}\\z"; "i") then "${\($name)}"
            else null
            end
        else gsub("(?<c>[\"\\\\])"; "\\\(.c)")
        end ]
  | if any(.[]; . == null) then null else add // "" end;

# input: {key: value} / output: the format that log-format-upstream asks for; nothing if there is none, or a wrong one
def right_format: .["log-format-upstream"] | values | select(length <= 3000) | text_for_nginx(log_variables) | values;

# input: {key: value} / output: what is wrong with it
def log_problem:
  select(.["log-format-upstream"] and [right_format] == [])
  | "log-format-upstream has a variable that a line of the log cannot have, or is too long: the form of ACCESS_LOG holds";

# input: {key: value} / output: {access_log: directives}, in the place of that line
#
# (A format has to stand before the line that uses it.)
def log_directives:
  ([right_format][0]) as $format
  | (.["skip-access-log-urls"] // [] | patterns) as $skipped
  | select($format != null or $skipped != [])
  | select(.["disable-access-log"] or .["disable-http-access-log"] or .["access-log-path"] == "off" | not)
  | (if $format == null then "${ACCESS_LOG_TARGET}" else "/dev/stdout configured buffer=4k flush=100ms" end) as $target
  | {access_log: (
      (if $format == null then ""
       else
         "map $ingress $log_namespace { default \"\"; \"~^(?<log_its_namespace>[^/]+)/\" $log_its_namespace; }\n"
         + "  map $ingress $log_ingress { default \"\"; \"~/(?<log_its_ingress>.+)$\" $log_its_ingress; }\n"
         + "  map $upstream_name $log_service { default \"\"; \"~^(?<log_its_service>[^.]+)[.]\" $log_its_service; }\n"
         + "  map $upstream_name $log_port { default \"\"; \"~^[^.]+[.][^.]+[.](?<log_its_port>[0-9]+)\" $log_its_port; }\n"
         + "  log_format configured escape=\(if .["log-format-escape-json"] then "json" else "default" end) \"\($format)\";\n  "
       end)
      + (if $skipped == [] then "access_log \($target);"
         else
           "map $request_uri $logged { default 1; \($skipped | map("\(.) 0;") | join(" ")) }\n  access_log \($target)\(if $ENV.ACCESS_LOG == "off" and $format == null then "" else " if=$logged" end);"
         end))};
