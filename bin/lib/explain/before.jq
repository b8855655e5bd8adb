# What stands before the pod: the steps of a location, in the order in which nginx takes them.
#
# $configured is the line of the snapshot about the operator's ConfigMap (configmap.jq), or null.
import "annotations/configmap/keys" as $keys;

# input: names of keys / output: {configMap, keys} of those that the ConfigMap has; null if there are none
def origin($configured):
  map(select(IN($configured.keys[]?))) | if . == [] then null else {configMap: $configured.configmap, keys: .} end;

# input: a value of an annotation, as text or as what it means / output: text that is the same for both
def as_text: if type == "array" then map(tostring) | join(",") else tostring end | gsub("\\s"; "");

# input: {annotation: value} / output: where the value of an annotation comes from; null if it is the Ingress's own
def origin_of($name; $configured):
  $configured.annotations[$name] as $default
  | if $default == null or .[$name] == null or (.[$name] | as_text) != ($default | as_text) then null
    else [$name, ($keys::keys[0] | to_entries[] | select(.value.annotation == $name).key)] | unique | origin($configured)
    end;

# input: a location; $set are its annotations / output: {step, says, origin} of each
def steps($set; $configured):
  . as $location
  | def row($step; $from; says): [says // empty] | select(.[0] != null and .[0] != false)
      | {$step, says: .[0]} + ([$from | values][0] | if . then {origin: .} else {} end);
  def row($step; says): row($step; null; says);
  def of_key($step; $names; says): row($step; $names | origin($configured); says);
  def list($name): $set[$name] // empty | if type == "array" then join(", ") else tostring end | "\($name): \(.)";
  def annotation($step; $name): row($step; $set | origin_of($name; $configured); list($name));
  def begins_with($paths): .path as $path | any($paths[]?; . as $start | $path | startswith($start));
  ($configured.parts // {}) as $parts
  | ($configured.settings // {}) as $settings
  | ($set["rewrite-target"] // "" | startswith("http")) as $rewrites_to_url
  | of_key("client address"; ["use-forwarded-headers", "use-proxy-protocol", "proxy-real-ip-cidr", "forwarded-for-header"];
      $settings.TRUSTED_PROXIES | values | if . == "" then "no proxy is believed" else "said by proxies in \(gsub(","; ", "))" end),
  of_key("blocked"; ["block-cidrs", "block-user-agents", "block-referers"];
    [ ($parts.blocked_networks | values | "clients in \(join(", "))"), ($parts.blocked_agents | values | "User-Agents \(join(", "))"),
      ($parts.blocked_referers | values | "Referers \(join(", "))") ] | select(. != []) | join("; ")),
  row("client certificate"; if .client then "auth-tls-secret: a certificate of its authority is needed" else null end),
  annotation("source ranges"; "denylist-source-range"),
  annotation("source ranges"; "allowlist-source-range"),
  (.passed // empty | ("deny", "allow") as $what | row("source ranges"; .[$what] | values | "\($what)list-source-range: \(join(", "))")),
  (if .redirect and begins_with($parts.no_redirect) then
     of_key("redirect"; ["no-tls-redirect-locations"]; "none to HTTPS for paths that begin with \($parts.no_redirect | join(", "))")
   else
     of_key("redirect";
       [(select($set | . == {} or origin_of("force-ssl-redirect"; $configured)) | "force-ssl-redirect"), (select($settings.SSL_REDIRECT == "on") | "ssl-redirect"), (select($parts.redirect_code) | "http-redirect-code")];
       if .redirect then "HTTP clients are sent to HTTPS\($parts.redirect_code // "" | if . == "" then "" else " with \(.)" end)" else null end)
   end),
  row("redirect"; if .to then "to \(.to)" else null end),
  row("redirect"; list("app-root")),
  row("redirect"; list("temporal-redirect")),
  row("redirect"; list("permanent-redirect")),
  row("redirect"; if $rewrites_to_url then list("rewrite-target") else null end),
  row("TLS"; if .passed then "ssl-passthrough: nginx reads the name in the handshake, and no more" else null end),
  ( .canary // empty | .of as $of | .set // {} | to_entries
    | {step: "canary", says: "\($of | ltrimstr("Ingress ")) has \(map("\(.key): \(.value)") | join(", "))"} ),
  row("limits"; ["limit-rps", "limit-rpm", "limit-connections"] | map(list(.)) | select(. != []) | join(", ")),
  annotation("login"; "auth-secret"),
  (if .free_of_login then
     of_key("login"; ["no-auth-locations"]; "none for paths that begin with \($parts.no_auth // [] | join(", "))")
   else annotation("login"; "auth-url")
   end),
  row("path"; if $rewrites_to_url then null else list("rewrite-target") end),
  annotation("errors"; "custom-http-errors"),
  of_key("log"; ["access-log-path", "disable-access-log", "disable-http-access-log"]; if $settings.ACCESS_LOG == "off" then "no line is written" else null end);

# input: an outcome without a pod / output: the step that has answered, or null
def step_of:
  if .status == 403 and .message == "This is not allowed." then "blocked"
  elif (.status == 403 and (.message | startswith("This path is not open to your address"))) or .status == 421 then "source ranges"
  elif (.status == 400 and (.message | startswith("This path is for clients with a certificate")))
    or (.status == 403 and (.message | startswith("This path is not for the client"))) then "client certificate"
  elif .status >= 300 and .status < 400 then "redirect"
  elif .status == 401 then "login"
  else null
  end;

# input: a location / output: [{step, says, origin, decides}]; $answers are those of answers.jq
def before($set; $answers; $configured; $from):
  [steps($set; $configured)] as $steps
  | .canary.upstream as $canary
  | $answers[0] as $normal
  | ([$answers[].pod.upstream | select(. and . == $canary)] != []) as $canary_can
  | (if $normal.pod then null else $normal | step_of end) as $by
  | ([$steps[].step] | index($by) // if $normal.pod then length else 0 end) as $at
  | [ $steps | to_entries[] | .key as $number | .value
      | .decides = (
          if .step == "client address" then "it is \($from)"
          elif .step == "log" then "this request has none"
          elif .step == $by then "answers \($normal.status)"
          elif $number >= $at then "is not asked"
          elif .step == "TLS" then "it goes on to the pod as it comes"
          elif .step == "errors" then "if a pod answers so, the default backend is asked instead"
          elif .step == "canary" then
            (if $normal.pod.upstream == $canary then "takes it" elif $canary_can then "takes its share" else "leaves it" end)
          elif .step == "login" and any($answers[]; .when // "" | test("login|password")) then "decides: see the answers"
          elif .step == "limits" then "lets it pass, unless there are too many"
          else "lets it pass"
          end) ];
