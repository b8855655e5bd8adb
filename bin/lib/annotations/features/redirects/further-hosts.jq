# Hosts that no rule is for: those of server-alias, and the www of from-to-www-redirect. Who gets which, and who is told
# that somebody else has it.
include "annotations/claims";
include "route/ownership"; # aliases, challenges_last, shares, shares_with, www_host
include "allow"; # is_acme_challenge

# How much the aliases of one namespace may come to. A hundred small Ingresses of one host with 20 aliases each would be
# 200,000 paths: the limits of limits.jq count only what rules ask for.
def most_of_aliases: {aliases: 1000, wildcards: 50, paths: 10000};

# input: [{alias, host, namespace, of}, the oldest Ingress first] / output: {aliases: those that count, beyond:
# {of: true}}; $paths is {"namespace/host": number of its claims}
def within_most($paths):
  reduce .[] as $it ({used: {}, aliases: [], beyond: {}};
    ((.used[$it.namespace] // {aliases: 0, wildcards: 0, paths: 0})
     | .aliases += 1
     | .wildcards += (if $it.alias | startswith("*") then 1 else 0 end)
     | .paths += $paths["\($it.namespace)/\($it.host)"]) as $sum
    | if any($sum | to_entries[]; .value > most_of_aliases[.key]) then .beyond[$it.of] = true
      else .used[$it.namespace] = $sum | .aliases += [$it]
      end);

# input:  [claim] of all hosts, without those of canaries, which have no host
# output: {host: true} of those that somebody has; or, of those for which there are rules with nothing but challenges,
#         {host: {namespace: whether these are of Ingresses that have nothing else}}
def taken:
  def of_challenges: .only_challenges or (.pathType != "Default" and is_acme_challenge);
  def of_nobody: .pathType == "Default" and .upstream == null and .status == null;
  (reduce (.[] | select(of_challenges)) as $claim ({};
     .[$claim.host][$claim.of] = ($claim.only_challenges // false))) as $rules
  | reduce .[] as $claim ({};
      $rules[$claim.host][$claim.of // ""] as $only
      | if .[$claim.host] == true then .
        elif $only == null or ($claim | of_challenges or of_nobody | not) then .[$claim.host] = true
        else .[$claim.host][$claim | own_namespace] |= (. != false and $only)
        end);

# input:  a host
# output: whether an alias or a redirect of $namespace may have it; $shares are the namespaces with which it shares that
#
# A challenge of its own takes it no host: cert-manager makes one for each host of a certificate, and all other requests
# would get a 404 as long as it is there. But never has a host two namespaces that did not agree on it: by a challenge,
# an authority would give one of them a certificate for what the other serves.
def is_free($taken; $namespace; $shares):
  $taken[.]
  | . == null
    or (. != true
        and all(to_entries[]; .key == $namespace or (.value and (.key as $other | $shares | shares_with($other)))));

# input:  [claim]; $taken is what `taken` says
# output: as within_most: the aliases of which each goes to the oldest Ingress that wants it; .wanted: all of them
def aliases_of_all($taken; $context):
  (reduce (.[], $context.shut[] | select(.of)) as $claim ({}; .["\($claim | own_namespace)/\($claim.host)"] += 1)) as $paths
  | (map(select(.share)) | group_by(.host) | map(shares as $shares | {(.[0].host): $shares}) | add // {}) as $shares
  | [ to_entries | map(.value + {number: .key}) | challenges_last[] | select(.options)
      | . as $claim
      | (annotations($context.options) | aliases)
      | {alias: ., host: $claim.host,
         namespace: ($claim | own_namespace), of: $claim.of, number: $claim.number} ]
  | . as $wanted
  | group_by(.alias)
  | map(.[0] | select(. as {$host, $namespace} | .alias | is_free($taken; $namespace; $shares[$host][$namespace])))
  | sort_by(.number)
  | within_most($paths) + {$wanted};

# input:  [claim]; $taken is what `taken` says, $is_alias {host: true} of those that are aliases
# output: a claim for each host that only redirects to another one, .to: of two that want one, the older gets it
def www_redirects($taken; $is_alias; $context):
  [ challenges_last[] | select(.options and annotations($context.options)["from-to-www-redirect"])
    | . + {to: .host, host: (.host | www_host)} ]
  | group_by(.host)
  | map(.[0]
      | own_namespace as $of
      | ([.] | shares[$of]) as $shares
      | select(($is_alias[.host] | not) and (.host | is_free($taken; $of; $shares))));

# --- what is told where somebody else has them

# input:  what aliases_of_all says, with .claims
# output: a problem of each Ingress with aliases that it does not get (more of them than its namespace may have are
#         another problem)
def lost_aliases:
  ([.aliases[] | {(.alias): .}] | add // {}) as $given
  | ([.claims[] | {"\(.of) \(.host)": true}] | add // {}) as $has
  | .beyond as $beyond
  | [ .wanted[]
      | $given[.alias] as $it
      | select(($beyond[.of] or $has["\(.of) \(.alias)"]) | not)
      | select($it == null or $it.of != .of and ($it | [.namespace, .host]) != [.namespace, .host]) ]
  | group_by(.of)[]
  | ([.[].alias] | unique | join(", ")) as $lost
  | .[0] | annotation_refused("server-alias does not count for \($lost): a rule or an older Ingress has that host");

# input: [claim] with server-alias / output: a problem of each Ingress with more of them than count
def too_many_aliases($options):
  unique_by(.of)[] | select(annotations($options)["server-alias"] | length > 20)
  | annotation_refused("of server-alias, only the first 20 hosts count");

# input: [claim] with from-to-www-redirect; $others are the hosts that others have / output: problems
def lost_moves($others):
  unique_by([.of, .host])[]
  | [.host | www_host] as [$moved]
  | if $moved == null then
      annotation_refused("from-to-www-redirect does not count for host \(if .host == "" then "*" else .host end): nothing could be redirected to it")
    elif $others[$moved] then
      annotation_refused("from-to-www-redirect does not count for host \(.host): \($moved) has rules, or is an alias")
    else empty
    end;
