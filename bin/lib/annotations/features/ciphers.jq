# ssl-ciphers, ssl-prefer-server-ciphers: which ciphers clients of a host may use with TLS 1.2 (those of 1.3 are fixed).
#
# A client names the host before a cipher is chosen, so these are for a whole host: those of its oldest Ingress that
# asks. nginx reads them only in a server with certificate lines of its own.
include "annotations/claims";
include "route/ownership"; # challenges_last, owners
include "allow";
include "quoting";
include "render/certificate-maps"; # certificate_directives

# input: {annotation: value} / output: what it says about ciphers, or null
def wanted:
  with_entries(select(.key | IN("ssl-ciphers", "ssl-prefer-server-ciphers"))) | if . == {} then null else . end;

# input: [answered claim, the oldest Ingress first] / output: the same; .ciphers says what counts for the host
def claims($context; answer):
  def place: "\(.host) \(.of | namespace)";
  def own: if .of and .options and .upstream then annotations($context.options) | wanted else null end;
  def no_effect($why): annotation_refused("ssl-ciphers and ssl-prefer-server-ciphers have no effect: \($why)");
  (reduce (challenges_last[] | select(own)) as $claim ({};
    ($claim | place) as $place
    | .[$place] //= ($claim | {of, set: own}))) as $first
  | . + [ .[] | select(own)
      | if .host == "" then no_effect("they need rules with a host, which a client names in its handshake")
      elif own != $first[place].set then
        no_effect("for host \(.host), those of \($first[place].of) count\(if .only_challenges then "" else ", which is older" end)")
        else empty
        end ]
  | owners($context) as $owners
  | map(
      if .host == "" or ($first[place].set | not) then .
      else .ciphers = $first[place].set + {guest: (own_namespace != $owners[.host])}
      end);

# input: {"ssl-ciphers", "ssl-prefer-server-ciphers"} / output: directives of a server
def directives:
  (.["ssl-ciphers"] // empty | "    ssl_ciphers \(in_quotes);"),
  (.["ssl-prefer-server-ciphers"] | select(. != null)
    | "    ssl_prefer_server_ciphers \(if . then "on" else "off" end);");

# input: model / output: the same with these. Of namespaces that share a host, one counts: the owner, or else the first
# by name. Where clients have certificates (client-certificates.jq), the server has its own already.
def model:
  [.certificates // [] | certificate_directives("")] as $certificates
  | .servers |= map(
      ([.locations[] | select(.ciphers)] | sort_by([.ciphers.guest, .of])[0].ciphers) as $ciphers
      | if $ciphers == null then .
        else
          any(.locations[]; .client) as $has_certificates
          | .lines += [
              (if $has_certificates then empty else $certificates[] end),
              ($ciphers | directives) ]
        end);
