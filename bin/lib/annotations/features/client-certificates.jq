# auth-tls-secret, -verify-client, -verify-depth, -error-page, -match-cn, -pass-certificate-to-upstream: only clients
# with a certificate of an authority get in; the pod is told whose it is (ssl-client-verify, -subject-dn, -issuer-dn,
# -cert).
#
# A client shows its certificate in the TLS handshake, so these are for a whole host, as in ingress-nginx: the oldest
# Ingress that has them decides, of the namespace whose host it is. Paths of Ingresses without any take what it says. A
# younger Ingress may say for its own paths which clients get in (auth-tls-verify-client: off lets in all), but not by
# another authority: it is closed. Paths where an authority asks, over HTTP and without a certificate, are open
# (is_free_of). nginx asks every client of the host for a certificate, and each location decides what it takes.
#
# Over plain HTTP, nobody gets in. Nor does a request whose Host is not the one of its handshake: nginx answers 421, or
# knows of no certificate.
include "annotations/claims";
include "route/ownership"; # challenges_last, owners
include "allow"; # is_free_of
include "secrets/named";
include "quoting";
include "render/certificate-maps"; # certificate_directives

# input: {annotation: value} / output: which clients get in: on, optional, optional_no_ca; or off
def mode: .["auth-tls-verify-client"] // "on";

# input:  {annotation: value} of a claim for $host
# output: {authority: FILE, depth}, {closed: why}, or {} if nothing is to be verified
def client($of; $host; $context):
  .["auth-tls-secret"] as $name
  | if $name == null then
      if mode == "off"
        or (del(.["auth-tls-pass-certificate-to-upstream"]) | any(keys[]; startswith("auth-tls-")) | not) then {}
      else {closed: "auth-tls-verify-client and its like need auth-tls-secret, the Secret with the authority in its ca.crt"}
      end
    else
      ($name | secret("ca"; $of; $context)) as $authority
      | if $authority.reason then {closed: $authority.message}
        elif mode == "off" and .["auth-tls-match-cn"] == null then {}
        elif $host == "" then {closed: "auth-tls-secret needs rules with a host, which a client names in its handshake"}
        else {authority: $authority.file, depth: (.["auth-tls-verify-depth"] // 1)}
        end
    end;

# input:  [claim with .asked, the oldest Ingress first]
# output: {host: what counts for it, by the oldest Ingress of its owner that asks}
#
#   {authority, depth, of, options}, or if none of them has an authority, {closed: why, of}
def deciding($owners; $quarantined):
  reduce (challenges_last[]
    | select((.asked.authority or .asked.closed) and own_namespace == $owners[.host])) as $claim ({};
    if .[$claim.host].authority or ($claim.asked.closed and .[$claim.host]) then .
    else .[$claim.host] = ($claim | .asked + {of, options})
    end)
  | map_values(if $quarantined[.of] then .closed = "nginx rejects it" else . end);

# input: answered claim / output: the same; .asked is what `client` says of its Ingress
def with_asked($context):
  if .of == null then .
  elif any(annotations($context.options) | keys[]; startswith("auth-tls-")) then
    . as $claim
    | .asked = (annotations($context.options) | client($claim | own_namespace; $claim.host; $context))
  elif .status and any(.protections[]?; startswith("auth-tls-")) then .asked = {closed: "it is closed"}
  else .
  end;

# input:  [answered claim, the oldest Ingress first]
# output: the same; .client says by which authority clients are verified
def claims($context; answer):
  owners($context) as $owners
  | map(with_asked($context))
  | deciding($owners; $context.quarantined) as $deciding
  | map(
      .asked as $asked
      | del(.asked)
      | $deciding[.host // ""] as $first
      | annotations($context.options) as $set
      | if is_free_of("auth-tls-secret"; $set) then .
        elif $asked.closed then when(.upstream; closed($asked.closed))
        elif $asked.authority then
          if .upstream == null then .
          elif $first and ($first | {authority, depth}) == $asked then .client = $asked
          elif $first and ($first | own_namespace) == own_namespace then
            closed("clients of host \(.host) are verified by the authority or the depth of \($first.of), which is older")
          else
            closed("host \(.host) belongs to namespace \($owners[.host]), and none of its Ingresses has clients verified by this authority")
          end
        elif .of == null or $first == null or $set["auth-tls-verify-client"] == "off" then .
        elif $first.closed then
          when(.upstream or .status or .bare; # for an error, a default backend could answer
            closed("clients of host \(.host) need a certificate, because \($first.of) says so, which cannot be given: \($first.closed)"))
        else .client = ($first | {authority, depth, options}) # whose options count here
        end);

# input: the value of auth-tls-error-page / output: its URL, as a quoted nginx string; a path is one of the same host
def page_url: if startswith("/") then "\"https://$plain_host\(harmless)\"" else in_quotes end;

# input: a location / output: its directives
#
# A certificate counts for its name only if it is verified. A comma behind a backslash is part of another name (RFC
# 4514). To look for a pattern with two repetitions takes the third power of the subject's length, so that is bounded.
def location:
  select(.client)
  | (.client.set // .set) as $set
  | "return 400 \"This path is for clients with a certificate: the connection has none, or none that is valid.\\n\";" as $refuse
  | ($set["auth-tls-error-page"] | if . == null then $refuse else "return 302 \(page_url);" end) as $turn_away
  | ($set | mode) as $mode
  | "return 403 \"This path is not for the client that this certificate names.\\n\";" as $other
  | "if ($client_scheme = http) { return 308 https://$plain_host$moved_uri; } ",
    "if ($ssl_client_verify = \"\") { \($refuse) } ",
    (if $mode == "on" then "if ($ssl_client_verify != SUCCESS) { \($turn_away) } "
     elif $mode == "optional" then "if ($ssl_client_verify !~ \"^(SUCCESS|NONE)\") { \($turn_away) } "
     else empty
     end),
    ($set["auth-tls-match-cn"] // empty
     | "if ($ssl_client_verify != SUCCESS) { \($other) } if ($ssl_client_s_dn ~ \"^.{257}\") { \($other) } if ($ssl_client_s_dn !~ \"(^|[^\\\\\\\\],)\(.)\") { \($other) } "),
    "set $client_verify $ssl_client_verify; set $client_subject $ssl_client_s_dn; set $client_issuer $ssl_client_i_dn; ",
    "set $client_certificate \(if $set["auth-tls-pass-certificate-to-upstream"] then "$ssl_client_escaped_cert" else "\"\"" end); ";

# input:  {authority: FILE, depth}
# output: directives of a server that verifies clients; $certificates are the model's
#
# A resumed TLS session counts as verified, also at another host, and TLS 1.3 resumes without cache and tickets, too. So
# sessions are bound to the authority and the depth: nginx compares, among other things, the text of ssl_certificate
# (see ngx_ssl_session_id_context), which names both here, in a variable that is always empty: the handshake has no
# query.
def verifying($certificates):
  "\($ENV.STATE_DIR)/keys" as $keys
  | ("\(.authority)_\(.depth)" | gsub("[^A-Za-z0-9]"; "_")) as $name
  | ($certificates | certificate_directives("${arg_\($name)}")),
    "    ssl_client_certificate \("\($keys)/\(.authority)" | in_quotes);",
    (if .authority | has_revocations then "    ssl_crl \("\($keys)/\(.authority)" | in_quotes);" else empty end),
    "    ssl_verify_client optional_no_ca; # the locations decide",
    "    ssl_verify_depth \(.depth);",
    "    ssl_session_cache off;",
    "    ssl_session_tickets off;";

# input: model / output: the same; the servers of these hosts verify clients, and pods are told the result
#
# All locations of a server have the same authority (`claims`).
#
# For gRPC, nginx's table of headers is so small that it warns about these. So they are there only if they are needed.
def model:
  (.certificates // []) as $certificates
  | .options as $options
  | .servers |= map(
    ([.locations[].client | values][0]) as $client
    | when($client;
        .lines += [$client | verifying($certificates)]
        | .locations |= map(when(.client.options;
            .client.set = $options[.client.options - 1]
            # the hook is only for those with options
            | when(.options == null and (.upstream or .bare); .directives = ([location] | add))))))
  | [.servers[].locations[] | select(.client and .upstream)] as $asking
  | .lines += [
      ("proxy" | select($asking != [])), ("grpc" | select(any($asking[]; speaks_grpc)))
      | "  \(.)_set_header \("ssl-client-verify $client_verify", "ssl-client-subject-dn $client_subject", "ssl-client-issuer-dn $client_issuer", "ssl-client-cert $client_certificate");"];
