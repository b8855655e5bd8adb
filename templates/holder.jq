# Who leads, and for how long an unchanged Lease must be respected.
# input: a Lease / output: "SECONDS HOLDER"; the holder is empty if nobody leads
if .kind == "Lease" then "\(.spec.leaseDurationSeconds // 0) \(.spec.holderIdentity // "")"
else error("the answer is no Lease")
end
