# The Secrets that annotations name, and what each is for.
#
# $ENV: SHARED_NAMESPACES
include "allow";

# input: "name" or "namespace/name", as an annotation of an Ingress in namespace $of has it
# output: "namespace/name"; nothing if the Secret is another namespace's, unless SHARED_NAMESPACES lists that
def named($of):
  if contains("/") then . else "\($of)/\(.)" end
  | split("/") as $parts
  | select($parts[0] == $of or any($ENV.SHARED_NAMESPACES // "" | split(",")[]; . == $parts[0]))
  | select(all($parts[]; is_name));

# input: the annotations of an Ingress of namespace $of, {name: value} / output: {secret: "namespace/name", use}, one for each use
#
#   auth-file, auth-map  passwords: in one file, or one for each user
#   ca                   certificates of authorities
#   pair                 a certificate with its private key
def uses($of):
  ((.["auth-secret"] // empty | named($of)) as $secret | {$secret, use: (.["auth-secret-type"] // "auth-file")}),
  (.["proxy-ssl-secret"] // empty | named($of) | {secret: ., use: ("ca", "pair")}),
  (.["auth-tls-secret"] // empty | named($of) | {secret: ., use: "ca"});

# input: {certificate: "namespace/name", use} / output: its key; a pair has none but the name, since Secrets for spec.tls are pairs
def key_of_use: if (.use // "pair") == "pair" then .certificate else "\(.use) \(.certificate)" end;

# input: an answered claim / output: the same, closed
def closed($why):
  del(.upstream, .service, .port, .protocol, .also, .balance)
  + {status: 503, reason: "ProtectionNotAvailable", message: "closed, because its protection is not available here: \($why)"};

# input: what an annotation of an Ingress of namespace $of names / output: the line of the snapshot about it, {file, ...}; or
# {reason, message}, where the message names the Secret
def secret($use; $of; $secrets):
  . as $text
  | [named($of)]
  | if . == [] then {reason: "SecretRefused", message: "Secret \($text) is not of namespace \($of), and SHARED_NAMESPACES does not list its namespace"}
    else
      .[0] as $name
      | {certificate: $name, $use}
      | $secrets[key_of_use] // {reason: "SecretNotFound"}
      | if .reason then .message = "Secret \($name)\(if .message then ": " + .message else " does not exist" end)" else . end
    end;
