# How much all Ingresses of one namespace may ask for. (How much one may: fetch/rules.jq.)
#
# Hosts, paths and endpoints cost everybody something: time in each pass, memory in nginx, time at each reload. And
# nginx tries wildcard hosts one by one for each request that no exact host is for. So what one namespace can cost has
# limits. limits.json has them; the setting LIMITS changes some: "namespace_hosts=20000 ingress_paths=10000".
# What exceeds a limit is not served, and is a problem; the oldest Ingresses count first.
include "route/ownership";
include "route/shut";
include "allow"; # namespace
import "annotations" as $table;

# input:  summary of an Ingress with annotations
# output: how many more locations these ask for in each host: for whom nginx asks, for copies, and for pages of errors
def more_locations: [.options.set | keys[] | $table::table[0][.].locations // empty] | add // 0;

# input: the name of an annotation / output: whether it is a list of networks (claims.jq)
def is_network_list: $table::table[0][.].type == "networks";

# input:  summary of an Ingress
# output: how many characters its annotations may add to nginx.conf for each path (not what is there once); each of
#         auth-response-headers adds a directive
def text_for_each_path:
  [ .options.set // {} | to_entries[]
    | $table::table[0][.key] as $row
    | (if $row.once then 0 else .value | tojson | length end)
      + (if $row.characters then $row.characters * (.value | length) else 0 end) ]
  | add // 0;

# input:  summary of an Ingress with annotations
# output: what these add to each of its paths. A path takes nginx some 15 kB of memory; a session cookie adds 33 kB, and
#         TLS 26
def more_for_each_path:
  ([.options.set | keys[] | $table::table[0][.].paths // 0] | add // 0)
  + (if .options.protocol | IN("HTTPS", "AUTO_HTTP", "GRPCS") then 1 else 0 end);

# input:  [summary of an Ingress]
# output: the same; .tls_paths is how many of its paths are of Services whose appProtocol is one with TLS
def with_tls_paths($app_protocols):
  if $app_protocols == {} then .
  else map(.tls_paths = ([.claims[] | select(.service) | $app_protocols[.service] // empty | select(IN(.[]; "HTTPS"))] | length))
  end;

# input:  summary of an Ingress
# output: how many characters of nginx.conf its paths come to, at most: each has two locations, and may be in each four
#         times. STATE_DIR has to hold several of such files.
def characters:
  [.claims[] | select(.pathType != "Default").path | length] as $lengths
  | 8 * ($lengths | add // 0) + ($lengths | length) * (300 + 2 * text_for_each_path);

# input:  summary of an Ingress with annotations
# output: {"name of a limit": {"what": how much of it}} of what nginx has once for all that ask for the same: a list of
#         networks, and a date for session cookies, which takes 24 kB
def shared:
  .options.set | {
    networks: ([to_entries[] | select(.key | is_network_list).value | {(tojson): length}] | add // {}),
    paths: (if .affinity and .["session-cookie-expires"] then {"expires in \(.["session-cookie-expires"])": 1} else {} end)
  };

# output: the sum of the numbers
def total(numbers): reduce numbers as $number (0; . + $number);

# input: [summary of an Ingress] / output: {"what there is a limit for": how much of it they ask for}
def size:
  def hosts: .claims[] | select(.pathType == "Default").host;
  def number_of_hosts: [hosts] | length;
  [.[] | hosts] as $hosts
  | [.[] | select(.options.set)] as $annotated
  | ([$annotated[] | shared.networks] | add // {}) as $lists
  | ([$annotated[] | shared.paths] | add // {}) as $dates
  | {
      ingresses: length,
      hosts: ($hosts | length),
      wildcards: ([$hosts[] | select(startswith("*"))] | length),
      paths: (total(.[].claims | length) - ($hosts | length)
        + total($annotated[] | more_locations * number_of_hosts + more_for_each_path * ([.claims[] | select(.service)] | length))
        + total(.[].tls_paths // empty) + total($dates[])),
      characters: total(.[] | characters),
      networks: (total($lists[]) + total($annotated[].options.set | to_entries[] | select(.key | is_network_list | not).value | arrays | length)),
      tls_hosts: total(.[] | select(.tls != [])
        | number_of_hosts as $own
        | .tls[] | .hosts // [] | length
        | if . == 0 then [$own, 1] | max else . end)
    };

# input: what size says / output: the name of a limit that is exceeded, or null
def exceeded($limits):
  first((to_entries[] | select(.value > $limits["namespace_\(.key)"]).key), null);

# input:  [summary of an Ingress of one namespace, the oldest first]
# output: {problem, ingress} for each with which they exceed a limit
def beyond_limits($limits):
  foreach .[] as $ingress ({};
    ($ingress | if .options.set then shared else {} end) as $shared
    | ( . as {$used, $seen}
        | [$ingress] | size
        | with_entries(.key as $limit
            | .value += $used[$limit]
            | .value -= total($shared[$limit] // {} | to_entries[] | select($seen[$limit][.key]).value)) ) as $sum
    | ($sum | exceeded($limits)) as $limit
    | .problem = null
    | if $limit then
        .problem = {of: $ingress.of, reason: "LimitExceeded",
          message: "it is not served: with it, the Ingresses of its namespace would have \($sum[$limit]) \($limit | gsub("tls_hosts"; "hosts in spec.tls") | gsub("networks"; "networks and other entries in lists of annotations") | gsub("characters"; "characters of paths and annotations in nginx.conf")), and the limit is \($limits["namespace_\($limit)"])"}
      else .used = $sum | .seen.networks += $shared.networks | .seen.paths += $shared.paths
      end;
    select(.problem) | {problem, $ingress});

# input: [summary of an Ingress, the oldest first] / output: those with which no namespace exceeds a limit; and
# problems, of which one for each namespace has what protected_beyond says of the others (shut.jq)
def within_namespace_limits($limits; $app_protocols):
  [with_tls_paths($app_protocols) | group_by(.of | namespace)[] | select(size | exceeded($limits)) | [beyond_limits($limits)]
   | .[0] += (map(.ingress) | protected_beyond) | .[] | del(.ingress)] as $problems
  | if $problems == [] then .[]
    else
      ([$problems[].problem | {(.of): true}] | add) as $is_beyond
      | ([$problems[] | select(.are_many).problem.of | {(namespace): true}] | add // {}) as $is_shut
      | $problems[],
        ( .[] | select($is_beyond[.of] | not)
          | if $is_shut[.of | namespace] then
              all_closed("because Ingresses of its namespace protect so much, and are beyond a limit, that any path could be meant")
            else .
            end )
    end;
