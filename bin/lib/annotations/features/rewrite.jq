# use-regex, rewrite-target: paths that are regular expressions, and other paths for the pods.
#
# nginx takes the first regular expression that matches, before any prefix. So in a server that has one, its prefixes
# become expressions, too, and they stand in the order of the model: the longest path first, as ingress-nginx has it.
# Before them come the Exact paths that end with "/": beside `location = /x/`, nginx would redirect /x of its own
# accord, and a block against that (blocks_against_redirects in server-blocks.jq) would take /x from the expression that
# it matches, and from what protects it.
#
# Where namespaces share a host, a long expression of a guest, such as /.*(aaaaaa)?, must not come before what the owner
# has, or has closed. So it counts there as long as what is literal at its beginning: as a Prefix path of the guest
# would. Rules without a host are everybody's, so there all are guests.
include "annotations/claims";
include "annotations/expressions";
include "route/ownership"; # owners
include "allow";

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
def with_head($guests):
  if .pathType == "RegularExpression" then .head = "~* \"\(pattern)\""
  elif .pathType == "Prefix" and (.path != "/" or $guests) then
    .head = "~ \"\(if .path == "/" then "^/" else pattern end)\""
  elif is_exact_folder then .head = "~ \"^\(.path | escaped)\\z\""
  else .
  end;

# input:  [answered claim, the oldest Ingress first]
# output: the same, with .guest for the expressions of those who do not own the host
def claims($context; answer):
  owners($context) as $owners
  | map(when(.pathType == "RegularExpression" and (.host == "" or own_namespace != $owners[.host]); .guest = true));

# input: a location / output: whether $target may make a segment ".." of what its groups match: of /a(.*) and /b/$1,
#         /a../c makes /b/../c
#
# It may not if it ends with the last group, the only one in it, and that has whole segments: (/.*), or /(.*).
def may_have_dots($target):
  ([.path | match("(?<!\\\\)[(](?![?])"; "g")] | length) as $groups
  | [$target | scan("[$][1-9]")] as $used
  | $used != []
    and ($used == ["$\($groups)"] and ($target | endswith($used[0]))
         and (.path | test("(?<!\\\\)[(]/[.][*][)][?]?[$]?\\z")
           or test("(/|(?<!\\\\)[(]/[|][$][)])[(][.][*][)][$]?\\z") and ($target | test("(\\A|/)[$][1-9]\\z"))) | not);

# input: a location / output: the directive that makes $target of its path
#
# Where the target begins with a group ($1), the slash at the beginning of the path may be in the group, or not: so one
# is put before it, and of two, the first is taken away.
def rewrite_to($target):
  "rewrite \"\({RegularExpression: "(?i)\(pattern)", Exact: pattern}[.pathType] // "^/")\" "
  + if $target | startswith("$") then "\"/\($target)\"; rewrite \"(?s)^/(/.*)\" \"$1\"; " else "\"\($target)\"; " end;

# input: a location / output: directives that redirect to $url
#
# nginx answers with 302 where the text of the target is a URL: never because of what a group matched. It encodes what
# groups matched, line ends, too. A group right behind the host could become a part of it: so that is a path first.
def redirect_to($url):
  ($url | capture("\\A(?<host>https?://[^/?$]+)(?<rest>.*)")) as {$host, $rest}
  | if $rest | startswith("$") then rewrite_to($rest) + "rewrite \"(?s)^(.*)$\" \"\($host)$1\"; " else rewrite_to($url) end;

# input: a location / output: directives that give the pod another path. They come last, as nginx runs no `if` or `set`
#         after `break`
def pod_gets($target):
  rewrite_to($target)
  + (if may_have_dots($target) then
       "if ($uri ~ \"[/\\x5c][.]{1,2}([/;\\x5c]|$)\") { return 400 \"The path that the pod would get has a segment \\\".\\\" or \\\"..\\\" in it, which is not served.\\n\"; } "
     else ""
     end)
  + "break; ";

# input: a location / output: it with .rewrite, or with directives that redirect, which need no pod (redirects.jq)
#
# The path of the rule itself as the target rewrites nothing, as in ingress-nginx: / with rewrite-target: / is common. A
# default backend has no path to rewrite, but a URL as the target is for its requests, too.
def with_rewrite($options):
  ({options: (.options // .moves.options)} | annotations($options)["rewrite-target"]) as $target
  | if $target == null or $target == .path then .
    elif $target | startswith("http") | not then
      when(.options and (.pathType | IN("RegularExpression", "Exact")); .rewrite = pod_gets($target))
    elif .upstream then .rewrite = redirect_to($target)
    else when(moves_alone; .directives += redirect_to($target))
    end;

# input:  [location]
# output: the longest path for which all their expressions together are not too expensive. (The summary has weighed
#         them.)
def longest: [.[].weighed.steps[]] | longest_path;

# input: [location] of a server / output: a location for paths that are too long for the owner's expressions
#
# It answers them itself: they must not fall through to a path that is less protected.
def too_long:
  [.[] | select(.pathType == "RegularExpression" and (.guest | not))] | longest
  | select(. < 16383)
  | "    location ~ \"(?s)^.{\(. + 1)}\" { return 414 \"A path of more than \(.) characters is not matched with the regular expressions of this host.\\n\"; }";

# input: a location with an expression / output: what is literal at its beginning
def literal_head: .weighed.head as $characters | .path | ltrimstr("^")[:$characters];

# input:  [location] of a server
# output: the same; before each expression of a guest, a location for what is too long for that one
def with_guests:
  ([.[] | select(.guest)] | longest) as $longest
  # as a Prefix has no "/" at its end
  | sort_by(if .guest then 0.5 - (literal_head | rtrimstr("/") | length) else -(.path | length) end)
  | when($longest < 16383;
      map(when(.guest;
        literal_head as $literal
        | {path, pathType, of, status: 414,
           message: "A path of more than \($longest) characters is not matched with it",
           head: "~* \"(?s)^\($literal).{\([0, $longest + 1 - ($literal | length)] | max)}\""}, .)));

# input: model / output: the same
def model:
  .options as $options
  | .servers |= map(
      when(any(.locations[]; .pathType == "RegularExpression");
        any(.locations[]; .guest) as $guests
        | .lines += [.locations | too_long]
        | .locations |= (
            map(with_head($guests))
            | map(select(is_exact_folder)) + (map(select(is_exact_folder | not)) | when($guests; with_guests))))
      | .locations |= map(with_rewrite($options)));
