# Is a snapshot complete?
# input:  the snapshot file, read with `inputs` (jq -n), so that a second document in it is seen
# output: a sentence for each doubt
include "kubernetes";

[inputs]
| if length == 1 then .[0] | snapshot_doubts else "the reads do not make one JSON document" end
