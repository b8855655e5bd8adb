# The places of a model: each host and path, and what answers there.

# What is not HTTP comes last; its host is "port NUMBER".
#
# input: model / output: [{host, path, pathType, of, answer: what answers, as text, is_error}], sorted
def places:
  def pods: if . == 1 then "1 pod" else "\(.) pods" end;
  . as {$options, $upstreams, $streams}
  | ([$upstreams[]? | {(.name): (.endpoints | length)}] | add // {}) as $pods
  | [ .servers[]? | .host as $host | .locations[] | select(.of)
      | { host: (if $host == "" then "*" else $host end), path, pathType, of: (.of | ltrimstr("Ingress ")),
          annotations: (if .options then $options[.options - 1] else {} end),
          is_error: (.upstream == null and .status != null and .passed == null),
          answer: (
            if .options and ($options[.options - 1] | .["permanent-redirect"] or .["temporal-redirect"]) then
              "a redirect to \($options[.options - 1] | .["temporal-redirect"] // .["permanent-redirect"])"
            elif .passed then
              .passed | "TLS passed on to Service \(.service), port \(.port), \($pods[.upstream] // 0 | pods)"
            elif .upstream then
              "Service \(.service), port \(.port), \($pods[.upstream] // 0 | pods)"
              + if .canary.upstream then "; canary \(.canary.of | ltrimstr("Ingress "))" else "" end
            elif .to then "308 to \(.to)"
            else "\(.status // 404)\(if .reason then " " + .reason else "" end)"
            end) } ]
  | sort_by([.host, .path, .pathType])
  | . + [ $streams[]? | "\(.protocol)_SERVICES" as $of
      | {host: "port \(.port)", path: "-", pathType: .protocol, $of, annotations: {}, is_error: false,
         answer: "Service \(.service), port \(.servicePort), \(.endpoints | length | pods)\(if .decodes or .encodes then ", PROXY" else "" end)"} ];

# input: [[text]] / output: a line for each row, in columns
def table:
  (transpose | map(map(length) | max)) as $widths
  | .[] | [., $widths] | transpose | map(.[0] + " " * (.[1] - (.[0] | length)) ) | join("  ") | sub(" +\\z"; "");
