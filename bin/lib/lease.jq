# The Lease by which the replicas agree who leads, with the fields as client-go writes them.
#
# input:  the Lease as it is, or nothing while there is none (jq -n)
# args:   $namespace and $name of the Lease; $holder: who is to hold it, "" for nobody; $seconds: how long
# output: the Lease to write. It keeps the resourceVersion of the one that was read: if that
#         is no longer the one in the cluster, the API server refuses the write (409 Conflict).

# output: the time with six digits after the point (MicroTime)
def micro_time:
  now | "\(floor | todate[:-1]).\("00000\((. - floor) * 1000000 | floor)"[-6:])Z";

micro_time as $now
| [inputs][0] // {apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: {$namespace, $name}}
| del(.metadata.managedFields)
| (.spec.holderIdentity // "") as $before
| .spec += {holderIdentity: $holder, leaseDurationSeconds: $seconds, renewTime: $now}
| if $before != $holder then .spec.acquireTime = $now else . end
| if .spec.leaseTransitions == null then .spec.leaseTransitions = 0
  elif $holder != "" and $before != $holder then .spec.leaseTransitions += 1
  else .
  end
