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
    # one number for two protocols
    dns=80/UDP web=80/TCP   80       web=8080: 127.77.0.1              127.77.0.1:8080
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

@test "pods with IPv6 addresses answer, and those of both kinds together" {
  [[ -e /proc/net/if_inet6 ]] || skip 'this kernel has no IPv6'
  assert_endpoints <<'ROWS'
    # Service   asks for   slices                                    answers
    80          80         IPv6 8080: ::1                            ::1:8080
    80          80         IPv4 8080: 127.77.0.1; IPv6 8080: ::1     127.77.0.1:8080 ::1:8080
    80          80         IPv6 8080: ::1,notready; 8080: 127.77.0.1  127.77.0.1:8080
ROWS
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
    # what an IPv4 address within an IPv6 one stands for
    80          80         IPv6 8080: ::ffff:7f4d:2                     503   EndpointRefused: demo/pods: EndpointSlice demo/pods-0: [::ffff:7f4d:2] is not served
ROWS
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
  timeout 10 "$bin/route" <"$dir/snapshot" >"$dir/model.json"
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

@test "an EndpointSlice does not lead to a port of the controller itself, at the address of any replica" {
  export POD_NAME=controller-1 POD_NAMESPACE=bash-ingress
  ours='def slice($namespace; $name; $port; addresses):
      {metadata: {$namespace, $name, labels: {"kubernetes.io/service-name": $name}}, addressType: "IPv4", ports: [{name: "", port: $port}],
        endpoints: [addresses | {addresses: [.]}]};
    def pod($name): .endpoints[0].targetRef = {kind: "Pod", $name};'
  snapshot rules "$ours"'.endpointSlices.items = [
    (slice("bash-ingress"; "ingress"; ($http | tonumber); "10.0.0.1", "10.0.0.2") | pod("controller-1")),
    (slice("bash-ingress"; "another"; 8080; "10.0.0.3") | pod("another-1")),
    (slice("demo"; "no-controller"; 8080; "10.0.0.9") | pod("controller-1")),
    slice("demo"; "admin"; ($admin | tonumber); "10.0.0.1", "10.0.0.7"),
    slice("demo"; "circle"; ($http | tonumber); "10.0.0.2", "10.0.0.1"),
    slice("demo"; "same-node"; 9000; "10.0.0.1"),
    slice("demo"; "others"; ($http | tonumber); "10.0.0.3", "10.0.0.9")]
    | .services.items = [.endpointSlices.items[].metadata | {metadata: {namespace, name}, spec: {ports: [{port: 80}]}}]
    | .ingresses.items = [.services.items[].metadata | . as $its | {metadata: ., spec: {ingressClassName: "bash", rules: [
        {host: "\(.name).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name, port: {number: 80}}}}]}}]}}]' --arg http "$HTTP_PORT" --arg admin "$ADMIN_PORT" >"$dir/snapshot"
  "$bin/route" <"$dir/snapshot" >"$dir/model"
  assert_equal "bash-ingress/another 10.0.0.3:8080
demo/admin 10.0.0.7:$ADMIN_PORT
demo/no-controller 10.0.0.9:8080
demo/others 10.0.0.3:$HTTP_PORT 10.0.0.9:$HTTP_PORT
demo/same-node 10.0.0.1:9000" "$(jq -r '.upstreams[] | "\(.service) \(.endpoints | join(" "))"' "$dir/model" | sort)"
  assert_equal "EndpointSlice demo/admin: 10.0.0.1 is not served: address and port of a controller
EndpointSlice demo/circle: 10.0.0.2 and 1 more addresses are not served: address and port of a controller" \
    "$(jq -r '.problems[] | select(.reason == "EndpointRefused").message' "$dir/model")"
  refute_contains "$(jq -n -c -L "$bin/lib" -f "$bin/lib/fetch/cidrs.jq" --arg cidrs 10.0.0.9/32 <"$dir/snapshot")" 'EndpointSlice bash-ingress/ingress'
}
