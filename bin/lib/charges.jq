# Who pays for what went live: each namespace of which something has changed.
#
# input:  the lines that differ, of the snapshot that went live and of the one before (jq -n)
# args:   $snapshot: the text of the snapshot; $now: a time in whole seconds
#         $accounts: [{"namespace": ACCOUNT, ...}] (accounts.jq), or []
# output: the accounts for the next call
include "accounts"; # namespace, charge, settled

# input: the text of a snapshot / output: {"namespace/name": true, ...}: the Services that its Ingresses name
def named_services:
  reduce (split("\n")[] | select(startswith("{\"ingress\"")) | split("\"service\":\"")[1:][] | split("\"")[0]) as $service ({}; .[$service] = true);

# input: a line / output: whether it can cause a reload: that of a Service can if an Ingress names it
def counts($named): .service == null or $named[.service];

($snapshot | named_services) as $named
| ([inputs] | group_by(.) | map(select(length == 1)[0])) as $lines # one that is in both has only moved
| ([$lines[] | select(counts($named)) | namespace] | unique) as $changed
| reduce $changed[] as $namespace ($accounts[0] // {}; .[$namespace] |= (charge($now) + {changed: $now}))
| settled($now)
