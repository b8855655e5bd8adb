# Regular expressions that Ingresses have as paths: which ones are let in, and for how long a path.
#
# nginx runs them for each request, in the process that serves everybody. So there is no nesting of what repeats, and
# what is left has a bounded cost: with c choices and n parts of any length, an expression that does not match takes
# at most some 2^c * l^n / n! steps for a path of l characters. That gives the longest path it is tried for.

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

# input: a class such as [a-z0-9] / output: whether each of its ranges is one: nginx rejects [z-a] and [\d-z]
def is_sound:
  .[1:-1] | ltrimstr("^")
  | all(match("(\\\\.|[^\\\\])-(\\\\.|[^\\\\])"; "g").captures | map(.string);
      (any(.[]; test("\\\\[dwsDWS]")) | not) and .[0][-1:] <= .[1][-1:]);

# input: an expression / output: {loops, choices} of it, or {why} it is not let in
#
# .groups has one entry for each open group; .atom is what a quantifier would repeat: null, "one" character, or a
# "group"; .first is true before the first token.
def weighed:
  (tokens // [null]) as $all
  | if $all[0] == null then {why: "has something in it that is not served; allowed: literals, classes, . ? * + {n,m} ^ $ ( ) |"}
    else
      reduce ($all | add | [match("\\{[0-9]{1,2}(,[0-9]{0,2})?\\}|\\\\.|\\[\\^?([^\\]\\\\]|\\\\.)+\\]|\\(\\?:|."; "g").string][]) as $token
        ({loops: 0, choices: 0, groups: [], atom: null, first: true};
          (if $token | test("\\A([*+?]|\\{.+\\})\\z") then
             (if $token == "*" then [0, null] elif $token == "+" then [1, null] elif $token == "?" then [0, 1] else $token | count end) as [$least, $most]
             | if .atom == null then .why = "has \($token) with nothing before it to repeat"
               elif $most != null and $most < $least then .why = "has \($token), which is no count"
               elif .atom == "group" and ($token != "?") then .why = "repeats a group, which could take very long: only ? may follow a group"
               elif $most == null then .loops += 1
               elif $most > $least then .choices += ($most - $least + 1 | log2 | ceil)
               else . end
             | .atom = null
           elif $token | IN("(", "(?:") then .groups += [1] | .atom = null
           elif $token == ")" then
             if .groups == [] then .why = "closes a group that is not open" else .groups |= .[1:] | .atom = "group" end
           elif $token == "|" then .choices += 1 | .atom = null
           elif $token == "^" then (if .first then . else .why = "has ^ in its middle" end) | .atom = null
           elif $token == "$" then .atom = null
           elif $token | IN("{", "}") then .why = "has a \($token) that is no count such as {2,4}"
           elif ($token | startswith("[")) and ($token | is_sound | not) then .why = "has a range in \($token) that is none"
           else .atom = "one"
           end)
          | .first = false)
      | if .groups != [] then .why = "has a group that is not closed" else . end
      | if .why then {why} else {loops, choices} end
    end;

# input: {loops, choices} / output: how many characters a path may have
def longest_path:
  {"0": 1, "1": 1, "2": 2, "3": 6, "4": 24}["\(.loops)"] as $factorial
  | if $factorial == null then 0
    elif .loops == 0 then (if .choices <= 20 then 16384 else 0 end)
    else [16384, (pow(4000000 * $factorial / pow(2; .choices); 1 / .loops) | floor)] | min
    end;

# input: a path that is meant as a regular expression / output: {longest: characters that a path may have}, or {why} it is not let in
def expression:
  if length > 512 then {why: "is a regular expression of more than 512 characters"}
  elif startswith("/") or startswith("^/") | not then {why: "is a regular expression that does not begin with /"}
  else
    weighed
    | if .why then .
      else longest_path | if . < 64 then {why: "is a regular expression that could take too long: it has too many parts that repeat, or alternatives"} else {longest: .} end
      end
  end;
