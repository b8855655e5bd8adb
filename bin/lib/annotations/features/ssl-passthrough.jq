# ssl-passthrough: the TLS of a host goes to its pods as it comes; nginx reads the name in the handshake, and no more.
#
# What nginx cannot read it cannot route by path, nor protect: the Service of path / gets all of it, and of what
# protects, source ranges and block-cidrs only hold there (stream-blocks.jq); any other closes the host. Such a host is
# on the port for HTTP, too, and a client may ask for it in the TLS of another host: there, nobody gets to its pods. The
# oldest Ingress of the host decides for all of it.
#
# A claim that is passed on has .passed: {service, port, upstream, allow, deny}. It keeps no annotations: the other
# features have nothing to say there.
include "annotations/claims"; # annotations, own_namespace, closed, annotation_refused, problem
include "route/pods"; # has_pods, without_pod
include "route/ownership"; # owners
include "allow"; # is_acme_challenge, quoted

# input: [annotation that protects] / output: those that cannot be given where TLS is passed on
def lost_protections:
  . - ["ssl-passthrough", "allowlist-source-range", "whitelist-source-range", "denylist-source-range", "ssl-redirect", "force-ssl-redirect"];

# input: {name: what keys of a ConfigMap come to} / output: the keys that cannot be given there
def lost_keys: (select(.blocked_agents) | "block-user-agents"), (select(.blocked_referers) | "block-referers");

# input: {annotation: value} / output: the names of those that would change a request, which nobody does there. (Of
#         proxy-*, which are mostly defaults, nothing is said.)
def without_effect:
  keys - ["ssl-passthrough", "allowlist-source-range", "denylist-source-range", "ssl-redirect", "force-ssl-redirect",
    "from-to-www-redirect", "server-alias", "backend-protocol", "share-host-with", "preserve-trailing-slash", "enable-access-log"]
  | map(select(startswith("proxy-") | not));

# input: the deciding Ingress's claim of path / of a host, or null / output: what the host is: passed on, or not served
def passed($claim; $context):
  ($claim | annotations($context.options)) as $set
  | (. // ($claim + {path: "/"})) as $root
  | [($claim.protections // [] | lost_protections[]), ($context.configured.parts // {} | lost_keys)] as $lost
  | ($root | .pathType = "Prefix" | delpaths([["options"], ["moves"], ["balance"], ["also"]])) as $plain
  | if $root.reason == "ProtectionNotAvailable" then $plain
    elif $lost != [] then
      $plain | closed("ssl-passthrough leaves nothing to protect by \($lost | map(quoted) | join(", ")): nginx cannot read what is in the TLS of host \(.host)")
    elif $root.host == "" then $plain | closed("ssl-passthrough needs a host, which is the name in the TLS handshake")
    elif . == null or ($root.upstream or $root.status | not) then
      $plain | closed("ssl-passthrough needs the path / for host \(.host): its Service gets all connections")
    elif $root.status then $plain
    elif $root | has_pods($context.slices) | not then
      $plain | .message = ($root | without_pod($context.slices))
      | del(.upstream, .service, .port, .port_name, .protocol) + {status: 503, reason: "NoReadyEndpoints"}
    else
      $plain
      | .also = [$root | {service, port, port_name, upstream}]
      | .passed = ($root | {service, port, upstream} + ($set | {allow: .["allowlist-source-range"], deny: .["denylist-source-range"]} | with_entries(select(.value))))
      | .redirect = (if $set["ssl-redirect"] == false and ($set["force-ssl-redirect"] | not) then null else true end)
      | del(.upstream, .service, .port, .port_name, .protocol)
      | .status = 421 | .message = "This host ends TLS itself, which only a connection of its own gets to"
    end;

# input:  [claim] of one host, the oldest Ingress first, that count for it
# output: what becomes of them
def decided($context):
  def set: annotations($context.options);
  def is_of_rules: .to == null and (set.canary | not) and .only_challenges != true;
  ([.[] | select(is_of_rules)][0]) as $first
  | if $first == null then .[]
    elif $first | set["ssl-passthrough"] then
      ($first.of) as $of
      | ([.[] | select(.of == $of and .path == "/" and .to == null)] | (map(select(.pathType != "Default")) + .)[0]) as $root
      | ($root | passed($first; $context)),
        (.[] | select(.to or (.of != $of and is_acme_challenge))),
        ( [.[] | select(.of == $of and .path != "/" and .to == null)] | select(. != [])
          | . as $others | $first
          | annotation_refused("paths have no effect where ssl-passthrough counts: all connections for host \(.host) go to the Service of path /, not only \($others[0].path)") ),
        ( $first | (set | without_effect) as $names | select($names != [])
          | annotation_refused("\($names | join(", ")) \(if $names[1:] == [] then "has" else "have" end) no effect where ssl-passthrough counts: nginx cannot read what is in the TLS of host \(.host)") ),
        ( [.[] | select(.of != $of and .to == null and (is_acme_challenge | not))] | unique_by(.of)[]
          | problem("HostPassedOn"; "nothing is served of host \(.host): \($of), which is older, has its TLS passed on to its pods (ssl-passthrough)") )
    else
      .[] | if is_of_rules and set["ssl-passthrough"] then
          closed("the TLS of host \(.host) is not passed on, because \($first.of), which is older, has no ssl-passthrough") | .pathType |= (if . == "Default" then "Prefix" else . end)
        else .
        end
    end;

# input: [claim] / output: the same; where ssl-passthrough counts, others
def claims($context; answer):
  def passes: .of and .options and .to == null and annotations($context.options)["ssl-passthrough"];
  ([.[] | objects | select(passes) | {(.host): true}] | add) as $hosts
  | if $hosts == null then .
    else
      (map(select(.of and .host and .problem == null and .shut == null)
         | select(annotations($context.options).canary | not)) | owners($context)) as $owners
      | def counts: .of and .host and .problem == null and .shut == null and $hosts[.host]
          and ($context.settings.HOST_OWNERSHIP == "shared" or $owners[.host] == null or own_namespace == $owners[.host]);
      [ .[] | select(counts | not) ]
      + [ [.[] | select(counts)] | group_by(.host)[] | decided($context) ]
    end;

# --- in nginx.conf

# input: a model / output: the same; what is passed on is in .passed, and all servers are behind that (stream-blocks.jq)
def model:
  ready as $ready
  | [.servers[] | .host as $host | .locations[] | select(.passed and $ready[.passed.upstream]) | {$host} + .passed] as $passed
  | if $passed == [] then .
    else
      .passed = $passed
      | .passed_blocked = .configured.parts.blocked_networks
      | .servers |= map(.behind = true)
      | each_location(when(.passed and (.redirect | not);
          .directives = "if ($client_scheme = http) { return 404 \"This host is served over HTTPS only.\\n\"; } "))
    end;
