# Which Ingresses count: not what exceeds a limit (limits.jq), nor what nginx rejects (bin/quarantine); and what the
# stages of level 2 want to know before any claim is looked at.
include "route/tls"; # known_secrets
include "route/limits"; # limits, within_namespace_limits
include "route/shut"; # only_of
include "route/ownership";
include "route/reachable"; # reachable
include "allow";

# output: .ingresses with those last whose namespace is being deleted
#
# Such a namespace keeps its Ingresses until its pods have ended (since Kubernetes 1.33), which may be half a minute.
# They give way to all others, whatever their age: false sorts before true. (sort_by keeps the order of what is equal.)
def terminating_last:
  (.lines | map(select(.terminating) | {(.terminating): true}) | add // {}) as $terminating
  | if $terminating == {} then . else .ingresses |= sort_by($terminating[.ingress | namespace] // false) end;

# input: summary of an Ingress that is quarantined / output: the problem; $message is what nginx says of it
def quarantine_problem($message):
  {ingress, reason: "RejectedByNginx", message: "it is quarantined: nothing of it is served, because nginx rejects it: \($message)"};

# input: [summary of an Ingress]
# output: {options: [{annotation: value}], numbered: the same, with the number of its set in .options.options}
#
# Many Ingresses have the same set of annotations. So the model has each set once, and a claim has its number, from 1.
def numbered_sets:
  ([.[].options.set | values] | unique) as $options
  | ($options | to_entries | map({(.value | tojson): (.key + 1)}) | add // {}) as $numbers
  | {$options,
     numbered: map(if .options.set then .set = .options.set | .options.options = $numbers[.set | tojson] | del(.options.set) else . end)};

# output: the state with
#   limits, secrets: what they say; shared: [namespace whose Services and Secrets any annotation may name]
#   ours: [all Ingresses of ours, the oldest first], as their summaries are
#   quarantined: {"namespace/name": {without_hosts}} of those that are still, byte for byte, what nginx rejected
#   ingresses: those within the limits, with their set of annotations as a number. Quarantined ones stay among them until
#     by_owner has decided: a host may be theirs
#   served: those of them that are not quarantined, as their summaries are
#   shut: [claim of one beyond a limit] (shut.jq)
#   options, features: the sets of annotations, and what they need
# and problems.
# args: $rejected: what `quarantine` prints: {"namespace/name": {digest, message, without_hosts}}
def counted($rejected):
  reachable
  | terminating_last
  | .ours = .ingresses
  | .limits = (.settings.LIMITS | limits)
  | .limits as $limits
  | .shared = (.settings.SHARED_NAMESPACES | split(","))
  | .secrets = (.lines | known_secrets)
  | (.ours | map(select($rejected[.ingress] and $rejected[.ingress].digest == tojson))) as $rejected_ones
  | .quarantined = ($rejected_ones | map({(.ingress): ($rejected[.ingress] | {without_hosts})}) | add // {})
  | .quarantined as $quarantined
  | [.ours | within_namespace_limits($limits)] as $limited
  | ($limited | map(select(.problem | not))) as $within_limits
  | .served = ($within_limits | map(select($quarantined[.ingress] | not)))
  | .shut = [$limited[].shut[]?]
  | ($within_limits | numbered_sets) as {$options, $numbered}
  | .ingresses = ($numbered | map(if $quarantined[.ingress] then .problems = [] else . end))
  | .options = $options # those of quarantined ones tell what stays shut
  | .features = ([.served[].uses[]?] | unique)
  | .problems += [$limited[].problem // empty, ($rejected_ones[] | quarantine_problem($rejected[.ingress].message))]
  | .additions += {
      options: (if $quarantined == {} then .options else .served as $served | .options | only_of($served) end), # nothing of what nginx rejects
      features };
