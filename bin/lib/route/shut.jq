# What an Ingress protects stays shut while the Ingress is not served: nginx rejects it (quarantine), the path is
# refused, or it is beyond a limit.
#
# Such a claim is a shut place: of the same host and namespace, before the same pods perhaps, what would answer there is
# closed. (What is of another namespace has other pods.) And where nothing else is left of a host, an error answers for
# it: neither a wildcard nor rules without a host, which may be somebody else's, get requests for a host that has rules.
#
#   pathType Refused   the path is the one that is refused; with "/" at its end, all that is certain of it: anything
#                      below could be meant (annotations/ingress.jq)
#   beyond             the claim's Ingress is beyond a limit (limits.jq); with .alias on the hosts of its server-alias
include "route/ownership";
include "allow";
import "annotations" as $table;

# How many folders the shut places of one namespace on a host may lie in; and how many paths of a namespace beyond its
# limits stay shut one by one. If there are more, all that the namespace has on these hosts is closed; and if the hosts
# are more, all that it has.
def most_folders: 50000;
def most_beyond: 10000;

# --- one Ingress

# input: a claim / output: the same as a shut place, if it is, or could be, for ACME challenges
def among_challenges:
  if .pathType == "RegularExpression" then select(.path | names_challenges) | .path = "\(challenges)/"
  else select(is_acme_challenge)
  end
  | .pathType = "Refused";

# input:  [summary of an Ingress of one namespace that is beyond a limit]
# output: {shut: [the claims that they protect], or else those of all their hosts; are_many: if these are too many, too.
#         Then not all are in `shut`, and all of the namespace must be closed}
#
# Clients of a whole host may need a certificate because of one. A canary protects nothing: its main Ingress does.
def protected_beyond:
  def is_whole: any(.options.protections[]?; startswith("auth-tls-"));
  def protects_paths:
    (.options.protections or any(.claims[]; .reason == "ProtectionNotAvailable")) and (.options.set.canary | not);
  def claims_shut($whole):
    . as $ingress
    | .claims[]
    | if $whole then
        (select(.pathType == "Default" or (.pathType == "Refused" and .path == "/")) | .pathType = "Refused"),
        among_challenges
      else select(.service or .status or .pathType == "Refused")
      end
    | {host, path, pathType, beyond: true}
      + ($ingress | {of, created, only_challenges: .options.only_challenges})
    | ., . + {host: ($ingress.options.set | aliases), alias: true};
  map(select(protects_paths)) as $protecting
  | [limit(most_beyond + 1; $protecting[] | claims_shut(is_whole))] as $shut
  | if $shut | length <= most_beyond then {$shut}
    else
      [limit(most_beyond + 1; $protecting[] | claims_shut(true))]
      | {shut: .[:most_beyond], are_many: (length > most_beyond)}
    end;

# input: summary of an Ingress / output: the same, closed; what says where it is stays
def all_closed($why):
  .options.set |= (. // {} | with_entries(select($table::table[0][.key].where)))
  | del(.options | select(.set == {}).set)
  | .claims |= map(if .service then del(.service, .port) + {status: 503, reason: "ProtectionNotAvailable", message: "closed, \($why)"} else . end);

# input: [{annotation: value}] / output: the same, with {} for those that none of these Ingresses has
def only_of($ingresses):
  ([$ingresses[].options.set | values | {(tojson): true}] | add // {}) as $is_live
  | map(if $is_live[tojson] then . else {} end);

# --- one host

# input: a claim / output: the folder in which all is that it answers for: "/a" => "/a/"; of what is shut, each in which
#         it could be meant to. (Expressions match any case.)
def folders:
  if .pathType == "RegularExpression" then .path | meanings(true) else .path end
  | ascii_downcase | rtrimstr("/") + "/";
def folder: first(folders);

# input: a shut place / output: whether any path in its folder could be meant
def is_vague: .pathType == "RegularExpression" or (.pathType == "Refused" and (.path | endswith("/")));

# input: a folder / output: it, and those above: "/a/b/" => "/", "/a/", "/a/b/"
def and_above: . as $folder | indices("/")[] | $folder[:. + 1];

# input:  a claim; $options: [{annotation: value}]
# output: the folders of which it is closed if any path in them could be meant
#
# A path for ACME challenges must be reachable (RFC 8555, section 8.3): so what could be any path is not this one,
# unless it could be any of these only.
def folders_at_stake($options):
  is_free_of("auth-url"; if .options then $options[.options - 1] else {} end) as $is_open
  | folder | and_above | select(($is_open | not) or startswith("\(challenges)/"));

# input: [claim] that must stay shut / output: {above, below}: {"namespace folder": [one, and one of another Ingress]}
#
# above are the folders in which a path would answer for one; below, those in which any path could.
def places:
  def add($place):
    if . == null then [$place]
    elif length == 1 and .[0].of != $place.of then . + [$place]
    else .
    end;
  map({of, path, pathType, beyond})
  | [ group_by(.of | namespace)[]
      | if ([.[].path | split("/") | length] | add) > most_folders then
          map((.path = "/" | .pathType = "Refused"), (among_challenges | .path = "\(challenges)/"))
          | unique_by([.of, .path])[]
        else .[]
        end ]
  | reduce .[] as $place ({above: {}, below: {}};
      "\($place.of | namespace) " as $of
      | reduce ($place | folders) as $folder (.;
          reduce ($folder | and_above) as $each (.; .above[$of + $each] |= add($place))
          | if $place | is_vague then .below[$of + $folder] |= add($place) else . end));

# input: a shut place / output: why it is one, as the end of a sentence
def why:
  if .pathType == "Refused" then
    "because \(.of) protects a path that is not served, which could be this one"
  elif .beyond then "because \(.of) protects \(.path), and is not served: it is beyond a limit"
  else "while \(.of) is quarantined, which protects \(.path)"
  end;

# input: a claim / output: the same, closed
def shut($why):
  del(.upstream, .service, .port, .port_name, .also, .balance)
  + {status: 503, reason: "ProtectionNotAvailable", message: "closed \($why)"};

# input:  a claim
# output: the same; closed if it would answer at one of these places. Its own Ingress protects it as the place.
def shut_at($places; $options):
  . as $claim
  | if .of == null or (.pathType == "Default" and .upstream == null and .status == null) then .
    else
      "\(.of | namespace) " as $of
      | first(
          ( $places.above[$of + folder],
            (if $places.below == {} then null else $places.below[$of + folders_at_stake($options)] end) )[]?
          | select(.of != $claim.of)) // null
      | . as $place
      | $claim | if $place then shut($place | why) else . end
    end;

# input: a claim of an Ingress that is not served / output: whether it protects something
def must_stay_shut:
  .beyond
  or .pathType == "Refused"
  or ((.protections or .reason == "ProtectionNotAvailable") and (.upstream or .status));

# input: [claim of one host, the oldest Ingress first] / output: those that are served, or closed
def without_shut($is_quarantined; $options):
  def is_left: (.beyond or .pathType == "Refused" or $is_quarantined[.of // ""]) | not;
  if all(.[]; is_left) then .
  else
    ([.[] | select((is_left | not) and must_stay_shut)] | places) as $places
    | map(select(is_left) | shut_at($places; $options))
  end;

# --- all hosts

# input:  [{host, of}, of each host of one namespace of which nothing is left]
# output: a claim for them all: an error
#
# They are in one server of nginx, and not in its hash of names, because that may be what nginx rejects.
def all_shut:
  {of: .[0].of, host: .[0].host, others: map(.host)[1:], path: "/", pathType: "Default", status: 503,
   message: "this host has rules, but they are not served: nginx rejects their Ingress, or it is beyond a limit"};

# input: [{host, of, protecting}, of each host of which nothing is left] / output: {"namespace host": Ingress}: the
# wildcards and rules without a host that must not answer for those that have no error
def fallbacks($has_error):
  [.[] | select(.protecting and ($has_error[.host] | not)) | . as {$host, of: $ingress}
   | {("\($ingress | namespace) \("", ($host | as_wildcard))"): $ingress}] | add // {};

# input and output: as for `served`
#
# nginx tries the hosts of all_shut one by one, as it does wildcards, so a namespace may have as many.
def with_shut_places($is_quarantined; $limits; $options):
  [.[] | {host, given: .claims, left: (.claims | without_shut($is_quarantined; $options))}] as $hosts
  | [ $hosts[]
      | select(.left == [] and .given != [])
      | {host, of: .given[0].of, protecting: any(.given[]; must_stay_shut)} ] as $gone
  | [ $gone
      | map(select($is_quarantined[.of].without_hosts | not))
      | group_by(.of | namespace)[]
      | .[:$limits.namespace_wildcards] ] as $shut
  | ($gone | fallbacks([$shut[][] | {(.host): true}] | add // {})) as $fallbacks
  | def shut_as_fallback:
      $fallbacks["\(.of // "/" | namespace) \(.host)"] as $gone
      | if $gone then shut("because \($gone) protects a host that would go here, and is not served") else . end;
    [$shut[] | [all_shut]]
    + [$hosts[].left | select(. != []) | if $fallbacks == {} then . else map(shut_as_fallback) end];

# input:  [{host, claims}, ...] (ownership.jq); $options: [{annotation: value}], which claims have by their number
# output: [[claim of one host that is served, or closed], ...]
#
# In most clusters, nothing has to stay shut.
def served($is_quarantined; $limits; $options):
  if $is_quarantined == {} and all(.[].claims[]; (.beyond or .pathType == "Refused") | not) then
    [.[].claims | select(. != [])]
  else with_shut_places($is_quarantined; $limits; $options)
  end;
