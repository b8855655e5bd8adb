# What the real API server lets in, and what becomes of it. All that it might let in is in test/unit/hostile.bats.
load helpers

setup() { tables=$root/test/unit/tables; }
teardown() {
  common_teardown
  kubectl -n e2e delete service,endpointslice -l hostile=yes >/dev/null
}

# Creates what the API server lets in, and prints their hosts.
create_hostile_ingresses() {
  jq -f "$tables/hostile.jq" "$root/test/fixtures/rules/lists.json" | jq --arg file /tmp/canary -f "$tables/cves.jq" |
    jq -f "$root/test/e2e/hostile.jq" | sed 's/\xef\xbf\xbd/\\ud800/g' >"$BATS_TEST_TMPDIR/list.json" # half a character, which jq cannot write
  # for what it refuses, kubectl's status is 1
  kubectl create --validate=ignore -f "$BATS_TEST_TMPDIR/list.json" -o name 2>"$BATS_TEST_TMPDIR/refused" >"$BATS_TEST_TMPDIR/created" || true
  sed -E 's|.*/(.*)|\1.example|' "$BATS_TEST_TMPDIR/created"
}

# Asks for PATH of many hosts in one go, and prints each answer with its status code.
answers() { # PATH   <HOSTS
  sed "s|.*|url = \"http://&$1\"|" | curl -s --path-as-is --connect-to "::$(address_with_port)" -w '\n%{http_code}\n' -K -
}

model() { # POD
  kubectl -n bash-ingress exec "$1" -- cat /tmp/bash-ingress/live/model.json
}

# Prints the hosts that all replicas serve.
served_by_all() {
  local pod
  for pod in $(controller_pods); do model "$pod" | jq -r '.servers[].host'; done | sort | uniq -c |
    awk -v replicas="$(controller_pods | wc -l)" '$1 == replicas { print $2 }'
}

all_are_served() { # HOSTS_FILE
  [[ -z $(comm -23 <(sort "$1") <(served_by_all | sort)) ]]
}

@test "hundreds of Ingresses that the API server lets in come to harmless text: the good paths are served, nothing else is, and the log stays readable" {
  hosts=$BATS_TEST_TMPDIR/hosts
  for pod in $(controller_pods); do kubectl -n bash-ingress exec "$pod" -- bash -c 'echo "the canary" >/tmp/canary'; done
  create_hostile_ingresses >"$hosts"
  (($(wc -l <"$hosts") > 300))
  (($(wc -l <"$BATS_TEST_TMPDIR/refused") > 0))
  wait_for 20 all_are_served "$hosts"
  for pod in $(controller_pods); do
    kubectl -n bash-ingress exec "$pod" -- nginx -e stderr -t -q -c /tmp/bash-ingress/live/nginx.conf
  done
  # what asks for protection, or decides where requests go, is closed; the number is that of the annotations in cves.jq which do
  model "$pod" | jq -r '.problems[] | select(.reason == "ProtectionNotAvailable" and (.of | startswith("Ingress e2e/hostile-"))) | "\(.of[12:]).example"' |
    sort -u >"$BATS_TEST_TMPDIR/closed"
  assert_equal 16 "$(wc -l <"$BATS_TEST_TMPDIR/closed")"
  assert_equal 503 "$(answers /good <"$BATS_TEST_TMPDIR/closed" | grep -E '^[0-9]{3}$' | sort -u)"
  assert_equal 200 "$(grep -vxFf "$BATS_TEST_TMPDIR/closed" "$hosts" | answers /good | grep -E '^[0-9]{3}$' | sort -u)"
  for path in /canary /x /tmp/canary /good/../tmp/canary; do
    refute_contains "$(answers "$path" <"$hosts")" 'the canary'
  done
  # each one that has a path or an annotation which is not honoured is told, in plain text
  model "$pod" | jq -c '.problems[] | select(.of // "" | startswith("Ingress e2e/hostile-"))' >"$BATS_TEST_TMPDIR/problems"
  assert_equal "$(sed -E 's|[.]example$||; s|^|Ingress e2e/|' "$hosts" | sort)" "$(jq -r .of "$BATS_TEST_TMPDIR/problems" | sort -u)"
  run env LC_ALL=C grep -n '[^ -~]' "$BATS_TEST_TMPDIR/problems"
  assert_equal '' "$output"
  for pod in $(controller_pods); do kubectl -n bash-ingress logs "$pod" --since 60s; done >"$BATS_TEST_TMPDIR/log"
  (($(grep -cE 'apply: Ingress e2e/hostile-.* \(PathRefused\)$' "$BATS_TEST_TMPDIR/log") > 50))
  run env LC_ALL=C grep -vnE '^[ -~]*$' "$BATS_TEST_TMPDIR/log"
  assert_equal '' "$output"
  run grep -vnE '^([0-9:]{8} [a-z-]+: |/opt/bash-ingress/bin/|[-+ @]|[.]{3} and [0-9]+ lines more|20[0-9/]+ )' "$BATS_TEST_TMPDIR/log"
  assert_equal '' "$output"
}

# A Service, its EndpointSlice made by hand with PORT of all replicas of the controller, and an Ingress: NAME.example.
# (A pod that still ends, since a test before, is no replica any more.)
lead_to_controllers() { # NAME PORT
  api "$controllers" | jq --arg name "$1" --argjson port "$2" '
    {namespace: "e2e", $name, labels: {hostile: "yes"}} as $metadata
    | {apiVersion: "v1", kind: "List", items: [
        {apiVersion: "v1", kind: "Service", $metadata, spec: {ports: [{port: 80}]}},
        {apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: ($metadata | .labels["kubernetes.io/service-name"] = $name),
          addressType: "IPv4", ports: [{name: "", port: $port}], endpoints: [{addresses: [.items[] | select(.metadata.deletionTimestamp == null).status.podIP | values]}]}]}' | kubectl create -f -
  create_ingress "$1" "$1.example/*=$1:80"
}

@test "an EndpointSlice made by hand leads to no port of a controller, and the log names it" {
  lead_to_controllers admin 10254
  lead_to_controllers circle 8080
  for name in admin circle; do
    wait_for_line 10 "EndpointSlice e2e/$name: .* not served: address and port of a controller" controller_logs
    wait_for 10 always_status 503 "$name.example" /metrics
  done
}
