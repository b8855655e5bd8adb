# Which Ingresses show which addresses: what is written to their status.
#
# input:  {items: [Ingress, ...]}, all that there are (jq -n: no input is an error)
# args:   $model: [the routing model that is live], which names the Ingresses that are ours
#         $controller: the name of this controller; $me and $namespace: the name and namespace of this pod
#         $address, $service: the settings PUBLISH_ADDRESS and PUBLISH_SERVICE
#         $pods: [what pods.jq makes]; $found: [the Service, or a ServiceList with it], or []
#         $sent: [{"namespace/name of an Ingress": the resourceVersion that we have replaced}, ...], or []
#         $most: the greatest number of Ingresses to write
#         $ending: whether this pod ends. If no other pod stays, no Ingress is ours any more. If this pod is not
#         among the pods, it was deleted by force, and nobody knows whether another stays: all addresses stay.
# output: eight lines:
#           why there is no address, if there is none: then no Ingress gets one, and none of ours loses one
#           what is written, in words
#           if an Ingress gets a new address: the pods that must serve its routes first
#           how many Ingresses have to wait for the next pass
#           {"namespace/name of an Ingress": status} of those that get their first address
#           what $sent is once all is written
#           "soon" if the next pass should not wait: no pod is ready yet, or not all is written
#           a List of Ingresses with their new status
#
# The list may be older than the last write. So a version of an Ingress that we have
# replaced is not replaced again: the API server would deny it.
include "fetch/items";
include "allow";

# --- the addresses of this controller: {points: [an entry of an Ingress's status, ...]}, or {wait: why there is none}

# input: an address or a name / output: "1.2.3.4" => {"ip": "1.2.3.4"}
#
# No name has a colon; and an IPv6 address here may have any form, also one that nginx does not take (is_ipv6).
def point: if is_ipv4 or contains(":") then {ip: .} else {hostname: .} end;

# input: a Service, or null if there is none
def service_points:
  [.spec.externalIPs[]? | point] as $external
  | [.status.loadBalancer.ingress[]? | .ip // .hostname // empty | point] as $balancers
  | if . == null then {wait: "Service \($service) does not exist"}
    elif .spec.type == "LoadBalancer" then
      {points: ($balancers + $external), wait: "Service \($service) has no address of a load balancer yet"}
    elif .spec.type == "ExternalName" then {points: [.spec.externalName | point]}
    elif $external != [] then {points: $external}
    else {points: [.spec.clusterIPs[]? | select(. != "None") | point], wait: "Service \($service) has no address"}
    end;

# input: what pods.jq makes
def node_points:
  if .mine then {points: [.nodes[] | point]}
  else {wait: "namespace \($namespace) has no pod called \($me). Set PUBLISH_ADDRESS, or POD_NAME and POD_NAMESPACE"}
  end;

def points:
  $pods[0] as $pods
  | if $pods.mine and $pods.ready == [] then {wait: "none of our pods is ready yet", soon: true}
    elif $address != "" then {points: [$address | split(",")[] | point]}
    elif $service != "" then
      $found[0] // {}
      | (if .items then .items[0] // null elif .spec then . else null end)
      | service_points
    else $pods | node_points
    end
  | if (.points // []) != [] then {points: (.points | unique)} else {wait, soon} end;

# --- what is written

# input: an Ingress / output: the points that it shows now
def shown: [.status.loadBalancer.ingress[]? | with_entries(select(.key == "ip" or .key == "hostname"))];

# input: an Ingress / output: whether this controller wrote what it shows (Server-Side Apply's managedFields)
def is_written_by_us:
  any(.metadata.managedFields[]?;
    .manager == $controller and .operation == "Update" and .subresource == "status"
    and .fieldsV1["f:status"]["f:loadBalancer"]["f:ingress"] != null);

# input: an Ingress / output: its replacement, whose status has these points
#
# A replacement of the status also writes labels and annotations, so it has those that were read,
# and the resourceVersion: if anything has changed since, the API server denies it.
def showing($points):
  {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: (.metadata | del(.managedFields)), spec,
   status: {loadBalancer: (if $points == [] then {} else {ingress: $points} end)}};

# input: [Ingress] / output: "Ingress a, b and 3 more", or nothing for none
def listed:
  select(length > 0)
  | "Ingress \(map(key) | .[:8] | join(", "))\(if length > 8 then " and \(length - 8) more" else "" end)";

input
| points as $exposure
| (if $ending then {} else [$model[0].claimants[]? | {(.): true}] | add // {} end) as $is_ours
| ($sent[0] // {}) as $sent
| [ .items[] | select($sent[key] != .metadata.resourceVersion) ] as $current
| [ $current[] | select($is_ours["Ingress \(key)"] | not) | select(shown != [] and is_written_by_us) ] as $left
| [ $current[] | select($is_ours["Ingress \(key)"]) | select($exposure.points and shown != $exposure.points) ] as $arrived
| (if $ending and ($pods[0].others > 0 or ($pods[0].mine | not)) then [] else $left end) as $left
| ($left | length + ($arrived | length) - $most) as $waiting
| $left[:$most] as $left
| $arrived[:$most - ($left | length)] as $arrived
| ( if $ending then "" else $exposure.wait // "" end ),
  ( [ ($arrived | listed | "\(.): \($exposure.points | map(.ip // .hostname) | join(", "))"),
      ($left | listed | "\(.): no address, since we no longer serve them") ] | join("; ") ),
  ( if any($arrived[]; $exposure.points - shown != []) then $pods[0].ready | join(" ") else "" end ),
  ( if $waiting > 0 then $waiting else 0 end ),
  ( [$arrived[] | select(shown == []) | {(key): showing($exposure.points).status}] | add // {} | tojson ),
  ( [.items[] | select($sent[key] == .metadata.resourceVersion), $left[], $arrived[]
     | {(key): .metadata.resourceVersion}]
    | add // {} | tojson ),
  ( if $exposure.soon or $waiting > 0 then "soon" else "" end ),
  ( {apiVersion: "v1", kind: "List",
     items: [ ($left[] | showing([])), ($arrived[] | showing($exposure.points)) ]}
    | tojson )
