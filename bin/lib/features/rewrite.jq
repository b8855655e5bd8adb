# use-regex, rewrite-target: paths that are regular expressions, and other paths for the pods.
#
# nginx takes the first regular expression that matches, before any prefix. So in a server that has one, its prefixes
# become expressions, too, and they stand in the order of the model: the longest path first, as ingress-nginx has it.
# Before them come the Exact paths that end with "/": beside `location = /x/`, nginx would redirect /x of its own accord,
# and a block against that (templates/nginx.jq) would take /x from the expression that it matches, and from what protects it.
include "expressions";
include "quoting";

# input: a path without expressions / output: the regular expression that matches it
def escaped: gsub("(?<special>[.*+()])"; "\\\(.special)");

# input: a location / output: the regular expression of its path, as nginx has it. (It has no quotes in it.)
#
# "." also matches a line end (%0a): otherwise a path with one would get past "/private/(.*)$" and its protection.
def pattern:
  if .pathType == "RegularExpression" then "^(?s:\(.path | ltrimstr("^")))"
  elif .pathType == "Exact" then "^\(.path | escaped)$"
  else "^\(.path | escaped)(?:/|$)"
  end;

# input: a location / output: whether it is for a path such as /x/ and no other
def is_exact_folder: .pathType == "Exact" and .path != "/" and (.path | endswith("/"));

# input: a location of a server with regular expressions / output: it with .head, which is what its block begins with
def with_head:
  if .pathType == "RegularExpression" then .head = "~* \"\(pattern)\""
  elif .pathType == "Prefix" and .path != "/" then .head = "~ \"\(pattern)\""
  elif is_exact_folder then .head = "~ \"^\(.path | escaped)\\z\""
  else .
  end;

# input: a location / output: it with .rewrite, which comes last, as nginx runs no `if` or `set` after `break`
#
# The path of the rule itself as the target rewrites nothing, as in ingress-nginx: path / with rewrite-target: / is common.
def with_rewrite($options):
  ($options[(.options // 0) - 1]["rewrite-target"]? // null) as $target
  | if .options and $target and $target != .path and (.pathType | IN("RegularExpression", "Exact")) then
      .rewrite = "rewrite \"\(if .pathType == "Exact" then "" else "(?i)" end)\(pattern)\" \"\($target)\" break; "
    else .
    end;

# input: [location] of a server / output: a location for paths that are too long for one of its expressions
#
# It answers them itself: they must not fall through to a path that is less protected.
def too_long:
  [.[] | select(.pathType == "RegularExpression").path | expression.longest] | min
  | select(. < 16384)
  | "    location ~ \"(?s)^.{\(. + 1)}\" { return 414 \"A path of more than \(.) characters is not matched with the regular expressions of this host.\\n\"; }";

# input: model / output: the same
def model:
  .options as $options
  | .servers |= map(
      if any(.locations[]; .pathType == "RegularExpression") then
        .lines += [.locations | too_long]
        | .locations |= (map(select(is_exact_folder)) + map(select(is_exact_folder | not)) | map(with_head))
      else .
      end
      | .locations |= map(with_rewrite($options)));
