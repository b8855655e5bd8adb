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
