# The results of a benchmark as tables in Markdown: what is measured from outside, and the ms of each step by size; if
# other controllers were measured, a table of all of them first; and how far other machines disturbed it, and how fast
# this one was.
# input: what results.jq makes
def number: if . == null then "–" elif . >= 100 then round elif . >= 10 then . * 10 | round / 10 else . * 100 | round / 100 end;
def line: "| \(join(" | ")) |";

# input: [{row, peer, ...}] / output: lines
def measures:
  (["", "median", "least – greatest", "aim"], ["---", "---", "---", "---"] | line),
  ( .[]
    | ["\(.row)\(if .peer == "bash-ingress" then "" else " (\(.peer))" end)",
       "\(.median | number) \(.unit)\(if .failed > 0 then ", \(.failed) failed" else "" end)",
       "\(.min | number) – \(.max | number)", (if .peer == "bash-ingress" then .goal else "" end)]
    | line );

# input: [{step, size, median}] / output: lines; a column for each size, in the order in which they were measured
def steps:
  (reduce .[].size as $size ([]; if any(.[]; . == $size) then . else . + [$size] end)) as $sizes
  | (["ms"] + $sizes, ["---", ($sizes[] | "---")] | line),
    ( (reduce .[].step as $step ([]; if any(.[]; . == $step) then . else . + [$step] end))[] as $step
      | [$step, (($sizes[]) as $size | [.[] | select(.step == $step and .size == $size).median][0] | number)]
      | line );

# The controllers beside each other; after each number of another, ours as a multiple of it. The last column says how
# far the machine was the same for all of them.
# input: [{row, peer, ...}] / output: lines; none if there are no others
def controllers:
  . as $all
  | (reduce .[].peer as $peer ([]; if any(.[], "nginx", "lesson"; . == $peer) then . else . + [$peer] end)) as $peers
  | select($peers | length > 1)
  | (["", $peers[], "process start"], ["---", ($peers[] | "---"), "---"] | line),
    ( (reduce .[] as $one ([]; if $one.unit == "/s" or $one.unit == "" or any(.[]; .row == $one.row) then . else . + [$one] end))[]
      | . as $row
      | ["\(.row) (\(.unit))",
         ( $peers[] as $peer
           | [$all[] | select(.row == $row.row and .peer == $peer).median][0] as $median
           | [$all[] | select(.row == "\($row.row), as a multiple of \($peer)\u0027s").median][0] as $multiple
           | "\($median | number)\(if $multiple then " (\($multiple | number) ×)" else "" end)" ),
         ([$all[] | select(.row == $row.row).process_start] | "\(min | number) – \(max | number) ms")]
      | line ),
    "";

([.rows[] | select(.row | startswith("step ") | not)] | controllers, measures),
"",
([.rows[].stolen // 0] | sort | "Of the CPU time, other machines on the same host took at most \(.[length / 2 | floor]) % in half of these rows, and \(.[-1]) % in the worst."),
([.rows[].process_start // empty] | select(. != []) | sort | "To start a process took this machine \(.[length / 2 | floor] | number) ms in half of these rows, and \(.[-1] | number) ms in the worst."),
"",
([.rows[] | select(.row | startswith("step "))] | group_by(.peer)[] | map((.row | capture("^step (?<step>[^,]+), (?<size>.*)")) + {median}) | steps)
