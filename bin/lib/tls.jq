# Which certificate a client gets. The host that the client names in the TLS handshake
# (SNI) decides that; the Host of its request decides the route.
include "allow";

# input: anything / output: the problem that a certificate is not served as an Ingress says
def tls_problem($ingress; $reason; $message): {problem: {$ingress, $reason, $message}};

# input: [digest of an Ingress, the oldest first] / output: {host: the oldest Ingress that has a rule for it, ...}
def owners:
  reduce (reverse[] | .ingress as $key | .claims[].host | [., $key]) as [$host, $key] ({}; .[$host] = $key);

# input: an IngressTLS / output: the hosts that it is for: its own; if it has none, those of
# its Ingress's rules; if these have none, those of the certificate
def tls_hosts($rule_hosts; $certificate):
  .hosts // []
  | if . == [] then $rule_hosts else . end
  | if . == [] then $certificate.names // {} | keys else . end
  | unique[];

# input: an IngressTLS / output: a wish {ingress, host, certificate} for each of its hosts, and problems
#
# Hosts without a secretName have the default certificate, which is no problem.
def wishes($ingress; $rule_hosts; $certificates):
  "\($ingress | split("/")[0])/\(.secretName)" as $secret
  | $certificates[$secret] as $certificate
  | "its hosts have the default certificate" as $consequence
  | if (.secretName // "") == "" then empty
    elif .secretName | is_name | not then
      tls_problem($ingress; "SecretRefused"; "\(.secretName | quoted) is not a name that a Secret can have: \($consequence)")
    elif $certificate == null then
      tls_problem($ingress; "SecretNotFound"; "Secret \($secret) does not exist: \($consequence)")
    elif $certificate.reason then
      tls_problem($ingress; $certificate.reason; "Secret \($secret): \($certificate.message); \($consequence)")
    else
      tls_hosts($rule_hosts; $certificate)
      | if is_host | not then tls_problem($ingress; "HostRefused"; "the host \(quoted) of spec.tls is no DNS name")
        else
          {ingress: $ingress, host: ., certificate: $certificate},
          ( select($certificate.names[.] or $certificate.names[as_wildcard] | not)
            | tls_problem($ingress; "CertificateNameMismatch"; "the certificate in Secret \($secret) is not for host \(.), so clients may reject it") )
        end
    end;

# input: digest of an Ingress / output: the wishes and problems of its spec.tls, up to a limit
def all_wishes($certificates):
  select(.tls != [])
  | .ingress as $ingress
  | ([.claims[].host | select(. != "")] | unique) as $rule_hosts
  | [limit(5001; .tls[] | wishes($ingress; $rule_hosts; $certificates))]
  | .[:5000][],
    (select(length > 5000) | tls_problem($ingress; "TooManyHosts"; "spec.tls has more than 5,000 hosts, and only the first 5,000 are served"));

# input: [wish of one host, the oldest Ingress first] / output: {host, files}, and a problem for each that is not served
#
# Only one namespace can give a host its certificate: that of the oldest Ingress with a rule
# for the host, or else that of the oldest wish. It can give one for each algorithm, since a
# client may understand one and not the other.
def host_certificates($owners):
  .[0].host as $host
  | ($owners[$host] // .[0].ingress) as $owner
  | map(select((.ingress | split("/")[0]) == ($owner | split("/")[0]))) as $own
  | ($own | group_by(.certificate.algorithm) | map(.[0])) as $winners
  | ($winners | map({(.certificate.algorithm): .}) | add // {}) as $by_algorithm
  | (select($winners != []) | {host: $host, files: [$winners[].certificate.file]}),
    ( .[]
      | $by_algorithm[.certificate.algorithm] as $winner
      | if (.ingress | split("/")[0]) != ($owner | split("/")[0]) then
          tls_problem(.ingress; "HostTaken"; "host \($host) belongs to Ingress \($owner), so only its namespace can give a certificate for it")
        elif .certificate.certificate != $winner.certificate.certificate then
          tls_problem(.ingress; "CertificateTaken"; "host \($host) already has the certificate of Secret \($winner.certificate.certificate), from Ingress \($winner.ingress)")
        else empty
        end );

# input: [Ingress, the oldest first] / output: {host, files} for each host with a certificate, and problems
def certificates($certificates):
  . as $ingresses
  | [.[] | all_wishes($certificates)]
  | (.[] | select(.problem)),
    ( map(select(.problem | not))
      | select(. != []) # else the owners need not be found
      | ($ingresses | owners) as $owners
      | group_by(.host)[] | host_certificates($owners) );

# input: anything / output: the file of the default certificate, or a problem; nothing if $secret is ""
def default_certificate($secret; $certificates):
  $certificates[$secret] as $certificate
  | if $secret == "" then empty
    elif $certificate == null then tls_problem(null; "SecretNotFound"; "DEFAULT_TLS_SECRET: Secret \($secret) does not exist")
    elif $certificate.reason then tls_problem(null; $certificate.reason; "DEFAULT_TLS_SECRET: Secret \($secret): \($certificate.message)")
    else $certificate.file
    end;
