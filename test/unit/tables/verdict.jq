# Is each case of hostile.jq told as it must be?
#
# input:  the routing model
# args:   $snapshot: [what hostile.jq made]
# output: a line for each case that is not: what was expected, and what problems its Ingress has
(.problems | map(select(.of)) | group_by(.of) | map({(.[0].of): .}) | add) as $problems
| $snapshot[0].cases[]
| .problems = ($problems["Ingress \(.ingress)"] // [])
| .shown as $shown
| select(
    ([.problems[].reason] | unique) != [.reason // empty]
    or (.reason and all(.problems[]; .message | contains($shown) and test("\\A[ -~]*\\z") | not)) )
