# Results of a benchmark: of each row and peer, median, min and max of the repetitions.
# input: [{row, unit, goal, peer, value, p99, failed}], in the order in which they were measured
# args:  $quick, $cpus, $load: of the run
def middle: sort | .[length / 2 | floor];
def order: to_entries | group_by(.value | [.row, .peer]) | sort_by(.[0].key) | map(map(.value));
{ quick: ($quick != ""), cpus: ($cpus | tonumber), load: ($load | tonumber),
  rows: [ order[]
          | .[0] + {median: (map(.value) | middle), min: (map(.value) | min), max: (map(.value) | max), failed: (map(.failed // 0) | add),
                    p99: (map(.p99 // empty) | max), values: map(.value)}
          | del(.value) ] }
