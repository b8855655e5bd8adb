# What may be shown of sentences and of nginx.conf where values of annotations and headers must not be.

# input: a sentence / output: it without the value that it quotes
def without_values:
  gsub(" (?<verb>is|has) \".*; allowed: "; " \(.verb) \"redacted\"; allowed: ")
  | gsub(" is \".*\"[.] "; " is \"redacted\". ")
  | gsub(" Its last good value holds: \".*"; " Its last good value holds: \"redacted\"");

# input: text / output: it without query strings
def without_queries: gsub("[?][^ \"]+"; "?\u2026");

# input: the arguments of a directive / output: those that may be shown
def shown_arguments($name):
  if $name | IN("server_name", "listen", "server", "upstream", "location", "keepalive", "keepalive_timeout") then .
  elif $name | IN("proxy_pass", "grpc_pass") then without_queries
  elif $name == "set" and startswith(" $ingress ") then .
  elif $name == "return" then .[:4] + " \u2026"
  elif . == "" then .
  else " \u2026"
  end;

# output: a directive, with what it ends with: a name, and arguments in quotes or without
def directive: "(?<name>[a-z_0-9]+)(?<arguments>( +(\"(\\\\.|[^\"\\\\])*\"|[^;{}\"'\\s]+))*) *(?<end>[;{])";

# input: a line of nginx.conf / output: what may be shown of it; an ellipsis in the place of all else
def shown_line:
  . as $line
  | [match(directive; "g")] as $found
  | if test("\\A\\s*[}]?\\s*\\z") then .
    elif $line | gsub(directive; "") | test("\\A[\\s}]*\\z") | not then (capture("\\A(?<indent>\\s*)").indent) + "\u2026"
    else
      (capture("\\A(?<indent>\\s*)").indent)
      + ([ $found[] | (.captures | map({(.name // "other"): .string}) | add) as $it
           | "\($it.name)\($it.arguments // "" | shown_arguments($it.name))\(if $it.end == "{" then " {" else ";" end)" ]
         | join(" "))
      + (if test("[}]\\s*\\z") then " }" else "" end)
    end;
