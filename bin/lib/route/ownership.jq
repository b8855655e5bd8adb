# Whose host it is: a host belongs to the namespace of the oldest Ingress with a rule for it.
#
# If hosts were shared path by path, a newer Ingress of another namespace could take a part of one that is not its own:
# with a longer path, or with pathType Exact, it would get the requests for /login; and with those for
# /.well-known/acme-challenge/, an authority would give it a certificate (RFC 8555, section 8.3).
#
# An Ingress with nothing but paths for ACME challenges comes and goes: cert-manager makes it for as long as an
# authority asks. So it decides about a host, its aliases and its certificates only where no other Ingress does.
#
# So the rules of other namespaces count only if an owner's Ingress says so, by the annotation
# bash-ingress.local/share-host-with: "team-a,team-b", or "*" for all. a.example.com and
# *.example.com are two hosts. Rules without a host belong to nobody.
#
# HOST_OWNERSHIP=shared  hosts are shared path by path, as ingress-nginx does it; their certificates are not
#                strict  who is the first to claim a wildcard also owns the hosts that it is for
include "allow";

# input: {annotation: value} / output: the hosts of its server-alias that count
def aliases: (.["server-alias"] // [])[:20][] | ascii_downcase;

# input: a host / output: the one that from-to-www-redirect adds: www.a => a, a => www.a; nothing for wildcards and any
#         host
def www_host:
  select(. != "" and (startswith("*") | not))
  | if startswith("www.") then .[4:] | select(contains(".")) else "www." + . | select(length <= 253) end;

# input: [claim] of one host / output: {"namespace": {"namespace": true, ...} with which its Ingresses share the host}
def shares:
  reduce (map(select(.share)) | unique_by(.of)[]) as $claim ({};
    .[$claim.of | namespace] += ($claim.share | map({(.): true}) | add // {}));

# input: {"namespace": true, ...}, or null / output: whether that namespace is among them
def shares_with($other): .[$other] or .["*"];

# input: [claim, or wish] / output: the same, but those last whose Ingress has only challenges (sort_by keeps the order)
def challenges_last: if any(.[]; .only_challenges) then sort_by(.only_challenges // false) else . end;

# input:  what `owned` says of a host
# output: the same with the claims that count, and a problem for each Ingress with others
def without_strangers:
  . as {$host, $owner, $first}
  | (any(.claims[]; .only_challenges) and ($first.only_challenges | not)) as $others_give_way
  | (if $others_give_way then " that is for more than ACME challenges" else "" end) as $but
  | [(.claims | shares), .wildcard_shares | .[$owner]] as $shared
  | [ (.claims | map(.of | namespace) | unique - [$owner])[] as $other
      | select(any($shared[]; shares_with($other)) | not)
      | {($other): true} ] as $strangers
  | ($strangers | add // {}) as $is_stranger
  | .problems = [.claims | map(.of) | unique[] | select($is_stranger[namespace])
      | {problem: {of: ., reason: "HostTaken", message:
        "host \($host) belongs to namespace \($owner), whose \($first.of) is the oldest with a rule for it\($but) (\($first.created)), so these rules are not served; to share the host, that Ingress needs the annotation bash-ingress.local/share-host-with"}}]
  | .claims |= map(select($is_stranger[.of | namespace] | not));

# input: [summary of an Ingress, the oldest first] / output: {"namespace/name": which it is}
def ages: [.[].of] | to_entries | map({(.value): .key}) | add // {};

# input: a claim / output: its place among those of its host; $age is what `ages` says
#
# An .alias is of a host that no rule is for (features/redirects.jq): it takes nobody's, so it comes last.
def rank($age): [.alias // false, $age[.of // ""] // -1];

# input:  [claim, the oldest Ingress first]; $ours are the Ingresses, the oldest first
# output: the same, and those beyond a limit in that order, too: so a host stays its owner's
def with_shut_by_age($ours):
  if any(.[]; .beyond) then ($ours | ages) as $age | sort_by(rank($age)) else . end;

# input:  [claim, the oldest Ingress first]; $ours: [summary of an Ingress, the oldest first]; $ownership: the setting
# output: [{host, claims, owner: its namespace (none for host ""), first: the claim that makes it the owner's,
#           wildcard_shares: what `shares` says of the wildcard above it, if that counts}, ...]
#
# (Many hosts may be below one wildcard, so its shares are worked out once.)
def owned($ours; $ownership):
  with_shut_by_age($ours) | group_by(.host)
  | (if $ownership == "strict" then
       map(select(.[0].host | startswith("*.")) | {(.[0].host): {first: challenges_last[0], shares: shares}}) | add
     else null
     end) as $wildcards
  | (if $wildcards then $ours | ages else {} end) as $age
  | map(
      {host: .[0].host, claims: .}
      | if .host == "" then .
        else
          (if $wildcards then $wildcards[.host | as_wildcard] else null end) as $wildcard
          | .first = (.claims | challenges_last[0])
          | (if $wildcard then .first = ([.first, $wildcard.first] | sort_by(rank($age)) | challenges_last[0])
             else .
             end)
          | .owner = (.first.of | namespace)
          | .wildcard_shares = $wildcard.shares
        end );

# input:  [claim, the oldest Ingress first]; $ours: [summary of an Ingress, the oldest first]
# output: [{host, owner: its namespace (none for host ""), claims: those that count, problems, ...}, ...]
def with_owners($ours; $ownership):
  owned($ours; $ownership)
  | map(
      .first.of as $first | .owner as $owner
      | if $owner == null or $ownership == "shared" or all(.claims[].of; . == $first or namespace == $owner) then .
        else without_strangers
        end );

# input:  [claim, the oldest Ingress first]; $context.shut are those beyond a limit
# output: {host: the namespace whose it is}, for features: who is a guest there
def owners($context):
  map(select(.of)) + $context.shut | map(select(.host != "")) | owned($context.ours; $context.settings.HOST_OWNERSHIP)
  | map({(.host): .owner}) | add // {};
