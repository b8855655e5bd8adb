# How much one Ingress, and all of one namespace, may ask for, in numbers: limits.json has them.
#
# (jq 1.6 wants `import` after `include`.)
import "limits" as $table;

# input: the setting LIMITS, as "namespace_hosts=20000 ingress_paths=10000" / output: {"name of a limit": number, ...}
def limits: $table[0] + ([scan("([a-z_]+)=([0-9]+)") | {(.[0]): (.[1] | tonumber)}] | add // {});
