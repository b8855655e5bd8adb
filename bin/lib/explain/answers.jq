# What nginx has said becomes an explanation: why a request gets its answer.
#
# input:  nothing (jq -n)
# args:   $questions (questions.jq); $model, $snapshot; $log, $told, $answers: what nginx has noted (nginx.bash)
# output: {url, method, from, host, path, before, answers, service, where, problems, exit} of each question, a line each.
#         .answers has what can become of it: {when: the condition, or null, status, pod: {...}}
#         or {when, status, message, location, why: {reason, message}}
include "explain/before"; # before

$model[0] as $model
| ($answers | split("\u001e")) as $texts
| ([$snapshot[] | select(.of)]) as $ingresses
| ([$model.upstreams[]?] ) as $upstreams
| ($told | map(select(.question == "")) | map({(.id): .}) | add // {}) as $told_pods
| ([$told[] | select(.question != "") | {(.id): true}] | add // {}) as $asked_login

# input: "SERVER.LOCATION" / output: the server and the location of the model
| def place: if test("\\A[0-9]+[.][0-9]+\\z") then split(".") | map(tonumber) as [$s, $l] | {server: $model.servers[$s], location: $model.servers[$s].locations[$l]} else {} end;

# input: text of an answer / output: {status, location, body}
def answer:
  (index("\r\n\r\n") // length) as $end
  | {head: .[:$end], body: .[$end + 4:]}
  | {status: (.head | [capture("\\AHTTP/[0-9.]+ (?<status>[0-9]{3})").status][0] // "0" | tonumber),
     location: ([.head | capture("\r\n(?i:location): *(?<to>[^\r\n]*)").to][0]),
     body: (.body | rtrimstr("\n") | .[:1000])};

# input: a line of the log; $text is what the client got, $id the request's / output: what became of it
def outcome($text; $id):
  . as $line
  | ([.upstream | scan("sockets/([0-9]+)") | .[0] | tonumber] | last) as $number
  | if $number != null then
      $upstreams[$number] as $upstream
      | {pod: ($upstream | {upstream: .name, service, port, endpoints}),
         gets: ($told_pods[$id] // null | if . then {method, uri, headers: (.headers | with_entries(select(.value != "")))} else null end)}
    else $text | answer | {status, message: .body} + if .location then {location} else {} end
    end;

# input: {of, path, pathType} / output: the same with what matters of it
def short: {of, path, pathType};

# input: a location; $host is its server's
def problems_of($host):
  .of as $of | [$model.problems[] | select(.of == $of) | {reason, message}];

# input: a path / output: [path and those above it]
def above: . as $path | [$path, (indices("/") | reverse[] | $path[:.] | select(. != "")), "/"] | unique;

$questions | to_entries[] | .key as $number | .value as $question
| $log[3 * $number] as $plain
| $log[3 * $number + 1] as $share
| $log[3 * $number + 2] as $denied
| ($plain | outcome($texts[3 * $number]; "plain-\($number)")) as $normal
| ($share | outcome($texts[3 * $number + 1]; "share-\($number)")) as $as_share
| ($denied | outcome($texts[3 * $number + 2]; "denied-\($number)")) as $as_denied
| ($plain.at | place) as {$server, $location}
| ($location // {}) as $location
| ($location | if .options then $model.options[.options - 1] else {} end) as $set
| ($server.host // null) as $host
| def key: {status, location, upstream: .pod.upstream};
[ (if ($as_share | key) != ($normal | key) then
     {when: "it is in the share of the canary \($location.canary.of // "" | ltrimstr("Ingress "))"} + $as_share else empty end),
  (if ($as_denied | key) != ($normal | key) then
     {when: "the login service does not say 2xx (auth-url)"} + $as_denied else empty end) ] as $others
| ([ if ($as_share | key) != ($normal | key) then "it is not in the share of the canary" else empty end,
     if ($as_denied | key) != ($normal | key) then "the login service says 2xx (auth-url)" else empty end,
     if $set["limit-rps"] // $set["limit-rpm"] // $set["limit-connections"] then "this client has not asked too often (limit-rps, limit-rpm, limit-connections); else \($set["limit-req-status-code"] // 503)" else empty end ]
   | if . == [] then null else join(", and ") end) as $when
| ([{when: $when} + $normal] + $others) as $all
| ([$ingresses[] | select(any(.claims[]; .host == $host)) | {of, created}] | sort_by(.created)) as $asking
| ($model.problems | map(select(.of)
   | select(.reason == "HostTaken" and (.message | startswith("host \($host) belongs")))
   | {of, why: .message})) as $lost_hosts
| ($host | if . == "" then "*" else . end) as $host_in_words
| ($plain.path) as $path
| ($path | above) as $above
| ([$model.problems[] | select(.of and (.reason | IN("PathTaken", "CanaryTaken")))
    | select(.message | contains(" of host \($host_in_words) "))
    | select(.message | contains(" \($location.path) of host ") or contains("the default of host"))
    | {of, reason, why: .message}]) as $lost_paths
| ([$server.locations[]? | select(.of and . != $location and .pathType != "Default") | select(.path | IN($above[])) | short]) as $beaten
| ([$server.locations[]? | select(.of and .pathType != "Default") | short
    | .near = ([.path, $path] | map(explode) | transpose | map(.[0] == .[1]) | (index(false) // length))]
   | sort_by(-.near) | map(del(.near)) | .[:3]) as $nearest
| ([$snapshot[] | select(.slice and .service == $location.service) | {slice, ready, ending}]) as $slices
| { url: $question.url, method: $question.method, from: $question.from,
    host: {
      asked: $question.host,
      server: $host,
      match: (if $host == null then null elif $host == "" then "none" elif $host | startswith("*") then "wildcard" else "exact" end),
      owner: (if $host == null or $host == "" then null else ($asking - [] | map(.of | split(" ")[1] | split("/")[0]) | . - ($lost_hosts | map(.of | split(" ")[1] | split("/")[0])) | .[0]) end),
      ingresses: $asking, lost: $lost_hosts },
    path: {
      asked: $question.target, read: $path, rule: (if $location.of then $location | short else null end),
      beaten: $beaten, lost: $lost_paths,
      nearest: (if $location.of == null or $location.pathType == "Default" then $nearest else [] end) },
    before: ($location | before($set; $normal)),
    answers: $all,
    service: (if $location.service then {name: $location.service, port: $location.port, slices: $slices} else null end),
    certificate: (if $question.scheme != "https" then null
      else $plain.certificate as $file
        | [$snapshot[] | select(.certificate and .file == $file)][0]
        | if . then {secret: .certificate, names, notAfter} else {secret: null} end
      end),
    where: (if $location.of then
      {ingress: $location.of, host: $host, path: $location.path, pathType: $location.pathType,
       stage: ({ServiceNotFound: "answered", ServicePortNotFound: "answered", ServicePortNotTCP: "answered", ExternalNameNotServed: "answered",
         NoReadyEndpoints: "located", ProtectionNotAvailable: "as_annotations_say", LimitExceeded: "counted", RejectedByNginx: "counted"}[$location.reason // ""] // "won")}
      else null end),
    why: (if $location.reason and ($normal.pod | not) then $location | {reason, message} else null end),
    problems: ($location | if .of then problems_of($host) else [] end),
    exit: (if $normal.pod then 0 else 1 end) }
