# How text from the cluster is written into nginx.conf.

# input: text / output: the same with "?" for each character that could mean something within a quoted nginx string:
# `"`, `$`, `\`, and all that is not printable ASCII
#
# Mostly there is none, and that is quickly known: JSON writes them all longer than they are, except `$`.
def harmless:
  if (tojson | utf8bytelength) == length + 2 and (contains("$") | not) then . else gsub("[^ !#%-\\[\\]-~]"; "?") end;

# input: text / output: a quoted nginx string
def string: "\"\(harmless)\"";
