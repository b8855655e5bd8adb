# A bundle without the values of annotations and headers: other words stand in their place, so that nginx.conf has the
# same lines, in the same order, and differs in these words only.
#
# input:  the lines of a bundle (bundle.jq)
# output: the same, redacted
#
# What sorts, sorts as before: of all words that are replaced, the first by the alphabet becomes redacted0001, and so
# on; networks likewise. Equal words stay equal. These stay as they are, for they decide what nginx.conf looks like:
# numbers, true and false, words of a fixed list, and names of hosts, headers, cookies, Services and Secrets.
include "loop/changes/sentences"; # without_values
import "annotations" as $table;

# output: {annotation: true} of those whose text is such a word or name. What is not named here is redacted.
def kept:
  ["affinity", "affinity-canary-behavior", "affinity-mode", "auth-cache-duration", "auth-keepalive",
   "auth-keepalive-requests", "auth-keepalive-timeout", "auth-method", "auth-proxy-set-headers",
   "auth-response-headers", "auth-secret", "auth-secret-type", "auth-signin-redirect-param", "auth-tls-secret",
   "auth-tls-verify-client", "auth-type", "backend-protocol", "canary-by-cookie", "canary-by-header",
   "connection-proxy-header", "cors-allow-headers", "cors-allow-methods", "cors-expose-headers", "cors-max-age",
   "custom-headers", "custom-http-errors", "default-backend", "load-balance", "mirror-request-body",
   "permanent-redirect-code", "proxy-buffering", "proxy-http-version", "proxy-next-upstream",
   "proxy-request-buffering", "proxy-ssl-ciphers", "proxy-ssl-protocols", "proxy-ssl-secret",
   "proxy-ssl-server-name", "proxy-ssl-verify", "satisfy", "server-alias", "session-cookie-name",
   "session-cookie-samesite", "ssl-ciphers", "temporal-redirect-code"]
  | map({(.): true}) | add;

# output: parts of a text that stay: variables and groups, what a scheme, port, escape or keyword is, and the names of
#         parameters. In the URL of a Service (auth-url, mirror-target), also what comes before the query: it decides
#         who is asked.
def staying($annotation):
  (if $annotation | IN("auth-url", "mirror-target") then "\\A[^?]*|" else "" end)
  + "[$][{]?[A-Za-z0-9_]+[}]?|%[0-9A-Fa-f]{2}|\\\\.|:[0-9]{1,5}(?![A-Za-z0-9_])|[A-Za-z]+(?=://)|(?<=[?&])[A-Za-z0-9_.-]+(?==)"
  + "|\\b(?i:off|default|null|cn|secure|httponly|samesite|strict|lax|none)\\b";

# input: text / output: [{offset, length, word: whether it is replaced}]
def parts($annotation):
  [ match("(?:\(staying($annotation)))|(?<word>[A-Za-z0-9_]+)"; "g")
    | {offset, length, word: any(.captures[]; .name == "word" and .string != null)} | select(.length > 0) ];

# input: text / output: its words that are replaced
def words($annotation): . as $text | parts($annotation)[] | select(.word) | $text[.offset:.offset + .length];

# input: text / output: it with other words; $instead has for each "w WORD" another
def with_words($annotation; $instead):
  . as $text
  | reduce (parts($annotation)[] | select(.word)) as $part ({at: 0, done: ""};
      .done += $text[.at:$part.offset] + $instead["w " + $text[$part.offset:$part.offset + $part.length]]
      | .at = $part.offset + $part.length)
  | .done + $text[.at:];

# input: the value of an annotation / output: whether it stays; $paths: {path: true} of all Ingresses
#
# (A path that is written as it already is, needs no line in nginx.conf.)
def stays($annotation; $paths): kept[$annotation] or ($annotation == "rewrite-target" and $paths[.]);

# input: text, a list of texts or networks, or another value / output: it redacted
def redacted($annotation; $instead; $paths):
  $table::table[0][$annotation].type as $type
  | if stays($annotation; $paths) then .
    elif $type == "networks" then map($instead["n \(.)"])
    elif type == "string" then with_words($annotation; $instead)
    elif type == "array" then map(if type == "string" then with_words($annotation; $instead) else . end)
    else .
    end;

# input: {annotation: value} / output: "w WORD" and "n NETWORK" for each that is replaced
def secrets_of_set:
  to_entries[] | .key as $annotation
  | select(kept[$annotation] | not)
  | if $table::table[0][$annotation].type == "networks" then "n \(.value[])"
    else .value | (strings, arrays[]?) | strings | "w \(words($annotation))"
    end;

# input: PROXY_SET_HEADERS / output: [{name, value}]
def header_lines: split("\n") | map(select(. != "") | capture("\\A(?<name>[^:]*):\\s*(?<value>.*)\\z"));
def as_lines($instead): header_lines | map("\(.name): \($instead["w \(.value)"])") | join("\n");

# input: a number / output: it with four digits or more, which sort like numbers
def padded: tostring | ("0000"[length:] // "") + .;

# input: a network / output: another of its kind, that sorts like $rank
def other_network($rank):
  [10000, 100, 1] | map(($rank / . | floor) % 100 + 100) as [$a, $b, $c]
  | "10.\($a).\($b).\($c)/32";
def other_network6($rank): "2001:db8::\($rank + 4096 | padded)/128";

# output: a text in quotes, as nginx has it
def quoted_text: "\"(\\\\.|[^\"\\\\])*\"";

# input: the directives that take the place of the access log's (configmap/log.jq), or null
# output: [text in quotes] of the format, and of the map of what is not logged, which are the operator's
def log_texts:
  . // ""
  | [ (match("log_format configured escape=[a-z]+ \(quoted_text)").string | match(quoted_text).string),
      (match("map [$]request_uri [$]logged [{][^\n]*").string | match(quoted_text; "g").string) ];

# input: a text in quotes / output: another
def other_text($instead): "\"\($instead["w \(.[1:-1])"])\"";

# input: the directives of the access log / output: them redacted
def redacted_log($instead): reduce log_texts[] as $text (.; split($text) | join($text | other_text($instead)));

# input: [line] / output: {"w WORD": another, "n NETWORK": another}
def dictionary:
  [ .[]
    | (.options.set? // {} | secrets_of_set),
      (if .configmap then .parts.blocked_networks[]?, (.settings.TRUSTED_PROXIES // "" | split(",")[]) | "n \(.)" else empty end),
      (if .configmap then .parts.blocked_agents[]?, .parts.blocked_referers[]?, (.directives.access_log | log_texts[]) | "w \(.[1:-1])" else empty end),
      (if .configmap then .headers[]?, .parts.added?, (.settings.PROXY_SET_HEADERS // "" | header_lines | map({(.name): .value}) | add) else .headers? end
       // {} | "w \(.[])"),
      (.environment.PROXY_SET_HEADERS?, .settings.PROXY_SET_HEADERS? | strings | "w \(header_lines[].value)") ]
  | unique
  | to_entries
  | map(.key as $rank | {(.value):
      (if .value | startswith("w ") then "redacted\($rank + 1 | padded)"
       elif .value | contains(":") then null | other_network6($rank)
       else null | other_network($rank)
       end)})
  | add // {};

# input: the summary of the operator's ConfigMap (configmap.jq) / output: it redacted
def redacted_configmap($instead):
  def networks: map($instead["n \(.)"]);
  def values: map_values($instead["w \(.)"]);
  (.good, .annotations) |= map_values("redacted") # route reads them no more
  | (if .settings.TRUSTED_PROXIES // "" != "" then .settings.TRUSTED_PROXIES |= (split(",") | networks | join(",")) else . end)
  | (if .settings.PROXY_SET_HEADERS then .settings.PROXY_SET_HEADERS |= as_lines($instead) else . end)
  | (if .directives.access_log then .directives.access_log |= redacted_log($instead) else . end)
  | (if .parts.blocked_networks then .parts.blocked_networks |= networks else . end)
  | (if .parts.blocked_agents then .parts.blocked_agents |= map(other_text($instead)) else . end)
  | (if .parts.blocked_referers then .parts.blocked_referers |= map(other_text($instead)) else . end)
  | (if .parts.added then .parts.added |= values else . end)
  | (if .headers then .headers |= map_values(values) else . end)
  | (if .closed then .closed |= without_values else . end);

# input: a line / output: it redacted
def redacted_line($instead; $paths):
  (if .configmap then redacted_configmap($instead)
   elif .headers? then .headers |= map_values($instead["w \(.)"])
   else .
   end)
  | (if .options.set? then .options.set |= with_entries(.key as $name | .value |= redacted($name; $instead; $paths)) else . end)
  | (if .claims? then .claims |= map(if .message then .message |= without_values else . end) else . end)
  | (if .problems? then .problems |= map(.message |= without_values) else . end)
  | (if .problem?.message? then .problem.message = "redacted" else . end);

# input: the first line / output: it redacted; $lines has for each Ingress its line as it was, and redacted
def redacted_first($instead; $lines):
  .bundle = "This is one change of bash-ingress: settings, and summaries of Ingresses, Services, EndpointSlices and certificates. Other words stand in the place of the values of annotations and headers, but for numbers, fixed words, and names of hosts, headers, cookies, Services and Secrets. It has no private keys and no passwords.\(if .templates then " The files of TEMPLATES_DIR are in it as they are." else "" end)"
  | .redacted = true
  | .environment.DEFAULT_ANNOTATIONS = ""
  | (.environment.PROXY_SET_HEADERS, .settings.PROXY_SET_HEADERS) |= as_lines($instead)
  | if .quarantine then
      .quarantine |= with_entries(
        .key as $of
        | .value.message = "redacted"
        | .value.summary |= if . == ($lines[$of].before | tojson) then $lines[$of].after | tojson else "redacted" end)
    else .
    end;

[inputs] as $lines
| ($lines | dictionary) as $instead
| ([$lines[].claims[]?.path | {(.): true}] | add // {}) as $paths
| [$lines[] | {before: ., after: redacted_line($instead; $paths)}] as $both
| ([$both[] | select(.before.of) | {(.before.of): .}] | add // {}) as $by_ingress
| ($lines[0] | redacted_first($instead; $by_ingress)), $both[1:][].after
