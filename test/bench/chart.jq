# A chart of how long it takes until traffic follows a change, as SVG: a bar for each row in ms.
# input: what results.jq makes
def escaped: gsub("&"; "&amp;") | gsub("<"; "&lt;");
[.rows[] | select(.unit == "ms" and .median != null)] as $rows
| ([$rows[] | .max] | max // 1) as $most
| ($rows | length * 26 + 40) as $height
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"\($height)\" font-family=\"sans-serif\" font-size=\"13\">",
  "<rect width=\"760\" height=\"\($height)\" fill=\"white\"/>",
  "<text x=\"10\" y=\"20\" font-weight=\"bold\">From a change to the first request that follows it: median, and the line to the greatest (ms)</text>",
  ( $rows | to_entries[]
    | (.key * 26 + 34) as $y
    | .value
    | "<text x=\"300\" y=\"\($y + 14)\" text-anchor=\"end\">\(.row | escaped)</text>",
      "<rect x=\"310\" y=\"\($y)\" width=\"\(.median / $most * 380 | floor)\" height=\"18\" fill=\"#3a7\"/>",
      "<line x1=\"310\" x2=\"\(310 + (.max / $most * 380 | floor))\" y1=\"\($y + 9)\" y2=\"\($y + 9)\" stroke=\"#163\"/>",
      "<text x=\"\(316 + (.max / $most * 380 | floor))\" y=\"\($y + 14)\">\(.median | floor)</text>" ),
  "</svg>"
