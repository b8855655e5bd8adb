# The field of an Ingress that a location comes from.
#
# input: the Ingress, as the API server has it
# args:  $where: {host, path, pathType} of the location
# output: such as ".spec.rules[0].http.paths[1]"; nothing if it is of no field: an alias, say

# input: a path / output: the same without a slash at its end, which means nothing to a Prefix
def plain: (. // "/") | if . == "/" then . else rtrimstr("/") end | if . == "" then "/" else . end;

if $where.pathType == "Default" then select(.spec.defaultBackend) | ".spec.defaultBackend"
else
  [ .spec.rules // [] | to_entries[] | .key as $rule | .value
    | select((.host // "") == $where.host)
    | .http.paths // [] | to_entries[]
    | {at: ".spec.rules[\($rule)].http.paths[\(.key)]", path: .value.path, is_exact: (.value.pathType == "Exact")}
    | select((.path | plain) == ($where.path | plain)) ]
  | sort_by(.is_exact != ($where.pathType == "Exact"))
  | .[0].at // empty
end
