# Annotations that are one directive: the rows of annotations.json that name one.
#
# Their types have only values that need no quotes, or `in_quotes` quotes them.
include "annotations/claims";
include "quoting";
import "annotations" as $table;

# input: a value / output: it as nginx writes it
def argument($row):
  if type == "boolean" then (if . then "on" else "off" end)
  elif type == "number" then "\(.)\($row.unit // "")"
  elif $row.words then [splits("\\s+") | in_quotes] | join(" ")
  else in_quotes
  end;

# input:  {annotation: value}
# output: the directives with which a client may be silent, or read nothing, for as long as its pod may be
#
# A stream (gRPC, an upload that is answered meanwhile) is one request, and its client may be the one who waits. Whoever
# wants less of a pod does not want to hurry clients: so it is never less than for all others (clients.conf.template).
def patience:
  ($ENV.PROXY_READ_TIMEOUT | tonumber) as $of_all
  | ([.["proxy-read-timeout", "proxy-send-timeout"] // 0] | max) as $seconds
  | select($seconds > $of_all)
  | "client_body_timeout \($seconds)s; send_timeout \($seconds)s; ";

# input: a location / output: its directives; pods that speak gRPC have others of the same meaning
def location:
  speaks_grpc as $grpc
  | (.set | patience),
    ( .set | to_entries[]
      | .value as $value
      | $table::table[0][.key] as $row
      | ($row.directive // empty) as $directive
      | select(($row | has("if") | not) or $row.if == $value)
      | (if $grpc and ($directive | startswith("proxy_")) then $row.grpc // empty else $directive end) as $directive
      | "\($directive) \($value | argument($row)); ");
