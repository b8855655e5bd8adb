# auth-type, auth-secret, auth-secret-type, auth-realm: only users with a name and a password get in.
#
# The hashes of the passwords are in a file, which nginx reads for each request (passwords.jq says which are let in).
# While that file is not there, because the Secret is missing, unreadable, or not read yet, the Ingress is closed.
#
# nginx computes the hash of whatever a client sends. So a login that is longer than any password of ours is looked up
# in a file that does not exist: that is a 403.
#
# The pod does not get the password: nginx has compared it, and sends no header Authorization, unless
# auth-response-headers has one of the authentication service (external-auth.jq).
#
# A path for ACME challenges asks for no password: the authority that asks there has none.
include "allow";
include "annotations/claims";
include "secrets/named";
include "quoting";

def longest_login: 1000; # of the name and the password, in base64

# input: [answered claim] / output: the same; .users is the name of the file
def claims($context; answer):
  map(
    annotations($context.options) as $set
    | when(.options and .upstream and (is_free_of("auth-type"; $set) | not);
        own_namespace as $of
        | if [$set["auth-type", "auth-secret", "auth-secret-type", "auth-realm"]] == [null, null, null, null] then .
          elif $set["auth-type"] == null then closed("auth-secret and auth-realm need auth-type: basic")
          elif $set["auth-secret"] == null then closed("auth-type needs auth-secret, the Secret with the passwords")
          else
            ($set["auth-secret"] | secret($set["auth-secret-type"] // "auth-file"; $of; $context)) as $secret
            | if $secret.file then .users = $secret.file else closed($secret.message) end
          end));

# input: a location / output: its directives
#
# With satisfy: any, clients from the addresses of allowlist-source-range need no password.
def location:
  select(.users)
  | (.set["auth-realm"] // "Authentication Required" | in_quotes) as $realm
  | "set $is_login 1; ",
    (if .set.satisfy == "any" and .set.allow then
       "set $basic_realm \($realm); if ($in_networks_\(.set.allow)) { set $basic_realm off; } auth_basic $basic_realm; "
     else "auth_basic \($realm); "
     end),
    "auth_basic_user_file \"$users_folder/\(.users | harmless)\"; ";

# input: model / output: the same with the folder of the files, and the header Authorization for the pods; that of
# external-auth.jq has it already
#
# Only if a location sets $is_login (one without a ready pod does not): nginx rejects a map of a variable that it does
# not know.
def model:
  [.servers[].locations[] | select(.users and .upstream)] as $logins
  | .lines += [
      select($logins != [])
      | map_lines("$http_authorization"; "$users_folder";
          "\"~*^basic .{\(longest_login + 1)}\" \("\($ENV.STATE_DIR)/keys/too-long" | in_quotes);",
          "default \("\($ENV.STATE_DIR)/keys" | in_quotes);"),
        map_lines("$is_login"; "$sent_authorization"; "default \"\";", "\"\" $http_authorization;"),
        ( select(.says_authorization | not)
          | ("proxy", ("grpc" | select(any($logins[]; speaks_grpc))))
          | "  \(.)_set_header Authorization $sent_authorization;" ),
        "" ];
