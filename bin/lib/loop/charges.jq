# Who pays for what went live: each namespace of which something has changed.
#
# input:  the lines that differ, of the snapshot that went live and of the one before (jq -n)
# args:   $snapshot: the text of the snapshot; $now: a time in whole seconds
#         $accounts: [{"namespace": ACCOUNT, ...}] (accounts.jq), or []
# output: the accounts for the next call
include "loop/accounts"; # namespace, used, counts, charge, settled

# input: the text of a snapshot / output: {"what is used": true, ...}. (Most lines need not be parsed.)
def all_used:
  reduce (split("\n")[] | select(startswith("{\"ingress\""))
    | if contains("\"uses\":[") then fromjson | used
      else split("\"service\":\"")[1:][] | split("\"")[0]
      end) as $used ({}; .[$used] = true);

($snapshot | all_used) as $used
| ([inputs] | group_by(.) | map(select(length == 1)[0])) as $lines # one that is in both has only moved
| ([$lines[] | select(counts($used)) | namespace] | unique) as $changed
| reduce $changed[] as $namespace ($accounts[0] // {}; .[$namespace] |= (charge($now) + {changed: $now}))
| settled($now)
