# What the annotations of an Ingress ask for. They are ingress-nginx's, and each is for a whole Ingress.
#
# annotations.json has a row for each that ingress-nginx documents (docs/user-guide/nginx-configuration/annotations.md,
# v1.15.1), and for some that it does not, but that its users write:
#
#   class      protective   restricts who gets in, how, or how often. What cannot be given closes the Ingress: its paths
#                           answer 503, because to serve them without it would open to everybody what was meant for a
#                           few. (A snippet may restrict, as it can hold a `deny`.)
#              switch       is protective unless it is switched off: false, or off
#              convenience  anything else: what cannot be given is a problem, and the path is served
#   type       what its value may be (`typed` below); without a type it is not supported
#   pattern, possible       of a text: a regular expression for it, and what it lets in as a reader would say it
#   min, max                of a number or size; a list may be empty if its min is 0
#   wrong      what counts instead of a wrong value (with if_wrong: not of an empty one), a problem all the same
#   part       of a list: the elements that are right count, even if others are wrong, which is a problem all the same
#   closes     of a convenience: the values that close the Ingress, as a regular expression
#   if_wrong   of a convenience that says where requests go: what is closed, as a pod would get requests that are not
#              meant for it: `close`, the Ingress; or `close /`, that path, which the feature knows by the row's `wrong`
#   alias      another row: two names for one thing
#   directive, grpc, unit   the directive of nginx that it is, that for gRPC, and what follows the value (directives.jq)
#   words, if               each word of the text is an argument of the directive; the only value that is written
#   feature    the file in features/ that gives it, where it is more than a directive. (Without both, it is in the
#              summary: ingress.jq)
#   with       another one that has to be loaded, too
#   where      it says for which requests the Ingress is, so it counts in a closed one, too: nobody else must get them.
#              (A closed canary gets none.)
#   names, uses             of what it has the name, a Secret or a ConfigMap, and what for (named.jq); `use` is another
#                           annotation that may say what for
#   locations, paths        what it costs nginx (limits.jq): so many locations more in each host, at most; and each path
#                           counts as so many more
#   once, characters        what it adds to nginx.conf: nothing for each path; so many characters for each element
#   as_default {a value: what counts instead of it where it is a default (DEFAULT_ANNOTATIONS)}
#   no_effect  [{value, beside or without: [other annotation], with, on}]: when it has no effect, which is a problem: if
#              it is `value`, and beside (or without) one of the others whose value is like the expression `with`.
#              Without `value` and `with`, any counts that is not false, off or 0. `on` says on what it has none
#   instead    of one that is not supported: what does the same
#   about      what it does, in a sentence
#
# It is data and not a program, because jq reads data much faster. (jq 1.6 wants `import` after `include`; and it knows
# a plain $table only in the first file that imports it, so all say $table::table.)
include "allow";
include "networks";
import "annotations" as $table;

# output: how the names of annotations begin; both mean the same
def prefixes: "bash-ingress.local/", "nginx.ingress.kubernetes.io/";

# input: the name of an annotation after the prefix / output: its row
#
# A name that is not documented may be a typo: "whitelist-source-ranges" asks for protection all the same.
def row:
  . as $name | ascii_downcase
  | $table::table[0][.] as $row
  | if $row == null then
      {class: (if test("auth|allow|deny|white|black|limit|tls|secur|secret|waf|snippet|modsec|owasp") then "switch"
               else "convenience"
               end),
       instead: "ingress-nginx has no annotation of this name"}
    elif . != $name then {class: $row.class} # ingress-nginx would not know it
    else $row
    end;

# input: the name of an annotation after the prefix / output: the name of its row
def row_key: $table::table[0][.].alias // .;

def sharing: "bash-ingress.local/share-host-with";

# input: an Ingress / output: [{name, value, row}, ...] of its annotations that are in the table or begin like them
def written:
  [ .metadata.annotations // {} | to_entries[]
    | select(.key != sharing)
    | .value as $value
    | .key | ltrimstr(prefixes) as $name
    | select($name != .)
    | {name: $name, $value, row: ($name | row)} ];

# --- types

# input: text / output: true, false, or nothing if it is neither (as Go's strconv.ParseBool)
def flag:
  {"1": true, "t": true, "T": true, "true": true, "True": true, "TRUE": true,
   "0": false, "f": false, "F": false, "false": false, "False": false, "FALSE": false}[.] | values;

# input:  text
# output: it without white space around. (Without the look-behind, spaces in its middle would be looked at again from
#         each of them.)
def trimmed: gsub("\\A\\s+|(?<!\\s)\\s+\\z"; "");

# input: text such as 8k / output: the number of bytes; nothing if it is none
def size:
  capture("\\A(?<number>[0-9]{1,12})(?<unit>[bkmg]?)\\z"; "i")
  | (.number | tonumber) * {"": 1, b: 1, k: 1024, m: 1048576, g: 1073741824}[.unit | ascii_downcase];

# input: [text] / output: those that the pattern of the row lets in
#
# One expression for all, as jq compiles it at each use.
def right_ones($row):
  [ "\n\(map(select(length <= 1024 and (contains("\n") | not))) | as_lines)"
    | match("(?<=\n)(\($row.pattern))(?=\n)"; "g").string ];

# input: text / output: what it is as a value of the row's type; nothing if it is none
#
#   flag       true or false                      text   text that is what the row's pattern says
#   number     a number from min to max           list   [such a text, ...], of which commas are in between
#   size       a number of bytes, to max
#   networks   [network, ...]
def typed($row):
  def within: select(. >= ($row.min // 0) and . <= ($row.max // infinite | if type == "string" then size else . end));
  def matches: select(length <= 1024 and test("\\A(\($row.pattern))\\z"));
  if $row.type == "flag" then flag
  elif $row.type == "number" then select(test("\\A[0-9]{1,9}\\z")) | tonumber | within
  elif $row.type == "size" then .[:40] | trimmed | size | within
  elif $row.type == "networks" then networks
  elif $row.type == "text" then .[:4096] | trimmed | matches
  else # list
    select(length <= 4096)
    | [elements[] | select(. != "")]
    | select(length >= ($row.min // 1) and length <= 100)
    | select(. == right_ones($row))
  end;

# input: text / output: [its elements that a list of this row may have]; nothing if there are none
def right_part($row): select(length <= 4096) | elements[:100] | right_ones($row) | select(. != []);

# input: a row / output: what its type lets in, for a sentence
def possible:
  {flag: "true and false",
   number: "whole numbers from \(.min // 0) to \(.max)",
   size: "sizes such as 8k or 1m, \(if .min then "from \(.min) " else "" end)up to \(.max)",
   networks: "up to 1,000 addresses and networks with commas between"}[.type] // .possible;

# --- what an Ingress asks for

# input: {name, value, row} / output: whether it asks for protection
def asks_for_protection:
  if .row.class == "switch" then .value != "off" and ([.value | flag] != [false])
  elif .row.closes then .row.closes as $closes | "\(.value)"[:1024] | test("\\A(\($closes))\\z")
  elif .row.type == null then .row.class == "protective" and (.value | type != "string" or test("[^ \\t\\r\\n]"))
  else .row.class == "protective" and (.row.type != "flag" or ([.value | flag] != [false]))
  end;

# input:  {name, value, row}
# output: the same with what the value means, as `set: {name: value}`; or a problem of it, as `wrong`
def understood:
  .name as $name
  | .key = (.row.alias // $name)
  | .row += if .row.alias then $table::table[0][.key] else {} end
  | if .row.type == null then
      if asks_for_protection then
        .wrong = "\($name | quoted) is not supported\(.row.instead // "" | if . == "" then . else ": " + . end)"
      else .
      end
    else
      .row as $row
      | [.value | strings | typed($row)] as $typed
      | if $typed == [] then
          .wrong = "\($name) is \(.value | quoted); allowed: \($row | possible)"
          | (if $row.part then [.value | strings | right_part($row)]
             elif $row.if_wrong and .value == "" then []
             else [$row.wrong | values]
             end) as $instead
          | if $instead != [] then .set = {(.key): $instead[0]} else . end
        else .set = {(.key): $typed[0]}
        end
    end;

# input: something wrong / output: whether the Ingress is closed for it
def must_close: asks_for_protection or (.row.if_wrong == "close" and .value != "");

# input: an Ingress / output: whether Flagger made it. (Whoever may write an Ingress may say so: see as_copied.)
def is_flaggers:
  any(.metadata.ownerReferences[]?;
    .controller == true and .kind == "Canary" and ("\(.apiVersion)" | startswith("flagger.app/")));

# input:  [what is understood of the annotations of an Ingress]
# output: the same; of a canary that is a copy, only what is its own: how it gets requests, and where its paths are
#
# Flagger writes the canary, and copies the main Ingress's annotations once. What was changed there later is old in the
# copy, and nobody's wish. The requests of a canary are protected by what the main Ingress asks for, so this opens
# nothing; and an Ingress that is not for certain a canary keeps all.
def as_copied($is_copy):
  if $is_copy and ([.[] | select(.key == "canary").set.canary] | unique) == [true] then
    map(select(.row.feature == "canary" or (.row.where and (.wrong | not))))
  else .
  end;

# input: [what is understood and set] / output: for each annotation given twice with other values, what is wrong
def contradictions:
  group_by(.key)[]
  | select(map(.set) | unique | length > 1)
  | (map(.name) | unique) as $names
  | .[0].wrong = if $names | length > 1 then "\($names | join(" and ")) are two names for one thing, but their values differ"
                 else "\($names[0]) is there twice, and its values differ"
                 end
  | .[0];

# input: [what is understood and set] / output: what lacks another annotation, which may be a default
def lacking:
  select(all(.[]; .key != "auth-url"))[]
  | select(.set["enable-global-auth"])
  | .wrong = "enable-global-auth needs auth-url, which says who is asked";

# input: a value / output: whether it switches nothing off
def is_on: . != null and . != false and . != "off" and . != 0;

# input: {annotation: value} / output: [that of $names with a value like $with], as they are told
def those($names; $with):
  [ $names[] as $name | .[$name]
    | if $with == null then select(is_on) | $name
      else select(. != null and (tostring | test("\\A(\($with))\\z"; "i"))) | "\($name): \(.)"
      end ];

# input: [what is understood and set] / output: a sentence for each reason for which some have no effect
#
# What is only a default need not. Of a canary, the feature says so (canary.jq).
def without_effect:
  (map(.set) | add // {}) as $set
  | if $set.canary then map(select(.key | startswith("canary"))) else . end
  | map(
      .name as $name | $set[.key] as $value
      | select(.default or .wrong | not).row.no_effect[]?
      | select(if has("value") then .value == $value else $value | is_on end)
      | .with as $with
      | (.beside // .without) as $others
      | ($set | those($others; $with)) as $found
      | select(if .beside then $found != [] else $found == [] end)
      | {name: (if has("value") then "\($name): \($value | if type == "boolean" then tostring else . end)" else $name end),
         why: ((if .on then "on \(.on) " else "" end)
           + if .beside then "beside \($found | join(" and "))"
             else "without \($others | join(" or "))\(if $with then ": \($with | gsub("[|]"; " or "))" else "" end)"
             end)})
  | group_by(.why)[]
  | "\(map(.name) | unique | join(", ")) \(if length > 1 then "have" else "has" end) no effect \(.[0].why)";

# input: DEFAULT_ANNOTATIONS, lines "name: value" / output: [what is understood of each]
def defaults:
  [ split("\n")[] | trimmed | select(. != "")
    | capture("\\A(?<name>[^:]+):(?<value>.*)\\z") // {name: ., value: ""}
    | map_values(trimmed)
    | .row = (.name | row)
    | understood ];

# input: the same / output: a sentence for each that cannot be the default of all Ingresses
def wrong_defaults:
  defaults
  | (.[] | if .row.type == null then "\(.name | quoted) is no annotation that has an effect here"
           elif .row.where then "\(.name) cannot be for all Ingresses"
           else .wrong // empty
           end),
    contradictions.wrong;

# input: [what is understood of the annotations of an Ingress] / output: the same, and those of $defaults that count
#
# What is wrong does not take the place of a default. With enable-global-auth: false, no authentication is one. For the
# requests of a canary, what its main Ingress has counts.
def with_defaults($defaults):
  if $defaults == [] or any(.[]; .set.canary) then .
  else
    [.[] | select(.set and (.wrong | not)).key] as $said
    | any(.[]; .set["enable-global-auth"] == false) as $without_auth
    | [ $defaults[] | .key as $key
        | select(all($said[]; . != $key) and ($without_auth and ($key | startswith("auth-")) | not))
        | .default = true
        | .row.as_default[.set[$key] | tostring] as $instead
        | if $instead then .set[$key] = $instead else . end
        | if $key == "auth-url" then .set["auth-url-by-default"] = true else . end ] as $counting
    | map(if .wrong and (.key | IN($counting[].key)) then del(.set) else . end) + $counting
  end;

# input: [what is wrong and closes the Ingress] / output: why, as the beginning of a sentence
def why_closed:
  if . == [] then "ANNOTATION_POLICY is strict"
  elif any(.[]; asks_for_protection) then "its protection is not available here"
  else "it is not clear where its requests are to go"
  end;

# input: {name, value, row, key} / output: whether it asks for a redirect of all requests, perhaps in a wrong way
def moves_all:
  .value != ""
  and if .key == "rewrite-target" then .wrong or (.set[.key] | startswith("http"))
      else .key | IN("permanent-redirect", "temporal-redirect")
      end;

# input: an Ingress / output: what its annotations ask for, and $defaults; or {} if there are none:
# {set: {name: value}, uses: [the features that this needs], protections: [name],
#  closed: why it must not be served, moves: whether it redirects all, or means to, problems: [{reason, message}]}
def asked($policy; $defaults):
  is_flaggers as $is_copy
  | written | map(understood) | as_copied($is_copy) | with_defaults($defaults)
  | if . == [] then {}
    else
      sort_by(.key) as $all # sorted, so that the same set is the same text
      | ([$all[] | select(.wrong)] + [$all | map(select(.set)) | contradictions, lacking]) as $wrong
      | [$wrong[] | select(must_close)] as $closing
      | ([$closing[].wrong] | unique) as $obstacles
      | [ ( $wrong[]
            | select(must_close | not)
            | {reason: "AnnotationRefused", message: "the annotation \(.wrong)"} ),
          ( [$all[] | select(.row.type == null and .row.class == "convenience").name | quoted] | unique
            | select(length > 0)
            | {reason: "AnnotationNotSupported",
               message: "these annotations have no effect here: \(.[:10] | join(", "))\(if length > 10 then " and others" else "" end)"} ) ] as $problems
      | (if $policy == "strict" then [$problems[].message] else [] end) as $strict
      | ($obstacles + $strict | if . == [] then null
         else "closed, because \($closing | why_closed): \(.[:5] | join("; "))\(if length > 5 then "; and more" else "" end)"
         end) as $closed
      | [$all[] | select(.set and (.row.where or ($closed | not)))] as $counting
      | {
          set: ([$counting[].set] | add // {}),
          uses: ([$counting[].row | (.feature // if .directive then "directives" else empty end), (.with // empty)]
                 | unique
                 | if . == [] then null else . end),
          # those that are for a whole host come first: they must be among the ten
          protections: ([$all[] | select(asks_for_protection).name] | unique
            | sort_by(startswith("auth-tls-") | not)[:10]),
          $closed,
          moves: any($all[]; moves_all),
          problems: (if $closed then [{reason: "ProtectionNotAvailable", message: $closed}]
                     else [$all | map(select(.set)) | without_effect | {reason: "AnnotationRefused", message: .}]
                     end + $problems)
        }
    end;

# input: what `asked` says / output: whether the Ingress protects its paths
def protects: (.protections // []) != [] or .closed != null;
