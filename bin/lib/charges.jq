# Who pays for what has changed, if nobody has to wait. Most often nobody has to, and only the lines that differ are read.
#
# input:  the lines of the snapshot and of the live one that differ (jq -n)
# args:   $snapshot: the text of the snapshot; $now: a time in whole seconds
#         $accounts: [{"namespace": ACCOUNT, ...}] (accounts.jq), or []
# output: the accounts for the next call; nothing if somebody has to wait or waits already, which hold-back.jq decides
include "accounts"; # cost, most_to_owe, namespace, owes, charge, settled

# input: the text of a snapshot / output: its lines of Ingresses
def ingresses: split("\n") | map(select(startswith("{\"ingress\""))) | join("\n");

# input: a line / output: whether it can cause a reload: that of a Service can if an Ingress names it
def counts($ingresses): .service as $service | $service == null or ($ingresses | contains("\"service\":" + ($service | tojson)));

($snapshot | ingresses) as $ingresses
| [inputs] as $lines
| ($accounts[0] // {}) as $accounts
| ([$lines[] | select(counts($ingresses)) | namespace] | unique) as $changing
| if any($lines[]; .whole) or any($accounts[]; .held) or any($changing[]; . as $namespace | $accounts[$namespace] | owes($now) + cost > most_to_owe) then empty
  else reduce $changing[] as $namespace ($accounts; .[$namespace] |= (charge($now) + {changed: $now})) | settled($now)
  end
