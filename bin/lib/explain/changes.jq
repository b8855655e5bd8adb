# What some objects would change: two models, before and after.
#
# input:  nothing (jq -n)
# args:   $before, $after: [model]; $json
# output: lines of text; with $json, a line of JSON: {changes: [{host, path, pathType, before, after}], new, gone}, the
#         last two of problems
include "explain/places"; # places, table

# input: [place] / output: the same, and those of these hosts, which have no rules of their own: what their wildcard
#         has, or else what rules without a host have
def with_inherited($hosts):
  (group_by(.host) | map({(.[0].host): .}) | add // {}) as $by_host
  | . + [ $hosts[] as $host | $host
          | ($by_host["*" + sub("\\A[^.]*"; "")] // $by_host["*"] // [])[] | .host = $host ];

# input: model / output: {"host path type": place}, also for those of these hosts that are in the other model only
def by_place($hosts):
  ($hosts - [.servers[]?.host]) as $others
  | [places | with_inherited($others)[] | {("\(.host) \(.path) \(.pathType)"): .}] | add // {};

# input: a place / output: who answers there, as text
def answer: if . == null then "nobody (404, or a rule for more)" else "\(.answer), of \(.of)" end;

# input: two lists / output: what only the first has
def only_in($other): ([$other[] | {(tojson): true}] | add // {}) as $has | map(select($has[tojson] | not));

([$before[0], $after[0] | .servers[]?.host | select(. != "")] | unique) as $hosts
| ($before[0] | by_place($hosts)) as $was
| ($after[0] | by_place($hosts)) as $is
| [ $was + $is | keys[] as $place | select($was[$place] != $is[$place])
    | ($was[$place] // $is[$place] | {host, path, pathType}) + {before: $was[$place], after: $is[$place]} ] as $changes
| ([$before[0], $after[0]] | map(.problems | map({of, reason, message}))) as [$old, $new]
| if $json != "" then {$changes, new: ($new | only_in($old)), gone: ($old | only_in($new))} | tojson
  else
    (if $changes == [] then "No request would go elsewhere." else empty end),
    ($changes[]
     | "\(.host) \(.path) (\(.pathType))\(if .after.is_error and (.before.is_error | not) then ": an error from then on" else "" end)",
       "  - \(.before | answer)", "  + \(.after | answer)",
       (select(.before and .after and .before.annotations != .after.annotations)
        | "  the annotations differ: \([.before.annotations, .after.annotations] | map(to_entries) | (.[0] - .[1]) + (.[1] - .[0]) | map(.key) | unique | join(", "))")),
    ($new | only_in($old)[] | "new: \(.of // "-" | ltrimstr("Ingress ")): \(.reason): \(.message)"),
    ($old | only_in($new)[] | "gone: \(.of // "-" | ltrimstr("Ingress ")): \(.reason): \(.message)")
  end
