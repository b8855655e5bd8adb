# How nginx finds the certificate for a TLS handshake: by a map from the name that the client says (SNI) to a key file.
#
# A host may have up to three, one for each algorithm, and a client may understand one and not the others. So there are
# as many maps as some host needs; one with fewer has its first in the others, as nginx needs a file for each.
include "quoting"; # in_quotes

# input: [{host, files}] / output: 1, and further numbers up to that of the files which some host has
def numbers: range(1; ([1, (.[].files | length)] | max) + 1);

# input:  a host
# output: the same for a map: it may have the name of a parameter of "map". A backslash says that it is none; two, as
#         nginx reads two in quotes as one.
def key: if IN("default", "hostnames", "include", "volatile") then "\"\\\\\(.)\"" else in_quotes end;

# input: [{host, files}] / output: the maps; $default is the file for all other names
def certificate_maps($default):
  numbers as $number
  | def entry: "    \(.host | key) \(.files[$number - 1] // .files[0] | in_quotes);";
    "  map $wildcard_name $wildcard_certificate_\($number) {",
    "    default \($default | in_quotes);",
    (.[] | select(.host | startswith("*")) | entry),
    "  }",
    "  map $handshake_name $certificate_\($number) {",
    "    default $wildcard_certificate_\($number);",
    (.[] | select(.host | startswith("*") | not) | entry),
    "  }",
    "";

# input: [{host, files}] / output: the directives that use these maps; $mark stands before the name of the file
def certificate_directives($mark):
  numbers as $number
  | "    ssl_certificate \($ENV.STATE_DIR)/keys/\($mark)$certificate_\($number);",
    "    ssl_certificate_key \($ENV.STATE_DIR)/keys/$certificate_\($number);";

# input: model / output: the same with the maps, and with the directives in the default server, .tls
#
# nginx uses those of the default server at each handshake: in others they would only take memory.
def with_certificates:
  (.certificates // []) as $certificates
  | (.defaultCertificate // "default.pem") as $default
  | .lines += [$certificates | certificate_maps($default)]
  | (.servers[]? | select(.host == "") | .tls) = [$certificates | certificate_directives("")];
