# Which certificate a client gets. The host it names in the TLS handshake (SNI)
# decides that; the Host of its request decides the route.
include "allow";
include "kubernetes";

# input: a snapshot / output: {"namespace/name": what `certificates` says of this Secret, its names as {name: true}, ...}
def certificates_by_secret:
  .certificates // []
  | map({(.secret): (.names |= (. // [] | map({(.): true}) | add // {}))}) | add // {};

# input: a host / output: the name with a wildcard that is for it: "a.b.c" => "*.b.c" (RFC 6125, section 6.4.3)
def as_wildcard:
  sub("\\A[^.]+"; "*");

# input: an Ingress / output: the hosts of its rules
def rule_hosts:
  [.spec.rules[]?.host // empty] | unique;

# input: [Ingress, the oldest first] / output: {host: the oldest Ingress that has a rule for it, ...}
def owners:
  reduce (reverse[] | key as $key | rule_hosts[] | [., $key]) as [$host, $key] ({}; .[$host] = $key);

# input: an IngressTLS / output: the hosts that it is for. If it does not say, those
# of its Ingress's rules; if these have none, those of the certificate.
def tls_hosts($rule_hosts; $certificate):
  .hosts // []
  | if . == [] then $rule_hosts else . end
  | if . == [] then $certificate.names // {} | keys else . end
  | unique[];

# input: an IngressTLS / output: a wish {ingress, host, certificate} for each of its hosts, and refusals
#
# Without a secretName its hosts have the default certificate, which is no mistake.
def wishes($ingress; $rule_hosts; $certificates):
  "\($ingress | split("/")[0])/\(.secretName)" as $secret
  | $certificates[$secret] as $certificate
  | "its hosts have the default certificate" as $consequence
  | if (.secretName // "") == "" then empty
    elif .secretName | is_name | not then
      refusal($ingress; "SecretRefused"; "\(.secretName | quoted) is no name of a Secret: \($consequence)")
    elif $certificate == null then
      refusal($ingress; "SecretNotFound"; "Secret \($secret) does not exist: \($consequence)")
    elif $certificate.reason then
      refusal($ingress; $certificate.reason; "Secret \($secret): \($certificate.message); \($consequence)")
    else
      tls_hosts($rule_hosts; $certificate)
      | if is_host | not then refusal($ingress; "HostRefused"; "the host \(quoted) of spec.tls is no DNS name")
        else
          {ingress: $ingress, host: ., certificate: $certificate},
          ( select($certificate.names[.] or $certificate.names[as_wildcard] | not)
            | refusal($ingress; "CertificateNameMismatch"; "the certificate in Secret \($secret) is not for host \(.), so clients may refuse it") )
        end
    end;

# input: an Ingress / output: the wishes and refusals of all its spec.tls, of which there may not be too many
def all_wishes($certificates):
  select(.spec.tls)
  | key as $ingress
  | rule_hosts as $rule_hosts
  | [limit(5001; [.spec.tls[]? | {hosts, secretName}] | unique[] | wishes($ingress; $rule_hosts; $certificates))]
  | .[:5000][],
    (select(length > 5000) | refusal($ingress; "TooManyHosts"; "spec.tls is for more than 5,000 hosts, and only the first ones are served"));

# input: [wish of one host, the oldest Ingress first] / output: {host, files}, and a refusal for each that is not served
#
# A stranger cannot give a host another certificate: only the namespace of the
# oldest Ingress with a rule for the host can, or else that of the oldest wish.
# A client may understand one algorithm and not the other, so it can give two.
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
          refusal(.ingress; "HostTaken"; "host \($host) belongs to Ingress \($owner), so only its namespace can give a certificate for it")
        elif .certificate.secret != $winner.certificate.secret then
          refusal(.ingress; "CertificateTaken"; "host \($host) already has the certificate of Secret \($winner.certificate.secret), by Ingress \($winner.ingress)")
        else empty
        end );

# input: [Ingress, the oldest first] / output: {host, files} for each host with a certificate, and refusals
def certificates($certificates):
  . as $ingresses
  | [.[] | all_wishes($certificates)]
  | (.[] | select(.reason)),
    ( map(select(.reason | not))
      | select(. != []) # else the owners need not be found
      | ($ingresses | owners) as $owners
      | group_by(.host)[] | host_certificates($owners) );

# input: anything / output: the file of the default certificate, or a refusal; nothing if none is given
def default_certificate($secret; $certificates):
  $certificates[$secret] as $certificate
  | if $secret == "" then empty
    elif $certificate == null then refusal(null; "SecretNotFound"; "DEFAULT_TLS_SECRET: Secret \($secret) does not exist")
    elif $certificate.reason then refusal(null; $certificate.reason; "DEFAULT_TLS_SECRET: Secret \($secret): \($certificate.message)")
    else $certificate.file
    end;
