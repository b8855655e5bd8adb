# The verdict on each Ingress, by what the model says of it.
#
# args:   $ingresses: the Ingresses, as they are written; $unknown: those of versions that are gone
#         $class: INGRESS_CLASS; $lines: the snapshot; [$model]
# output: {class, assumed, ingresses, everywhere}, as bin/check describes it
include "annotations"; # written, understood
include "check/differences"; # touched, hosts_with_expressions, wildcards_with_tls
include "annotations/expressions";
include "networks";
include "allow"; # quoted
import "check/differences" as $differences;
import "check/reasons" as $reasons;

# output: the verdicts, the worst last
def verdicts: ["kept", "kept, but different", "not there", "closed"];

# input: text of differences.json / output: it without the targets of its links
def plain: gsub("\\[(?<text>[^\\]]+)\\]\\([^)]*\\)"; .text);

# input: a row of differences.json / output: what a finding says of it
def row: {difference: .name} + ({there, here, instead} | map_values(plain));

# input: [what is understood of annotations] / output: what there is instead of those that have no effect
def ways_out:
  [.[] | select(.row.type == null and .row.class == "convenience" and .row.instead) | "\(.name): \(.row.instead)"]
  | unique | join("; ");

# input: [what is understood of annotations] / output: [the problem of each that closes / alone, and nothing else]
def closing_root:
  [.[] | select(.wrong and .set and .row.if_wrong == "close /") | "the annotation \(.wrong)"];

# input: a problem; $understood is what annotations mean / output: a finding
#
# Of several rows about it, the last one says most.
def of_problem($understood):
  "\(.reason): \(.message)" as $text
  | (if IN(.message; ($understood | closing_root)[]) then "ProtectionNotAvailable" else .reason end) as $counts_as
  | ($reasons::reasons[0][$counts_as] // {verdict: "not there", status: 2}) as $known
  | ([$differences::differences[0][] | select(.problems) | select(.problems as $like | $text | test($like))][-1] // null) as $row
  | {verdict: $known.verdict, status: $known.status, reason, message}
    + (if $known.instead then {instead: $known.instead} else {} end)
    + (if .reason == "AnnotationNotSupported" then {instead: ($understood | ways_out)} else {} end)
    + (if $row then $row | row else {} end);

# input: {name, what: [text]} of a row / output: a finding
def of_row:
  {verdict: "kept, but different", status: 1, message: (.what[:3] | join(", ") + if length > 3 then " and others" else "" end)}
  + (.name as $name | $differences::differences[0][] | select(.name == $name) | row);

# input: an Ingress that is not ours / output: a finding
def of_another_class:
  (.spec.ingressClassName // .metadata.annotations["kubernetes.io/ingress.class"]) as $its
  | {verdict: "not there", status: 2, reason: "NotOurs"}
    + if $its then
        {message: "its class is \($its | quoted), and not \($class): nothing of it is served", instead: "ingressClassName: \($class); or --class, to see what becomes of it in that class"}
      else
        {message: "it has no class, and no IngressClass of ours is the default: nothing of it is served", instead: "ingressClassName: \($class)"}
      end;

# input: [finding] / output: the worst verdict
def worst: [.[].verdict] as $all | [verdicts[] | select(IN($all[]))][-1] // "kept";

$model[0] as $model
| ($lines | map(select(.of) | {(.of): .}) | add // {}) as $summaries
| ($model.problems | map(select(.of)) | group_by(.of) | map({(.[0].of): .}) | add // {}) as $problems
| { expressions: ([$summaries[]] | hosts_with_expressions),
    wildcards: ([$summaries[]] | wildcards_with_tls),
    services: ($lines | map(select(.service and (.slice | not)) | {(.service): .}) | add // {}),
    families: ([$lines[] | select(.slice and .ready != [])] | group_by(.service)
      | map({(.[0].service): (map(.family) | unique)}) | add // {}) } as $all
| def findings($name):
    "Ingress \($name)" as $of
    | $summaries[$of] as $summary
    | if $summary == null then
        first(
          ($model.problems[] | select(.of == null and (.message | startswith("\($of) "))) | of_problem([])),
          of_another_class)
      else
        (written | map(understood)) as $understood
        | ($understood | map(.set) | add // {}) as $set
        | ($problems[$of] // [] | .[] | of_problem($understood)),
          ( touched($set; $understood | map({(.key): .value}) | add // {}; $summary; $all) | to_entries[]
            | select(.value != []) | {name: .key, what: .value} | of_row )
      end;
  {
    $class,
    assumed: [(($ENV.CONFIGMAP // "") | select(. != "" and all($lines[]; .configmap | not)) | "ConfigMap \(.), of which no key counts"), ($lines[] | select(.assumed) | if .slice then "pods of Service \(.service)" elif .service then "Service \(.service)"
      elif .certificate | contains("/configmaps/") then "ConfigMap \(.certificate | sub("/configmaps/"; "/"))" else "Secret \(.certificate)" end)] | unique,
    ingresses: (
      [ $ingresses[] | "\(.metadata.namespace)/\(.metadata.name)" as $name
        | [findings($name)] as $findings
        | {ingress: $name, verdict: ($findings | worst), status: ([$findings[].status] | max // 0), $findings} ]
      + [ $unknown[]
        | {ingress: "\(.metadata.namespace // "default")/\(.metadata.name)", verdict: "not there", status: 2,
           findings: [{verdict: "not there", status: 2, reason: "NotOurs", message: "apiVersion \(.apiVersion | quoted) is gone since Kubernetes 1.22", instead: "apiVersion: networking.k8s.io/v1"}]} ]
      | sort_by(.ingress | split("/"))),
    everywhere: [$differences::differences[0][] | select((.problems or .touched) | not) | row]
  }
