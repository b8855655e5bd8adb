# auth-type, auth-secret, auth-secret-type, auth-realm: only users with a name and a password get in.
#
# The hashes of the passwords are in a file, which nginx reads for each request (passwords.jq says which are let in). While
# that file is not there, because the Secret is missing, unreadable, or not read yet, the Ingress is closed.
#
# The pod gets the header Authorization as the client sent it.
include "named";
include "quoting";

# input: [answered claim] / output: the same; .users is the name of the file
def claims($context):
  map(
    if .options and .upstream then
      ($context.options[.options - 1]) as $set
      | (.ingress | split("/")[0]) as $of
      | if [$set["auth-type", "auth-secret", "auth-secret-type", "auth-realm"]] == [null, null, null, null] then .
        elif $set["auth-type"] == null then closed("auth-secret and auth-realm need auth-type: basic")
        elif $set["auth-secret"] == null then closed("auth-type needs auth-secret, the Secret with the passwords")
        else
          ($set["auth-secret"] | secret($set["auth-secret-type"] // "auth-file"; $of; $context.secrets)) as $secret
          | if $secret.file then .users = $secret.file else closed($secret.message) end
        end
    else . end);

# input: a location / output: its directives
#
# With satisfy: any, clients from the addresses of allowlist-source-range need no password.
def location:
  if .users then
    (.set["auth-realm"] // "Authentication Required" | string) as $realm
    | (if .set.satisfy == "any" and .set.allow then "set $basic_realm \($realm); if ($in_networks_\(.set.allow)) { set $basic_realm off; } auth_basic $basic_realm; "
       else "auth_basic \($realm); "
       end)
      + "auth_basic_user_file \("\($ENV.STATE_DIR)/keys/\(.users)" | string); "
  else "" end;
