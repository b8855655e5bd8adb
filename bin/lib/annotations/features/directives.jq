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

# input: a location / output: its directives; pods that speak gRPC have others of the same meaning
def location:
  speaks_grpc as $grpc
  | .set | to_entries[]
  | .value as $value
  | $table::table[0][.key] as $row
  | ($row.directive // empty) as $directive
  | select(($row | has("if") | not) or $row.if == $value)
  | (if $grpc and ($directive | startswith("proxy_")) then $row.grpc // empty else $directive end) as $directive
  | "\($directive) \($value | argument($row)); ";
