# Every host and path of a model, and the problems.
#
# input: model / output: lines of text; with $json, a line of JSON: {places, problems}
include "explain/places"; # places, table

if $json != "" then {places: places, problems} | tojson
else
  ([["HOST", "PATH", "TYPE", "INGRESS", "ANSWER"]] + (places | map([.host, .path, .pathType, .of, .answer])) | table),
  "",
  (.problems[] | "\(.of // "an object that is no Ingress" | ltrimstr("Ingress ")): \(.reason): \(.message)")
end
