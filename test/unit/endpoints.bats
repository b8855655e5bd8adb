# Which pods serve a Service: each row of these tables has a Service, its
# EndpointSlices, and the pods that must answer (each says its address). How
# they are written is told in tables/endpoints.jq. In short: [NAME=]PORT for the
# Service's ports; PORT: ADDRESS[,CONDITION] ... for the slices, with "; " between.
load helpers

setup() {
  common_setup
  start_pods
}
teardown() { common_teardown; }

# Rows: SERVICE, PORT that its Ingress asks for, SLICES, the ANSWERing pods or a
# status code, and the beginning of the problem that the Ingress has, if any. One
# nginx serves all rows, each with a Service and a host of its own.
assert_endpoints() {
  local number service port slices answer problem
  rows | awk -v OFS='\t' '{ print NR, $0 }' >"$dir/rows"
  snapshot_of endpoints --rawfile rows "$dir/rows" | serve_snapshot
  jq -r '.upstreams[] | "\(.name) \(.endpoints[])"' "$dir/model.json" >"$dir/endpoints"
  while IFS=$'\t' read -r number service port slices answer problem; do
    assert_row "$answer" "$(pods_that_answer "pods.row-$number" 24)" "$service" "$port" "$slices"
    assert_problem "$problem" "$(row_problems "$number")" "$service" "$port" "$slices"
    # a pod that nginx had twice would get twice as many requests
    [[ $answer == 503 ]] || assert_row "$answer" "$(endpoints_in_model "$number")" "$service" "$port" "$slices"
  done <"$dir/rows"
}

# Prints the pods that answered REQUESTS requests, or the status code if these failed.
pods_that_answer() { # HOST REQUESTS
  local answers
  answers=$(ask "$1" "/address?[1-$2]" -w '%{http_code}\n')
  if [[ $answers == *200 ]]; then grep : <<<"$answers" | sort -uV | paste -sd ' '; else echo "${answers: -3}"; fi
}

endpoints_in_model() { # NUMBER
  sed -n "s/^pods-row-$1[.]demo[.][^ ]* //p" "$dir/endpoints" | sort -V | paste -sd ' ' | tr -d '[]'
}

@test "an Ingress's port is the Service's port, by number or by name; the pods' port is the slice's of that name" {
  assert_endpoints <<'ROWS'
    # Service             asks for   slices                            answers
    80                    80         8080: 127.77.0.1                  127.77.0.1:8080
    web=80                80         web=8080: 127.77.0.1              127.77.0.1:8080
    web=80                web        web=8080: 127.77.0.1              127.77.0.1:8080
    web=80 admin=8081     admin      web=8080: 127.77.0.1; admin=8081: 127.77.0.3   127.77.0.3:8081
    web=8081 admin=80     web        web=8080: 127.77.0.3; admin=8081: 127.77.0.3   127.77.0.3:8080
    web=80 admin=9000     9000       web=8080: 127.77.0.1; admin=8081: 127.77.0.3   127.77.0.3:8081
    # the name of a targetPort may be another number in each pod, and so in each slice
    web=80                web        web=8080: 127.77.0.3; web=8081: 127.77.0.3     127.77.0.3:8080 127.77.0.3:8081
    80                    80         8080: 127.77.0.1; 8081: 127.77.0.3             127.77.0.1:8080 127.77.0.3:8081
    # one number for two protocols, each with a name of its own
    dns=80/UDP web=80/TCP   80       web=8080: 127.77.0.1              127.77.0.1:8080
    dns=80/UDP web=80/TCP   80       web=8080/TCP dns=8083/UDP: 127.77.0.1              127.77.0.1:8080
    dns=80/UDP web=80/TCP   web      dns=8083/UDP web=8080/TCP: 127.77.0.1              127.77.0.1:8080
    dns=80/UDP web=80/TCP   dns      dns=8083/UDP web=8080/TCP: 127.77.0.1              503   ServicePortNotTCP: demo/pods: port dns of Service demo/pods is not TCP
    web=80/TCP a=80/SCTP b=80/UDP   80   a=8083/SCTP b=8081/UDP web=8080/TCP: 127.77.0.1    127.77.0.1:8080
    # a slice's port is one of the Service's by its name and protocol
    web=80                80         web=8080/TCP: 127.77.0.1; web=8083/UDP: 127.77.0.3    127.77.0.1:8080
    web=80                80         web=8080/TCP web=8083/UDP: 127.77.0.1      127.77.0.1:8080
    web=80                web        web=8083/UDP: 127.77.0.1          503   NoReadyEndpoints
    web=80                80         web=8083/SCTP: 127.77.0.1         503   NoReadyEndpoints
    80                    80         8083/UDP: 127.77.0.1; 8080/null: 127.77.0.3    127.77.0.3:8080
    # no such port
    80                    8080       8080: 127.77.0.1                  503   ServicePortNotFound: demo/pods: Service demo/pods has no port 8080
    80                    web        8080: 127.77.0.1                  503   ServicePortNotFound: demo/pods: Service demo/pods has no port web
    web=80                http       web=8080: 127.77.0.1              503   ServicePortNotFound: demo/pods: Service demo/pods has no port http
    web=80                web        http=8080: 127.77.0.1             503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80
    dns=80/UDP            80         dns=8080: 127.77.0.1              503   ServicePortNotTCP: demo/pods: port 80 of Service demo/pods is not TCP
ROWS
}

@test "a slice's port that is none, or no number from 1 to 65535, leaves out that slice" {
  assert_endpoints <<'ROWS'
    # Service   asks for   slices                                answers
    80          80         0: 127.77.0.1                         503   NoReadyEndpoints
    80          80         -5: 127.77.0.1                        503   NoReadyEndpoints
    80          80         65536: 127.77.0.1                     503   NoReadyEndpoints
    80          80         null: 127.77.0.1                      503   NoReadyEndpoints
    80          80         null/TCP: 127.77.0.1                  503   NoReadyEndpoints
    80          80         0: 127.77.0.2; 8080: 127.77.0.1       127.77.0.1:8080
    80          80         null: 127.77.0.2; 8080: 127.77.0.1    127.77.0.1:8080
    70000       70000      8080: 127.77.0.1                      503   ServicePortNotFound
ROWS
}

@test "the pods of all slices answer, each once, whether the Service has an address or a selector of its own or not" {
  assert_endpoints <<'ROWS'
    # Service           asks for   slices                                      answers
    80                  80         8080: 127.77.0.1 127.77.0.2                 127.77.0.1:8080 127.77.0.2:8080
    80                  80         8080: 127.77.0.1; 8080: 127.77.0.2          127.77.0.1:8080 127.77.0.2:8080
    80                  80         8080: 127.77.0.1; 8080: 127.77.0.1          127.77.0.1:8080
    80                  80         8080: 127.77.0.1 127.77.0.2; 8080: 127.77.0.1   127.77.0.1:8080 127.77.0.2:8080
    80 headless         80         8080: 127.77.0.1 127.77.0.2                 127.77.0.1:8080 127.77.0.2:8080
    80 selectorless     80         8080: 127.77.0.1 127.77.0.2                 127.77.0.1:8080 127.77.0.2:8080
    80                  80         none                                        503   NoReadyEndpoints
    80                  80         8080:                                       503   NoReadyEndpoints
    none                80         8080: 127.77.0.1                            503   ServiceNotFound
ROWS
}

@test "ready pods answer; if there are none, those that end but still serve" {
  assert_endpoints <<'ROWS'
    # Service   asks for   slices                                              answers
    80          80         8080: 127.77.0.1 127.77.0.2,notready                127.77.0.1:8080
    80          80         8080: 127.77.0.1,unknown 127.77.0.2,notready        127.77.0.1:8080
    80          80         8080: 127.77.0.1,unknown 127.77.0.2                 127.77.0.1:8080 127.77.0.2:8080
    80          80         8080: 127.77.0.1 127.77.0.2,terminating             127.77.0.1:8080
    80          80         8080: 127.77.0.1; 8080: 127.77.0.2,terminating      127.77.0.1:8080
    80          80         8080: 127.77.0.1,notready 127.77.0.2,terminating    127.77.0.2:8080
    80          80         8080: 127.77.0.1,terminating,notready 127.77.0.2,terminating   127.77.0.2:8080
    80          80         8080: 127.77.0.1,notready                           503   NoReadyEndpoints
    80          80         8080: 127.77.0.1,notready,serving                   503   NoReadyEndpoints
    80          80         8080: 127.77.0.1,notready,terminating               503   NoReadyEndpoints
ROWS
}

# Rows: the conditions READY, SERVING and TERMINATING of an endpoint ("-": it has none), and what it is.
@test "a pod is ready unless it says that it is not; one that is not is asked last if it ends, unless it says that it does not serve" {
  rows >"$dir/rows" <<'ROWS'
    true   true   true    ready
    true   true   false   ready
    true   true   -       ready
    true   false  true    ready
    true   false  false   ready
    true   false  -       ready
    true   -      true    ready
    true   -      false   ready
    true   -      -       ready
    -      true   true    ready
    -      true   false   ready
    -      true   -       ready
    -      false  true    ready
    -      false  false   ready
    -      false  -       ready
    -      -      true    ready
    -      -      false   ready
    -      -      -       ready
    false  true   true    ending
    false  true   false   no
    false  true   -       no
    false  false  true    no
    false  false  false   no
    false  false  -       no
    false  -      true    ending
    false  -      false   no
    false  -      -       no
ROWS
  # each with what is missing absent, and null; and with no conditions at all, and null
  snapshot rules '[$rows | split("\n")[] | select(. != "") | split("\t") | .[:3]
      | ([., ["ready", "serving", "terminating"]] | transpose | map(select(.[0] != "-") | {(.[1]): (.[0] | fromjson)}) | add // {})
      | ., {ready, serving, terminating}] + [null]
    | [.[] | {addresses: ["10.0.0.1"], conditions: .}] + [{addresses: ["10.0.0.1"]}] | . as $endpoints
    | input | .services.items = [] | .ingresses.items = []
    | .endpointSlices.items = [range($endpoints | length) | {metadata: {namespace: "demo", name: "\(1000 + .)", labels: {"kubernetes.io/service-name": "pods"}},
        addressType: "IPv4", ports: [{name: "", port: 80}], endpoints: [$endpoints[.]]}]' -n --rawfile rows "$dir/rows" >"$dir/snapshot"
  { awk '{ print $4; print $4 }' "$dir/rows" && printf 'ready\nready\n'; } |
    diff - <(jq -r 'select(.slice) | if .ready != [] then "ready" elif .ending != [] then "ending" else "no" end' "$dir/snapshot")
}

@test "a pod that ends and says nothing of serving is asked if none is ready" {
  assert_endpoints <<'ROWS'
    # Service          asks for   slices                                                  answers
    80 selectorless    80         8080: 127.77.0.1,ends                                   127.77.0.1:8080
    80 selectorless    80         8080: 127.77.0.1,ends 127.77.0.2,notready               127.77.0.1:8080
    80 selectorless    80         8080: 127.77.0.1,ends 127.77.0.2                        127.77.0.2:8080
ROWS
}

@test "pods with IPv6 addresses answer, and those of both kinds together" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  assert_endpoints <<'ROWS'
    # Service   asks for   slices                                    answers
    80          80         IPv6 8080: ::1                            ::1:8080
    80          80         IPv4 8080: 127.77.0.1; IPv6 8080: ::1     127.77.0.1:8080 ::1:8080
    80          80         IPv6 8080: ::1,notready; 8080: 127.77.0.1  127.77.0.1:8080
ROWS
}

@test "of a pod with addresses of both kinds, that of the Service's first family is asked; the other only if none of the first is ready for that port" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  assert_endpoints <<'ROWS'
    # Service                      asks for   slices                                                  answers
    80 IPv4                        80         8080: 127.77.0.1 127.77.0.2; IPv6 8080: ::1             127.77.0.1:8080 127.77.0.2:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1; IPv6 8080: ::1; 8080: 127.77.0.2      127.77.0.1:8080 127.77.0.2:8080
    80 IPv6,IPv4                   80         8080: 127.77.0.1 127.77.0.2; IPv6 8080: ::1             ::1:8080
    80 IPv4,IPv6 headless          80         8080: 127.77.0.1; IPv6 8080: ::1                        127.77.0.1:8080
    80 IPv4,IPv6 selectorless      80         8080: 127.77.0.1; IPv6 8080: ::1                        127.77.0.1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,notready; 8080: 127.77.0.2; IPv6 8080: ::1   127.77.0.2:8080
    80 IPv4                        80         FQDN 8080: localhost; 8080: 127.77.0.1; IPv6 8080: ::1  127.77.0.1:8080   FQDNNotServed
    # none of the first family is ready
    80 IPv4                        80         IPv6 8080: ::1                                          ::1:8080
    80 IPv4,IPv6                   80         8080:; IPv6 8080: ::1                                   ::1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,notready; IPv6 8080: ::1               ::1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,terminating; IPv6 8080: ::1            ::1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,terminating; IPv6 8080: ::1,terminating   127.77.0.1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,notready; IPv6 8080: ::1,terminating   ::1:8080
    80 IPv4,IPv6                   80         8080: 127.77.0.1,notready; IPv6 8080: ::1,notready      503   NoReadyEndpoints
    # none for that port
    web=80 admin=81 IPv4,IPv6      web        web=8080: 127.77.0.1; IPv6 web=8080 admin=8080: ::1     127.77.0.1:8080
    web=80 admin=81 IPv4,IPv6      admin      web=8080: 127.77.0.1; IPv6 web=8080 admin=8080: ::1     ::1:8080
    # a Service that names no family
    80                             80         8080: 127.77.0.1; IPv6 8080: ::1                        127.77.0.1:8080 ::1:8080
ROWS
}

@test "no ready endpoint: if there are some at ports with other names, the message says so" {
  assert_endpoints <<'ROWS'
    # Service    asks for   slices                                              answers
    http=80      http       8080: 127.77.0.1                                    503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called http; they have one without a name)
    80           80         web=8080 http=9000/TCP dns=53/UDP: 127.77.0.1       503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port without a name; they have http, web)
    http=80      80         web=80: 127.77.0.1; http=80: 127.77.0.2,notready; admin=81: 127.77.0.3,notready   503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called http; they have web)
    http=80      80         http=8080/UDP: 127.77.0.1                           503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called http; they have none)
    http=80      80         a=1 b=2 c=3 d=4 e=5 f=6 g=7: 127.77.0.1             503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called http; they have a, b, c, d, e and 2 more)
    http=80      80         web=80: 127.77.0.1,notready                         503   NoReadyEndpoints: demo/pods: Service demo/pods has no ready endpoint for port 80
ROWS
  assert_equal 1 "$(problems | grep -c 'for port 80$')"
  assert_equal 'Service demo/pods-row-1 has no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called http; they have one without a name): path / of Ingress demo/pods-row-1.' "$(ask pods.row-1)"
}

# A Service "dual" with three pods, each with an address of both families, and "late", whose IPv4 addresses are not ready.
# Both have two ports of one number.
dual='def slice($name; $type; $ready; addresses): {metadata: {namespace: "demo", name: "\($name)-\($type)", labels: {"kubernetes.io/service-name": $name}},
      addressType: $type, ports: [{name: "http3", port: 8080, protocol: "UDP"}, {name: "http", port: 8080}], endpoints: [addresses | {addresses: [.], conditions: {ready: $ready}}]};
    def service($name): {metadata: {namespace: "demo", $name}, spec: {clusterIPs: ["10.96.0.7", "fd00::7"], ipFamilies: ["IPv4", "IPv6"], ports: [{name: "http3", port: 80, protocol: "UDP"}, {name: "http", port: 80}]}};
    def ingress($name; $service; $annotations): {metadata: {namespace: "demo", $name, annotations: ($annotations | with_entries(.key |= "nginx.ingress.kubernetes.io/\(.)"))},
      spec: {ingressClassName: "bash", rules: [{host: "\($name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: $service, port: {number: 80}}}}]}}]}};
    .services.items = [service("dual", "late")]
    | .endpointSlices.items = [
        slice("dual"; "IPv4"; true; "10.0.0.1", "10.0.0.2", "10.0.0.3"), slice("dual"; "IPv6"; true; "fd00::1", "fd00::2", "fd00::3"),
        slice("late"; "IPv4"; false; "10.0.0.4"), slice("late"; "IPv6"; true; "fd00::4")]
    | .ingresses.items = '

@test "of a Service with both families, a limit counts each pod once" {
  snapshot rules "$dual"'[ingress("all"; "dual"; {})]' | with_settings LIMITS=namespace_endpoints=3 | "$bin/route" >"$dir/model.json"
  assert_json '[.upstreams[] | .endpoints, .cut], .problems' '[["10.0.0.1:8080","10.0.0.2:8080","10.0.0.3:8080"],null]
[]' <"$dir/model.json"
}

@test "what annotations ask of a Service with both families is asked of the same pods" {
  snapshot rules "$dual"'[ingress("main"; "dual"; {}), ingress("address"; "dual"; {"service-upstream": "true"}), ingress("other-address"; "late"; {"service-upstream": "true"}),
    (ingress("main"; "late"; {canary: "true", "canary-weight": "50"}) | .metadata.name = "new"),
    ingress("copied"; "dual"; {"mirror-target": "http://late.demo.svc$request_uri"}), ingress("asks"; "dual"; {"auth-url": "http://[fd00::1]:8080/check"})]' |
    "$bin/route" >"$dir/model.json"
  assert_equal '' "$(problems)"
  "$bin/render" <"$dir/model.json" >"$dir/nginx.conf"
  assert_equal 'dual.demo.80.address: 10.96.0.7:80
dual.demo.80: 10.0.0.1:8080 10.0.0.2:8080 10.0.0.3:8080
late.demo.80.address: [fd00::7]:80
late.demo.80: [fd00::4]:8080' "$(awk -F '"' '/^  upstream "/ { name = $2 } /^    server "/ && name { all[name] = all[name] " " $2 } /^  }/ { if (name) print name ":" all[name]; name = "" }' "$dir/nginx.conf" | sort)"
  assert_contains "$(<"$dir/nginx.conf")" 'proxy_pass "http://dual.demo.80/check"'
}

@test "what could point anywhere is not served, and a problem says so" {
  assert_endpoints <<'ROWS'
    # Service          asks for   slices                                        answers
    80 ExternalName    80         none                                          503   ExternalNameNotServed: demo/pods: Service demo/pods is an ExternalName
    80 ExternalName    80         8080: 127.77.0.1                              503   ExternalNameNotServed
    80                 80         FQDN 8080: localhost                          503   FQDNNotServed: demo/pods: Service demo/pods has an EndpointSlice of addressType FQDN
    80                 80         FQDN 8080: localhost; IPv4 8080: 127.77.0.1   127.77.0.1:8080   FQDNNotServed
    # what is no address of its slice's kind
    80                 80         IPv4 8080: localhost                          503   NoReadyEndpoints
    80                 80         IPv4 8080: localhost 127.77.0.1               127.77.0.1:8080
    80                 80         IPv6 8080: 127.77.0.1                         503   NoReadyEndpoints
    80                 80         IPv4 8080: 127.77.0.1:8080                    503   NoReadyEndpoints
ROWS
}

@test "100 requests to a Service with ten pods reach all ten" {
  printf '%s\t' 1 80 80 "8080:$(printf ' %s' 127.77.0.{10..19})" >"$dir/rows"
  snapshot_of endpoints --rawfile rows "$dir/rows" | serve_snapshot
  assert_equal "$(printf ' %s:8080' 127.77.0.{10..19})" " $(pods_that_answer pods.row-1 100)"
}

@test "with ENDPOINT_CIDRS, addresses outside are not served, and a problem names the EndpointSlice" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  ENDPOINT_CIDRS=127.77.0.0/31,127.77.0.3,::/64 assert_endpoints <<'ROWS'
    # Service   asks for   slices                                       answers
    80          80         8080: 127.77.0.1                             127.77.0.1:8080
    80          80         8080: 127.77.0.1 127.77.0.2 127.77.0.3       127.77.0.1:8080 127.77.0.3:8080   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: 127.77.0.2 is not served: not in ENDPOINT_CIDRS
    80          80         8080: 127.77.0.2 127.77.0.4 127.77.0.5       503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: 127.77.0.2 and 2 more addresses are not served: not in
    80          80         8080: 127.77.0.1; 8080: 127.77.0.2           127.77.0.1:8080   EndpointRefused: demo/pods: EndpointSlice demo/pods-1:
    80          80         8080: 127.77.0.1,notready 127.77.0.2,terminating   503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: 127.77.0.2
    80          80         IPv6 8080: ::1                               ::1:8080
    80          80         IPv6 8080: 0:0:0:1::1                        503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: [0:0:0:1::1] is not served
    # where a family does not count, it is no problem that its addresses are outside
    80 IPv4,IPv6   80      8080: 127.77.0.1; IPv6 8080: 0:0:0:1::1              127.77.0.1:8080
    80 IPv4,IPv6   80      8080: 127.77.0.2; IPv6 8080: ::1                     ::1:8080   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: 127.77.0.2
    # what an IPv4 address within an IPv6 one stands for
    80          80         IPv6 8080: ::ffff:7f4d:2                     503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: [::ffff:7f4d:2] is not served
    80          80         IPv6 8080: ::ffff:127.77.0.2                 503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: [::ffff:127.77.0.2] is not served
ROWS
}

@test "networks of ENDPOINT_CIDRS, and addresses, may end with an IPv4 address, or with two colons for one group" {
  ENDPOINT_CIDRS=64:ff9b::192.0.2.0/120,1:2:3:4:5:6:7::/112 snapshot rules '.endpointSlices.items[0] |= (.addressType = "IPv6"
    | .endpoints = [("64:ff9b::c000:263", "64:ff9b::192.0.2.7", "64:ff9b::192.0.3.7", "64:ff9b::192.0.2.256", "1:2:3:4:5:6:7:9", "1:2:3:4:5:6:8:9") | {addresses: [.]}])' |
    jq -c 'select(.slice == "demo/apple-a") | .ready, .refused' >"$dir/found"
  assert_equal '["[64:ff9b::c000:263]","[64:ff9b::192.0.2.7]","[1:2:3:4:5:6:7:9]"]
"EndpointSlice demo/apple-a: [64:ff9b::192.0.3.7] and 1 more addresses are not served: not in ENDPOINT_CIDRS"' "$(<"$dir/found")"
}

@test "with ENDPOINT_CIDRS, an address outside is no problem where no Ingress asks for its Service, as that of the API server" {
  ENDPOINT_CIDRS=127.0.0.0/8 snapshot rules '.endpointSlices.items += [{metadata: {namespace: "default", name: "kubernetes", labels: {"kubernetes.io/service-name": "kubernetes"}},
    addressType: "IPv4", ports: [{name: "https", port: 6443}], endpoints: [{addresses: ["10.1.2.3"]}]}]' | "$bin/route" >"$dir/model.json"
  assert_equal '' "$(jq -r '.problems[] | select(.reason == "EndpointRefused").message' "$dir/model.json")"
}

@test "hundreds of EndpointSlices that are not served cost little, hide no other problem, and are told to all whose annotations ask for them" {
  odd='def odd($number; type; address): {metadata: {namespace: "demo", name: "odd-\($number)", labels: {"kubernetes.io/service-name": "odd"}},
      addressType: type, ports: [{name: "", port: 8080}], endpoints: [{addresses: [address]}]};
    def ingress($name; $service; $paths; $annotations): {metadata: {namespace: "demo", $name, $annotations}, spec: {ingressClassName: "bash", rules: [{host: "odd.example",
      http: {paths: [$paths[] | {path: ., pathType: "Prefix", backend: {service: {name: $service, port: {number: 80}}}}]}}]}};
    .services.items += [{metadata: {namespace: "demo", name: "odd"}, spec: {clusterIPs: ["10.96.0.9"], ports: [{port: 80}]}}]
    | .endpointSlices.items += [range(600) | odd(.; "FQDN"; "a.example"), odd(. + 600; "IPv4"; "10.0.0.\(. % 250)")]
    | .ingresses.items = [ingress("many"; "odd"; [range(2000) | "/\(.)"]; {}), ingress("missing"; "missing"; ["/missing"]; {}),
      ingress("asks"; "apple"; ["/asks"]; {"nginx.ingress.kubernetes.io/auth-url": "http://odd.demo.svc/check"})]'
  ENDPOINT_CIDRS=127.0.0.0/8 snapshot rules "$odd" >"$dir/snapshot"
  timeout "$((10 * ${SLOWER:-1}))" "$bin/route" <"$dir/snapshot" >"$dir/model.json"
  assert_equal 'demo/asks EndpointRefused
demo/asks FQDNNotServed
demo/many EndpointRefused
demo/many FQDNNotServed
demo/missing ServiceNotFound' "$(jq -r '.problems[] | select(.reason | IN("EndpointRefused", "FQDNNotServed", "ServiceNotFound")) | "\(.of | ltrimstr("Ingress ")) \(.reason)"' "$dir/model.json" | sort)"
  assert_contains "$(jq -r '.problems[].message' "$dir/model.json")" 'EndpointSlice demo/odd-1000: 10.0.0.150 is not served: not in ENDPOINT_CIDRS; and so in 599 more of Service demo/odd'
}

@test "with ENDPOINT_CIDRS, service-upstream does not go to the Service's address, from where other endpoints could be asked" {
  service_upstream='(.ingresses.items[] | select(.metadata.name == "fruit").metadata) |= (.annotations["nginx.ingress.kubernetes.io/service-upstream"] = "true")
    | .services.items[].spec.clusterIPs = ["10.96.0.7"]'
  snapshot rules "$service_upstream" | "$bin/route" >"$dir/model.json"
  assert_contains "$("$bin/render" <"$dir/model.json")" 'server "10.96.0.7:'
  snapshot rules "$service_upstream" | with_settings ENDPOINT_CIDRS=10.0.0.0/8 | "$bin/route" >"$dir/model.json"
  refute_contains "$("$bin/render" <"$dir/model.json")" 'server "10.96.0.7:'
  assert_equal 'AnnotationRefused: demo/fruit: service-upstream has no effect, because ENDPOINT_CIDRS is set, and kube-proxy would go to any endpoint' \
    "$(jq -r '.problems[] | select(.reason == "AnnotationRefused") | "\(.reason): \(.of | ltrimstr("Ingress ")): \(.message)"' "$dir/model.json")"
}

@test "an ENDPOINT_CIDRS that is none ends a program with a sentence" {
  for wrong in any 10.0.0.0/33 10.0.0.256/8 fd00::1::2/64 '10.0.0.0/8, fd00::/8' '10.0.0.0/8,'; do
    ENDPOINT_CIDRS=$wrong run "$bin/fetch"
    assert_equal 2 "$status"
    assert_contains "$output" 'is not possible. It takes networks with commas between, or nothing: '
  done
}

@test "an EndpointSlice does not lead to a port of the controller itself, at the address of any replica, however it is spelled" {
  export POD_NAME=controller-1 POD_NAMESPACE=bash-ingress
  ours='def slice($namespace; $name; $port; addresses):
      {metadata: {$namespace, $name, labels: {"kubernetes.io/service-name": $name}}, addressType: "IPv4", ports: [{name: "", port: $port}],
        endpoints: [addresses | {addresses: [.]}]};
    def pod($name): .endpoints[0].targetRef = {kind: "Pod", $name};'
  snapshot rules "$ours"'.endpointSlices.items = [
    (slice("bash-ingress"; "ingress"; ($http | tonumber); "10.0.0.1", "10.0.0.2") | pod("controller-1")),
    (slice("bash-ingress"; "ingress-6"; ($http | tonumber); "fd00::1") | .addressType = "IPv6" | pod("controller-1")),
    (slice("bash-ingress"; "another"; 8080; "10.0.0.3") | pod("another-1")),
    (slice("demo"; "no-controller"; 8080; "10.0.0.9") | pod("controller-1")),
    slice("demo"; "admin"; ($admin | tonumber); "10.0.0.1", "10.0.0.7"),
    slice("demo"; "circle"; ($http | tonumber); "10.0.0.2", "10.0.0.1"),
    slice("demo"; "same-node"; 9000; "10.0.0.1"),
    slice("demo"; "spelled"; ($http | tonumber); "010.0.0.001", "10.0.0.10"),
    (slice("demo"; "spelled-6"; ($http | tonumber); "FD00:0::0:1", "::ffff:10.0.0.1", "fd00::7") | .addressType = "IPv6"),
    slice("demo"; "others"; ($http | tonumber); "10.0.0.3", "10.0.0.9")]
    | .services.items = [.endpointSlices.items[].metadata | {metadata: {namespace, name}, spec: {ports: [{port: 80}]}}]
    | .ingresses.items = [.services.items[].metadata | . as $its | {metadata: ., spec: {ingressClassName: "bash", rules: [
        {host: "\(.name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name, port: {number: 80}}}}]}}]}}]' --arg http "$HTTP_PORT" --arg admin "$ADMIN_PORT" >"$dir/snapshot"
  "$bin/route" <"$dir/snapshot" >"$dir/model"
  assert_equal "bash-ingress/another 10.0.0.3:8080
demo/admin 10.0.0.7:$ADMIN_PORT
demo/no-controller 10.0.0.9:8080
demo/others 10.0.0.3:$HTTP_PORT 10.0.0.9:$HTTP_PORT
demo/same-node 10.0.0.1:9000
demo/spelled 10.0.0.10:$HTTP_PORT
demo/spelled-6 [fd00::7]:$HTTP_PORT" "$(jq -r '.upstreams[] | "\(.service) \(.endpoints | join(" "))"' "$dir/model" | sort)"
  assert_equal "EndpointSlice demo/admin: 10.0.0.1 is not served: address and port of a controller
EndpointSlice demo/circle: 10.0.0.2 and 1 more addresses are not served: address and port of a controller
EndpointSlice demo/spelled: 010.0.0.001 is not served: address and port of a controller
EndpointSlice demo/spelled-6: [FD00:0::0:1] and 1 more addresses are not served: address and port of a controller" \
    "$(jq -r '.problems[] | select(.reason == "EndpointRefused").message' "$dir/model")"
  refute_contains "$(jq -n -c -L "$bin/lib" -f "$bin/lib/fetch/cidrs.jq" --arg cidrs 10.0.0.9/32 <"$dir/snapshot")" 'EndpointSlice bash-ingress/ingress'
  # A TCP service at port 9000 is one more of the controller's own ports: it would lead to itself.
  jq -c 'if .whole then {streams: "TCP", configMap: "infra/tcp", entries: [{port: 9000, service: "demo/same-node", servicePort: 80}], refused: []} else empty end, .' "$dir/snapshot" |
    jq -c 'if .settings then .settings.TCP_SERVICES = "infra/tcp" else . end' | "$bin/route" >"$dir/model"
  assert_json '[.streams, [.upstreams[] | select(.service == "demo/same-node")]]' '[[],[]]' <"$dir/model"
}
