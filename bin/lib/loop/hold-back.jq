# Who causes reloads all the time waits: what each namespace owes for its changes, and what it may change now.
#
# Each change of a namespace that goes live costs it 5 s, which it owes from then on; time pays them off. While it owes
# too much, its lines stay as they are live, except for one change every 5 s. So a namespace may change something every
# 5 s for ever, and 40 times at once now and then. Only what an Ingress of ours uses counts: other Services may change
# as often as they like, for they cause no reload.
#
#   ACCOUNT   {paid: when it will owe nothing, changed: when its last change went live, held: since when changes wait}
#   ACCOUNTS  {"namespace": ACCOUNT, ...}, of those that owe something
#   $now      a time in whole seconds

def cost: 5;
def most_to_owe: 40 * cost;
def most_told: 10; # Ingresses of a namespace that are told

# --- lines and namespaces

# input: a line / output: its namespace; none for a line that has to go live at once
def namespace: .slice // .service // .outside // .of // .certificate // .problem.namespace | values | split("/")[0] | split(" ")[-1];

# input:  a line
# output: what an Ingress uses, or a ConfigMap of TCP or UDP services: "namespace/name" of each Service that it names;
#         and "namespace/" for all of a
#         namespace, if annotations may name one of them: by its name, its address or that of a pod
# $ENV:   SHARED_NAMESPACES
def used:
  (.claims[]?, .entries[]? | .service | values),
  ( select(.uses // [] | any(IN("errors", "external-auth", "mirror")))
    | "\(namespace, ($ENV.SHARED_NAMESPACES | split(",")[]))/" );

# input:  a line
# output: whether it can cause a reload: one of a Service can if an Ingress uses that. $used is {"what is used": true}
def counts($used): .service == null or $used[.service] or $used["\(.service | split("/")[0])/"];

# input: [line] / output: {"namespace": [line of it], ...}
def by_namespace: map(select(namespace)) | group_by(namespace) | map({(.[0] | namespace): .}) | add // {};

# The order of fetch, except that problems and Ingresses that are not ours come last: what is compared is in one order,
# and so is what goes live.
def in_order:
  sort_by(if .settings then [0]
          elif .configmap then [0, ""] # route looks for it there
          elif .terminating then [0, .terminating]
          elif .slice then [2, .slice]
          elif .service then [1, .service]
          elif .of then [3, .of]
          elif .certificate then [4, .certificate]
          elif .whole then [6]
          else [5, .]
          end);

# --- accounts

# input: an ACCOUNT, or null / output: the seconds it owes
def owes($now): [(.paid // 0) - $now, 0] | max;

# input: an ACCOUNT, or null / output: the same after one change more; and after one that has gone live
def charge($now): . + {paid: ($now + owes($now) + cost)};
def changed($now): charge($now) + {changed: $now};

# input: ACCOUNTS / output: the same without debts that are paid; a namespace that has paid half is held back no more
def settled($now):
  with_entries(select(.value and (.value | owes($now) > 0))
    | if .value | owes($now) < most_to_owe / 2 then del(.value.held) else . end);

# input:  ACCOUNTS
# output: for the loop, "TIME TIME": until when somebody may have to wait, and until when somebody owes something, if
#         nothing changes until then
def times:
  ([.[] | .paid - if .held then most_to_owe / 2 else most_to_owe - cost end] | max // 0) as $restless_until
  | "\($restless_until) \([.[].paid] | max // 0)";

# input:  ACCOUNTS
# output: [namespace that causes reloads all the time]: those that are held back; while none is, the one that owes most,
#         if it owes five changes or more
def restless($now):
  to_entries
  | map(select(.value.held).key)
    + if any(.value.held) then [] else [max_by(.value.paid) | select(.value.paid? and .value.paid - $now >= 5 * cost).key] end;

# --- who pays for what went live: each namespace of which something has changed

# input: the text of a snapshot / output: {"what is used": true, ...}. (Most lines need not be parsed.)
def all_used:
  reduce (split("\n")[] | select(startswith("{\"of\"") or startswith("{\"streams\""))
    | if contains("\"uses\":[") then fromjson | used
      else split("\"service\":\"")[1:][] | split("\"")[0]
      end) as $used ({}; .[$used] = true);

# input:  [line] that differ, of the snapshot that went live and of the one before
# args:   $snapshot: the text of the snapshot; $accounts: [ACCOUNTS], or []
# output: the ACCOUNTS for the next call
def charged($snapshot; $accounts; $now):
  ($snapshot | all_used) as $used
  | group_by(.) | map(select(length == 1)[0] | select(counts($used)) | namespace) # one that is in both has only moved
  | reduce unique[] as $namespace ($accounts[0] // {}; .[$namespace] |= changed($now))
  | settled($now);

# --- removed pods

# input: [line] / output: {"service": {"ready address": true, ...}, ...}
def ready:
  map(select(.ready)) | group_by(.service)
  | map({(.[0].service): ([.[].ready[] | {(.): true}] | add // {})}) | add // {};

# input: [line of a namespace] as they are live / output: the same without the pods that are no longer ready
#
# A request to a pod that is gone is lost, so this does not wait; where no pod would be left, it does.
def without_gone($wanted):
  ready as $was
  | ($wanted | ready) as $is
  | ($was | with_entries(.key as $service | .value |= any(keys[]; $is[$service][.]))) as $has_others
  | map(
      if .ready and $has_others[.service] then
        .service as $service
        | .ready |= map(select($is[$service][.]))
      else .
      end);

# --- what a namespace may change

# input: an ACCOUNT, or null / output: {lines: what goes live of the namespace, account}
#
# There is a limit for removed pods, too: or a hundred that come together every 5 s could go one by one.
def decide($was; $wanted; $used; $now):
  def differs($lines): ($lines | map(select(counts($used)))) != ($was | map(select(counts($used))));
  if differs($wanted) | not then {lines: $wanted, account: .}
  elif owes($now) + cost <= most_to_owe or $now - .changed >= cost then {lines: $wanted, account: changed($now)}
  else
    (if owes($now) + cost <= 2 * most_to_owe then $was | without_gone($wanted) else $was end) as $lines
    | {$lines, account: ((if differs($lines) then charge($now) else . end) | .held //= $now)}
  end;

# input: [line] of a namespace that is held back / output: a problem for each of its Ingresses, but not many
def problems($namespace):
  limit(most_told; .[] | .of // empty)
  | {problem: {of: ., reason: "ChangesHeldBack",
      message: "namespace \($namespace) changes something all the time: so that this cuts nobody's connections, a change may wait \(cost) s"}};

# input:  the snapshot, as [line]
# args:   $live: the snapshot that is live, as [line]; $accounts: [ACCOUNTS], or []: what the last call printed
# output: the ACCOUNTS for the next call; then the snapshot to route, a line for each object
def hold_back($live; $accounts; $now):
  if .[-1].whole then in_order else error("the snapshot is not whole") end
  | . as $lines
  | ([$lines[], $live[] | used] | map({(.): true}) | add // {}) as $used
  | ($lines | by_namespace) as $wanted
  | ($live | in_order | by_namespace) as $was
  | ([$wanted + $was | keys[] | {(.): (. as $namespace | $accounts[0][.] // null
      | decide($was[$namespace] // []; $wanted[$namespace] // []; $used; $now))}] | add // {}) as $decided
  | ($accounts[0] // {} | . + ($decided | map_values(.account)) | settled($now)) as $accounts
  | $accounts,
    ( [ ($lines[] | select([namespace] == [])),
        $decided[].lines[],
        ($accounts | to_entries[] | select(.value.held) | .key as $namespace
         | $decided[$namespace].lines // [] | problems($namespace)) ]
      | in_order[] );
