# Where no pod serves: hosts that are only redirected; and what nothing else says about what an Ingress does not get, so
# that nobody is told that all of it is served (publish/events.jq).
include "route/ownership";
include "allow";

# --- hosts without paths

# input:  [claim that counts, of one host]
# output: the same; a .bare one (annotations/ingress.jq) is answered, if it redirects: else the winner would be nobody
#
# A redirect of all that comes is an answer as a default backend is. One to HTTPS only gives way to any default backend.
def with_bare_redirected:
  def redirected: .status = 404 | .message = "No rule of an Ingress matches this path";
  if any(.[]; .bare) | not then .
  else
    map(if .bare and .moves and (.status | not) then redirected else . end)
    | if any(.[]; .pathType == "Default" and (.upstream or .status)) then .
      else ([to_entries[] | select(.value | .bare and .redirect).key][0]) as $first
        | if $first then .[$first] |= redirected else . end
      end
  end;

# --- what is told

# input: the state / output: problems of Ingresses with rules for hosts of which nothing is served
#
# Those with other problems know already.
def hosts_of_nobody:
  ([.hosts[] | select(length == 1 and .[0].of == null and (.[0].upstream | not)) | {(.[0].host): true}] | add // {}) as $is_nobodys
  | ([.problems[].of // empty | {(.): true}] | add // {}) as $is_troubled
  | .claims[]
  | select(.of and .pathType == "Default" and $is_nobodys[.host] and (.alias or $is_troubled[.of] | not))
  | {of, reason: "NoBackend",
     message: "nothing is served for host \(if .host == "" then "*" else .host end): it has no path and no default backend, so all its requests get a 404"};

# input: a claim or location; $host is its host / output: the same place as text
def place($host): "\($host) \(.path) \(.pathType) \(.of)";

# input: the state / output: problems of canaries whose main Ingress does not serve the path that they have in common
def canaries_of_nobody:
  ([.canaries[] | {(.host): true}] | add // {}) as $hosts
  | ([.servers[] | .host as $host | select($hosts[$host]).locations[] | {(place($host)): .}] | add // {}) as $at
  | .canaries[]
  | . as {$canary, of: $main}
  | $at[place(.host)] as $location
  | select($location.upstream | not)
  | {of: $canary.of, reason: ($location.reason // "CanaryWithoutMain"),
     message: "the canary gets no requests: \($location.message // "its main \($main) does not have \(.path) of host \(.host)")"};

# input:  [winner of one host]
# output: problems of those with a path that is a regular expression for one Ingress and a Prefix for another: nginx
#         asks the Prefix first, but where it is /, which is then no expression (rewrite.jq: guests make it one)
def hidden:
  (map(select(.pathType == "Prefix")) | map({(.path): .}) | add // {}) as $prefixes
  | any(.[]; .guest) as $has_guests
  | .[]
  | select(.pathType == "RegularExpression") | . as $expression
  | $prefixes[.path] // empty
  | select(.of != $expression.of)
  | (if .path == "/" and ($has_guests | not) then {hidden: ., before: $expression} else {hidden: $expression, before: .} end) as {$hidden, $before}
  | {of: $hidden.of, reason: "PathTaken",
     message: "\($hidden.pathType) path \(.path) of host \(if .host == "" then "*" else .host end) comes after \($before.pathType) path \(.path) of \($before.of), so no request is left for it\(if .path == "/" then "" else ", but those for longer names" end)"};

# input: the state / output: these problems
def unserved_problems:
  hosts_of_nobody,
  (if .canaries == [] then empty else canaries_of_nobody end),
  (.hosts[] | select(any(.[]; .pathType == "RegularExpression")) | hidden);
