# What keys of a ConfigMap come to that are more than one setting, directive or annotation.
#
# input of each function: {key: what its value means} of the keys that are given and right
# $ENV: settings that are the defaults of keys
include "annotations/configmap/log"; # log_directives, log_problem
include "annotations/configmap/blocks"; # patterns

# input: a value / output: it as nginx writes it
def as_argument: if . == true then "on" elif . == false then "off" else tostring end;

# input: {key: value} / output: the setting HSTS
#
# Without `hsts`, the environment says whether there is one.
def hsts:
  select(any(keys[]; startswith("hsts")))
  | if .hsts == false or (has("hsts") | not) and ($ENV.HSTS // "") == "" then ""
    else
      ($ENV.HSTS // "") as $default
      | (.["hsts-max-age"] // ($default | [scan("[0-9]+")][0]) // "31536000") as $seconds
      | (if has("hsts-include-subdomains") then .["hsts-include-subdomains"]
         else $default == "" or ($default | contains("includeSubDomains")) end) as $below
      | (if has("hsts-preload") then .["hsts-preload"] else $default | contains("preload") end) as $preload
      | "max-age=\($seconds)" + (if $below then "; includeSubDomains" else "" end) + if $preload then "; preload" else "" end
    end;

# output: the types that are compressed unless gzip-types says others
def usual_types:
  "application/atom+xml application/javascript application/x-javascript application/json application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain text/x-component";

# input: {key: value} / output: {directive: its text}
def directives:
  (select(.["use-gzip"])
   | {gzip: ("gzip on; gzip_comp_level \(.["gzip-level"] // 1); gzip_min_length \(.["gzip-min-length"] // 256); gzip_proxied any; gzip_vary on; gzip_types "
       + (.["gzip-types"] // usual_types) + ";")}),
  (.["error-log-level"] | values | {error_log: "error_log stderr \(.);"}),
  (select(.["server-tokens"]) | {server_tokens: "server_tokens on;"}),
  (select(.["use-http2"] == false) | {http2: "http2 off;"}),
  (if .["ssl-session-cache"] == false then {ssl_session_cache: "ssl_session_cache off;"}
   else .["ssl-session-cache-size"] | values | {ssl_session_cache: "ssl_session_cache shared:tls:\(.);"}
   end),
  (.["grpc-buffer-size-kb"] | select(. != null and . > 0) | {grpc_buffer_size: "grpc_buffer_size \(.)k;"}),
  (select(.["max-worker-connections"] or has("enable-multi-accept"))
   | {worker_connections: ("worker_connections \(.["max-worker-connections"] // 8192);"
       + (if has("enable-multi-accept") then " multi_accept \(.["enable-multi-accept"] | as_argument);" else "" end))}),
  (.["max-worker-open-files"] | select(. != null and . > 0) | {worker_rlimit_nofile: "worker_rlimit_nofile \(.);"}),
  (select(.["worker-cpu-affinity"]) | {worker_processes: "worker_processes ${WORKER_PROCESSES}; worker_cpu_affinity auto;"}),
  (select((.["use-forwarded-headers"] or has("compute-full-forwarded-for")) and (.["compute-full-forwarded-for"] | not))
   | ("proxy", "grpc")
   | {"\(.)_set_header X-Forwarded-For": "\(.)_set_header X-Forwarded-For $remote_addr;"}),
  log_directives;

# input: {key: value} / output: {settings, problems} of the keys that say who is believed about clients
#
# There is no default for proxy-real-ip-cidr: to believe everybody would let clients choose their addresses.
def believed:
  ($ENV.TRUSTED_PROXIES // "") as $default
  | (if .["proxy-real-ip-cidr"] then .["proxy-real-ip-cidr"] | join(",") else $default end) as $proxies
  | (if has("use-proxy-protocol") then .["use-proxy-protocol"] else $ENV.PROXY_PROTOCOL == "on" end) as $protocol
  | (if has("use-forwarded-headers") then .["use-forwarded-headers"] else $default != "" end) as $headers
  | if [.["use-proxy-protocol", "use-forwarded-headers", "proxy-real-ip-cidr", "forwarded-for-header"]] == [null, null, null, null] then {}
    elif ($protocol or $headers) and $proxies == "" then
      {settings: {TRUSTED_PROXIES: "", PROXY_PROTOCOL: "off"},
       problems: [{reason: "ConfigMapValueRefused",
         message: "\([keys[] | select(IN("use-proxy-protocol", "use-forwarded-headers"))] | join(" and ")) needs proxy-real-ip-cidr, the networks of the proxies that are believed. Without them, nobody is"}]}
    else
      {settings: (
        {TRUSTED_PROXIES: (if $protocol or $headers then $proxies else "" end),
         PROXY_PROTOCOL: (if $protocol then "on" else "off" end)}
        + if .["forwarded-for-header"] then {FORWARDED_FOR_HEADER: .["forwarded-for-header"]} else {} end)}
    end;

# input: {key: value} / output: {annotations, problems} of keys that are more than the default of one annotation
def defaults_of_annotations:
  (select(.["retry-non-idempotent"])
   | {annotations: {"proxy-next-upstream": "\(.["proxy-next-upstream"] // "error timeout") non_idempotent"}}),
  (.["custom-http-errors"] | select(. != null and . != [])
   | map(select(tonumber >= 400)) as $codes
   | if ($ENV.DEFAULT_BACKEND // "") == "" then
       {problems: [{reason: "ConfigMapValueRefused", message: "custom-http-errors needs DEFAULT_BACKEND: without it, the pods' own answers stay"}]}
     elif $codes == [] then {}
     else {annotations: {"custom-http-errors": ($codes | join(","))}}
     end);

# input: [path] / output: those that do not free everything
def few_paths: map(select(. != "/"));

# input: {key: value} / output: {name: what the feature gives}
def of_feature:
  (.["block-cidrs"] | select(. != null and . != []) | {blocked_networks: .}),
  (("block-user-agents", "block-referers") as $key | .[$key] | values | patterns | select(. != [])
   | {(if $key == "block-referers" then "blocked_referers" else "blocked_agents" end): .}),
  (.["hide-headers"] | select(. != null and . != []) | {hidden: unique}),
  (.["http-redirect-code"] | values | select(. != "308") | {redirect_code: .}),
  (.["no-tls-redirect-locations"] | values | few_paths | select(. != []) | {no_redirect: .}),
  (select(has("no-auth-locations")) | .["no-auth-locations"] // [] | few_paths | {no_auth: .}),
  (if .["upstream-keepalive-connections"] == 0 then del(.["upstream-keepalive-connections"]) | .["upstream-keepalive-requests"] = 1 else . end
   | [ (.["upstream-keepalive-requests"] | values | "keepalive_requests \(.);"),
     (.["upstream-keepalive-time"] | values | "keepalive_time \(.)s;") ] as $lines
   | {connections: .["upstream-keepalive-connections"], timeout: .["upstream-keepalive-timeout"], lines: $lines}
   | select(. != {connections: null, timeout: null, lines: []})
   | {kept_connections: .});

# input: {key: value} / output: {problems} of texts that nginx would have to understand, or that ask for too much
def of_texts:
  (select(.["ignore-invalid-headers"] == false)
   | {problems: [{reason: "ConfigMapValueRefused", message: "ignore-invalid-headers cannot be false: such headers are dropped"}]}),
  (log_problem | {problems: [{reason: "ConfigMapValueRefused", message: .}]}),
  (("no-auth-locations", "no-tls-redirect-locations") as $key | select((.[$key] // []) | index("/"))
   | {problems: [{reason: "ConfigMapValueRefused", message: "\($key) has /, which would free everything, and so frees nothing"}]});

# output: {settings, annotations, directives, parts, problems}
def parts:
  def joined(f): reduce f as $it ({}; . + $it);
  [believed, defaults_of_annotations, of_texts] as $more
  | {
      settings: (joined($more[].settings | values)
        + joined((hsts | {HSTS: .}),
          (select(.["disable-access-log"] or .["disable-http-access-log"] or .["access-log-path"] == "off") | {ACCESS_LOG: "off"}),
          (.["global-allowed-response-headers"] | select(. != null and . != []) | {ALLOWED_RESPONSE_HEADERS: join(",")}))),
      annotations: joined($more[].annotations | values),
      directives: joined(directives),
      parts: joined(of_feature),
      problems: [$more[].problems[]?]
    };
