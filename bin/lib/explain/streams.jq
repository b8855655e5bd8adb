# What is not HTTP: which pods get a connection to a port of TCP, or a datagram to one of UDP.

# input: the lines of a snapshot / output: the EndpointSlices of a Service, and which of its pods are ready
def slices_of($service): [.[] | select(.slice and .service == $service) | {slice, ready, ending}];

# input: a question; $map is the line of the snapshot about the ConfigMap, or null / output: why nobody answers there
def why_nobody($map; $problem; $settings; $closed):
  .port as $port
  | "\(.scheme | ascii_upcase)" as $protocol
  | if $problem then "\($problem.of): \($problem.message)"
    elif $closed then $closed
    elif $protocol == "TCP" and ("\($port)" | IN($settings["HTTP_PORT", "HTTPS_PORT", "ADMIN_PORT"])) then
      "the controller itself listens there: ask with http:// or https://"
    elif $map == null then "no ConfigMap has \($protocol) ports: \($protocol)_SERVICES names none"
    else "no entry of ConfigMap \($map.configMap) is for \($protocol) port \($port)"
    end;

# input: a question / output: its explanation
def stream($model; $snapshot):
  . as $question
  | (.scheme | ascii_upcase) as $protocol
  | first(($snapshot[] | select(.streams == $protocol)), null) as $map
  | first(($map.entries[]? | select(.port == $question.port)), null) as $entry
  | first(($model.streams[]? | select(.protocol == $protocol and .port == $question.port)), null) as $served
  | "ConfigMap \($map.configMap)" as $of
  | first(($model.problems[] | select(.of == $of and (.message | startswith("\($protocol) port \($question.port) is not listened on: ")))), null) as $problem
  | { url, from, $protocol, port,
      entry: (if $entry then {configMap: $map.configMap} + $entry else null end),
      before: [
        (select($entry.decodes) | {step: "client address", says: "the client speaks the PROXY protocol (PROXY)", decides: "it is what that says"}),
        (select($entry.encodes) | {step: "client address", says: "the pod is told it by the PROXY protocol (the second PROXY)", decides: "it is \($question.from)"}) ],
      answers: [
        if $served then {when: null, pod: {upstream: "\($protocol | ascii_downcase).\(.port)", service: $served.service, port: $served.servicePort, endpoints: $served.endpoints}}
        else {when: null, refused: true, message: why_nobody($map; $problem; $snapshot[0].settings; $model.configured.closed)}
        end ],
      service: (if $entry then {name: $entry.service, port: $entry.servicePort, slices: ($entry.service as $name | $snapshot | slices_of($name))} else null end),
      why: (if $problem then $problem | {reason, message} else null end),
      problems: [$model.problems[] | select(.of == $of and .message != $problem.message) | {reason, message}],
      nearest: (if $entry then [] else [$model.streams[]? | {protocol, port, service, servicePort}] end),
      where: (if $entry then {configMap: $map.configMap, key: "\($question.port)", stage: "unserved_told"} else null end),
      exit: (if $served then 0 else 1 end) };
