# The Lease by which the replicas agree who leads: who holds it, and how it is acquired, renewed or released.
#
# input:  the Lease as the API server gave it, or nothing (jq -n: an empty input is no error)
# args:   $print: "holder" or "wish"
#         for "wish": $namespace and $name of the Lease; $holder: who is to hold it, "" for nobody; $seconds: how long
# output: if $print is "holder": "SECONDS HOLDER": how long the Lease is valid after its last change, and who holds it
#         if it is "wish": the Lease to write. It keeps the resourceVersion that was read. If the cluster has a newer
#         version, the API server denies the write (409 Conflict).

# input: [Lease], or another answer / output: "15 bash-ingress-1"; no holder: "15 "
def holder:
  if length == 1 and .[0].kind == "Lease" then .[0].spec | "\(.leaseDurationSeconds // 0) \(.holderIdentity // "")"
  else error("the answer is not a Lease")
  end;

# output: the time with six digits after the point (MicroTime)
def micro_time:
  now | "\(floor | todate[:-1]).\("00000\((. - floor) * 1000000 | floor)"[-6:])Z";

# input: [Lease] or [] / output: the Lease to write, with the fields as client-go writes them
def wish:
  micro_time as $now
  | .[0] // {apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: {$namespace, $name}}
  | del(.metadata.managedFields)
  | (.spec.holderIdentity // "") as $before
  | .spec += {holderIdentity: $holder, leaseDurationSeconds: $seconds, renewTime: $now}
  | if $before != $holder then .spec.acquireTime = $now else . end
  | if .spec.leaseTransitions == null then .spec.leaseTransitions = 0
    elif $holder != "" and $before != $holder then .spec.leaseTransitions += 1
    else .
    end;

[inputs] | if $print == "holder" then holder else wish end
