# The rules of an Ingress before they become claims: those within the limits; and paths that differ only by a slash.
include "allow"; # as_lines

# --- how much one Ingress may ask for (limits.jq): it costs everybody time in each pass and at each reload, and memory

# input:  [IngressRule]
# output: {rules, with no more hosts and paths than an Ingress may have; hosts, paths: how many there were; left_out:
#         [the other hosts]}
def first_rules($limits):
  reduce .[] as $rule ({rules: [], is_host: {}, hosts: 0, paths: 0, left_out: []};
    "\($rule.host // "")" as $host
    | if .is_host[$host] then . else .is_host[$host] = true | .hosts += 1 end
    | ([$limits.ingress_paths - .paths, 0] | max) as $left
    | (if .hosts <= $limits.ingress_hosts then
         .rules += [$rule | if .http.paths then .http.paths |= .[:$left] else . end]
       else .left_out += [$host]
       end)
    | .paths += ($rule.http.paths // [] | length));

# input:  an Ingress
# output: the same; if it asks for too much, without the rest, and with the problem in .excess, the hosts of which
#         nothing is served in .left_out, and in .may_challenge whether one of its paths could be for ACME challenges
#
# Each regular expression has to be weighed, so an Ingress may have fewer of these (.asked: annotations/ingress.jq).
def within_limits($settings):
  .asked.has_expressions as $has_expressions
  | ( $settings.limits
      | if $has_expressions then .ingress_paths = ([.ingress_paths, .ingress_expressions] | min) else . end ) as $limits
  | if (.spec.rules // [] | length) <= $limits.ingress_hosts and (.spec.tls // [] | length) <= $limits.ingress_hosts
      and ([.spec.rules[]?.http.paths // [] | length] | add // 0) <= $limits.ingress_paths then .
    else
      .may_challenge =
        ([.spec.rules[]?.http.paths[]?.path | strings] | as_lines | test("acme.{0,16}challenge|%"; "i"))
      | (.spec.rules // [] | first_rules($limits)) as {$rules, $hosts, $paths, $left_out}
      | (.spec.tls // [] | length) as $entries
      | .spec.rules = $rules
      | .left_out = $left_out
      | .spec.tls |= (. // [])[:$limits.ingress_hosts]
      | if $hosts > $limits.ingress_hosts or $paths > $limits.ingress_paths or $entries > $limits.ingress_hosts then
          .excess = {reason: "LimitExceeded",
            message: "it has \($hosts) hosts, \($paths) paths and \($entries) entries in spec.tls; of one Ingress, only the first \($limits.ingress_hosts) hosts, \($limits.ingress_paths) paths and \($limits.ingress_hosts) entries are served"}
        else .
        end
    end;

# --- /a and /a/

# input: an Ingress / output: {"host path": true, ...} of its paths with a slash at the end, but for Exact ones
def paths_with_slash:
  [ .spec.rules[]? | (.host // "") as $host | .http.paths[]?
    | select(.pathType != "Exact").path | strings
    | select(endswith("/") and (endswith("//") | not) and . != "/")
    | {"\($host) \(.)": true} ]
  | add // {};

# input: an Ingress / output: the same; of two paths such as /a and /a/ of one host, /a is Exact
#
# To a Prefix, a slash at its end means nothing, so both would be the same path. Instead, /a/ serves all that is below,
# and /a only itself. (Between regular expressions, a slash makes a difference.)
def exact_beside_slash:
  paths_with_slash as $with_slash
  | if $with_slash == {} or .asked.has_expressions then .
    else
      (.spec.rules[]?) |= (
        (.host // "") as $host
        | (.http.paths[]? | select($with_slash["\($host) \(.path // "")/"])).pathType = "Exact")
    end;
