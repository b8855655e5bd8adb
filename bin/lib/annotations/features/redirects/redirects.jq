# permanent-redirect, temporal-redirect, app-root, from-to-www-redirect, server-alias: other URLs, and other hosts.
#
# A redirect needs no pod. So it counts also where the Service does not exist or has no ready endpoint: the claim keeps
# {options: their number} in .moves, of which `model` makes the redirect. A host without paths and without a default
# backend is redirected, too: its claim is .bare (annotations/ingress.jq). And app-root is for / of each host, also
# where its Ingress has only other paths: so it gets an Exact path / of its own there, also beside an Ingress of its
# namespace that has Prefix /, which keeps all other URLs. Where another namespace has a path /, or another Ingress an
# Exact or regular one, it gets none.
#
# Which further hosts there are, redirects/further-hosts.jq says.
include "annotations/features/redirects/further-hosts"; # taken, aliases_of_all, www_redirects; lost_aliases, lost_moves
include "annotations/claims";
include "quoting"; # with_variables
include "route/ownership"; # owners, as_wildcard
include "allow";

# input: {annotation: value} / output: whether the client of a path may be sent elsewhere before a pod is asked
#
# Not where only some clients get in: without a Service, those features are not there to tell who does.
def moves_without_pod:
  (moves_all or .["app-root"])
  and all(keys[]; test("^(auth-|allowlist-|denylist-|limit-)") | not);

# --- app-root

# input:  [claim]
# output: {host: [claim of /]}. What is not served, as its namespace does not have the host, is in nobody's way
def roots($context):
  (map(select(annotations($context.options).canary | not)) | owners($context)) as $owners
  | ([.[] | select(.share and own_namespace == $owners[.host]) | {(.host): true}] | add // {}) as $is_shared
  | [ .[] | select(.path == "/" and .pathType != "Default")
      | select($context.settings.HOST_OWNERSHIP == "shared" or .host == "" or own_namespace == $owners[.host]
          or $is_shared[.host] or $is_shared[.host | as_wildcard]) ]
  | group_by(.host) | map({(.[0].host): .}) | add // {};

# input:  [claim]; $roots is what `roots` says
# output: those with app-root that get a path / for it, one of each host
def rooted($roots; $context):
  [ .[] | select(.of and .options and annotations($context.options)["app-root"])
    | . as $claim
    | select(all($roots[.host][]?;
        .pathType == "Prefix" and .of != $claim.of and own_namespace == ($claim | own_namespace))) ]
  | unique_by(.host);

# input:  [claim] with app-root; $roots and $rooted are what these say
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
  | www_redirects($taken; $is_alias; $context) as $moved
  | roots($context) as $roots
  | rooted($roots; $context) as $rooted
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
