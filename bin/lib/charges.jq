# Who pays for what went live: each namespace of which something has changed.
#
# input:  the lines that differ, of the snapshot that went live and of the one before (jq -n)
# args:   $snapshot: the text of the snapshot; $now: a time in whole seconds
#         $accounts: [{"namespace": ACCOUNT, ...}] (accounts.jq), or []
# output: the accounts for the next call
include "accounts"; # namespace, charge, settled

# input: the text of a snapshot / output: its lines of Ingresses
def ingresses: split("\n") | map(select(startswith("{\"ingress\""))) | join("\n");

# input: a line / output: whether it can cause a reload: that of a Service can if an Ingress names it
def counts($ingresses): .service as $service | $service == null or ($ingresses | contains("\"service\":" + ($service | tojson)));

($snapshot | ingresses) as $ingresses
| ([inputs] | group_by(.) | map(select(length == 1)[0])) as $lines # one that is in both has only moved
| ([$lines[] | select(counts($ingresses)) | namespace] | unique) as $changed
| reduce $changed[] as $namespace ($accounts[0] // {}; .[$namespace] |= (charge($now) + {changed: $now}))
| settled($now)
