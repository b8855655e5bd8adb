# allowlist-source-range, denylist-source-range: who may use a path, by the address of the client; deny counts first.
#
# `allow` and `deny` of a location would switch off those of the http block. So variables say it: one for each list of
# networks, which is 1 for the clients in it. Ingresses with the same list share it. With satisfy: any, a password lets in
# as well (satisfy.jq).

# input: model / output: the same with these variables, and the number of its lists in each element of options
def model:
  ([.options[] | .["allowlist-source-range"], .["denylist-source-range"] | values] | unique) as $lists
  | ($lists | to_entries | map({(.value | tojson): (.key + 1)}) | add // {}) as $numbers
  | .options |= map(
      if .["allowlist-source-range"] then .allow = $numbers[.["allowlist-source-range"] | tojson] else . end
      | if .["denylist-source-range"] then .deny = $numbers[.["denylist-source-range"] | tojson] else . end)
  | .lines += [$lists | to_entries[] | "  geo $in_networks_\(.key + 1) {", (.value[] | "    \(.) 1;"), "  }", ""];

# input: a location / output: the directives that turn away clients by their address
def location:
  "return 403 \"This path is not open to your address, $remote_addr.\\n\";" as $turn_away
  | (if .set.deny then "if ($in_networks_\(.set.deny)) { \($turn_away) } " else "" end)
  + (if .set.allow and (.set.satisfy == "any" and .users | not) then "if ($in_networks_\(.set.allow) = \"\") { \($turn_away) } " else "" end);
