# What --redact did to an nginx.conf: the differences that are none of words that stand in the place of others.
#
# args:   $before, $after: the texts
# output: a sentence for each line that differs elsewhere; and for a word that stands for two, or two that stand for one

def other: "redacted[0-9]{4}|10[.]1[0-9]{2}[.]1[0-9]{2}[.]1[0-9]{2}/32|2001:db8::[0-9]{4}/128";
def literally: gsub("(?<c>[^A-Za-z0-9 ])"; "[\(.c)]") | gsub("\\[\\^\\]"; "\\^") | gsub("\\[\\\\\\]"; "\\\\");

($before | split("\n")) as $old | ($after | split("\n")) as $new
| if ($old | length) != ($new | length) then "\($old | length) lines became \($new | length)" else empty end,
  ( [ range($old | length) as $i
      | $old[$i] as $was | $new[$i] as $is
      | select($was != $is and ($is | test("config-hash") | not))
      | [$is | match(other; "g").string] as $words
      | ([$is | splits(other) | literally] | join("(.+?)")) as $expression
      | [$was | capture("\\A\($expression)\\z"; "") | true] as $fits
      | if $words == [] or $fits == [] then {wrong: "\($was)\n  became \($is)"}
        else [$was | match("\\A\($expression)\\z").captures[].string] as $meant
          | range($words | length) | {word: $words[.], meant: $meant[.]}
        end ]
    | (.[].wrong | values),
      ([.[] | select(.word)] | unique
       | (group_by(.word)[] | select(length > 1) | "\(.[0].word) stands for \(map(.meant))"),
         (group_by(.meant)[] | select(length > 1) | "\(.[0].meant) became \(map(.word))")) )
