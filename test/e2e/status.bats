load helpers
setup() { forget_changes; }
teardown() { common_teardown; }

ingress() { # NAME JSONPATH
  kubectl -n e2e get ingress "$1" -o "jsonpath={$2}"
}

address_of() { # NAME
  ingress "$1" '.status.loadBalancer.ingress[*].ip'
}

node_addresses() {
  api "$controllers" | jq -r '[.items[].status.hostIP] | unique | join(" ")'
}

# Prints "TYPE REASON COUNT" of each Event of that Ingress.
# That other tests have changed too much before is none of its.
events_of() { # NAME
  api "/api/v1/namespaces/e2e/events?fieldSelector=involvedObject.kind=Ingress,involvedObject.name=$1" |
    jq -r '.items | sort_by(.firstTimestamp)[] | select(.reason != "ChangesHeldBack") | "\(.type) \(.reason) \(.count)"'
}

# bats test_tags=kind
@test "an Ingress shows its address within seconds, with its labels and annotations untouched" {
  create_ingress shown 'shown.example/=backend:80'
  kubectl -n e2e annotate ingress shown keep=this
  kubectl -n e2e label ingress shown keep=that
  wait_for 10 has_address shown
  assert_equal "$(node_addresses)" "$(address_of shown)"
  assert_equal 'this that' "$(ingress shown .metadata.annotations.keep) $(ingress shown .metadata.labels.keep)"
  assert_contains "$(kubectl -n e2e get ingress shown)" "$(address_of shown)"
}

# bats test_tags=kind
@test "who sees the address gets an answer at once, from every replica" {
  for i in {1..5}; do
    create_ingress "first-$i" "first-$i.example/=backend:80"
    wait_for 20 has_address "first-$i"
    always_status 200 "first-$i.example" /
  done
}

@test "an Ingress of another class never has an address of ours, and loses it when it becomes one" {
  create_ingress leaving 'leaving.example/=backend:80'
  kubectl -n e2e create ingress foreign --class other --rule 'foreign.example/=backend:80'
  kubectl -n e2e patch ingress foreign --subresource status -p '{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}'
  wait_for 20 has_address leaving
  kubectl -n e2e patch ingress leaving -p '{"spec": {"ingressClassName": "other"}}'
  wait_for 10 has_no_address leaving
  assert_equal 192.0.2.1 "$(address_of foreign)"
}

@test "hundreds of new Ingresses have their address within seconds" {
  jq -n '{apiVersion: "v1", kind: "List", items: [range(300) | {apiVersion: "networking.k8s.io/v1", kind: "Ingress",
    metadata: {namespace: "e2e", name: "many-\(.)"}, spec: {ingressClassName: "bash", defaultBackend: null,
      rules: [{host: "many-\(.).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "backend", port: {number: 80}}}}]}}]}}]}' |
    kubectl create -f - >/dev/null
  all_have_one() {
    kubectl -n e2e get ingresses -o json | jq -e 'all(.items[]; .status.loadBalancer.ingress)'
  }
  wait_for 30 all_have_one
}

@test "a problem is an Event on its Ingress; when it comes again, it is counted" {
  create_ingress troubled 'troubled.example/=later:80'
  wait_for_equal 20 'Warning ServiceNotFound 1' events_of troubled
  assert_contains "$(kubectl -n e2e describe ingress troubled)" 'Service e2e/later does not exist'
  kubectl -n e2e expose deployment/backend --name later --port 80 --target-port web
  wait_for_line 20 'Normal Routed 1' events_of troubled
  kubectl -n e2e delete service later
  wait_for_line 20 'Warning ServiceNotFound 2' events_of troubled
  assert_equal 1 "$(events_of troubled | grep -c ServiceNotFound)"
}

@test "an Ingress that is served has a Normal Event, and no other" {
  create_ingress fine 'fine.example/=backend:80'
  wait_for_equal 20 'Normal Routed 1' events_of fine
  assert_contains "$(kubectl -n e2e describe ingress fine)" "all that it asks for is served, at $(address_of fine)"
}
