# What each namespace owes for its changes: for hold-back.jq, charges.jq, neighbours.jq and the loop. $now is a time in
# whole seconds.
#
# Each change of a namespace that goes live costs it 5 s, which it owes from then on; time pays them off. While it owes
# too much, its lines stay as they are live, except for one change every 5 s. So a namespace may change something every
# 5 s for ever, and 40 times at once now and then.
#
#   ACCOUNT  {paid: when it will owe nothing, changed: when its last change went live, held: since when changes wait}

def cost: 5;
def most_to_owe: 40 * cost;

# input: a line / output: its namespace; none for a line that has to go live at once
def namespace: .slice // .service // .ingress // .certificate // .problem.namespace | values | split("/")[0];

# input:  a line
# output: what an Ingress uses: "namespace/name" of each Service that a claim names; and "namespace/" for all of a
#         namespace, if annotations may name one of them: by its name, its address or that of a pod
# $ENV:   SHARED_NAMESPACES
def used:
  (.claims[]?.service | values),
  ( select(.uses // [] | any(IN("errors", "external-auth", "mirror")))
    | "\(namespace, ($ENV.SHARED_NAMESPACES | split(",")[]))/" );

# input:  a line
# output: whether it can cause a reload: one of a Service can if an Ingress uses that. $used is {"what is used": true}
def counts($used): .service == null or $used[.service] or $used["\(.service | split("/")[0])/"];

# input: an ACCOUNT, or null / output: the seconds it owes
def owes($now): [(.paid // 0) - $now, 0] | max;

# input: an ACCOUNT, or null / output: the same after one change more has gone live
def charge($now): . + {paid: ($now + owes($now) + cost)};

# input:  {"namespace": ACCOUNT, ...}
# output: the same without debts that are paid; and who has paid half is held back no more
def settled($now):
  with_entries(select(.value and (.value | owes($now) > 0))
    | if .value | owes($now) < most_to_owe / 2 then del(.value.held) else . end);

# input:  {"namespace": ACCOUNT, ...}
# output: for the loop, "TIME TIME": until when somebody may have to wait, and until when somebody owes something, if
#         nothing changes until then
def times:
  ([.[] | .paid - if .held then most_to_owe / 2 else most_to_owe - cost end] | max // 0) as $restless_until
  | "\($restless_until) \([.[].paid] | max // 0)";
