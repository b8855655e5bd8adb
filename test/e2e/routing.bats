load helpers
teardown() {
  [[ -z ${scaled-} ]] || kubectl -n e2e scale deployment/backend --replicas 2 # all other tests need it
  common_teardown
}

# bats test_tags=kind
@test "an Ingress is served within seconds, its change is followed, and it ends with the object" {
  create_ingress one 'one.example/first*=backend:80'
  wait_for 10 always_status 200 one.example /first/x
  status_is 404 one.example /second
  kubectl -n e2e patch ingress one --type json -p '[{"op": "replace", "path": "/spec/rules/0/http/paths/0/path", "value": "/second"}]'
  wait_for 10 always_status 200 one.example /second
  wait_for 10 always_status 404 one.example /first
  kubectl -n e2e delete ingress one
  wait_for 10 always_status 404 one.example /second
}

@test "the log shows which object changed, and the change of nginx.conf" {
  create_ingress logged 'logged.example/=backend:80'
  wait_for 10 always_status 200 logged.example /
  wait_for_line 10 'apply: new configuration: added .*Ingress e2e/logged' controller_logs --since 30s
  wait_for_line 10 '^+    server_name "logged.example";' controller_logs --since 30s
  wait_for_line 10 'access: .* "GET logged.example/" 200.* by backend.e2e.80, pod ' controller_logs --since 30s
}

@test "a Service port is found by its number and by its name" {
  create_ingress ports 'ports.example/number=backend:80' 'ports.example/name=backend:http'
  wait_for 10 always_status 200 ports.example /number
  always_status 200 ports.example /name
}

@test "an Ingress is served while its class is ours: not before, and not after" {
  kubectl -n e2e create ingress other --class other --rule 'other.example/=backend:80'
  create_ingress marker 'marker.example/=backend:80'
  wait_for 10 always_status 200 marker.example /
  always_status 404 other.example /
  kubectl -n e2e patch ingress other -p '{"spec": {"ingressClassName": "bash"}}'
  wait_for 10 always_status 200 other.example /
  kubectl -n e2e patch ingress other -p '{"spec": {"ingressClassName": "other"}}'
  wait_for 10 always_status 404 other.example /
}

# Prints how many pods answer 100 requests.
pods_that_answer() { # HOST
  ask "$1" '/?[1-100]' | jq -r .pod | sort -u | wc -l
}

# bats test_tags=kind
@test "a headless Service is served by its pods" {
  kubectl -n e2e expose deployment/backend --name no-address --cluster-ip None --port 80 --target-port web
  create_ingress headless 'headless.example/=no-address:80'
  wait_for 10 always_status 200 headless.example /
  assert_equal 2 "$(pods_that_answer headless.example)"
  kubectl -n e2e delete service no-address
}

@test "a Service without a selector is served by what the EndpointSlices say that somebody made for it" {
  kubectl -n e2e create service clusterip handmade --tcp 80:8080 --dry-run=client -o json |
    jq 'del(.spec.selector)' | kubectl -n e2e create -f -
  pod=$(kubectl -n e2e get pods -l app=backend -o json | jq -c '.items[0] | [.metadata.name, .status.podIP]')
  kubectl -n e2e create -f - <<SLICE
{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
 "metadata": {"name": "handmade", "labels": {"kubernetes.io/service-name": "handmade"}},
 "ports": [{"name": "80-8080", "port": 8080}], "endpoints": [{"addresses": ["$(jq -r '.[1]' <<<"$pod")"]}]}
SLICE
  create_ingress handmade 'handmade.example/=handmade:80'
  wait_for 10 always_status 200 handmade.example /
  assert_equal "$(jq -r '.[0]' <<<"$pod")" "$(ask handmade.example / | jq -r .pod)"
  kubectl -n e2e delete service,endpointslice handmade
}

# The cluster has IPv4 only. The pod that ends is the only one that could answer over TCP, at the Service's port, by IPv4.
@test "EndpointSlices made by hand mean what they mean to kube-proxy: which pods end, ports by name and protocol, the Service's address family" {
  kubectl -n e2e create service clusterip byhand --tcp 80:8080 --dry-run=client -o json |
    jq 'del(.spec.selector)' | kubectl -n e2e create -f -
  pod=$(kubectl -n e2e get pods -l app=backend -o jsonpath='{.items[0].status.podIP}')
  jq -n --arg pod "$pod" 'def slice($name; $type; $port; $protocol; $endpoint): {apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", addressType: $type,
      metadata: {$name, labels: {"kubernetes.io/service-name": "byhand"}}, ports: [{name: $port, port: 8080, $protocol}], endpoints: [$endpoint]};
    {apiVersion: "v1", kind: "List", items: [
      slice("byhand-ends"; "IPv4"; "80-8080"; "TCP"; {addresses: [$pod], conditions: {ready: false, terminating: true}}),
      slice("byhand-udp"; "IPv4"; "80-8080"; "UDP"; {addresses: ["192.0.2.1"]}),
      slice("byhand-name"; "IPv4"; "web"; "TCP"; {addresses: ["192.0.2.2"]}),
      slice("byhand-family"; "IPv6"; "80-8080"; "TCP"; {addresses: ["2001:db8::1"], conditions: {ready: false, terminating: true}})]}' | kubectl -n e2e create -f -
  create_ingress byhand 'byhand.example/=byhand:80'
  wait_for 10 always_status 200 byhand.example /
  kubectl -n e2e delete endpointslice byhand-ends byhand-family
  wait_for 10 always_status 503 byhand.example /
  assert_contains "$(ask byhand.example /)" 'no ready endpoint for port 80 (its EndpointSlices have ready endpoints, but no TCP port called 80-8080; they have web)'
  kubectl -n e2e delete service/byhand endpointslice/byhand-udp endpointslice/byhand-name
}

@test "a backend that is no Service is answered with 501 and the reason, which is in the log, too" {
  create_ingress resource 'resource.example/=backend:80'
  wait_for 10 always_status 200 resource.example /
  kubectl -n e2e get ingress resource -o json |
    jq 'del(.metadata.resourceVersion) | .spec.rules[0].http.paths[0].backend = {resource: {apiGroup: "example.com", kind: "Bucket", name: "files"}}' | kubectl replace -f -
  wait_for 10 always_status 501 resource.example /
  assert_equal 'a resource cannot be the backend here, only a Service can: path / of Ingress e2e/resource.' "$(ask resource.example /)"
  wait_for_line 10 'Ingress e2e/resource: a resource cannot be the backend here, only a Service can (ResourceBackendNotServed)' controller_logs --since 30s
}

# bats test_tags=kind
@test "traffic follows the pods of a Deployment, down to none and up again" {
  create_ingress scale 'scale.example/=backend:80'
  wait_for 10 always_status 200 scale.example /
  assert_equal 2 "$(pods_that_answer scale.example)"
  scaled=yes
  kubectl -n e2e scale deployment/backend --replicas 10
  kubectl -n e2e rollout status deployment/backend --timeout 60s
  wait_for_equal 20 10 pods_that_answer scale.example
  kubectl -n e2e scale deployment/backend --replicas 0
  wait_for 15 always_status 503 scale.example /
  assert_equal 'Service e2e/backend has no ready endpoint for port 80: path / of Ingress e2e/scale.' "$(ask scale.example /)"
  kubectl -n e2e scale deployment/backend --replicas 2
  wait_for 30 always_status 200 scale.example /
}

@test "a Service that does not exist is named in the answer, until it does exist" {
  create_ingress early 'early.example/=late:80' 'early.example/other=backend:80'
  wait_for 10 always_status 200 early.example /other
  assert_equal 'Service e2e/late does not exist: path / of Ingress e2e/early.' "$(ask early.example /)"
  kubectl -n e2e expose deployment/backend --name late --port 80 --target-port web
  wait_for 20 always_status 200 early.example /
  kubectl -n e2e delete service late
}

@test "a path that could do harm is refused by itself: its Ingress's other paths are served" {
  create_ingress harm 'harm.example/good=backend:80'
  kubectl -n e2e get ingress harm -o json |
    jq 'del(.metadata.resourceVersion) | .spec.rules[0].http.paths += [.spec.rules[0].http.paths[0] * {path: "/bad\" { return 200 pwned; } location \"/x", pathType: "Prefix"}]' |
    kubectl replace -f -
  wait_for_line 10 'Ingress e2e/harm: the path .* (PathRefused)' controller_logs --since 30s
  wait_for 10 always_status 200 harm.example /good
  always_status 404 harm.example /bad
}

# bats test_tags=kind
@test "the pod sees the client's address, host and request, and the client the pod's answer" {
  create_ingress headers 'headers.example/*=backend:80'
  wait_for 10 always_status 200 headers.example /
  answer=$(ask headers.example '/a%20b//c?d=e' -X PUT --data hello -A 'my client/1.0' -H 'X-Forwarded-For: 6.6.6.6')
  assert_equal '["PUT","headers.example","/a%20b//c?d=e","hello",["my client/1.0"]]' \
    "$(jq -c '[.method, .host, .uri, .body, .header["User-Agent"]]' <<<"$answer")"
  refute_contains "$answer" 6.6.6.6
  [[ $(jq -r '.header["X-Real-Ip"][0]' <<<"$answer") =~ ^[0-9a-f.:]{7,}$ ]]
  answer=$(ask headers.example '/download?bytes=7' --head)
  for header in 'Date: ' 'Server: backend' 'Content-Type: application/octet-stream' 'Content-Length: 7'; do
    assert_contains "$answer" $'\n'"$header"
  done
}
