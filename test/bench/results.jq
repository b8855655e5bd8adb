# Results of a benchmark: of each row and peer, median, min and max of the repetitions.
# input: [{row, unit, goal, peer, value, p99, failed, stolen}], in the order in which they were measured
# args:  $quick, $cpus, $load: of the run; $baseline: the peer with which requests/s are compared
def middle: sort | .[length / 2 | floor];
def order: to_entries | group_by(.value | [.row, .peer]) | sort_by(.[0].key) | map(map(.value));
# Each number of a peer, divided by that of $baseline from the same round.
def ratios:
  map(select(.unit == "/s")) | group_by(.row)[] | . as $all
  | [$all[] | select(.peer == $baseline).value] as $base
  | [$all[] | .peer | select(. != $baseline)] | unique[] as $peer
  | [[$all[] | select(.peer == $peer)], $base] | transpose[] | select(.[0].value and .[1])
  | .[0] + {row: "\(.[0].row), as a multiple of \($baseline)\u0027s", unit: "", goal: "≥ 0.97", value: (.[0].value / .[1] * 1000 | floor / 1000)};
{ quick: ($quick != ""), cpus: ($cpus | tonumber), load: ($load | tonumber),
  rows: [ ([.[] | select(.unit == "/s")] + [ratios] + [.[] | select(.unit != "/s")]) | order[]
          | map(select(.value != null)) as $valid
          | .[0] + {median: ($valid | map(.value) | middle), min: ($valid | map(.value) | min), max: ($valid | map(.value) | max),
                    failed: (map(.failed // 0) | add), p99: (map(.p99 // empty) | max), stolen: (map(.stolen) | max), values: map(.value)}
          | del(.value) ] }
