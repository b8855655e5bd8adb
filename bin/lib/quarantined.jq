# What becomes of a host of which an Ingress is quarantined: route leaves out what nginx rejects.
#
# What asked for protection stays shut: a path of the same host and namespace, before the same pods perhaps, that would
# answer in its place is closed. (One of another namespace has other pods.)
include "ownership";

# input: a claim / output: whether it would answer requests for the path of $other, another claim of the host: Prefix
# /admin would for /admin/users, but not for /administrator
def answers_for($other):
  .path as $path
  | .pathType == "Default" or any(.pathType, $other.pathType; . == "RegularExpression") or ($other.path | rtrimstr("/") + "/" | startswith($path | rtrimstr("/") + "/"));

# input: a claim / output: the same; closed if it would answer in the place of one of $shut, claims of the same host
def closed_in_place_of($shut):
  . as $claim
  | (.ingress // "/" | namespace) as $own
  | [$shut[] | select((.ingress | namespace) == $own) | . as $other | select($claim | answers_for($other))][0] as $other
  | if $other then
      del(.upstream, .service, .port, .also)
      + {status: 503, reason: "ProtectionNotAvailable", message: "closed while Ingress \($other.ingress) is quarantined, which protects \($other.path)"}
    else .
    end;

# input: [claim of one host, the oldest Ingress first] / output: the same without those of quarantined Ingresses
def without_quarantined($is_quarantined):
  map(select($is_quarantined[.ingress // ""])) as $quarantined
  | if $quarantined == [] then .
    else . - $quarantined | map(closed_in_place_of([$quarantined[] | select(.protections and (.upstream or .status))]))
    end;
