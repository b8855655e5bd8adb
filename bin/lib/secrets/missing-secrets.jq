# Which Secrets and ConfigMaps to ask for by their names: those that our Ingresses name, and that the list did not have.
# The list has only Secrets of type kubernetes.io/tls.
#
# input:  lines (jq -n -R) that read-secrets.jq has printed after the word "found"
# args:   those of wanted-secrets.jq, and $found: what was found so far (lines)
#         $times: lines "SECONDS NAMESPACE/NAME", when Secrets were last asked for by name; $began: when this look began
# output: "ask NAMESPACE/NAME" reads one by its name, "asked SECONDS NAMESPACE/NAME" and "found ..." are what is known
#         of one that was asked for not long ago;
#         "more" if there are too many for one round
include "secrets/wanted-secrets"; # wishes, by_secret, refused, present, lines
include "secrets/named"; # here and below: what the includes need (the rule of includes, bin/README.md)
include "allow";

# How many are asked for in a round, and how often: one that serves at each look, as its passwords may have changed.
def missing_a_round: 50;
def serving_a_round: 100;
def seconds_before_asked_again: 4;
def asked_a_namespace: 50;

# input: a line that was found / output: whether it is what is there to use; $present are the files
def serves($present): .headers or .id != null and ($facts[0][.id].reason | not) and $present[.id];

# input: [{name, its: what is known of its uses, time: when it was asked for, serves}] / output: what to do about them
#
# The namespaces take turns. Those that nobody has asked for come first, and then those that were asked longest ago.
def due:
  def turns:
    group_by(.name | split("/")[0])
    | [.[] | sort_by(.time // -1) | to_entries[] | .value + {number: .key}]
    | sort_by([.number, .time // -1]);
  (map(select(.time and .serves)) | turns) as $serving
  # (fabs, because a time far ahead is one of before a restart of the machine)
  | (map(select(.time == null or ((.serves | not) and ($began - .time | fabs) >= seconds_before_asked_again)))
     | turns) as $missing
  | ($serving[:serving_a_round] + $missing[:missing_a_round] | map({(.name): true}) | add // {}) as $ask
  | (select(any($missing[missing_a_round:][]; .time == null)) | "more"),
    ( .[]
      | if $ask[.name] then "ask \(.name)"
        elif .time then "asked \(.time) \(.name)", "found \(.its[] | tojson)"
        else empty
        end );

# One that is wanted for another use, too, or whose file is gone, counts as one that nobody has asked for.
([inputs | fromjson | {(.certificate): true}] | add // {}) as $there
| ([$found | lines | fromjson] | group_by(.certificate) | map({(.[0].certificate): .}) | add // {}) as $known
| ([$times | lines | split(" ") | {(.[1]): (.[0] | tonumber)}] | add // {}) as $times
| present($files) as $present
| wishes($claims; $default; $namespace) as $wishes
| ($wishes | by_secret) as $wanted
| (reduce $wishes[].secret as $name ({}; .[$name] //= length)) as $rank
| [$wanted | keys[] | select($there[.] | not)] | sort_by($rank[.]) | group_by(split("/")[0])
| (.[][asked_a_namespace:][]
   | {certificate: ., use: "*"}
     + refused("LimitExceeded";
         "its namespace names more than \(asked_a_namespace) Secrets that are missing, or not of type kubernetes.io/tls, and ConfigMaps")
   | "found \(tojson)"),
  ( [ .[][:asked_a_namespace][]
      | ($known[.] // []) as $its
      | ([$its[] | .use // "pair"]) as $uses
      | {name: ., $its, serves: ($its != [] and all($its[]; serves($present))),
         time: (if ($uses == ["*"] or $wanted[.] - $uses == [])
                  and all($its[]; .id == null or $facts[0][.id].reason or $present[.id]) then $times[.]
                else null
                end)} ]
    | due )
