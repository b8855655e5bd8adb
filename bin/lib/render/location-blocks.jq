# What locations need beyond a Service that speaks HTTP: redirects to HTTPS, other protocols, and discretion.
include "quoting"; # in_quotes, harmless, certificate_name

# input: a location / output: the same; .directives send its HTTP clients to HTTPS, if they are to go there
def redirected:
  if .redirect then .directives += "if ($client_scheme = http) { return \(.redirect_code // 308) https://$plain_host$moved_uri; } " else . end;

# input: a location with an upstream / output: the name for which its pods have a certificate; as a rule, the Service's
def service_name:
  .tls_target // (.tls_name | values | in_quotes) // (.upstream | certificate_name);

# input:  a location with an upstream
# output: the directives that pass a request on, by the protocol that the pods speak; features have .target, a variable
#         with the name of the upstream, and $of_scheme (proxy-ssl.jq); or .address, with the scheme, too (canary.jq)
def pass_on:
  (.target // (.upstream | harmless)) as $to
  | if .address then "proxy_ssl_name \(service_name); proxy_pass \(.address);"
    elif .protocol == "HTTPS" then "proxy_ssl_name \(service_name); proxy_pass \"https://\($to)\";"
    elif .protocol == "AUTO_HTTP" then "proxy_ssl_name \(service_name); proxy_pass \"$scheme://\($to)$of_scheme\";"
    elif .protocol == "GRPC" then "grpc_pass \"grpc://\($to)\";"
    elif .protocol == "GRPCS" then "grpc_ssl_name \(service_name); grpc_pass \"grpcs://\($to)\";"
    else "proxy_pass \"http://\($to)\";"
    end;

# input: a location / output: the same with .pass, if there is more to it than HTTP to its upstream
def by_protocol:
  if .upstream and (.protocol or .target or .rewrite) then .pass = (.refuses // "") + (.rewrite // "") + pass_on else . end;

# input:  a location
# output: the same with a message that is fit for clients; the default backend, which is of no Ingress, has a name
#
# Why a path is closed is for its owner, in the Ingress's Events and the log: an annotation may hold what not everybody
# should read, such as a password.
def for_clients:
  if .of == null and .upstream then .directives += "set $ingress \"(DEFAULT_BACKEND)\"; "
  elif .reason == "ProtectionNotAvailable" then
    (if .status == 500 then "500 Internal Server Error" else "503 Service Temporarily Unavailable" end) as $status
    | .message = "\($status): \(.message | split(": ")[0]) (its Events say why)"
  else .
  end;
