# Who causes reloads all the time waits: what each namespace may change now.
#
# input:  the snapshot, a line for each object (jq -n)
# args:   $live: the snapshot that is live; $now: a time in whole seconds
#         $accounts: [{"namespace": ACCOUNT, ...}], or []: what the last call printed
# output: {"namespace": ACCOUNT, ...} in a line, of those that owe something; then the snapshot to route
#
# lib/loop/accounts.jq says what a change costs, and who owes too much.
# Only what an Ingress of ours uses counts: other Services may change as often as they like, for they cause no reload.

include "loop/accounts"; # cost, most_to_owe, namespace, used, counts, owes, charge, settled

def most_told: 10; # Ingresses of a namespace that are told

# --- lines and namespaces

# input: [line] / output: {"namespace": [line of it], ...}
def by_namespace: map(select(namespace)) | group_by(namespace) | map({(.[0] | namespace): .}) | add // {};

# The order of fetch, except that problems and Ingresses that are not ours come last: what is compared is in one order,
# and so is what goes live.
def in_order:
  sort_by(if .settings then [0]
          elif .terminating then [0, .terminating]
          elif .slice then [2, .slice]
          elif .service then [1, .service]
          elif .ingress then [3, .ingress]
          elif .certificate then [4, .certificate]
          elif .whole then [6]
          else [5, .]
          end);

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
def decide($was; $wanted; $used):
  def differs($lines): ($lines | map(select(counts($used)))) != ($was | map(select(counts($used))));
  if differs($wanted) | not then {lines: $wanted, account: .}
  elif owes($now) + cost <= most_to_owe or $now - .changed >= cost then
    {lines: $wanted, account: (charge($now) + {changed: $now})}
  else
    (if owes($now) + cost <= 2 * most_to_owe then $was | without_gone($wanted) else $was end) as $lines
    | {$lines, account: ((if differs($lines) then charge($now) else . end) | .held //= $now)}
  end;

# --- all of it

# input: [line] of a namespace that is held back / output: a problem for each of its Ingresses, but not many
def problems($namespace):
  limit(most_told; .[] | .ingress // empty)
  | {problem: {ingress: ., reason: "ChangesHeldBack",
      message: "namespace \($namespace) changes something all the time: so that this cuts nobody's connections, a change may wait \(cost) s"}};

[inputs]
| if .[-1].whole then in_order else error("the snapshot is not whole") end
| . as $lines
| ([$lines[], $live[] | used] | map({(.): true}) | add // {}) as $used
| ($lines | by_namespace) as $wanted
| ($live | in_order | by_namespace) as $was
| ([$wanted + $was | keys[] | {(.): (. as $namespace | $accounts[0][.] // null
    | decide($was[$namespace] // []; $wanted[$namespace] // []; $used))}] | add // {}) as $decided
| ($accounts[0] // {} | . + ($decided | map_values(.account)) | settled($now)) as $accounts
| $accounts,
  ( [ ($lines[] | select([namespace] == [])),
      $decided[].lines[],
      ($accounts | to_entries[] | select(.value.held) | .key as $namespace
       | $decided[$namespace].lines // [] | problems($namespace)) ]
    | in_order[] )
