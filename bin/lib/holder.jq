# Who leads, and for how long an unchanged Lease must be respected.
# input: a Lease, read with `inputs` (jq -n), so that no answer is an error too
# output: "SECONDS HOLDER"; the holder is empty if nobody leads
[inputs]
| if length == 1 and .[0].kind == "Lease" then .[0].spec | "\(.leaseDurationSeconds // 0) \(.holderIdentity // "")"
  else error("the answer is no Lease")
  end
