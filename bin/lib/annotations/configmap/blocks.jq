# Texts and regular expressions of block-user-agents, block-referers and skip-access-log-urls, as nginx's map has them.

# input: text / output: it without quotes around it
def unquoted: if test("\\A(\".*\"|'.*')\\z") and length > 1 then .[1:-1] else . end;

# input: a sound regular expression / output: how many bytes PCRE makes of it, at most: what repeats n times is there n
#         times
def compiled_size:
  reduce match("\\\\.|\\[\\^?(\\\\.|[^\\]])*\\]|[{][0-9]+(,[0-9]*)?[}]|."; "g").string as $token ([{before: 0, last: 0}];
    if $token == "(" then . + [{before: 0, last: 0}]
    elif $token == ")" then
      (.[-1] | .before + .last + 12) as $group
      | .[:-1] | .[-1] |= {before: (.before + .last), last: $group}
    elif $token[:1] == "{" then .[-1].last *= ([$token | scan("[0-9]+") | tonumber] | max)
    else .[-1] |= {before: (.before + .last), last: (if $token[:1] == "[" then 40 else 5 end)}
    end)
  | .[0] | .before + .last;

# input: a regular expression / output: whether nginx takes it for certain
#
# It has what PCRE and jq's own understand alike: classes, groups without names, and quantifiers that follow something.
def is_expression:
  . as $expression
  | length <= 500
    and test("\\A[ !#-~]*\\z") # no quotes
    and (test("\\\\[^dDwWsSbB.*+?()\\[\\]{}|^$/_\\\\-]|\\\\\\z") | not)
    and (test("(\\A|[(|])[*+?{]|[*+?}][*{]|[*+?}][+?][*+?{]|\\(\\?(?!:|=|!)|\\[\\[|\\[\\^?\\]|\\[.*\\\\B|[{](?![0-9]{1,3}(,[0-9]{0,3})?[}])") | not)
    and (try ("" | [test($expression)] | true) catch false)
    and compiled_size < 30000; # of the 64 KiB that PCRE has

# input: one element / output: {key, entry}, which is how a map has it; or {wrong}
def pattern:
  . as $given
  | unquoted
  | if startswith("~") then
      (if startswith("~*") then .[2:] else .[1:] end | unquoted) as $expression
      | (if startswith("~*") then "~*" else "~" end) as $mark
      | if $expression != "" and ($expression | is_expression) then
          {key: ($mark + $expression), entry: "\"\($mark)\($expression | gsub("\\\\"; "\\\\"))\""}
        else {wrong: $given}
        end
    elif length <= 500 and test("\\A[ !#-~]+\\z") and (test("[\\\\$]") | not) then
      # a backslash before it: it may be the name of a parameter of "map"
      {key: ascii_downcase, entry: "\"\(if ascii_downcase | IN("default", "hostnames", "include", "volatile") then "\\\\" else "" end)\(ascii_downcase)\""}
    else {wrong: $given}
    end;

# input: [element], all right / output: [how a map has each, once]
#
# A map compares texts without regard to the case of letters, and nginx rejects two that are the same.
def patterns: map(pattern) | unique_by(.key) | map(.entry);
