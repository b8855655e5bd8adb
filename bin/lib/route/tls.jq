# Which certificate a client gets. The host that the client names in the TLS handshake
# (SNI) decides that; the Host of its request decides the route.
#
# A host's certificate comes only from the namespace that the host belongs to (ownership.jq): another's would be shown
# to its clients, or the other way round, its own would vouch for another's pods.
include "route/ownership";
include "allow";

# input:  [line of the snapshot]
# output: {"namespace/name": what a Secret is worth, with names: {name: true}}; with other uses than a key pair's, the
#         key is "USE namespace/name" (`key_of_use` in named.jq)
def known_secrets:
  [ .[] | select(.certificate)
    | {((if .use then "\(.use) " else "" end) + .certificate): (.names |= (. // [] | map({(.): true}) | add // {}))} ]
  | add // {};

# input: anything / output: why a part of an Ingress is not served as it says
def problem($ingress; $reason; $message): {problem: {of: $ingress, $reason, $message}};

# input:  [summary of an Ingress, the oldest first]; $most: how many hosts count of one namespace
# output: {namespace: {hosts: {host: true}, wild: whether one is a wildcard}} of all that have a spec.tls
def hosts_with_tls($most):
  def hosts: (.claims[] | select(.pathType == "Default").host), (.tls[].hosts[]? | strings);
  map(select(.tls != [])) | group_by(.of | namespace)
  | map({(.[0].of | namespace):
      ([limit($most; .[] | hosts)] | {hosts: (map({(.): true}) | add // {}), wild: any(.[]; startswith("*"))})})
  | add // {};

# input:  [claim]; $ingresses are the summaries, also of those beyond a limit
# output: the same; those to be redirected if their host has TLS are, or are not
#
# The spec.tls of any Ingress of the claim's own namespace counts, as in ingress-nginx.
def redirected_with_tls($ingresses; $limits):
  if any(.[]; .redirect == "with TLS") then
    ($ingresses | hosts_with_tls(2 * $limits.namespace_tls_hosts)) as $with_tls
    | map(
        if .redirect != "with TLS" then .
        else
          $with_tls[.of | namespace] as {$hosts, $wild}
          | if $hosts[.host] or ($wild and $hosts[.host | as_wildcard]) then .redirect = true else del(.redirect) end
        end)
  else . end;

# input: an IngressTLS / output: the hosts that it is for: its own; if it has none, those of
# its Ingress's rules; if these have none, those of the certificate
def tls_hosts($rule_hosts; $certificate):
  .hosts // []
  | if . == [] then $rule_hosts else . end
  | if . == [] then $certificate.names // {} | keys else . end
  | unique[];

# input: an IngressTLS / output: a wish {of, host, certificate} for each of its hosts, and problems
#
# Hosts without a secretName have the default certificate, which is no problem.
def wishes($ingress; $rule_hosts; $certificates):
  "\($ingress | namespace)/\(.secretName)" as $secret
  | $certificates[$secret] as $certificate
  | "its hosts have the default certificate" as $consequence
  | if (.secretName // "") == "" then empty
    elif .secretName | is_name | not then
      problem($ingress; "SecretRefused";
        "\(.secretName | quoted) is not a name that a Secret can have: \($consequence)")
    elif $certificate == null then
      problem($ingress; "SecretNotFound"; "Secret \($secret) does not exist: \($consequence)")
    elif $certificate.reason then
      problem($ingress; $certificate.reason; "Secret \($secret): \($certificate.message); \($consequence)")
    else
      def wish: {of: $ingress, namespace: ($ingress | namespace), host: ., $certificate};
      def mismatch($what_follows):
        problem($ingress; "CertificateNameMismatch";
          "the certificate in Secret \($secret) is not for host \(.): \($what_follows)");
      def wish_of_host:
        if is_host | not then problem($ingress; "HostRefused"; "the host \(quoted) of spec.tls is not a DNS name")
        elif $certificate.names[.] or $certificate.names[as_wildcard] then wish
        elif $certificate.names == {} then # its subject may be the host: some clients look there
          wish, mismatch("it has no subjectAltName, so most clients reject it")
        else mismatch($consequence)
        end;
      [tls_hosts($rule_hosts; $certificate)]
      | if . == [] then
          problem($ingress; "CertificateNameMismatch";
            "the certificate in Secret \($secret) is for no host: neither spec.tls nor a rule names one, nor has it a subjectAltName")
        else .[] | wish_of_host
        end
    end;

# input:  summary of an Ingress
# output: its hosts that its spec.tls does not name: of its rules, their aliases, and with or without "www."
def unnamed_hosts($rule_hosts):
  ([.tls[].hosts[]? | strings | {(.): true}] | add // {}) as $is_named
  | .options.set as $set
  | [ $rule_hosts[], ($set | aliases), (select($set["from-to-www-redirect"]) | $rule_hosts[] | www_host) ]
  | unique | map(select(is_host and ($is_named[.] or $is_named[as_wildcard] | not)));

# input:  summary of an Ingress
# output: wishes for those, if one of its first 20 certificates has their names (as in ingress-nginx). Being implied,
#         they give way to what any Ingress says, and if they do not count, that is no problem.
def wishes_of_unnamed_hosts($rule_hosts; $certificates):
  .of as $ingress
  | ($ingress | namespace) as $namespace
  | [.tls[:20][] | select(.secretName) | $certificates["\($namespace)/\(.secretName)"] | select(. and (.reason | not))] as $own
  | select($own != [] and all(.tls[]; (.hosts // []) != []))
  | unnamed_hosts($rule_hosts)[]
  | . as $host
  | as_wildcard as $wildcard
  | [$own[] | select(.names[$host] or .names[$wildcard])] | unique_by(.algorithm)[]
  | {of: $ingress, $namespace, $host, certificate: ., implied: true};

# input: summary of an Ingress / output: the wishes and problems of its spec.tls
def wishes_of_ingress($certificates):
  .of as $ingress
  | .options.only_challenges as $only_challenges
  | ([.claims[].host | select(. != "")] | unique) as $rule_hosts
  | (.tls[] | wishes($ingress; $rule_hosts; $certificates)),
    wishes_of_unnamed_hosts($rule_hosts; $certificates)
  | if $only_challenges then . + {$only_challenges} else . end;

# input:  summary of an Ingress
# output: whether hosts of its spec.tls come from certificates; limits.jq counts all others
def has_hosts_of_certificates: all(.claims[]; .host == "") and any(.tls[]; (.hosts // []) == []);

# input:  [summary of an Ingress, the oldest first]
# output: the wishes and problems of all: for an Ingress, up to two for each host that it may have; for all hosts of
#         certificates, up to two for each that a namespace may have
#
# Without the second limit, 5,000 entries and one certificate of 500 names would come to 2.5 million wishes.
def all_wishes($certificates; $limits):
  foreach (.[] | select(.tls != [])) as $ingress ({};
    ($ingress.of | namespace) as $namespace
    | ($ingress | has_hosts_of_certificates) as $counts
    | (if $counts then 2 * $limits.namespace_tls_hosts - (.made[$namespace] // 0) else infinite end) as $left
    | ([2 * $limits.ingress_hosts, $left] | min) as $most
    | [limit($most + 1; $ingress | wishes_of_ingress($certificates))] as $wishes
    | .wishes = $wishes[:$most]
    | if $counts then .made[$namespace] += (.wishes | length) else . end
    | if ($wishes | length) > $most then
        .wishes += [problem($ingress.of; "LimitExceeded";
          "not all hosts of its spec.tls are served: they are more than LIMITS lets an Ingress or a namespace have (ingress_hosts, namespace_tls_hosts), with those that come from certificates")]
      else . end;
    .wishes[]);

# input:  [wish of one host, the oldest Ingress first]
# output: {host, owner, own: {namespace: [its wish of each algorithm]}, problems}
#
# There can be one certificate for each algorithm, since a client may understand one and not the other. A host without
# a rule belongs to the owner of the wildcard that serves it, or else to the oldest wish.
def host_certificates($hosts):
  challenges_last | sort_by(.implied) # those come last
  | .[0] as {$host, $namespace}
  | ($hosts[$host] // $hosts[$host | as_wildcard] // {owner: $namespace}).owner as $owner
  | (group_by(.namespace) | map({(.[0].namespace): (group_by(.certificate.algorithm) | map(.[0]))}) | add) as $own
  | {$host, $owner, $own, problems: [
      .[] | select(.implied | not)
      | .certificate.algorithm as $algorithm
      | first($own[.namespace][] | select(.certificate.algorithm == $algorithm)) as $winner
      | if .namespace != $owner then
          problem(.of; "HostTaken";
            "host \($host) belongs to namespace \($owner), so a Secret of namespace \(.namespace) cannot be its certificate")
        elif .certificate.certificate != $winner.certificate.certificate then
          problem(.of; "CertificateTaken";
            "host \($host) already has the certificate of Secret \($winner.certificate.certificate), from \($winner.of)")
        else empty
        end ]};

# input: [wish] / output: [file]
def files: map(.certificate.file);

# input: {"host": what host_certificates says of it} / output: {host, files} for each host that a wildcard's certificate
# would be shown for, although it is another namespace's
#
# It has its own namespace's certificate for the wildcard, if there is one; or else the default certificate.
def not_inherited($hosts; $default):
  . as $certificates
  | ([keys[] | select(startswith("*")) | {(.): ($hosts[.] // {owner: "", claims: []} | (.claims | shares)[.owner])}] | add // {}) as $shares
  | $hosts[]
  | select(.owner and (.host | startswith("*") | not) and ($certificates[.host].own[.owner] | not))
  | . as {$host, $owner}
  | $certificates[$host | as_wildcard]
  | select(. and .owner != $owner and ($shares[.host] | shares_with($owner) | not))
  | {$host, files: (.own[$owner] // [] | if . == [] then [$default // "default.pem"] else files end)};

# input: [summary of an Ingress, the oldest first]; $hosts is what with_owners says
# output: {host, files} for each host with a certificate of its own, and problems
def certificates($certificates; $hosts; $default; $limits):
  [all_wishes($certificates; $limits)]
  | (.[] | select(.problem)),
    ( map(select(.problem | not))
      | select(. != []) # else the owners need not be found
      | ($hosts | map({(.host): .}) | add) as $hosts
      | group_by(.host) | map(host_certificates($hosts))
      | .[].problems[],
        ( [ (.[] | {host, files: (.own[.owner] // [] | files)}),
            (map({(.host): .}) | add | not_inherited($hosts; $default)) ]
          | sort_by(.host)[] | select(.files != []) ) );

# input: anything / output: the file of the default certificate, or a problem; nothing if $secret is ""
def default_certificate($secret; $certificates):
  $certificates[$secret] as $certificate
  | if $secret == "" then empty
    elif $certificate == null then
      problem(null; "SecretNotFound"; "DEFAULT_TLS_SECRET: Secret \($secret) does not exist")
    elif $certificate.reason then
      problem(null; $certificate.reason; "DEFAULT_TLS_SECRET: Secret \($secret): \($certificate.message)")
    else $certificate.file
    end;
