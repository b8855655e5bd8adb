# The headers of the ConfigMaps that the keys add-headers and proxy-set-headers name.
include "annotations/configmap/log"; # text_for_nginx, variables_of_requests
include "allow"; # quoted

def most_headers: 50;

# output: names, in small letters, that only nginx may say to clients; or that another key or annotation is for
def said_to_clients:
  "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "content-type",
  "content-encoding", "content-range", "date", "server", "location", "set-cookie", "www-authenticate", "last-modified",
  "etag", "strict-transport-security", "cdn-loop";

# output: the same of those that pods believe because nginx says them
def said_to_pods:
  "host", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect",
  "cdn-loop", "authorization", "x-request-id", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port",
  "x-forwarded-proto", "x-code", "x-format", "x-namespace", "x-ingress-name", "x-service-name", "x-service-port",
  "ssl-client-cert", "ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn";

# input: the name of a header / output: whether it is not for this ConfigMap to say. $dropped are those of proxies
def is_said_otherwise($key; $dropped):
  ascii_downcase as $name
  | if $key == "add-headers" then any(said_to_clients; . == $name)
    else any(said_to_pods, ($dropped[] | ascii_downcase); . == $name)
    end;

# input: {key, value} of such a ConfigMap / output: what is wrong with it, or nothing
def wrong_header:
  if .key | test("\\A[A-Za-z0-9-]{1,46}\\z") | not then "\(.key | quoted) is not the name of a header: possible are letters, digits and -"
  elif .value | type != "string" or length > 2000 or (test("\\A[ -~]*\\z") | not) then "\(.key) is not one line of printable ASCII"
  elif .value | text_for_nginx(variables_of_requests) == null then "\(.key) has a variable that a header cannot have"
  else empty
  end;

# input:  the data of such a ConfigMap
# output: {headers: {name: text for a quoted string of nginx}, left_out: [name]}; or {wrong}
def headers_of_data($key; $dropped):
  [to_entries[] | wrong_header] as $wrong
  | if length > most_headers then {wrong: "it has more than \(most_headers) headers"}
    elif $wrong != [] then {wrong: $wrong[0]}
    elif [keys[] | ascii_downcase] | length != (unique | length) then {wrong: "it has two keys that are one header"}
    else
      {headers: with_entries(select(.key | is_said_otherwise($key; $dropped) | not) | .value |= text_for_nginx(variables_of_requests)),
       left_out: [keys[] | select(is_said_otherwise($key; $dropped))]}
    end;
