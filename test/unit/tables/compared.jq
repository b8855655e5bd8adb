# What explain has said of requests, and what has become of them.
#
# args:   $explained: a line for each (explain --json); $got: "NUMBER.LOGIN.TIME<tab>STATUS<tab>LOCATION<tab>POD", a line for
#         each answer, with the pod's address if it says it; and $log: the line of JSON that nginx has logged for it
# output: for each that differs, "different: ..."; last "several N": how many have more than one answer

# input: [] / output: whether an answer that explain names is the one that came
def is($real):
  if .pod then $real.address as $address | $address != null and any(.pod.endpoints[]; . == $address)
  else $real.address == null and .status == $real.status and (.location // "") == $real.location
  end;

($got | split("\n") | map(select(. != "") | split("\t") | {id: .[0], number: (.[0] | split(".")[0] | tonumber), status: (.[1] | tonumber), location: .[2], pod: .[3]})) as $got
| ($log | map({(.request_id): ([.upstream_addr | scan("[^ ,]+:[0-9]+")] | last)}) | add) as $addresses
| ($got | map(.address = if .pod != "" then .pod else $addresses[.id] end)) as $real
| ($real | group_by(.number) | map({("\(.[0].number)"): .}) | add) as $by_number
| ($explained | to_entries[] | .key as $number | .value as $it
   | $by_number["\($number)"][] | . as $real
   | select(any($it.answers[]; is($real)) | not)
   | "different: \({number: $number, real: $real, explained: $it | {url, method, headers, from, answers: [.answers[] | {when, status, location, pod: .pod.upstream, endpoints: .pod.endpoints}], where}} | tojson)"),
  ($explained | to_entries[] | .key as $number | .value as $it
   | $it.answers[] | select(.rarely | not) | . as $answer
   | select(any($by_number["\($number)"][]; . as $real | $answer | is($real)) | not)
   | "different: nobody got this: \({number: $number, answer: $answer | {when, status, location, pod: .pod.upstream}, url: $it.url, real: $by_number["\($number)"]} | tojson)"),
  "several \([$explained[] | select(.answers | length > 1)] | length)"
