# The ConfigMap of manifests/variants/configmap, in a real cluster: read by a right of its own, followed without a restart.
load helpers

setup_file() {
  cd "$root"
  kubectl kustomize manifests/variants/configmap | kubectl create --dry-run=client --validate=false -o json -f - |
    jq -c 'select(.kind == "ConfigMap" or (.metadata.name == "bash-ingress-configmap"))' | kubectl apply -f -
  kubectl -n bash-ingress set env deployment/bash-ingress CONFIGMAP=bash-ingress/keys
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

teardown() { common_teardown; }

teardown_file() {
  kubectl -n bash-ingress set env deployment/bash-ingress CONFIGMAP-
  kubectl -n bash-ingress delete configmap keys --ignore-not-found
  kubectl -n bash-ingress delete role,rolebinding bash-ingress-configmap
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

# Prints the status for a client with that User-Agent.
status_for() { # AGENT
  ask fruit.example /apple -A "$1" -o /dev/null -w '%{http_code}'
}

set_keys() { # DATA
  kubectl -n bash-ingress patch configmap keys --type merge -p "{\"data\": $1}"
}

@test "a key of the ConfigMap counts in all pods within some passes, and no pod is restarted for it" {
  restarts=$(kubectl -n bash-ingress get pods -l "$controller_label" -o jsonpath='{.items[*].metadata.uid} {.items[*].status.containerStatuses[*].restartCount}')
  wait_for_equal 20 '403' status_for badbot
  assert_equal 200 "$(status_for curl)"
  set_keys '{"block-user-agents": "otherbot", "http-redirect-code": "307"}'
  wait_for_equal 10 200 status_for badbot
  wait_for_equal 10 403 status_for OTHERBOT
  assert_equal "$restarts" "$(kubectl -n bash-ingress get pods -l "$controller_label" -o jsonpath='{.items[*].metadata.uid} {.items[*].status.containerStatuses[*].restartCount}')"
}

@test "a wrong key that protects keeps its last good value, also while the ConfigMap is gone; a pod that starts then is closed" {
  set_keys '{"block-user-agents": "~(", "keep-alive": "20"}'
  wait_for_line 15 'keepalive_timeout 20s' kubectl -n bash-ingress exec deployment/bash-ingress -- cat /tmp/bash-ingress/live/nginx.conf
  assert_equal 403 "$(status_for otherbot)"
  wait_for_line 30 'Its last good value holds' kubectl -n bash-ingress describe configmap keys
  kubectl -n bash-ingress delete configmap keys
  wait_for_line 15 'keepalive_timeout 75s' kubectl -n bash-ingress exec deployment/bash-ingress -- cat /tmp/bash-ingress/live/nginx.conf
  assert_equal '403 200' "$(status_for otherbot) $(status_for curl)"
  kubectl -n bash-ingress delete pods -l "$controller_label"
  wait_for_equal 60 503 status_for curl
  kubectl -n bash-ingress create configmap keys --from-literal block-user-agents=badbot
  wait_for_equal 20 200 status_for curl
  assert_equal 403 "$(status_for badbot)"
}
