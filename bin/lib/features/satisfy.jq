# satisfy: whether a client must have both, a password and an address that is let in (all), or one is enough (any).
#
# With any, allowlist-source-range does not turn clients away (access.jq), and they need no password if their address is
# in it (basic-auth.jq). denylist-source-range turns away all the same. With one protection alone, both values are the same.
include "named";

# input: [answered claim] / output: the same; an Ingress with `any` and auth-url is closed, because nginx cannot combine them here
def claims($context):
  map(
    if .options and .upstream then
      $context.options[.options - 1] as $set
      | if $set.satisfy == "any" and $set["auth-url"] then closed("satisfy: any is not possible with auth-url") else . end
    else . end);
