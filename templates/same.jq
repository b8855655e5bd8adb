# Does the same routing follow from two snapshots?
#
# input:  two snapshots, read with `inputs` (jq -n)
# output: true if they differ in nothing but what `publish` wrote: the status of Ingresses
def deciding:
  .ingresses.items |= map(del(.status, .metadata.resourceVersion, .metadata.managedFields));

[inputs] as [$old, $new]
| ($old | del(.ingresses)) == ($new | del(.ingresses)) and ($old | deciding) == ($new | deciding)
