# A chart of how long it takes until traffic follows a change, as SVG: a bar for each row in ms that has a goal.
# input: what results.jq makes
#
# The scale is logarithmic, from 10 ms on: a bar is a decade longer for ten times the time.
def escaped: gsub("&"; "&amp;") | gsub("<"; "&lt;");
def x: 310 + ((. / 10 | log10) * 110 | floor | if . < 0 then 0 else . end);
[.rows[] | select(.unit == "ms" and .median != null and .goal != "")] as $rows
| ($rows | length * 26 + 70) as $height
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\" height=\"\($height)\" font-family=\"sans-serif\" font-size=\"13\">",
  "<rect width=\"780\" height=\"\($height)\" fill=\"white\"/>",
  "<text x=\"10\" y=\"20\" font-weight=\"bold\">From a change in the cluster to the first request that follows it</text>",
  "<text x=\"10\" y=\"40\" fill=\"#555\">bar: median in ms; line: from the least to the greatest median of \($rows | map(.values | length) | max) repetitions; red: the goal</text>",
  ( (10, 100, 1000, 10000)
    | "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"50\" y2=\"\($height - 4)\" stroke=\"#ddd\"/>",
      "<text x=\"\(x + 3)\" y=\"\($height - 6)\" fill=\"#999\" font-size=\"11\">\(.) ms</text>" ),
  ( $rows | to_entries[]
    | (.key * 26 + 52) as $y
    | .value
    | (.goal | [match("[0-9]+").string] | .[0] // "0" | tonumber) as $goal
    | "<text x=\"300\" y=\"\($y + 14)\" text-anchor=\"end\">\(.row | escaped)</text>",
      "<rect x=\"310\" y=\"\($y)\" width=\"\((.median | x) - 310)\" height=\"18\" fill=\"#3a7\"/>",
      "<line x1=\"\(.min | x)\" x2=\"\(.max | x)\" y1=\"\($y + 9)\" y2=\"\($y + 9)\" stroke=\"#163\"/>",
      "<line x1=\"\($goal | x)\" x2=\"\($goal | x)\" y1=\"\($y - 2)\" y2=\"\($y + 20)\" stroke=\"#c33\" stroke-width=\"2\"/>",
      "<text x=\"\(([.max, $goal] | max | x) + 6)\" y=\"\($y + 14)\">\(.median | floor)</text>" ),
  "</svg>"
