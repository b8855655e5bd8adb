# Writes the program of the features that are in use: their hooks, in the order of features.json.
#
# That table has a row for each feature, which is a file in features/, or a folder with such a file. A row names the
# feature's hooks, and when each runs, by a number among those of the same chain; and why then, if not all hooks could
# run in any order. A hook is a function of that name in the file:
#
#   claims    def claims($context; answer): [answered claim, the oldest Ingress first] => the same, with others, fewer,
#             or closed ones   (in route.jq)
#             $context: route's state (route.jq, stages.jq): {features, options: [{annotation: value}], secrets,
#             services, slices, settings, shared: [namespace], quarantined: {ingress: {...}}, ...}. A claim's
#             own annotations are `annotations($context.options)` (claims.jq).
#             answer: input {service, port, protocol} / output: the same with upstream, or with status, reason and
#             message; what is put into the claim's .also has an upstream of its own; .balance goes to its upstream in
#             the model
#   upstreams def upstreams($context; answer): a second one of the same chain, for what depends on those in between
#   model     def model: model => the same with lines for nginx.conf: in .lines for the http block, and in the .lines of
#             a server or an upstream; .head, .rewrite and .target of a location are its block's head and parts
#             (in nginx.jq)
#   location  def location: a location, with its annotations in .set => each directive for its block, as text with a
#             space behind it (in nginx.jq). It is written before what answers the request, and nginx runs `set`, `if`
#             and `return` in that order, before `limit_req`, `auth_basic` and other directives
#
# To add a feature: its row in features.json, its file, "feature" in the rows of annotations.json, and tests in
# test/annotations.
#
# input: the lines that begin with "include" in the files of features, each after the name of its file and a colon
# args:  $file: features or feature-files, the file to be written; $uses: text that has each feature's name in quotes
#
# feature-files.jq has no function: it is for jq 1.8.2, which needs all files that another one includes, after that one,
# from each that includes that one (bin/README.md). The features' own lists are in such an order, and the last line of
# each file keeps it when they are joined.
import "annotations/features" as $table;

def as_name: gsub("-"; "_"); # in jq's names, "-" is an operator

# input: {feature: its row} / output: what runs these hooks, in their order
def calls($hooks; $arguments):
  [ to_entries[] | .key as $feature
    | .value | to_entries[] | select(.key | IN($hooks[]))
    | {at: .value, call: "\($feature | as_name)::\(.key)\($arguments)"} ]
  | sort_by(.at)[].call;

# input: {feature: its row} / output: what the files of these features include, each line where it was last
def includes($lines):
  . as $used
  | [$lines[] | capture("/(?<name>[a-z-]+)[.]jq:(?<line>[^;]+;)") | select($used[.name]).line]
  | reduce reverse[] as $line ([]; if index($line) then . else [$line] + . end)
  | .[];

def imports: keys[] | "import \"annotations/features/\(.)\" as \(as_name);";

[inputs] as $lines # to the end, also where they are not needed: or grep, which writes them, would fail
| $table[0] | with_entries(.key as $name | select($uses | contains("\"\($name)\"")))
| "# Written by write_features (features.bash) from features.json; features-program.jq says what hooks are.",
  if $file == "feature-files" then "include \"annotations/hooks\";", imports, includes($lines)
  else
    "include \"annotations/hooks\"; # all_loaded, with_directives",
    imports,
    "",
    "def loaded: \(keys | tojson);",
    "",
    "def feature_claims($context; answer):",
    "  all_loaded($context.features; loaded)",
    "  | \(calls(["claims", "upstreams"]; "($context; answer)"))",
    "  ;",
    "",
    "def with_features:",
    "  if (.features // []) == [] then .",
    "  else",
    "    all_loaded(.features; loaded)",
    "    | \(calls(["model"]; ""))",
    "    | with_directives(",
    "        \(calls(["location"]; "")),",
    "        \"\")",
    "  end;"
  end
