# Regular expressions that Ingresses have as paths: which ones are let in, and for how long a path.
#
# nginx runs them for each request, in the process that serves everybody. So there is no nesting of what repeats, and
# what is left has a bounded cost: the number of ways in which a path can match the beginning of the expression, with n
# parts of any length at most l^n / n! for a path of l characters, times what each way then tries. That gives the
# longest path it is tried for. (test/bench/expressions measures it.)

# How many characters nginx may have to compare: some 10 ns each.
def most_steps: 400000;

# How many tokens an expression may have: jq takes 25 us to weigh one, and an Ingress may have hundreds of expressions
# (ingress_expressions in limits.json).
def most_tokens: 64;

# input: text / output: its tokens; null if something in it is no token that is let in
#
# Not let in are white space, quotes, "%", ";", "#", look-around, back-references, flags and named groups. A class has
# no "[" in it, and escapes are those of punctuation, and \d \w \s \D \W \S.
def tokens:
  . as $text
  | [match("\\\\[dwsDWS.+*?()\\[\\]{}|^$/-]|\\[\\^?([A-Za-z0-9._~!&()*+,=:@/|?$-]|\\\\[dwsDWS.\\]^/-])+\\]|\\(\\?:|[(){}|^$]|[*+?]|[A-Za-z0-9._~!&,=:@/-]"; "g").string]
  | if add == $text then . else null end;

# input: a token {3}, {3,} or {3,7} / output: [3, 3], [3, null], [3, 7]
def count:
  .[1:-1] | split(",") | (.[0] | tonumber) as $least
  | if length == 1 then [$least, $least] elif .[1] == "" then [$least, null] else [$least, (.[1] | tonumber)] end;

# input: a class such as [a-z0-9] / output: whether nginx takes it: each of its ranges is one, unlike [z-a] and [\d-z],
# and it does not look like a class of POSIX, as [:alpha:], [.a.] and [=a=] do
def is_sound:
  (test("\\A\\[(?::.*:|[.].*[.]|=.*=)\\]\\z") | not)
  and (.[1:-1] | ltrimstr("^")
       | all(match("(\\\\.|[^\\\\])-(\\\\.|[^\\\\])"; "g").captures | map(.string);
           (any(.[]; test("\\\\[dwsDWS]")) | not) and .[0][-1:] <= .[1][-1:]));

# input: a token / output: whether it stands for itself
def is_literal: test("\\A[A-Za-z0-9_~!&,=:@/-]");

# input: [token], those after a part that repeats; $atom is what repeats / output: how often that part can end
#
#   "once"  where a path has something that is not $atom, as for [^/]+ before a "/", or at the end of the path
#   "free"  wherever it is: nothing follows, so that is a match
#   "any"   anywhere else
def ends($atom):
  until(.[0] != ")"; .[1:])
  | if . == [] then "free"
    elif .[0] == "$" then "once"
    elif (.[0] | is_literal)
      and (.[1] // "" | test("\\A([*?]|\\{)") | not)
      and (.[0][:1] | test("\\A\($atom)\\z"; "i") | not) then "once"
    else "any"
    end;

# The state while an expression is weighed, token by token:
#
#   now     {loops, ways} so far
#   steps   [{loops, ways, size}]: what it costs; l^loops / loops! * ways * size for a path of l characters
#   groups  one entry for each open group, and one for the whole: what .now was at its start, and at the end of each of
#           its alternatives
#   atom    what a quantifier would repeat: null, "one" character, or a "group", before which .now was .skipped
#   head    the number of characters at the beginning that stand for themselves; in_head: whether that goes on
#   why     why it is not let in

# input: the state / output: it with a step more
def step($size): .steps += [.now + {$size}];

# input: the state / output: it after a quantifier that follows the token $before, and has $rest behind it
#
# A "?" after it, as in .*?, lets it match as little as possible, which changes nothing in what it may cost.
def after_quantifier($quantifier; $before; $rest):
  ($quantifier | if . == "?" then . else rtrimstr("?") end) as $token
  | (if $token == "*" then [0, null]
   elif $token == "+" then [1, null]
   elif $token == "?" then [0, 1]
   else $token | count
   end) as [$least, $most]
  | (if .in_head and $least == 0 then .head -= 1 else . end)
  | if $token == "?" and ($before // "" | endswith("(")) then
      .why = "has (? in it, which is only let in as (?: and not for look-ahead, look-behind, flags or names"
    elif .atom == null then .why = "has \($token) with nothing before it to repeat"
    elif $most != null and $most < $least then .why = "has \($token), which is not a count"
    elif .atom == "group" then
      if $token == "?" then .now.ways += .skipped.ways
      else .why = "repeats a group, which could take very long: only ? may follow a group"
      end
    elif .why then . # what repeats is perhaps nothing that `ends` could try
    elif $most != null then step($most) | .now.ways *= $most - $least + 1
    else
      step($least)
      | ($rest | ends($before)) as $ends
      | if $ends == "free" then .
        elif $ends == "any" then .now.loops += 1 | step(1)
        else .steps += [.now + {size: 1} | .loops += 1]
        end
    end
  | .atom = null;

# input: the state / output: it after the end of a group
def after_group:
  if .groups | length == 1 then .why = "closes a group that is not open"
  else
    (.groups[0].ends + [.now]) as $ends
    | .skipped = .groups[0].start
    | .now = {loops: ([$ends[].loops] | max), ways: ([$ends[].ways] | add)}
    | .groups |= .[1:]
    | .atom = "group"
  end;

# input: the state / output: it after any other token
def after($token):
  if $token | IN("(", "(?:") then .groups = [{start: .now, ends: []}] + .groups | .atom = null
  elif $token == "|" then
    (if .groups | length == 1 then .head = 0 else . end)
    | .groups[0].ends += [.now] | .now = .groups[0].start | .atom = null
  elif $token == "^" then .atom = null
  elif $token == "$" then step(1) | .atom = null
  elif $token | IN("{", "}") then .why = "has a \($token) that is not a count such as {2,4}"
  elif ($token | startswith("[")) and ($token | is_sound | not) then .why = "has a range in \($token) that is none"
  elif $token | is_literal then
    .atom = "one" | step($token | length)
    | if .in_head then .head += ($token | length) else . end
  else .atom = "one" | step(1)
  end;

# input: an expression / output: {steps, head}, or {why} it is not let in
#
# The allowed tokens are no quantifiers such as {2,4}: to `tokens`, each of their characters is one. So they are put
# together, and all is cut once more, now into tokens as nginx reads them; but what stands for itself, up to the
# character before a quantifier, is one token, which saves time.
def weighed:
  (tokens // [null]) as $all
  | if $all[0] == null then
      {why: "has something in it that is not served; allowed: literals, classes, . ? * + {n,m} ^ $ ( ) |"}
    else
      [ $all | add
        | match("(\\{[0-9]{1,2}(,[0-9]{0,2})?\\}|[*+?])\\??|\\\\.|\\[\\^?([^\\]\\\\]|\\\\.)+\\]|\\(\\?:|[A-Za-z0-9_~!&,=:@/-]+(?![*+?{])|.";
            "g").string ] as $tokens
      | reduce range($tokens | length | select(. <= most_tokens)) as $at
        ({now: {loops: 0, ways: 1}, steps: [], groups: [{start: {loops: 0, ways: 1}, ends: []}],
            atom: null, head: 0, in_head: true};
          $tokens[$at] as $token
          | (if $token | test("\\A([*+?]|\\{.+\\})\\??\\z") then
               after_quantifier($token; $tokens[$at - 1]; $tokens[$at + 1:])
             elif $token == ")" then after_group
             elif $token == "^" and $at > 0 then .why = "has ^ in its middle" | .atom = null
             else after($token)
             end)
          | (if .in_head and ($token | is_literal or . == "^" | not) then .in_head = false else . end))
      | if $tokens | length > most_tokens then .why = "has more than \(most_tokens) parts"
        elif .groups | length > 1 then .why = "has a group that is not closed"
        else .
        end
      | if .why then {why}
        else {steps: (.steps | group_by([.loops, .ways]) | map(.[0] + {size: (map(.size) | add)})), head}
        end
    end;

# input: [{loops, ways, size}] / output: how many characters nginx may compare for a path of so many
def cost($length): [.[] | .ways * .size * reduce range(1; .loops + 1) as $n (1; . * $length / $n)] | add // 0;

# input: the same / output: the longest path that costs no more than most_steps
def longest_path:
  if cost(16383) <= most_steps then 16383
  else
    reduce (8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1) as $more ({steps: ., length: 0};
      (.length + $more) as $length | if .steps | cost($length) <= most_steps then .length = $length else . end)
    | .length
  end;

# input:  a path that is meant as a regular expression
# output: what it costs, {steps, head, longest: characters that a path may have}, or {why} it is not let in
def expression:
  if length > 512 then {why: "is a regular expression of more than 512 characters"}
  elif startswith("/") or startswith("^/") | not then {why: "is a regular expression that does not begin with /"}
  else
    weighed
    | if .why then .
      else
        .longest = (.steps | longest_path)
        | if .longest < 64 then
            {why: "is a regular expression that could take too long: it has too many parts that repeat, or alternatives"}
          else .
          end
      end
  end;
