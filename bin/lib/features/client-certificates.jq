# auth-tls-secret, -verify-client, -verify-depth, -error-page, -match-cn, -pass-certificate-to-upstream: only clients with
# a certificate of an authority get in; the pod is told whose it is (ssl-client-verify, -subject-dn, -issuer-dn, -cert).
#
# A client shows its certificate in the TLS handshake, so the authority is one for a whole host: that of the oldest Ingress
# which names one; a younger one with another is closed. nginx asks every client of the host for a certificate and lets it
# show none. Each location decides what it takes, so paths of other Ingresses stay open to clients without one.
#
# Over plain HTTP, nobody gets in. Nor does a request whose Host is not the one of its handshake: nginx answers 421, or
# knows of no certificate.
include "named";
include "quoting";

# input: {annotation: value} / output: which clients get in: on, optional, optional_no_ca; or off
def mode: .["auth-tls-verify-client"] // "on";

# input: {annotation: value} of a claim for $host / output: {authority: FILE, depth}, {closed: why}, or {} if nothing is to be verified
def client($of; $host; $secrets):
  .["auth-tls-secret"] as $name
  | if $name == null then
      if mode == "off" or (del(.["auth-tls-pass-certificate-to-upstream"]) | any(keys[]; startswith("auth-tls-")) | not) then {}
      else {closed: "auth-tls-verify-client and its like need auth-tls-secret, the Secret with the authority in its ca.crt"}
      end
    else
      ($name | secret("ca"; $of; $secrets)) as $authority
      | if $authority.reason then {closed: $authority.message}
        elif mode == "off" and .["auth-tls-match-cn"] == null then {}
        elif $host == "" then {closed: "auth-tls-secret needs rules with a host, which a client names in its handshake"}
        else {authority: $authority.file, depth: (.["auth-tls-verify-depth"] // 1)}
        end
    end;

# input: [answered claim, the oldest Ingress first] / output: the same; .client says by which authority clients are verified
def claims($context):
  def place: "\(.host) \(.ingress | split("/")[0])";
  map(
    if .options and .upstream and any($context.options[.options - 1] | keys[]; startswith("auth-tls-")) then
      . as $claim
      | ($context.options[.options - 1] | client($claim.ingress | split("/")[0]; $claim.host; $context.secrets)) as $client
      | if $client.closed then closed($client.closed)
        elif $client.authority then .client = $client
        else .
        end
    else . end)
  | (reduce (.[] | select(.client)) as $claim ({}; ($claim | place) as $place | .[$place] //= ($claim | {client, ingress}))) as $first
  | map(
      if .client and .client != $first[place].client then
        del(.client) | closed("clients of host \(.host) are verified by the authority or the depth of Ingress \($first[place].ingress), which is older")
      else . end);

# input: a location / output: its directives
#
# A certificate counts for its name only if it is verified. A comma behind a backslash is part of another name (RFC 4514).
def location:
  if .client then
    "return 400 \"This path is for clients with a certificate: the connection has none, or none that is valid.\\n\";" as $refuse
    | (if .set["auth-tls-error-page"] then "return 302 \(.set["auth-tls-error-page"] | string);" else $refuse end) as $turn_away
    | (.set | mode) as $mode
    | "if ($is_insecure) { return 308 https://$host$request_uri; } "
      + "if ($ssl_client_verify = \"\") { \($refuse) } "
      + (if $mode == "on" then "if ($ssl_client_verify != SUCCESS) { \($turn_away) } "
         elif $mode == "optional" then "if ($ssl_client_verify !~ \"^(SUCCESS|NONE)\") { \($turn_away) } "
         else "" end)
      + (if .set["auth-tls-match-cn"] then
           "return 403 \"This path is not for the client that this certificate names.\\n\";" as $other
           | "if ($ssl_client_verify != SUCCESS) { \($other) } if ($ssl_client_s_dn !~ \"(^|[^\\\\\\\\],)\(.set["auth-tls-match-cn"])\") { \($other) } "
         else "" end)
      + "set $client_verify $ssl_client_verify; set $client_subject $ssl_client_s_dn; set $client_issuer $ssl_client_i_dn; "
      + "set $client_certificate \(if .set["auth-tls-pass-certificate-to-upstream"] then "$ssl_client_escaped_cert" else "\"\"" end); "
  else "" end;

# input: {authority: FILE, depth} / output: directives of a server that verifies clients; $numbers are those of the variables for its certificate
#
# A resumed TLS session counts as verified. If the authority has changed since, that must not hold, so sessions are bound
# to it: nginx compares, among other things, the text of ssl_certificate (see
# ngx_ssl_session_id_context), so that names the authority's file, in a variable that is always empty: the handshake has no
# query. Before 1.27.4, nginx would also take the session of another host; without the cache and the tickets it does not.
def verifying($numbers):
  "\($ENV.STATE_DIR)/keys" as $keys
  | (.authority | gsub("[^A-Za-z0-9]"; "_")) as $name
  | (($numbers[] | "$certificate_\(.)") | "    ssl_certificate \($keys)/${arg_\($name)}\(.);", "    ssl_certificate_key \($keys)/\(.);"),
    "    ssl_client_certificate \("\($keys)/\(.authority)" | string);",
    "    ssl_verify_client optional_no_ca; # the locations decide",
    "    ssl_verify_depth \(.depth);",
    "    ssl_session_cache off;",
    "    ssl_session_tickets off;";

# input: model / output: the same; the servers of these hosts verify clients, and pods are told the result
#
# Of namespaces that share a host, one counts: the first by name. (`claims` decides among Ingresses of one namespace.)
#
# For gRPC, nginx's table of headers is so small that it warns about these. So they are there only if they are needed.
def model:
  (if any(.certificates[]?; .files | length > 1) then [1, 2] else [1] end) as $numbers
  | .servers |= map(
    ([.locations[] | select(.client)] | sort_by(.ingress)[0]) as $first
    | if $first == null then .
      else
        .locations |= map(if .client and .client != $first.client then closed("Ingress \($first.ingress) verifies the clients of this host by another authority") | del(.options) else . end)
        | .lines += [$first.client | verifying($numbers)]
      end)
  | [.servers[].locations[] | select(.client and .options)] as $asking
  | .lines += [
      ("proxy" | select($asking != [])), ("grpc" | select(any($asking[]; .protocol // "" | startswith("GRPC"))))
      | "  \(.)_set_header \("ssl-client-verify $client_verify", "ssl-client-subject-dn $client_subject", "ssl-client-issuer-dn $client_issuer", "ssl-client-cert $client_certificate");"];
