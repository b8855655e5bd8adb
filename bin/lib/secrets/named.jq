# The Secrets and ConfigMaps that annotations name, and what each is for.
#
# All are "namespace/name" here, and a ConfigMap is "namespace/configmaps/name": no Secret has such a name.
# $shared are the namespaces that SHARED_NAMESPACES lists: whose Secrets the annotations of any Ingress may name.
include "allow";
import "annotations" as $table;

# input: "name" or "namespace/name", as an annotation of an Ingress in namespace $of has it
# output: "namespace/name"; nothing if the Secret is another namespace's, unless SHARED_NAMESPACES lists that
def named($of; $shared):
  if contains("/") then . else "\($of)/\(.)" end
  | split("/") as $parts
  | select($parts[0] | IN($of, $shared[]))
  | select(($parts | length) == 2 and all($parts[]; is_name));

# input: what something is used for / output: whether that is headers, and so it is a ConfigMap
#
#   answer-headers    the client gets them
#   question-headers  the authentication service gets them
def is_headers: IN("answer-headers", "question-headers");

# input: "namespace/name" of a ConfigMap / output: its name here
def as_config_map: sub("/"; "/configmaps/");

# input, output: the same for a ConfigMap, which is never another namespace's: whoever names it may read what is in it
def named_config_map($of):
  named($of; []) | as_config_map;

# input:  the annotations of an Ingress of namespace $of, {name: value}
# output: {secret: "namespace/name", use}, one for each use
#
#   auth-file, auth-map  passwords: in one file, or one for each user
#   ca                   certificates of authorities, perhaps with lists of what they have revoked
#   pair                 a certificate with its private key
def uses($of; $shared):
  . as $set
  | to_entries[]
  | $table::table[0][.key] as $row
  | select($row.names)
  | (.value | if $row.names == "ConfigMap" then named_config_map($of) else named($of; $shared) end) as $secret
  | {$secret, use: ($set[$row.use // ""] // $row.uses[])};

# input: the file of an authority / output: whether it has a list of what was revoked, which nginx then has to check
def has_revocations: endswith(".crl.ca.pem");

# input:  {certificate: "namespace/name", use}
# output: its key: for a pair the name alone, since Secrets for spec.tls are pairs
def key_of_use: if (.use // "pair") == "pair" then .certificate else "\(.use) \(.certificate)" end;

# input:  what an annotation of an Ingress of namespace $of names
# output: the line of the snapshot about it, {file, ...}; or {reason, message}, where the message names the Secret. For
#         headers, it is a ConfigMap, and the line is {headers, ...}
def secret($use; $of; $context):
  . as $text
  | (if $use | is_headers then {kind: "ConfigMap", key: [named_config_map($of)][0]}
     else {kind: "Secret", key: [named($of; $context.shared)][0]}
     end) as {$kind, $key}
  | if $key == null then
      {reason: "\($kind)Refused",
        message: "\($kind) \($text) is not of namespace \($of)\(if $kind == "Secret" then ", and SHARED_NAMESPACES does not list its namespace" else "" end)"}
    else
      ($context.secrets[{certificate: $key, $use} | key_of_use] // {reason: "\($kind)NotFound"})
      | if .reason then
          .message = "\($kind) \($key | sub("/configmaps/"; "/"))\(if .message then ": " + .message else " does not exist" end)"
        else .
        end
    end;
