# A bundle: a snapshot whose first line has also what decided besides: the settings that render reads, what was
# quarantined, and templates of a user's own.
#
# input:  the lines of the snapshot
# args:   $number, $time, $hash, $cause of the change; $quarantine: [what `quarantine` prints], or [];
#         $settings: [{version, settings: {NAME: value}, templates: {file: text}, or null}]
# output: the lines of the bundle; the first is
#         {bundle: what is in it, change, environment: {NAME: value}, quarantine, templates, settings}

$settings[0] as {$version, settings: $environment, $templates}
| input as $first
| {bundle: "This is one change of bash-ingress: settings, and summaries of Ingresses, Services, EndpointSlices and certificates. It has the values of annotations and of headers, so read it before you show it. It has no private keys and no passwords.\(if $templates then " The files of TEMPLATES_DIR are in it, whole." else "" end)",
   change: {number: ($number | tonumber), time: ($time | tonumber | todate), $hash, $version, $cause},
   environment: ($environment | del(.TEMPLATES_DIR)), quarantine: ($quarantine[0] // {}), $templates} + $first
| del(.quarantine | select(. == {})) | del(.templates | nulls),
  inputs
