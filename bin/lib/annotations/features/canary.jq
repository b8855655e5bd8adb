# canary: true. Such an Ingress gets some of the requests of another one, its main Ingress: the one of the same
# namespace with the same host and path. These annotations decide which requests, in this order:
#
#   canary-by-header   with canary-by-header-value or -pattern: those with this value; without: always and never
#   canary-by-cookie   always and never
#   canary-weight      so many in a hundred, or in canary-weight-total
#
# All else is the main Ingress's: what protects its path protects the canary too, and its annotations count; so
# use-regex and rewrite-target need not be repeated. A client that has a session (affinity.jq) stays where it is, unless
# affinity-canary-behavior is legacy. A canary gets no requests without a main Ingress, without ready pods, or if it
# asks for a protection that the main Ingress has not. (A canary that Flagger has made asks for none: as_copied in
# annotations.jq.)
#
# A canary often repeats all paths of its main Ingress, and names another Service for one of them only. Where it names
# the main Ingress's own Service and port, it changes nothing: that path is left out, and leaves its place to another.
# So does an idle one, which Flagger keeps between two releases: nothing gives it a request. Its pods cause no reload.
#
# An Ingress whose `canary` is neither true nor false is closed. As it could be a canary, it takes no path of another
# one of its namespace; as it could be none, its other paths are closed.
#
# A main Ingress may have nobody to ask: its Service or port is missing, say, or has no ready pod. Its canary has its
# share all the same, and the rest is answered as without a canary. All that protects looks for an upstream: so such a
# main claim gets one that has no pod, and goes through all features with it. It keeps its problem, but no status. (A
# claim that is closed has none, so its canary is closed with it.)
include "annotations/claims";
include "route/pods"; # has_pods, no_pods, without_pod
include "quoting";

# input: the claim of a canary, with $set / output: names of what protects it and is not the same in the main one's $own
#
# The summary names ten protections at most: where there are ten, some may be missing, so all annotations are compared.
# (limit-whitelist is another name of limit-allowlist.)
def lacking($set; $own):
  .protections // []
  | if length < 10 then map(sub("white"; "allow")) else $set | keys | map(select(startswith("canary") | not)) end
  | map(select($set[.] != $own[.]));

# input: {annotation: value} of a canary / output: [those that have no effect, as the main Ingress's $own differ]
def foreign_to_canaries($own):
  to_entries
  | map(select(.value != $own[.key]).key
      | select((startswith("canary") or IN("affinity-canary-behavior", "server-alias", "from-to-www-redirect", "app-root")) | not));

# input: a claim / output: a problem of it
def gets_nothing($reason; $message): problem($reason; "the canary gets no requests: \($message)");

# input: a claim / output: what it asks for, in a sentence
def place_name:
  "\(if .pathType == "Default" then "the default" else "\(.pathType) path \(.path)" end) of host \(if .host == "" then "*" else .host end)";

# --- the expression of canary-by-header-pattern
#
# It must cost little, whoever wrote it. Its steps multiply with each repetition, and with each group of alternatives:
# so there are no more than three of both, and no repeated groups; and it is tried on no more than 64 characters
# (`pattern`).

# input: a regular expression / output: whether it is one of these
def is_cheap:
  "\\[(?!:[^\\]]*:\\]|[.][^\\]]*[.]\\]|=[^\\]]*=\\])\\^?[A-Za-z0-9 _=,:;/@~!#%&.+*?()|$-]+\\]" as $class # not [:alpha:], [.a.], [=a=]
  | "\\\\[.+*?()|$/{}dws-]" as $escaped
  | "(?:[A-Za-z0-9 _=,:;/@~!#%&.-]|\($escaped)|\($class))(?:[*+?]|\\{[0-9]{1,2}(?:,[0-9]{0,2})?\\})?|[\\^$|]" as $piece
  | . as $expression
  | length <= 256
  and test("\\A(?:\($piece)|\\((?:\($piece))+\\))+\\z")
  and (gsub("\($class)|\($escaped)"; "x")
       | ([match("[*+?{(]"; "g")] | length <= 3) and ([match("[|]"; "g")] | length <= 8))
  and (try ("" | test($expression) | true) catch false);

# input: such an expression / output: it as nginx reads it between quotes
def pattern:
  "^(?=.{0,64}$).*?(?:\(gsub("\\\\(?<sign>[^dws])"; "[\(.sign)]")))";

# --- claims

# input: a main claim that is not closed / output: why nobody is asked for it: {reason, message}; nothing if a pod is
def nobody($context):
  if .status then
    select(.service and (.reason | is_without_service))
    | {reason, message}
  else select(has_pods($context.slices) | not) | {reason: "NoReadyEndpoints", message: without_pod($context.slices)}
  end;

# input: a main claim, of which nobody is asked / output: the same with an upstream that has no pod: no port is called -
def with_no_pod($nobody):
  del(.status) + $nobody
  | .upstream = "\(.service | split("/") | reverse | join(".")).nobody"
  | .port_name = "-";

# input: a main claim that is closed / output: the same, and problems of the canaries of its place
def without_canary($canaries): . as {$reason, $message} | ., ($canaries[] | gets_nothing($reason; $message));

# input: any other main claim / output: the same with its canary, and problems of the canaries; $canaries are those of
#         its place
def with_canary($canaries; $context):
  $canaries[0] as $canary
  | ($canary | annotations($context.options)) as $set
  | annotations($context.options) as $own
  | ($canary | lacking($set; $own)) as $missing
  | ($own | moves_all) as $moves
  | (if $canary.status or $missing != [] or $moves or $context.quarantined[$canary.of] then .
     else
       [select($canary | has_pods($context.slices)) | nobody($context)][0] as $nobody
       | when($nobody; with_no_pod($nobody))
       | when(.upstream; .canary = ($canary | {of, service, port, $set}) + {plain: .upstream})
     end),
    ( $canary
      | if .status then gets_nothing(.reason; .message)
        elif $moves then gets_nothing("CanaryWithoutMain"; "its main Ingress redirects all of them")
        elif $missing != [] then
          gets_nothing("CanaryNotProtected";
            "its main Ingress has not the same \($missing | join(", ")). Take that from the canary, which is protected as its main Ingress is; or give it to both")
        elif $set["canary-by-header-pattern"] and ($set["canary-by-header-value"] | not)
          and ($set["canary-by-header-pattern"] | is_cheap | not) then
          annotation_refused(
            "the canary gets no requests with its header: canary-by-header-pattern may be an expression with at most three repetitions and groups, no repeated groups, and eight alternatives")
        elif $canary | has_pods($context.slices) | not then
          gets_nothing("NoReadyEndpoints"; "Service \(.service) \(no_pods($context.slices))")
        else empty
        end ),
    ( select($missing == [] and ($canary.status | not))
      | ($set | foreign_to_canaries($own)) as $names
      | select($names != [])
      | $canary
      | annotation_refused("\($names | join(", ")) \(if $names | length > 1 then "have" else "has" end) no effect beside canary: those of its main Ingress count") ),
    ( $canaries[1:][] | gets_nothing("CanaryTaken"; "\(place_name) has \($canary.of) for its canary") );

# input: {annotation: value} of a canary / output: how many of 10,000 requests it gets
def weight:
  ([.["canary-weight-total"] // 100, 100] | max) as $total
  | (.["canary-weight"] // 0) as $weight
  | [$weight * 10000 / $total | ceil, 10000] | min;

# input: the claim of a canary / output: whether the same pods get its requests without it; $main is the main claim
def changes_nothing($main): .service and .service == $main.service and .port == $main.port;

# input: the claim of a canary / output: whether nothing gives it a request: no weight, header or cookie, and no session
#         that stays where it began; $main is the main claim, or {}. (Of a closed one, nobody knows what it asks for.)
def is_idle($main; $context):
  annotations($context.options) as $set
  | .reason != "ProtectionNotAvailable"
    and ($set | weight == 0 and .["canary-by-header"] == null and .["canary-by-cookie"] == null)
    and (($main | annotations($context.options)).affinity == null or $set["affinity-canary-behavior"] == "legacy");

# input:  [answered claim, the oldest Ingress first]
# output: the same without canaries; main claims have theirs in .canary
def claims($context; answer):
  def place: [.host, .path, .pathType, own_namespace] | tojson;
  def asks: .of and (.service or .status);
  def is_canary: .of and annotations($context.options).canary;
  def is_unclear: annotations($context.options).canary == "unclear";
  # Only the main Ingress may say that paths are expressions; to these, /a/ is not /a.
  def main_place($mains):
    def prefix_to_expression: select(.pathType == "Prefix") | .pathType = "RegularExpression" | ., .path += "/";
    def expression_to_prefix:
      select(.pathType == "RegularExpression") | .pathType = "Prefix" | .path |= if . == "/" then . else rtrimstr("/") end;
    first((., prefix_to_expression, expression_to_prefix | place | select($mains[.])), place);
  if any(.[]; is_canary) | not then .
  else
    map(select(is_canary and asks)) as $asking
    | map(select(is_canary | not))
    # the oldest of each place
    | ([to_entries[] | select(.value | asks) | {(.value | place): .key}] | reverse | add // {}) as $mains
    | . as $claims
    | ($asking | group_by(main_place($mains))
       | map((.[0] | main_place($mains)) as $place
           | (if $mains[$place] then $claims[$mains[$place]] else {} end) as $main
           | {($place): map(select((changes_nothing($main) or is_idle($main; $context)) | not))})
       | add // {} | map_values(select(. != []))) as $canaries
    | [ ( to_entries[] | .key as $number | .value
          | if (asks and $mains[place] == $number and $canaries[place]) | not then .
            elif .status and [nobody($context)] == [] then without_canary($canaries[place])
            else with_canary($canaries[place]; $context)
            end ),
        ( $canaries | to_entries[] | select($mains[.key] == null) | .value[]
          | if is_unclear then ., {of, created, options, host, path: "/", pathType: "Default"}
            else gets_nothing("CanaryWithoutMain"; "no other Ingress of its namespace asks for \(place_name)")
            end ) ]
  end;

# input:  [answered claim]
# output: the same; a canary has an upstream of its own, of the same kind as that of its main claim
#
# What counts for the main claim alone is left out: the address of its Service, and with "legacy" its sessions.
def upstreams($context; answer):
  map(
    if .canary and .upstream then
      .upstream[.canary.plain | length:] as $kind # what features have added
      | (.balance.address or (.balance.sticky and .canary.set["affinity-canary-behavior"] == "legacy")) as $alone
      | ({service: .canary.service, port: .canary.port, protocol} | answer
         | .upstream += ($kind | if $alone then sub("[.](sticky|persistent|address)"; "") else . end)) as $answer
      | .also += [$answer + (if .balance and ($alone | not) then {balance} else {} end)]
      | .canary |= {of, set, upstream: $answer.upstream}
      | .canary.sessions =
          (if .balance.sticky then .canary.set["affinity-canary-behavior"] // "sticky" else null end)
    elif .canary then .canary |= {of} # it gets nothing either, and is told so (unserved.jq)
    else .
    end);

# --- model and location

# input:  model
# output: the same with the shares of requests that canaries get, and for each location the number of its canary
#
# A location without annotations gets an empty set of them, so that the hook of locations is called for it.
def model:
  ready as $ready
  | each_location(
      when(.canary and (.upstream and $ready[.canary.upstream] | not); del(.canary))
      | when(.upstream and .reason and .canary == null; .status = 503 | del(.upstream, .options, .protocol)))
  | [.servers[].locations[] | select(.canary)] as $locations
  | ([$locations[] | {upstream, canary} | tojson] | unique | to_entries
     | map({(.value): (.key + 1)}) | add // {}) as $numbers
  | .options += [{}]
  | (.options | length) as $none
  | def asks_by_service: speaks_tls and (.tls_name | not);
  each_location(when(.canary;
    $numbers[{upstream, canary} | tojson] as $number
    | .options = (.options // $none) | .canary.target = "$target_\($number)" | .target = .canary.target
    | when(.reason and .instead == null;
        .refuses = "if (\(.target) = \(.upstream | in_quotes)) { return 503 \"\(sentence)\\n\"; } ")
    | when(.instead and speaks_tls; .address = "$address_\($number)")
    | when(asks_by_service; .tls_target = "$tls_name_\($number)")))
  | .lines += [
      # upstreams are SERVICE.NAMESPACE.PORT...
      ([$locations[] | select(asks_by_service) | $numbers[{upstream, canary} | tojson]] | unique[]
       | map_lines("$target_\(.)"; "$tls_name_\(.)"; "\"~^(?<pod_service>[^.]+[.][^.]+)\" \"$pod_service.svc\";")),
      ([$locations[].canary.set | weight | select(. > 0 and . < 10000)] | unique[]
       | "  split_clients $request_id $in_\(.)_of_10000 {", "    \(. / 100)% 1;", "    * \"\";", "  }"),
      "" ];

# input: a location with a canary / output: a block of nginx that chooses an upstream
def to($upstream): "{ set \(.target) \($upstream | in_quotes); } ";

# input: a location with a canary / output: directives for canary-by-header
def by_header($main; $canary):
  .canary.set as $set
  | ($set["canary-by-header"] // empty | as_variable) as $header
  | if $set["canary-by-header-value"] then
      "if ($http_\($header) = \($set["canary-by-header-value"] | in_quotes)) \(to($canary))"
    elif $set["canary-by-header-pattern"] == null then
      "if ($http_\($header) = always) \(to($canary))if ($http_\($header) = never) \(to($main))"
    elif $set["canary-by-header-pattern"] | is_cheap then
      "if ($http_\($header) ~ \"\($set["canary-by-header-pattern"] | pattern)\") \(to($canary))"
    else "if ($http_\($header)) \(to($main))"
    end;

# input: a location with a canary / output: directives that set .address, where the default backend, which speaks HTTP,
#         answers instead of pods that speak TLS
def address:
  "set \(.address) \"\(if .protocol == "HTTPS" then "https://\(.target)" else "$scheme://\(.target)$of_scheme" end)\"; ",
  "if (\(.target) = \(.instead | in_quotes)) { set \(.address) \"http://\(.target)\"; } ";

# input: a location / output: directives that set the variable with the upstream: the last one that applies decides
#
# A session of a main Ingress without pods has none of them to stay with.
def location:
  select(.canary)
  | (.instead // .upstream) as $main
  | .canary as {$set, $sessions, upstream: $canary}
  | ($set | weight) as $weight
  | "set \(.target) \((if $weight == 10000 then $canary else $main end) | in_quotes); ",
    (select($weight > 0 and $weight < 10000) | "if ($in_\($weight)_of_10000) \(to($canary))"),
    (select($set["canary-by-cookie"])
     | "if ($http_cookie ~ \"(?:^|; ?)\($set["canary-by-cookie"] | harmless)=always(?:;|$)\") \(to($canary))",
       "if ($http_cookie ~ \"(?:^|; ?)\($set["canary-by-cookie"] | harmless)=never(?:;|$)\") \(to($main))"),
    by_header($main; $canary),
    (if $sessions == "sticky" then
       (select(.reason | not) | "if ($session_home = main) \(to($main))"),
       "if ($session_home = main-canary) \(to($canary))",
       "if (\(.target) = \($canary | in_quotes)) { set $session_suffix -canary; } "
     elif $sessions == "legacy" then "if (\(.target) = \($canary | in_quotes)) { set $session_name \"\"; } "
     else empty
     end),
    (select(.address) | address);
