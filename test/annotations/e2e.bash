# The words of words.bash for the e2e tier: the real image in a real cluster.

start_words() {
  [[ ! -e ${PREPARED-}.words ]] || return 0 # they are there
  kubectl create namespace other --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  sed 's/NAME/red/g; s/POD/other-red/' "$BATS_TEST_DIRNAME/pods.yaml" | kubectl -n other apply -f - >/dev/null
  local name
  for name in red blue auth; do sed "s/NAME/$name/g; s/POD/$name/" "$BATS_TEST_DIRNAME/pods.yaml" | kubectl -n e2e apply -f - >/dev/null; done
  for name in e2e/red e2e/blue e2e/auth other/red; do kubectl -n "${name%/*}" rollout status "deployment/${name#*/}" --timeout 60s >/dev/null; done
  [[ -z ${PREPARED-} ]] || : >"$PREPARED.words"
}

end_words() { :; } # the pods stay for the next file

begin_test() {
  note_lines_of_tests_only
  dir=$BATS_TEST_TMPDIR
}

end_test() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || explain_failure
  kubectl delete ingress,secret,configmap --all-namespaces -l annotations=yes --wait=false >/dev/null
}

# Objects that the test has forgotten go; the marker, which comes last, shows that all before it is live.
serve() {
  local marker=served-${EPOCHREALTIME/./}.example # a new one each time: that of before may still be live
  ingress served "$marker" / red
  jq -s '{apiVersion: "v1", kind: "List", items: map(.metadata.labels.annotations = "yes")}' "$BATS_TEST_TMPDIR"/objects/*.json >"$dir/list.json"
  kubectl apply --prune -l annotations=yes --prune-allowlist=networking.k8s.io/v1/Ingress --prune-allowlist=core/v1/Secret --prune-allowlist=core/v1/ConfigMap -f "$dir/list.json" >/dev/null
  wait_for 30 always_status 200 "$marker" /
  # This starts a program in each pod, so it is done only where an Ingress names a Secret or a ConfigMap.
  ! grep -qE '(secret|secretName|custom-headers|auth-proxy-set-headers)": ?"' "$dir/list.json" || wait_for 30 secrets_are_known
  without served
}

# A replica may have looked before a Secret or ConfigMap was there, or while the test before had taken it away.
secrets_are_known() {
  local pod problems
  for pod in $(controller_pods); do
    problems=$(problems "$pod") || return
    ! grep -qE 'it has not been read yet|being examined' <<<"$problems" || return
    ! grep -qFf <(jq -r '.items[] | select(.kind != "Ingress") | "\(.kind) \(.metadata.namespace)/\(.metadata.name) does not exist"' "$dir/list.json") <<<"$problems" || return
  done
}

http_address() { echo "$ADDRESS"; }
https_address() { echo "$TLS_ADDRESS"; }

ask_tls() { # HOST PATH [CURL_OPTION...]
  curl -sk --path-as-is --max-time 10 --connect-to "$1:443:$TLS_ADDRESS" "${@:3}" "https://$1$2"
}

# Prints the address that the cluster gave a Service.
cluster_address() { # [NAMESPACE/]NAME
  local name=$1
  [[ $name == */* ]] || name=e2e/$name
  kubectl -n "${name%/*}" get service "${name#*/}" -o jsonpath='{.spec.clusterIP}'
}

# Prints the Service whose pod answers, or the status code if nginx itself does.
who_answers() { # HOST PATH [CURL_OPTION...]
  local answer pod
  answer=$(ask "$@" -w '\n%{http_code}')
  pod=$(jq -r '.pod // ""' <<<"${answer%$'\n'*}" 2>/dev/null) || pod=''
  case $pod in
    other-red) echo other/red ;;
    red | blue | auth) echo "$pod" ;;
    *) echo "${answer##*$'\n'}" ;;
  esac
}

# The same for each PATH, a line each.
who_answers_paths() { # HOST PATH... [-- CURL_OPTION...]
  local host=$1 paths=() path
  shift
  while (($# > 0)) && [[ $1 != -- ]]; do paths+=("$1") && shift; done
  for path in "${paths[@]}"; do who_answers "$host" "$path" "${@:2}"; done
}

# Prints the certificate of the pod of Service red. It is for pod.example, and signed by itself.
pod_certificate() {
  local address
  address=$(kubectl -n e2e get service red -o jsonpath='{.spec.clusterIP}')
  # shellcheck disable=SC2016 # $1 is for the shell in the pod
  kubectl -n bash-ingress exec "$(controller_pods | head -n 1)" -- bash -c 'openssl s_client -connect "$1:443" </dev/null 2>/dev/null | openssl x509' _ "$address"
}

# Prints the problems that the live configuration has, a line for each. That these tests change too much is none of theirs.
problems() { # [POD]
  kubectl -n bash-ingress exec "${1:-$(controller_pods | head -n 1)}" -- jq -r '.problems[] | select(.reason != "ChangesHeldBack") | "\(.reason): \(.of | if . then ltrimstr("Ingress ") else . end): \(.message)"' /tmp/bash-ingress/live/model.json || {
    echo 'the problems cannot be read'
    return 1
  }
}
