# What nginx has said becomes an explanation: why a request gets its answer.
#
# input:  nothing (jq -n)
# args:   $questions (questions.jq); $model, $snapshot; $log, $told, $answers: what nginx has noted (nginx.bash);
#         $guessed: not empty if it has no passwords but those of the questions
# output: {url, method, from, host, path, before, answers, service, certificate, why, problems, where, exit} of each
#         question, a line each; of what is not HTTP, what streams.jq says. In .answers is what can become of it:
#           {when, pod: {upstream, service, port, endpoints}, gets: {method, uri, headers}}
#           {when, status, message, location}    nginx itself answers
#         with the condition in .when, which is null if there is none, and .rarely if only many requests show it
include "explain/before"; # before
include "explain/streams"; # stream

# input: text of an answer / output: {status, message, location}
def answer:
  (index("\r\n\r\n") // length) as $ends
  | {head: .[:$ends], body: .[$ends + 4:]}
  | [.head | capture("\r\n(?i:location): *(?<to>[^\r\n]*)").to] as $to
  | { status: (.head | [capture("\\AHTTP/[0-9.]+ (?<status>[0-9]{3})").status][0] // "0" | tonumber),
      message: (.body | rtrimstr("\n") | if startswith("<") then "" else .[:1000] end) }
    + if $to == [] then {} else {location: $to[0]} end;

# input: {id, line: what nginx has logged of a request, text: what the client got} / output: what became of it
def outcome($told_pods):
  ([.line.upstream | scan("sockets/([0-9]+)") | .[0] | tonumber] | last) as $number
  | if $number == null then .text | answer
    else
      $told_pods[.id] as $told
      | {pod: ($model[0].upstreams[$number] | {upstream: .name, service, port, endpoints}),
         gets: ($told // null | if . then {method, uri, headers: (.headers | with_entries(select(.value != "")))} else null end)}
    end;

# input: an outcome / output: by what it differs from another one
def differs_by: [.status, .location, .pod.upstream];

# input: {way: outcome} of a question; $set are the annotations of its location / output: the answers
def answers($set; $canary):
  . as $ways
  | def differs($way): $ways[$way] and ($ways[$way] | differs_by) != ($ways.plain | differs_by);
  [ {way: "share", yes: "it has a part in the share of the canary \($canary // "" | ltrimstr("Ingress "))", no: "it has no part in the share of the canary"},
    {way: "denied", yes: "the login service does not say 2xx", no: "the login service says 2xx"},
    (select($guessed != "") | {way: "stranger", yes: "the password is wrong", no: "the password is right"})
    | select(.way as $way | differs($way)) ] as $others
  | ([$set["limit-rps", "limit-rpm", "limit-connections"] // 0] | any(.[]; . > 0)) as $is_limited
  | [$others[].no, (select($is_limited) | "this client does not ask too often")] as $conditions
  | [ {when: (if $conditions == [] then null else $conditions | join(", and ") end)} + .plain,
      ($others[] | {when: .yes} + $ways[.way]),
      (select($is_limited)
       | ($set["limit-req-status-code"] // 503, $set["limit-conn-status-code"] // 503) as $status
       | {when: "this client asks too often", status: $status, message: "", rarely: true}) ]
  | unique_by([.when, differs_by]) | sort_by(.when != null and .rarely, (.when as $when | $others | any(.yes == $when)));

# input: what nginx has logged / output: {server, location} of the model, as far as it has chosen before it answered
#
# (Where TLS is passed on, "SERVER.LOCATION" has the Service before it: reduced.jq.)
def place:
  [.at | capture("(\\A|:)(?<server>[0-9]+)[.](?<location>[0-9]+)\\z") | map_values(tonumber)] as [$at]
  | if $at then $model[0].servers[$at.server] | {server: ., location: .locations[$at.location]}
    elif .server != "" and .at == "" then {server: $model[0].servers[.server | tonumber]}
    else {}
    end;

# input: a path / output: {path: true} of it, and those above it
def above: [., (. as $path | indices("/")[] | $path[:.] | select(. != "")), "/"] | map({(.): true}) | add;

# input: two texts / output: how many characters they have in common at the beginning
def in_common: map(explode) | transpose | map(.[0] == .[1]) | index(false) // length;

# input: {asked, server}; $lost: [{of, reason, message}] of all that lost / output: what to say of the host
def host($server; $problems):
  ($server.host // null) as $host
  | [$problems[] | select(.reason == "HostTaken" and (.message | startswith("host \($host) belongs")))] as $lost
  | ([$snapshot[] | select(.of and any(.claims[]; .host == $host)) | {of, created}] | sort_by(.created)) as $ingresses
  | { asked: ., server: $host,
      match: (if $host == null then null elif $host == "" then "none" elif $host | startswith("*") then "wildcard" else "exact" end),
      owner: first(($ingresses[].of | select($host // "" != "" and (IN($lost[].of) | not)) | split(" ")[1] | split("/")[0]), null),
      $ingresses,
      lost: ($lost | map({of, reason, message})) };

# input: the path as nginx read it / output: what to say of it
def path($asked; $server; $location; $problems):
  . as $read
  | above as $above
  | (if $server.host == "" then "*" else $server.host end) as $host
  | [$server.locations[]? | select(.of and .pathType != "Default")] as $all
  | { $asked, $read,
      rule: ($location | if .of then {of, path, pathType} else null end),
      beaten: [ $all[] | select($location and . != $location and $above[.path] and (.pathType != "Exact" or .path == $read)) | {of, path, pathType} ],
      lost: [ $problems[] | select(.of and (.reason | IN("PathTaken", "CanaryTaken")))
        | select(.message | contains(" of host \($host) ") and (contains(" \($location.path) of host ") or contains("the default of host"))) ],
      nearest: (if $location.of and $location.pathType != "Default" then []
        else $all | map({of, path, pathType}) | sort_by(-([.path, $read] | in_common)) | .[:3]
        end) };

# output: the stage of route.jq that gave a claim this reason
def stage:
  { ServiceNotFound: "answered", ServicePortNotFound: "answered", ServicePortNotTCP: "answered", ExternalNameNotServed: "answered",
    NoReadyEndpoints: "located", ProtectionNotAvailable: "as_annotations_say", LimitExceeded: "counted", RejectedByNginx: "counted"
  }[. // ""] // "won";

# input: a question / output: the explanation; $said: {id: {id, line, text}}
def explanation($number; $said; $told_pods; $configured):
  . as $question
  | (reduce .ways[] as $way ({}; .[$way] = ($said["\($way)-\($number)"] | outcome($told_pods)))) as $ways
  | $said["plain-\($number)"].line as $line
  | ($line | place) as {$server, $location}
  | ($location.options | if . then $model[0].options[. - 1] else {} end) as $set
  | ($ways | answers($set; $location.canary.of)) as $answers
  | ($location.passed // ($location | select(.service)) // null) as $backend
  | { url, method, from,
      host: (.host | host($server; $model[0].problems)),
      path: ($line.path | path($question.target; $server; $location; $model[0].problems)),
      before: ($location // {} | before($set; $answers; $configured; $question.from)),
      $answers,
      service: (if $backend then $backend | {name: .service, port, slices: (.service as $name | $snapshot | slices_of($name))} else null end),
      certificate: (if .scheme == "https" and ($location.passed and $ways.plain.pod | not) then
          [$snapshot[] | select(.certificate and .file == $line.certificate) | {secret: .certificate, names, notAfter}][0] // {secret: null}
        else null
        end),
      why: ($location | if .reason and ($ways.plain.pod | not) then {reason, message} else null end),
      problems: [$model[0].problems[] | select($location.of and .of == $location.of and .message != $location.message) | {reason, message}],
      where: ($location | if .of then {ingress: .of, host: $server.host, path, pathType, stage: (if .passed then "as_annotations_say" else .reason | stage end)} else null end),
      exit: (if $ways.plain.pod then 0 else 1 end) };

first(($snapshot[] | select(.configmap)), null) as $configured
| ([$questions | to_entries[] | .key as $number | .value.ways[] | "\(.)-\($number)"]) as $ids
| ([$ids, $log, ($answers | split("\u001e"))] | transpose | map(select(.[0]) | {(.[0]): {id: .[0], line: .[1], text: .[2]}}) | add // {}) as $said
| ([$told[] | select(.question == "") | {(.id): .}] | add // {}) as $told_pods
| $questions | to_entries[] | .key as $number | .value
| if .scheme | IN("tcp", "udp") then stream($model[0]; $snapshot) else explanation($number; $said; $told_pods; $configured) end
