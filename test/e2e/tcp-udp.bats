# TCP and UDP services: a real Redis and a real DNS server, whose pods move while clients are connected.
load helpers

setup_file() {
  load_servers
  kubectl -n e2e apply -f "$BATS_TEST_DIRNAME/servers.yaml"
  config_map_is tcp-services 16379=e2e/redis:redis 10053=e2e/dns:dns-tcp
  config_map_is udp-services 10053=e2e/dns:53
  kubectl -n bash-ingress set env deployment/bash-ingress TCP_SERVICES=bash-ingress/tcp-services UDP_SERVICES=bash-ingress/udp-services
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
  kubectl -n e2e rollout status deployment/redis --timeout 60s
  kubectl -n e2e rollout status deployment/dns --timeout 60s
  kubectl -n e2e wait --for condition=Ready pod/clients --timeout 60s
}

teardown_file() {
  kubectl -n bash-ingress set env deployment/bash-ingress TCP_SERVICES- UDP_SERVICES-
  kubectl -n bash-ingress delete configmap tcp-services udp-services
  kubectl -n e2e delete --wait=false -f "$BATS_TEST_DIRNAME/servers.yaml"
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

teardown() { common_teardown; }

config_map_is() { # NAME PORT=SERVICE...
  local entries=("${@:2}")
  kubectl -n bash-ingress create configmap "$1" "${entries[@]/#/--from-literal=}" --dry-run=client -o json | kubectl apply -f -
}

# Runs a client in its pod.
client() { # COMMAND...
  kubectl -n e2e exec clients -- "$@"
}

# Prints the address of one of the controller's pods.
controller() {
  api "$controllers" | jq -r '[.items[] | select(.metadata.deletionTimestamp == null)][0].status.podIP'
}

redis() { # ARGUMENT...
  client redis-cli -h "$(controller)" -p 16379 "$@"
}

pod_of_redis() {
  kubectl -n e2e get pods -l app=redis --field-selector status.phase=Running -o 'jsonpath={.items[?(!@.metadata.deletionTimestamp)].status.podIP}'
}

answers() { # TEXT COMMAND...
  [[ $("${@:2}" 2>&1) == *"$1"* ]]
}

@test "Redis is served on its port, and a blocked client stays connected while routes of Ingresses change" {
  wait_for 30 answers PONG redis ping
  redis blpop list 60 >"$BATS_TEST_TMPDIR/said" 3>&- &
  wait_for 20 answers blpop redis client list
  create_ingress beside 'beside.example/=backend:80'
  wait_for 20 always_status 200 beside.example /
  redis rpush list held
  wait "$!"
  assert_contains "$(<"$BATS_TEST_TMPDIR/said")" held
}

@test "when the pod of Redis moves, new connections get to the new one" {
  wait_for 30 answers PONG redis ping
  redis set key before
  kubectl -n e2e delete pod -l app=redis
  kubectl -n e2e rollout status deployment/redis --timeout 60s
  wait_for 20 answers PONG redis ping
  assert_equal '' "$(redis get key)" # which the new one does not have
}

@test "without a pod the port is closed, and it opens with the first one" {
  kubectl -n e2e scale deployment/redis --replicas 0
  wait_for 30 answers refused redis ping
  kubectl -n e2e scale deployment/redis --replicas 1
  wait_for 30 answers PONG redis ping
}

lookup() { # [OPTION...]
  client drill "$@" -p 10053 "@$(controller)" here.example
}

@test "DNS is served by UDP and by TCP on one port, also while its pods are replaced" {
  wait_for 30 answers 192.0.2.1 lookup
  wait_for 30 answers 192.0.2.1 lookup -t
  # shellcheck disable=SC2016 # the dollar signs are for the shell in the pod
  client bash -c 'for _ in {1..100}; do drill -p 10053 "@$0" here.example | grep -c "192.0.2.1" || true; sleep 0.1; done' "$(controller)" >"$BATS_TEST_TMPDIR/answers" 3>&- &
  kubectl -n e2e rollout restart deployment/dns
  kubectl -n e2e rollout status deployment/dns --timeout 60s
  wait "$!"
  answered=$(grep -cx 1 "$BATS_TEST_TMPDIR/answers")
  echo "# $answered of 100 lookups were answered at once" >&3
  ((answered >= 97))
}

@test "an entry that is changed goes elsewhere, and one that is removed is closed" {
  config_map_is tcp-services 16379=e2e/redis:6379 16380=e2e/redis:6379
  other() { client redis-cli -h "$(controller)" -p 16380 ping; }
  wait_for 20 answers PONG other
  config_map_is tcp-services 16379=e2e/redis:6379 10053=e2e/dns:dns-tcp
  wait_for 20 answers refused other
  assert_contains "$(redis ping)" PONG
}

# The backend ends TLS itself on its port 8443.
@test "ssl-passthrough: the pods of such a host end its TLS, and others are as before" {
  kubectl -n e2e create ingress passed --class bash --rule 'passed.example/*=backend:443' --annotation nginx.ingress.kubernetes.io/ssl-passthrough=true
  create_ingress plain 'plain.example/=backend:80'
  wait_for 20 always_status 308 passed.example /
  wait_for 20 eval '[[ $(ask_tls passed.example / -k | jq -r .pod) == backend-* ]]'
  wait_for 20 eval '[[ $(ask_tls plain.example / -k | jq -r .pod) == backend-* ]]'
  assert_equal 421 "$(curl -sk -o /dev/null -w '%{http_code}' --connect-to "::$TLS_ADDRESS" -H 'Host: passed.example' https://plain.example/)"
}
