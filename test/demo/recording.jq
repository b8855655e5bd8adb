# A recording of a terminal as an SVG, without script: each line appears when it came, and all of it starts again.
#
# input:  lines "MILLISECONDS TEXT" (jq -n -R), see `record`
# output: the lines of the SVG (-r)
#
# Whoever wants no motion, and programs that know no animations, see all lines at once.

def columns: 104;
def line_height: 18;
def rest_at_the_end: 6000; # milliseconds in which all of it can be read

def escaped: gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;");

# input: a line of the terminal / output: the class that gives it its colour
def kind:
  if startswith("$ ") then "command"
  elif test("^(---|[+][+][+]|@@)") then "head"
  elif startswith("+") then "more"
  elif startswith("-") then "less"
  else "text"
  end;

def shown: if length > columns then .[:columns - 1] + "…" else . end;

[inputs | capture("^(?<at>[0-9]+) (?<text>.*)$") | .at |= tonumber] | sort_by(.at)
| (last.at + rest_at_the_end) as $all
| (length * line_height + 24) as $height
| "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 830 \($height)\" role=\"img\" xml:space=\"preserve\">",
  "<title>apple is scaled to three pods, nginx.conf gains a line, and the new pod answers</title>",
  "<style>",
  "text { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }",
  ".command { fill: #79c0ff; font-weight: bold } .head { fill: #8b949e } .more { fill: #7ee787 } .less { fill: #ffa198 }",
  "@media (prefers-reduced-motion: no-preference) {",
  "text { animation: \($all)ms step-end infinite }",
  ( to_entries[] | ((.value.at * 100000 / $all | floor) / 1000) as $part
    | "#l\(.key) { animation-name: l\(.key) } @keyframes l\(.key) { 0% { opacity: 0 } \($part)% { opacity: 1 } }" ),
  "}",
  "</style>",
  "<rect width=\"830\" height=\"\($height)\" rx=\"8\" fill=\"#0d1117\"/>",
  ( to_entries[]
    | "<text id=\"l\(.key)\" class=\"\(.value.text | kind)\" x=\"16\" y=\"\(.key * line_height + 26)\">\(.value.text | shown | escaped)</text>" ),
  "</svg>"
