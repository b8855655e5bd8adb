# What the controller of this pod has answered, beside what explain says.
#
# input: an explanation (answers.jq); $said: the first line of the real answer / output: a line of text
"sent        from 127.0.0.1: \($said): \(
  if any(.answers[]; .pod) then "it may be the answer of a pod"
  elif any(.answers[]; .status as $status | $said | contains(" \($status)")) then "as explained"
  else "not what is explained: perhaps the client's address matters, or something else is live"
  end)"
