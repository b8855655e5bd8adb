# Which Ingresses count: not what exceeds a limit (limits.jq), nor what nginx rejects (bin/quarantine).
include "route/limits"; # within_namespace_limits
include "route/shut";
include "route/ownership"; # these two are not used here: only so that jq 1.8.2 does not crash (bin/README.md)

# input: digest of an Ingress that is quarantined / output: the problem; $message is what nginx says of it
def quarantine_problem($message):
  {ingress, reason: "RejectedByNginx", message: "it is quarantined: nothing of it is served, because nginx rejects it: \($message)"};

# input:  [digest of an Ingress of ours, the oldest first]
# args:   $rejected: what `quarantine` prints: {"namespace/name": {digest, message, without_hosts}}
# output: {within_limits: [digest],
#          quarantined: {"namespace/name": {without_hosts}}, those that are still, byte for byte, what nginx rejected;
#          ingresses: [digest], which count: those within the limits that are not quarantined,
#          shut: [claim of one beyond a limit],
#          problems: [{ingress, reason, message, ...}]}
def counted($rejected; $limits):
  map(select($rejected[.ingress] and $rejected[.ingress].digest == tojson)) as $rejected_ones
  | ($rejected_ones | map({(.ingress): ($rejected[.ingress] | {without_hosts})}) | add // {}) as $quarantined
  | [within_namespace_limits($limits)] as $limited
  | ($limited | map(select(.problem | not))) as $within_limits
  | {$within_limits, $quarantined,
     ingresses: ($within_limits | map(select($quarantined[.ingress] | not))),
     shut: [$limited[].shut[]?],
     problems: [$limited[].problem // empty, ($rejected_ones[] | quarantine_problem($rejected[.ingress].message))]};
