# What stands before the pod: the steps of a location, in the order in which nginx takes them.

# input: a location; $set are its annotations / output: {step, says} of each
def steps($set):
  def row($step; says): [says // empty] | select(.[0] != null and .[0] != false) | {$step, says: .[0]};
  def list($name): $set[$name] // empty | if type == "array" then join(", ") else tostring end | "\($name): \(.)";
  row("client certificate"; if .client then "auth-tls-secret: a certificate of its authority is needed" else null end),
  row("source ranges"; list("denylist-source-range")),
  row("source ranges"; list("allowlist-source-range")),
  row("redirect"; if .redirect then "HTTP clients are sent to HTTPS" else null end),
  row("redirect"; if .to then "to \(.to)" else null end),
  row("redirect"; list("app-root")),
  row("redirect"; list("temporal-redirect")),
  row("redirect"; list("permanent-redirect")),
  row("redirect"; if $set["rewrite-target"] // "" | startswith("http") then list("rewrite-target") else null end),
  ( .canary // empty | .of as $of | .set // {} | to_entries
    | {step: "canary", says: "\($of | ltrimstr("Ingress ")) has \(map("\(.key): \(.value)") | join(", "))"} ),
  row("limits"; ["limit-rps", "limit-rpm", "limit-connections"] | map(list(.)) | select(. != []) | join(", ")),
  row("login"; list("auth-secret")),
  row("login"; list("auth-url")),
  row("path"; if $set["rewrite-target"] // "" | startswith("http") then null else list("rewrite-target") end);

# input: an outcome without a pod / output: the step that has answered, or null
def step_of:
  if (.status == 403 and (.message | startswith("This path is not open to your address"))) then "source ranges"
  elif (.status == 400 and (.message | startswith("This path is for clients with a certificate")))
    or (.status == 403 and (.message | startswith("This path is not for the client"))) then "client certificate"
  elif .status >= 300 and .status < 400 then "redirect"
  elif .status == 401 then "login"
  else null
  end;

# input: a location / output: [{step, says, decides}]; $answers are those of answers.jq
def before($set; $answers):
  [steps($set)] as $steps
  | .canary.upstream as $canary
  | $answers[0] as $normal
  | ([$answers[].pod.upstream | select(. and . == $canary)] != []) as $canary_can
  | (if $normal.pod then null else $normal | step_of end) as $by
  | ([$steps[].step] | index($by) // if $normal.pod then length else 0 end) as $at
  | [ $steps | to_entries[] | .key as $number | .value
      | .decides = (
          if .step == $by then "answers \($normal.status)"
          elif $number >= $at then "is not asked"
          elif .step == "canary" then
            (if $normal.pod.upstream == $canary then "takes it" elif $canary_can then "takes its share" else "leaves it" end)
          elif .step == "login" and any($answers[]; .when // "" | test("login|password")) then "decides: see the answers"
          elif .step == "limits" then "lets it pass, unless there are too many"
          else "lets it pass"
          end) ];
