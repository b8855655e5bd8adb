# Which certificate a client gets. The host it names in the TLS handshake (SNI)
# decides that; the Host of its request decides the route.
include "allow";
include "kubernetes";

# input: a snapshot / output: {"namespace/name": what `certificates` says of this Secret, ...}
def certificates_by_secret:
  .certificates // [] | map({(.secret): .}) | add // {};

# input: a certificate / output: whether it is for the host; a wildcard in it is for one label (RFC 6125, section 6.4.3)
def is_for($host):
  ($host | sub("\\A[^.]+"; "*")) as $wildcard
  | any(.names[]; ascii_downcase | . == $host or . == $wildcard);

# input: an Ingress / output: the hosts of its rules
def rule_hosts:
  [.spec.rules[]?.host // empty];

# input: an IngressTLS / output: the hosts that it is for. If it does not say, those
# of its Ingress's rules; if these have none, those of the certificate.
def tls_hosts($ingress; $certificate):
  .hosts // []
  | if . == [] then $ingress | rule_hosts else . end
  | if . == [] then $certificate.names // [] else . end
  | unique[];

# input: an IngressTLS / output: a wish {ingress, host, certificate} for each of its hosts, and refusals
#
# Without a secretName its hosts have the default certificate, which is no mistake.
def wishes($ingress; $certificates):
  ($ingress | key) as $key
  | "\($ingress.metadata.namespace)/\(.secretName)" as $secret
  | $certificates[$secret] as $certificate
  | "its hosts have the default certificate" as $consequence
  | if (.secretName // "") == "" then empty
    elif .secretName | is_name | not then
      refusal($key; "SecretRefused"; "\(.secretName | quoted) is no name of a Secret: \($consequence)")
    elif $certificate == null then
      refusal($key; "SecretNotFound"; "Secret \($secret) does not exist: \($consequence)")
    elif $certificate.reason then
      refusal($key; $certificate.reason; "Secret \($secret): \($certificate.message); \($consequence)")
    else
      tls_hosts($ingress; $certificate)
      | if is_host | not then refusal($key; "HostRefused"; "the host \(quoted) of spec.tls is no DNS name")
        else
          . as $host
          | {ingress: $key, host: $host, certificate: $certificate},
            ( select($certificate | is_for($host) | not)
              | refusal($key; "CertificateNameMismatch"; "the certificate in Secret \($secret) is not for host \($host), so clients may refuse it") )
        end
    end;

# input: [wish of one host, the oldest Ingress first] / output: {host, files}, and a refusal for each that came too late
#
# A client may understand one algorithm and not the other, so a host can have a
# certificate of each.
def first_of_each_algorithm:
  (group_by(.certificate.algorithm) | map(.[0])) as $winners
  | ($winners | map({(.certificate.algorithm): .}) | add) as $by_algorithm
  | {host: .[0].host, files: [$winners[].certificate.file]},
    ( .[]
      | $by_algorithm[.certificate.algorithm] as $winner
      | select(.certificate.secret != $winner.certificate.secret)
      | refusal(.ingress; "CertificateTaken";
          "host \(.host) already has the certificate of Secret \($winner.certificate.secret), by Ingress \($winner.ingress)") );

# input: [Ingress, the oldest first] / output: {host, files} for each host with a certificate, and refusals
def certificates($certificates):
  [.[] | . as $ingress | .spec.tls[]? | wishes($ingress; $certificates)]
  | (.[] | select(.reason)),
    (map(select(.host)) | group_by(.host)[] | first_of_each_algorithm);

# input: anything / output: the file of the default certificate, or a refusal; nothing if none is given
def default_certificate($secret; $certificates):
  $certificates[$secret] as $certificate
  | if $secret == "" then empty
    elif $certificate == null then refusal(null; "SecretNotFound"; "DEFAULT_TLS_SECRET: Secret \($secret) does not exist")
    elif $certificate.reason then refusal(null; $certificate.reason; "DEFAULT_TLS_SECRET: Secret \($secret): \($certificate.message)")
    else $certificate.file
    end;
