# permanent-redirect, temporal-redirect, app-root, from-to-www-redirect, server-alias: other URLs, and other hosts.
#
# A redirect needs no pod. So it counts also where the Service does not exist or has no ready endpoint: the claim keeps
# {options: their number} in .moves, of which `model` makes the redirect. A host without paths and without a default
# backend is redirected, too: its claim is .bare (annotations/ingress.jq). And app-root is for / of each host, also
# where its Ingress has only other paths: so it gets an Exact path / of its own there, also beside an Ingress of its
# namespace that has Prefix /, which keeps all other URLs. Where another namespace has a path /, or another Ingress an
# Exact or regular one, it gets none.
include "annotations/claims";
include "quoting"; # with_variables
include "route/ownership"; # aliases, challenges_last, owners, shares, shares_with, www_host
include "allow"; # is_acme_challenge

# How much the aliases of one namespace may come to. A hundred small Ingresses of one host with 20 aliases each would be
# 200,000 paths: the limits of limits.jq count only what rules ask for.
def most_of_aliases: {aliases: 1000, wildcards: 50, paths: 10000};

# input: [{alias, host, namespace, of}, the oldest Ingress first] / output: {aliases: those that count, beyond:
# {of: true}}; $paths is {"namespace/host": number of its claims}
def within_most($paths):
  reduce .[] as $it ({used: {}, aliases: [], beyond: {}};
    ((.used[$it.namespace] // {aliases: 0, wildcards: 0, paths: 0})
     | .aliases += 1
     | .wildcards += (if $it.alias | startswith("*") then 1 else 0 end)
     | .paths += $paths["\($it.namespace)/\($it.host)"]) as $sum
    | if any($sum | to_entries[]; .value > most_of_aliases[.key]) then .beyond[$it.of] = true
      else .used[$it.namespace] = $sum | .aliases += [$it]
      end);

# input: {annotation: value} / output: whether the client of a path may be sent elsewhere before a pod is asked
#
# Not where only some clients get in: without a Service, those features are not there to tell who does.
def moves_without_pod:
  (moves_all or .["app-root"])
  and all(keys[]; test("^(auth-|allowlist-|denylist-|limit-)") | not);

# input:  [claim] of all hosts, without those of canaries, which have no host
# output: {host: true} of those that somebody has; or, of those for which there are rules with nothing but challenges,
#         {host: {namespace: whether these are of Ingresses that have nothing else}}
def taken:
  def of_challenges: .only_challenges or (.pathType != "Default" and is_acme_challenge);
  def of_nobody: .pathType == "Default" and .upstream == null and .status == null;
  (reduce (.[] | select(of_challenges)) as $claim ({};
     .[$claim.host][$claim.of] = ($claim.only_challenges // false))) as $rules
  | reduce .[] as $claim ({};
      $rules[$claim.host][$claim.of // ""] as $only
      | if .[$claim.host] == true then .
        elif $only == null or ($claim | of_challenges or of_nobody | not) then .[$claim.host] = true
        else .[$claim.host][$claim | own_namespace] |= (. != false and $only)
        end);

# input:  a host
# output: whether an alias or a redirect of $namespace may have it; $shares are the namespaces with which it shares that
#
# A challenge of its own takes it no host: cert-manager makes one for each host of a certificate, and all other requests
# would get a 404 as long as it is there. But never has a host two namespaces that did not agree on it: by a challenge,
# an authority would give one of them a certificate for what the other serves.
def is_free($taken; $namespace; $shares):
  $taken[.]
  | . == null
    or (. != true
        and all(to_entries[]; .key == $namespace or (.value and (.key as $other | $shares | shares_with($other)))));

# input:  [claim]; $taken is what `taken` says
# output: as within_most: the aliases of which each goes to the oldest Ingress that wants it; .wanted: all of them
def aliases_of_all($taken; $context):
  (reduce (.[], $context.shut[] | select(.of)) as $claim ({}; .["\($claim | own_namespace)/\($claim.host)"] += 1)) as $paths
  | (map(select(.share)) | group_by(.host) | map(shares as $shares | {(.[0].host): $shares}) | add // {}) as $shares
  | [ to_entries | map(.value + {number: .key}) | challenges_last[] | select(.options)
      | . as $claim
      | (annotations($context.options) | aliases)
      | {alias: ., host: $claim.host,
         namespace: ($claim | own_namespace), of: $claim.of, number: $claim.number} ]
  | . as $wanted
  | group_by(.alias)
  | map(.[0] | select(. as {$host, $namespace} | .alias | is_free($taken; $namespace; $shares[$host][$namespace])))
  | sort_by(.number)
  | within_most($paths) + {$wanted};

# --- what is told of further hosts and of /, where somebody else has them

# input:  what aliases_of_all says, with .claims
# output: a problem of each Ingress with aliases that it does not get (more of them than its namespace may have are
#         another problem)
def lost_aliases:
  ([.aliases[] | {(.alias): .}] | add // {}) as $given
  | ([.claims[] | {"\(.of) \(.host)": true}] | add // {}) as $has
  | .beyond as $beyond
  | [ .wanted[]
      | $given[.alias] as $it
      | select(($beyond[.of] or $has["\(.of) \(.alias)"]) | not)
      | select($it == null or $it.of != .of and ($it | [.namespace, .host]) != [.namespace, .host]) ]
  | group_by(.of)[]
  | ([.[].alias] | unique | join(", ")) as $lost
  | .[0] | annotation_refused("server-alias does not count for \($lost): a rule or an older Ingress has that host");

# input: [claim] with server-alias / output: a problem of each Ingress with more of them than count
def too_many_aliases($options):
  unique_by(.of)[] | select(annotations($options)["server-alias"] | length > 20)
  | annotation_refused("of server-alias, only the first 20 hosts count");

# input: [claim] with from-to-www-redirect; $others are the hosts that others have / output: problems
def lost_moves($others):
  unique_by([.of, .host])[]
  | [.host | www_host] as [$moved]
  | if $moved == null then
      annotation_refused("from-to-www-redirect does not count for host \(if .host == "" then "*" else .host end): nothing could be redirected to it")
    elif $others[$moved] then
      annotation_refused("from-to-www-redirect does not count for host \(.host): \($moved) has rules, or is an alias")
    else empty
    end;

# input:  [claim] with app-root
# args:   $roots: {host: [claim of /]}; $rooted: [claim that gets a path / for it]
# output: problems
def lost_roots($roots; $rooted):
  ($rooted | map({(.host): .of}) | add // {}) as $by
  | unique_by([.of, .host])[]
  | . as {$of, $host}
  | ($roots[$host] // []) as $its
  | select(
      if $by[$host] then $by[$host] != $of
      else all($its[]; .of != $of) or any($its[]; .of != $of and .pathType == "Exact")
      end)
  | annotation_refused("app-root does not count for host \(if $host == "" then "*" else $host end): another Ingress has / there");

# --- hooks

# input:  [claim]
# output: the same, and claims for hosts that no rule is for: of two Ingresses that want one, the older gets it
#
# An alias serves what its host serves, as far as that is of the same namespace.
def claims($context; answer):
  def set: annotations($context.options);
  . as $all
  # of the Ingresses beyond a limit, too, aliases take no host
  | ([(.[] | select(set.canary | not)), ($context.shut[] | select(.alias | not))] | taken) as $taken
  | aliases_of_all($taken; $context) as $all_aliases
  | $all_aliases as {$aliases, $beyond}
  | (reduce $aliases[] as $it ({}; .["\($it.namespace)/\($it.host)"] += [$it.alias])) as $aliases_of
  | def at_aliases: . + {host: $aliases_of["\(own_namespace)/\(.host)"][]?, alias: true};
  ([$aliases[] | {(.alias): true}] | add // {}) as $is_alias
  | ([ $all | challenges_last[] | select(.options and set["from-to-www-redirect"])
       | . + {to: .host, host: (.host | www_host)} ]
     | group_by(.host)
     | map(.[0] | own_namespace as $of | select(($is_alias[.host] | not)
         and (([.] | shares[$of]) as $shares | .host | is_free($taken; $of; $shares))))) as $moved
  # what is not served, because the host is not shared with its namespace, is in nobody's way
  | (map(select(set.canary | not)) | owners($context)) as $owners
  | ([.[] | select(.share and own_namespace == $owners[.host]) | {(.host): true}] | add // {}) as $is_shared
  | ([.[] | select(.path == "/" and .pathType != "Default")
       | select($context.settings.HOST_OWNERSHIP == "shared" or .host == "" or own_namespace == $owners[.host]
           or $is_shared[.host] or $is_shared[.host | as_wildcard])] | group_by(.host)
     | map({(.[0].host): .}) | add // {}) as $roots
  | ([ $all[] | select(.of and .options and set["app-root"])
       | . as $claim
       | select(all($roots[.host][]?;
           .pathType == "Prefix" and .of != $claim.of and own_namespace == ($claim | own_namespace))) ]
     | unique_by(.host)) as $rooted
  | ($all | map(when(.options and (set | moves_without_pod) and ((.bare | not) or (set | moves_all)); .moves = {options}))) as $all
  | $all
    + [ $all[] | select(.of) | at_aliases ]
    + [ $context.shut[] | select(.alias | not) | {shut: at_aliases} ]
    + [ $moved[] | {of, created, options, share, only_challenges, host, to, path: "/", pathType: "Prefix", alias: true} ]
    + [ $rooted[] | {of, created, options, host, path: "/", pathType: "Exact"} | ., at_aliases ]
    + [ $all | map(select(.of and .options and (set.canary | not)))
        | (map(select(set["server-alias"])) | too_many_aliases($context.options), ($all_aliases + {claims: .} | lost_aliases)),
          (map(select(set["from-to-www-redirect"])) | lost_moves($taken + $is_alias | delpaths([$moved[] | [.host]]))),
          (map(select(set["app-root"])) | lost_roots($roots; $rooted)) ]
    + [ $beyond | keys[] | {of: .}
        | problem("LimitExceeded"; "not all of its server-alias are served: those of its namespace come to more than \(most_of_aliases.aliases) hosts, \(most_of_aliases.wildcards) wildcards or \(most_of_aliases.paths) paths") ];

# input: a location / output: the directives that redirect (from-to-www-redirect names the port, as in ingress-nginx)
def location:
  (if .set["relative-redirects"] then "" else "$client_scheme://$request_host" end) as $origin
  | .set as $set
  | (if $set | has("preserve-trailing-slash") | not then "$moved_uri"
     elif $set["preserve-trailing-slash"] then "$request_uri"
     else "$moved_uri_without_slash"
     end) as $moved
  | (.to // empty | "return 308 $client_scheme://\(.):$client_port\($moved); "),
    (select($origin == "") | "absolute_redirect off; "),
    ($set["app-root"] // empty
     | if . == "" then
         "if ($uri = /) { return 503 \"503 Service Temporarily Unavailable: closed, because it is not clear where app-root leads (its Events say why)\\n\"; } "
       else "if ($uri = /) { return 302 \"\($origin)\(.)\"; } "
       end),
    (if $set["temporal-redirect"] then
       {to: $set["temporal-redirect"], code: ($set["temporal-redirect-code"] // 302)}
     elif $set["permanent-redirect"] then
       {to: $set["permanent-redirect"], code: ($set["permanent-redirect-code"] // 301)}
     else empty
     end
     | "return \(.code) \"\(if .to | startswith("/") then $origin else "" end)\(.to | with_variables)\"; "),
    (select(.redirect and ($set["use-port-in-redirects"] or ($set | has("preserve-trailing-slash"))))
     | "if ($client_scheme = http) { return 308 https://$plain_host\(if $set["use-port-in-redirects"] then ":443" else "" end)\($moved); } ");

# input: model / output: the same with the redirects of locations that no pod serves
def model:
  .options as $options
  | each_location(when(moves_alone;
      .directives = ([(.directives // empty), ({set: $options[.moves.options - 1]} + . | location)] | add)));
