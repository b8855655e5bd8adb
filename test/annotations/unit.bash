# The words of words.bash for the unit tier: snapshots, and nginx of this machine.

# One backend plays the pods for all tests of a file.
start_words() {
  "$(go_program backend)" 127.77.0.{1,2,3,4}:{8080,8081} https://127.77.0.{1,2,3,4}:8443 3>&- 2>"$BATS_FILE_TMPDIR/backend.log" &
  export BACKEND_PID=$!
  disown # or bash would tell that it was killed
  wait_for 30 curl -s 127.77.0.4:8081/counts
}

end_words() {
  kill -KILL "$BACKEND_PID" 2>/dev/null || true
}

begin_test() {
  common_setup
}

end_test() {
  common_teardown
}

# The pods of a Service have one address each: e2e/red 127.77.0.1, e2e/blue .2, e2e/auth .3, other/red .4. e2e/many has the first three,
# and so have e2e/kept and e2e/headless. The address of kept leads to that of blue.
cluster_with_pods() { # [OBJECT...]
  jq -s "$cluster_of_objects" /dev/null "$@"
}

# shellcheck disable=SC2016 # the dollar signs are jq's
cluster_of_objects='
    [{namespace: "e2e", name: "red"}, {namespace: "e2e", name: "blue"}, {namespace: "e2e", name: "auth"}, {namespace: "other", name: "red"}, {namespace: "e2e", name: "many"},
      {namespace: "e2e", name: "kept", address: "127.77.0.2", port: 8080}, {namespace: "e2e", name: "headless", address: "None", port: 8080}] as $services
    | [["http", 80, 8080], ["https", 443, 8443]] as $ports
    | {
        ingresses: {items: [.[] | select(.kind == "Ingress")] | to_entries | map(.value + {metadata: (.value.metadata + {creationTimestamp: (.key + 946684800 | todate)})})},
        ingressClasses: {items: []}, terminatingNamespaces: {items: []},
        services: {items: [$services | to_entries[] | .key as $number | .value as $it
          | {metadata: {namespace: $it.namespace, name: $it.name}, spec: {type: "ClusterIP", clusterIPs: [$it.address // "10.96.0.\($number + 1)"],
              ports: [$ports[] | {name: .[0], port: (if $it.port then .[2] else .[1] end), targetPort: .[2]}]}}]},
        endpointSlices: {items: [$services | to_entries[] | {
          metadata: (.value | {namespace, name: "\(.name)-1", labels: {"kubernetes.io/service-name": .name}}), addressType: "IPv4",
          ports: [$ports[] | {name: .[0], port: .[2], protocol: "TCP"}],
          endpoints: [(if .value.name | IN("many", "kept", "headless") then 1, 2, 3 else .key + 1 end) | {addresses: ["127.77.0.\(.)"], conditions: {ready: true, serving: true, terminating: false}}]}]},
        certificates: []
      }'

# Where a test has made a Secret or ConfigMap, the lists and these are read by the real fetch, from an API server that answers with them.
serve() {
  local others=("$BATS_TEST_TMPDIR"/objects/*-{secret,configmap}-*)
  if [[ -z ${api-}${CONFIGMAP-} && ! -e ${others[0]} && ! -e ${others[-1]} ]]; then
    cat "$BATS_TEST_TMPDIR"/objects/*.json | "$fixtures/snapshot" "$cluster_of_objects" -s | serve_snapshot
    return
  fi
  mkdir -p "$dir/cluster"
  cluster_with_pods "$BATS_TEST_TMPDIR"/objects/*.json | jq '. * ({ingresses: "Ingress", ingressClasses: "IngressClass",
    terminatingNamespaces: "Namespace", services: "Service", endpointSlices: "EndpointSlice"} | map_values({kind: "\(.)List", apiVersion: "v1"}))' >"$dir/cluster/lists.json"
  if [[ -z ${api-} ]]; then
    fixtures=$dir start_api cluster .
    be_the_proxy
  else
    fixtures=$dir cluster_is cluster .
  fi
  secrets_are "$BATS_TEST_TMPDIR"/objects/*.json
  fetch_all >"$dir/snapshot"
  serve_snapshot <"$dir/snapshot"
  [[ -z ${CONFIGMAP-} ]] || cp "$dir/snapshot" "$STATE_DIR/live/snapshot"
}

# A Secret of the type for TLS is in their list; of another type, it has an address of its own. So have ConfigMaps.
secrets_are() { # [OBJECT...]
  local name secret
  rm -f "$api"/{secret,configmap}-*
  jq -s -r --arg version "$revision" '[.[] | select(.kind == "Secret" or .kind == "ConfigMap")] | to_entries
      | map({kind: .value.kind, apiVersion: "v1"} + .value + {metadata: ({name: .value.metadata.name, namespace: .value.metadata.namespace} + {uid: "0000-\(.key)", resourceVersion: $version})})
      | group_by(.type == "kubernetes.io/tls")[]
      | if .[0].type == "kubernetes.io/tls" then "secrets", ({kind: "SecretList", apiVersion: "v1", metadata: {resourceVersion: $version}, items: map({metadata} + del(.kind, .apiVersion))} | tojson)
        else .[] | "\(.kind | ascii_downcase)-\(.metadata.namespace)-\(.metadata.name)", tojson
        end' /dev/null "$@" >"$dir/secrets"
  while read -r name && IFS= read -r secret; do printf '%s\n' "$secret" >"$api/$name"; done <"$dir/secrets"
  list_configmap
  [[ ! -e $STATE_DIR/keys/times ]] || set_times 0 # as if they had been asked for long ago
}

# The lists that have one ConfigMap each, and one that has none.
list_configmap() {
  local file list name
  [[ -n ${CONFIGMAP-} ]] || return 0
  rm -f "$api"/configmaps*
  for file in /dev/null "$api"/configmap-*; do
    [[ -e $file ]] || continue
    list=$(jq -c -s --arg version "$revision" '{kind: "ConfigMapList", apiVersion: "v1", metadata: {resourceVersion: $version}, items: map({metadata} + del(.kind, .apiVersion))}' "$file")
    name=$(jq -r '.items[].metadata.name' <<<"$list")
    printf '%s\n' "$list" >"$api/configmaps${name:+-metadata.name=$name}"
  done
}

# What the passes of some seconds fetch: one that looks at the Secrets at once and waits for it.
fetch_all() {
  bash -c 'source "$1/fetch" && program=fetch look_seconds=0 times_as_long=0 && is_waited_for() { true; } && patience() { echo 200; } && fetch "$2"' _ "$bin" "$dir/lists-read"
}

# Prints the certificate of the pod of Service red. It is for pod.example, and signed by itself.
pod_certificate() {
  openssl s_client -connect 127.77.0.1:8443 </dev/null 2>/dev/null | openssl x509
}

http_address() { echo "127.0.0.1:$HTTP_PORT"; }
https_address() { echo "127.0.0.1:$HTTPS_PORT"; }

ask_tls() { # HOST PATH [CURL_OPTION...]
  curl -sk --path-as-is --max-time 10 --connect-to "$1:443:127.0.0.1:$HTTPS_PORT" "${@:3}" "https://$1$2"
}

# Prints the address that the cluster gave a Service.
cluster_address() { # [NAMESPACE/]NAME
  case $1 in
    red) echo 10.96.0.1 ;;
    blue) echo 10.96.0.2 ;;
    auth) echo 10.96.0.3 ;;
    other/red) echo 10.96.0.4 ;;
  esac
}

# Prints the Service whose pod answers, or the status code if nginx itself does.
who_answers() { # HOST PATH [CURL_OPTION...]
  local answer
  answer=$(ask "$@" -w '\n%{http_code}')
  case $answer in
    '{"address":"127.77.0.1:'*) echo red ;;
    '{"address":"127.77.0.2:'*) echo blue ;;
    '{"address":"127.77.0.3:'*) echo auth ;;
    '{"address":"127.77.0.4:'*) echo other/red ;;
    *) echo "${answer##*$'\n'}" ;;
  esac
}

# The same for each PATH, a line each. One curl asks them all, one after the other.
who_answers_paths() { # HOST PATH... [-- CURL_OPTION...]
  local host=$1 urls=()
  shift
  while (($# > 0)) && [[ $1 != -- ]]; do urls+=("http://127.0.0.1:$HTTP_PORT$1") && shift; done
  curl -s --path-as-is --max-time 10 -H "Host: $host" -w '\n=%{http_code}\n' "${@:2}" "${urls[@]}" |
    awk 'BEGIN { split("red blue auth other/red", pods) }
      /^=/ { print (pod ? pods[pod] : substr($0, 2)); pod = 0 }
      match($0, /^{"address":"127[.]77[.]0[.][1-4]:/) { pod = substr($0, RLENGTH - 1, 1) }'
}
