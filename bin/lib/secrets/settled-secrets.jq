# For a Secret whose new key pair is not examined yet, what was found of the one before: so a host keeps the certificate
# that it has until the next one is known.
#
# input:  lines (jq -n -R) that read-secrets.jq has printed after the word "found"
# args:   those of wanted-secrets.jq, and $found: what was found before (lines)
# output: the same lines; or what was found before, if only that was examined so far
include "secrets/wanted-secrets"; # fact, lines
include "secrets/named"; # key_of_use
include "allow";

([$found | lines | fromjson | select($facts[0][.id // ""]) | {(key_of_use): .}] | add // {}) as $before
| inputs | fromjson
| if .id and (fact($facts) | not) then $before[key_of_use] // . else . end
| tojson
