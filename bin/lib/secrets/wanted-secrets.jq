# The Secrets and ConfigMaps that our Ingresses name, in spec.tls and in annotations; and what all programs know of each
# that reads, looks for or lists them. A ConfigMap is treated as a Secret here, with the name that named.jq gives it.
#
# The programs' args: $claims: the summary of the Ingresses; $default: a Secret that is wanted too; $namespace: the only
# one, or ""; $facts: [what is known of the key pairs] (keypairs.jq); $files: the names of the key files that are there.
include "secrets/named"; # uses
include "allow"; # is_name

# input: text / output: its lines
def lines: split("\n")[] | select(. != "");

# output: [{secret: "namespace/name", use}, ...]: what the oldest Ingress names comes first
def wishes($claims; $default; $only_namespace):
  [ ($default | select(. != "") | {secret: ., use: "pair"}),
    ( [$claims | lines | fromjson | select(.of)] | sort_by([.created, .of])[]
      | (.of | namespace) as $of
      | (.tls[].secretName | select(is_name) | {secret: "\($of)/\(.)", use: "pair"}),
        (.options.set // {} | uses($of; $ENV.SHARED_NAMESPACES | split(","))) )
  ]
  | map(select($only_namespace == "" or (.secret | startswith("\($only_namespace)/"))));

# input: these / output: {"namespace/name": [use, ...], ...}
def by_secret: group_by(.secret) | map({(.[0].secret): (map(.use) | unique)}) | add // {};

# output: why a Secret cannot be used
def refused($reason; $message): {$reason, $message};

# input: {id} / output: what is known of what is in the file; null while openssl and nginx have not examined it.
# Passwords are examined here: of them, no more needs to be known.
def fact($facts): if .id | endswith(".pem") then $facts[0][.id] else {} end;

# output: {"name of a key file": true} of those that are there
def present($files): [$files | lines | {(.): true}] | add // {};
