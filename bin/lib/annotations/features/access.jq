# allowlist-source-range, denylist-source-range: who may use a path, by the address of the client; deny counts first.
#
# `allow` and `deny` of a location would switch off those of the http block. So variables say it (claims.jq).
# With satisfy: any, a password or the answer of an authentication service lets in as well (satisfy.jq).
include "annotations/claims"; # number_networks

# input: model / output: the same with these variables, and their numbers in each element of options
def model: number_networks("allowlist-source-range"; "allow") | number_networks("denylist-source-range"; "deny");

# input: a location / output: the directives that turn away clients by their address
def location:
  "return 403 \"This path is not open to your address, $remote_addr.\\n\";" as $turn_away
  | (select(.set.deny) | "if ($in_networks_\(.set.deny)) { \($turn_away) } "),
    (select(.set.allow and (.set.satisfy == "any" and (.users or .who) | not))
     | "if ($in_networks_\(.set.allow) = \"\") { \($turn_away) } ");
