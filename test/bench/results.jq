# Results of a benchmark: of each row and peer, median, min and max of the repetitions.
# input: [{row, unit, goal, peer, value, p99, failed, stolen, process_start}], in the order in which they were measured
# args:  $quick, $cpus, $load: of the run; $baseline: the peer with which requests/s are compared
def middle: sort | .[length / 2 | floor];
def order: to_entries | group_by(.value | [.row, .peer]) | sort_by(.[0].key) | map(map(.value));
# Each number of a peer, divided by another's from the same round: requests/s by those of $baseline, all else by those of
# each other controller.
def ratios:
  map(select(.row | startswith("step ") | not)) | group_by(.row)[] | . as $all
  | ([.[].peer] | unique) as $peers
  | (if .[0].unit == "/s" then $baseline else $peers[] | select(. != "bash-ingress") end) as $by
  | ($peers[] | select(. != $by and ($by == $baseline or . == "bash-ingress"))) as $peer
  | [[$all[] | select(.peer == $peer)], [$all[] | select(.peer == $by).value]] | transpose[]
  | select(.[0].value and .[1] and .[1] > 0)
  | .[0] + {row: "\(.[0].row), as a multiple of \($by)\u0027s", unit: "", goal: (if $by == $baseline then "≥ 0.97" else "" end),
            value: (.[0].value / .[1] * 1000 | floor / 1000)};
{ quick: ($quick != ""), cpus: ($cpus | tonumber), load: ($load | tonumber),
  rows: [ [(map(select(.unit == "/s")), map(select(.unit != "/s"))) | ., [ratios]] | add | order[]
          | map(select(.value != null)) as $valid
          | .[0] + {median: ($valid | map(.value) | middle), min: ($valid | map(.value) | min), max: ($valid | map(.value) | max),
                    failed: (map(.failed // 0) | add), p99: (map(.p99 // empty) | max), stolen: (map(.stolen) | max),
                    process_start: (map(.process_start // empty) | sort | .[length / 2 | floor]), values: map(.value)}
          | del(.value) ] }
