# bin/check: verdicts on Ingresses before they are here. They come from the real route, so what is tested is what is made
# of its model; and, over random Ingresses, that nginx does with them what the verdicts say.
load helpers

setup() {
  common_setup
  manifests=$BATS_TEST_DIRNAME/../../manifests
}
teardown() { common_teardown; }

# Prints the Ingress NAME, of host NAME.example.
ingress() { # [NAMESPACE/]NAME CLASS TYPE:PATH [ANNOTATION=VALUE...]
  jq -n -c --arg name "${1#*/}" --arg namespace "${1%"${1#*/}"}" --arg class "$2" --arg type "${3%%:*}" --arg path "${3#*:}" '
    {apiVersion: "networking.k8s.io/v1", kind: "Ingress",
      metadata: ({$name, annotations: ([$ARGS.positional[] | index("=") as $at | {("nginx.ingress.kubernetes.io/" + .[:$at]): .[$at + 1:]}] | add // {})}
        + if $namespace == "" then {} else {namespace: $namespace[:-1]} end),
      spec: {ingressClassName: $class, rules: [{host: "\($name).example", http: {paths: [{$path, pathType: $type, backend: {service: {name: "app", port: {number: 80}}}}]}}]}}' --args "${@:4}"
}

# Runs it; sets status and $dir/verdicts.
check() { # ARGUMENT...
  status=0
  "$bin/check" --json "$@" >"$dir/verdicts" || status=$?
}

verdict() { # NAMESPACE/NAME
  jq -r --arg name "$1" '.ingresses[] | select(.ingress == $name).verdict' "$dir/verdicts"
}

# --- the tables

@test "the table of differences is that of manifests/README.md, row by row" {
  diff <(awk '/^What is different, where/ { found = 1 } found && /^\|/ { if (++row > 2) print } found && row && !/^\|/ { exit }' "$manifests/README.md") \
    <(jq -r '.[] | "| \(.there) | \(.here) |\(if .instead == "" then "" else " \(.instead)" end) |"' "$bin/lib/check/differences.json")
  assert_json '(length > 30) and (map(.name) | length == (unique | length))' true <"$bin/lib/check/differences.json"
}

@test "each difference that an Ingress may be touched by has its check, and each check its difference" {
  assert_equal "$(jq -r '.[] | select(.touched).name' "$bin/lib/check/differences.json" | sort)" \
    "$(sed -nE 's/^ +"([a-z-]+)": \[.*/\1/p' "$bin/lib/check/differences.jq" | sort)"
}

# (Those of the controller's ConfigMap are of no Ingress.)
@test "each reason of a problem has a verdict" {
  assert_equal "$({ sed -n '/^| reason | what to do/,/^$/p' "$bin/README.md" | cut -d '|' -f 2 | grep -oE '`[A-Za-z]+`' | tr -d '`' | grep -v '^ConfigMap' && echo MoreProblems; } | sort)" \
    "$(jq -r 'keys[]' "$bin/lib/check/reasons.json" | sort)"
  assert_json '[.[].verdict] | unique' '["closed","kept","kept, but different","not there"]' <"$bin/lib/check/reasons.json"
}

@test "for the class nginx, the settings are those of the variant for it" {
  kubectl kustomize "$manifests/variants/ingress-nginx" >"$dir/variant"
  kubectl patch --local -f "$dir/variant" --type merge -p '{}' -o json |
    jq -r 'select(.kind == "Deployment").spec.template.spec.containers[].env[] | select((.value // "") != "") | "\(.name)=\(.value)"' >"$dir/settings"
  while IFS='=' read -r name value; do
    printf '%s=%b\n' "$name" "$value" >"$dir/setting"
    assert_contains "$(<"$dir/settings")" "$(<"$dir/setting")"
  done <"$bin/lib/check/ingress-nginx.settings"
  assert_equal "$(grep -oE '^[A-Z_]+=' "$dir/settings" | grep -vE '^(DRAIN_SECONDS|PUBLISH_SERVICE)' | sort)" \
    "$(grep -oE '^[A-Z_]+=' "$bin/lib/check/ingress-nginx.settings" | sort)"
}

# --- verdicts

@test "what is the same is kept, with status 0; what differs, is ignored or is closed has another verdict, with 1 and 2" {
  ingress kept bash Prefix:/ proxy-body-size=1m >"$dir/kept.json"
  ingress different bash Prefix:/ proxy-read-timeout=60s >"$dir/different.json"
  ingress ignored bash Prefix:/ enable-opentelemetry=true >"$dir/ignored.json"
  ingress closed bash Prefix:/ auth-snippet=x >"$dir/closed.json"
  check "$dir/kept.json"
  assert_equal '0 kept' "$status $(verdict default/kept)"
  check "$dir/kept.json" "$dir/different.json" "$dir/ignored.json"
  assert_equal '1 kept kept, but different not there' "$status $(verdict default/kept) $(verdict default/different) $(verdict default/ignored)"
  check "$dir"/{kept,closed}.json
  assert_equal '2 kept closed' "$status $(verdict default/kept) $(verdict default/closed)"
  assert_json '.ingresses[] | select(.ingress == "default/closed").findings[] | [.reason, (.message | test("auth-snippet"))]' '["ProtectionNotAvailable",true]' <"$dir/verdicts"
}

@test "the table for people has a line for each Ingress, why, the way out, and what was taken for granted" {
  { ingress shop/cart nginx ImplementationSpecific:/api && ingress shop/plain nginx Prefix:/; } >"$dir/ingresses.json"
  run "$bin/check" --class nginx "$dir/ingresses.json"
  assert_equal 1 "$status"
  assert_contains "$output" 'shop/cart   kept, but different
    cart.example/api: not as in ingress-nginx
      there: `/api` with `ImplementationSpecific` is also for `/apidocs`
      here:  it is a Prefix'
  assert_contains "$output" 'way out: `use-regex`, and `/api.*`
shop/plain  kept

2 of class nginx: 1 kept; 1 kept, but different; 0 not there; 0 closed
Taken for granted, with ready pods: Service shop/app'
}

@test "it reads YAML and JSON, lists, folders, and standard input; the namespace is default unless it is there" {
  mkdir "$dir/folder"
  ingress one bash Prefix:/ >"$dir/folder/one.json"
  printf 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: two, namespace: shop}\nspec: {ingressClassName: bash, defaultBackend: {service: {name: app, port: {name: web}}}}\n' >"$dir/folder/two.yaml"
  { ingress three bash Prefix:/ && ingress four bash Prefix:/; } | jq -s '{apiVersion: "v1", kind: "List", items: .}' >"$dir/list.json"
  check "$dir/folder" "$dir/list.json"
  assert_json '[.ingresses[] | [.ingress, .verdict]]' '[["default/four","kept"],["default/one","kept"],["default/three","kept"],["shop/two","kept"]]' <"$dir/verdicts"
  check <"$dir/folder/two.yaml"
  assert_json '[.ingresses[].ingress]' '["shop/two"]' <"$dir/verdicts"
}

@test "an Ingress of another class, of none, or of a version that is gone is not there, and says what to write" {
  ingress another traefik Prefix:/ >"$dir/ingresses.json"
  ingress none x Prefix:/ | jq -c 'del(.spec.ingressClassName)' >>"$dir/ingresses.json"
  ingress old bash Prefix:/ | jq -c '.apiVersion = "networking.k8s.io/v1beta1"' >>"$dir/ingresses.json"
  check "$dir/ingresses.json"
  assert_equal 2 "$status"
  assert_json '[.ingresses[] | [.ingress, .verdict, .findings[0].instead]]' '[["default/another","not there","ingressClassName: bash; or --class, to see what becomes of it in that class"],["default/none","not there","ingressClassName: bash"],["default/old","not there","apiVersion: networking.k8s.io/v1"]]' <"$dir/verdicts"
  check --class traefik "$dir/ingresses.json"
  assert_equal kept "$(verdict default/another)"
}

@test "a Service, Secret or ConfigMap that the files do not have is taken for granted; one that they have counts" {
  ingress app bash Prefix:/ auth-type=basic auth-secret=users custom-headers=headers >"$dir/ingresses.json"
  check "$dir/ingresses.json"
  assert_json '[.ingresses[0].verdict, .assumed]' '["kept",["ConfigMap default/headers","Secret default/users","Service default/app","pods of Service default/app"]]' <"$dir/verdicts"
  echo '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "app"}, "spec": {"ports": [{"port": 8080}]}}' >>"$dir/ingresses.json"
  check "$dir/ingresses.json"
  assert_json '.ingresses[0].findings[] | [.verdict, .reason, .difference]' '["not there","ServicePortNotFound","target-port"]' <"$dir/verdicts"
  ingress app bash Prefix:/ custom-headers=headers >"$dir/ingresses.json"
  ALLOWED_RESPONSE_HEADERS=none check "$dir/ingresses.json"
  assert_json '[.ingresses[0].verdict, (.ingresses[0].findings[0].message | test("ALLOWED_RESPONSE_HEADERS"))]' '["closed",true]' <"$dir/verdicts"
}

@test "the keys of the ConfigMap of CONFIGMAP are defaults, if the files have it; TCP_SERVICES and DEFAULT_BACKEND disturb nothing" {
  export CONFIGMAP=ing/keys TCP_SERVICES=ing/tcp DEFAULT_BACKEND=ing/errors:http
  ingress app bash Prefix:/ >"$dir/objects.json"
  check "$dir/objects.json"
  assert_json '[.ingresses[0].verdict] + [.assumed[] | select(startswith("ConfigMap") or startswith("Service"))]' '["kept","ConfigMap ing/keys, of which no key counts","Service default/app","Service ing/errors"]' <"$dir/verdicts"
  echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keys", "namespace": "ing"}, "data": {"global-auth-url": "https://login.elsewhere.example/"}}' >>"$dir/objects.json"
  check "$dir/objects.json"
  assert_json '[.ingresses[0].verdict, ([.ingresses[0].findings[].reason] | unique)]' '["closed",["ProtectionNotAvailable"]]' <"$dir/verdicts"
}

@test "of two Ingresses that want the same, the first in the files has it" {
  { ingress a/shop bash Prefix:/ && ingress b/shop bash Prefix:/cart; } >"$dir/ingresses.json"
  check "$dir/ingresses.json"
  assert_json '[.ingresses[] | [.ingress, .verdict, .findings[0].difference]]' '[["a/shop","kept",null],["b/shop","not there","host-of-another"]]' <"$dir/verdicts"
}

@test "a question that is wrong has status 2 and a sentence" {
  for arguments in '--class' '--what' '--cluster file.yaml' '--class A_B file.yaml' missing.yaml; do
    # shellcheck disable=SC2086 # some are two
    run "$bin/check" $arguments
    assert_equal 2 "$status"
    assert_contains "$output" 'check: '
  done
  echo 'kind: [' >"$dir/broken.yaml"
  run "$bin/check" "$dir/broken.yaml"
  assert_equal 2 "$status"
  assert_contains "$output" 'cannot read'
}

# --- each row of the table

# Rows: the difference, the annotations (- for none) of the Ingress that is touched, and TYPE:PATH. Each is touched by that
# difference; the same row without its annotations, or as a Prefix, is not.
@test "an Ingress that a difference touches is told of it, and one that it does not touch is not" {
  rows >"$dir/rows" <<'ROWS'
    body-held                 proxy-body-size=9m                                                   Prefix:/
    body-held                 proxy-body-size=0                                                    Prefix:/
    without-effect            cors-allow-origin=*                                                  Prefix:/
    longest-path              use-regex=true                                                       ImplementationSpecific:/.*/.*/.*
    implementation-specific   -                                                                    ImplementationSpecific:/api
    unknown-protection        whitelist-source-ranges=10.0.0.0/8                                   Prefix:/
    wrong-value               whitelist-source-range=all                                           Prefix:/
    wrong-value               proxy-read-timeout=60s                                               Prefix:/
    redirect-variables        permanent-redirect=https://a.example$uri                             Prefix:/
    redirect-of-exact-path    permanent-redirect=https://a.example                                 Exact:/old
    group-behind-host         rewrite-target=https://new.test$1                                    ImplementationSpecific:/x(.*)
    digest                    auth-type=digest                                                     Prefix:/
    canary-protection         canary=true; canary-weight=5; whitelist-source-range=10.0.0.0/8      Prefix:/
    canary-without-pods       canary=true; canary-weight=5                                         Prefix:/
    verify-without-tls        proxy-ssl-verify=on; proxy-ssl-secret=ca                             Prefix:/
    dots-of-groups            rewrite-target=/$2                                                   ImplementationSpecific:/app(/|$)(.*)
    cors-of-pods              enable-cors=true; cors-allow-origin=https://a.example                Prefix:/
    login-elsewhere           auth-url=https://login.elsewhere.example/                            Prefix:/
    login-elsewhere           auth-url=http://oauth2-proxy.login.svc.cluster.local/oauth2/auth     Prefix:/
    cookie-flags              proxy-cookie-path=/ "/; HttpOnly; Secure"                            Prefix:/
    cookie-flags              proxy-cookie-path=/a "/; HttpOnly"                                   Prefix:/
    snippets                  configuration-snippet=deny all;                                      Prefix:/
    connection-close          connection-proxy-header=close                                        Prefix:/
    body-of-errors            default-backend=app                                                  Prefix:/
ROWS
  local number=0 difference annotations path list
  while IFS=$'\t' read -r difference annotations path; do
    number=$((number + 1)) list=()
    [[ $annotations == - ]] || mapfile -t list < <(sed 's/; \([a-z-]*=\)/\n\1/g' <<<"$annotations")
    ingress "touched-$number" bash "$path" "${list[@]}"
    ingress "plain-$number" bash Prefix:/
  done <"$dir/rows" >"$dir/ingresses.json"
  check "$dir/ingresses.json"
  number=0
  while IFS=$'\t' read -r difference annotations path; do
    number=$((number + 1))
    assert_row true "$(jq --arg name "default/touched-$number" --arg difference "$difference" '.ingresses[] | select(.ingress == $name).findings | any(.[]; .difference == $difference)' "$dir/verdicts")" "$difference" "$annotations" "$path"
    assert_row kept "$(verdict "default/plain-$number")" "$difference" 'the plain one'
  done <"$dir/rows"
}

@test "what is different only beside another object is told to the Ingress that it touches, and not to the other" {
  rule() { jq -c --arg host "$1" --arg service "$2" '.spec.rules[0].host = $host | .spec.rules[0].http.paths[0].backend.service.name = $service'; }
  {
    ingress expressions bash ImplementationSpecific:/x.* use-regex=true | rule shop.example app
    ingress beside bash Exact:/admin | rule shop.example app
    ingress wild/owner bash Prefix:/ | rule '*.wild.example' app | jq -c '.spec.tls = [{hosts: ["*.wild.example"], secretName: "wild"}]'
    ingress below bash Prefix:/ | rule a.wild.example app
    ingress dual bash Prefix:/ | rule dual.example dual
    ingress outside bash Prefix:/ | rule outside.example outside
    ingress said bash Prefix:/ | rule said.example said
    ingress by-hand bash Prefix:/ | rule by-hand.example by-hand
    jq -n -c '{apiVersion: "v1", kind: "Service", metadata: {name: "dual"}, spec: {ports: [{port: 80}]}},
      {apiVersion: "v1", kind: "Service", metadata: {name: "outside"}, spec: {type: "ExternalName", externalName: "a.example"}},
      {apiVersion: "v1", kind: "Service", metadata: {name: "said"}, spec: {ports: [{port: 80, appProtocol: "kubernetes.io/ws"}]}},
      {apiVersion: "v1", kind: "Service", metadata: {name: "by-hand"}, spec: {ports: [{port: 80}]}},
      (["dual", "IPv4", "10.0.0.1", ""], ["dual", "IPv6", "fd00::1", ""], ["by-hand", "IPv4", "10.0.0.2", "web"] | {apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice",
        metadata: {name: "\(.[0])-\(.[1] | ascii_downcase)", labels: {"kubernetes.io/service-name": .[0]}}, addressType: .[1], endpoints: [{addresses: [.[2]]}], ports: [{port: 8080, name: .[3]}]})'
  } >"$dir/objects.json"
  check "$dir/objects.json"
  assert_json '[.ingresses[] | select(.findings != []) | "\(.ingress) \(.findings[].difference)"]' '["default/below certificate-of-wildcard","default/beside expressions-of-another","default/by-hand port-of-slice","default/dual both-families","default/outside external-name","default/said app-protocol"]' <"$dir/verdicts"
}

@test "of the Ingresses that ten and more well-known applications make, it says which are kept, and what the others lack" {
  check --class nginx "$fixtures/charts"
  while IFS=$'\t' read -r name expected why; do
    assert_row "$expected" "$(verdict "$name")" "$name"
    [[ -z $why ]] || assert_contains "$(jq -r --arg name "$name" '.ingresses[] | select(.ingress == $name).findings[] | "\(.message) [\(.difference)]"' "$dir/verdicts")" "$why"
  done < <(
    rows <<'ROWS'
    argocd/argocd-server            kept
    gitea/gitea                     kept
    gitlab/gitlab-registry          kept
    gitlab/gitlab-webservice        kept
    harbor/harbor-ingress           kept, but different  [body-held]
    home/home-assistant             not there            "enable-opentelemetry"
    jenkins/jenkins                 kept, but different  [implementation-specific]
    keycloak/keycloak               kept
    kubernetes-dashboard/dashboard  kept, but different  [dots-of-groups]
    minio/minio                     kept, but different  proxy-read-timeout is "18000s"
    minio/minio-console             closed               "configuration-snippet" is not supported
    monitoring/alertmanager         closed               [login-elsewhere]
    monitoring/grafana              kept
    monitoring/prometheus           kept
    n8n/n8n                         not there            "websocket-services"
    nextcloud/nextcloud             closed               "server-snippet" is not supported
    sentry/sentry                   kept, but different  [expressions-of-another]
    sentry/sentry-relay             kept
    vault/vault                     kept
ROWS
  )
  assert_json '.ingresses | length' 19 <"$dir/verdicts"
}

@test "manifests/README.md shows what it says" {
  local command
  command=$(sed -n 's/^\$ \(bin\/check .*\)/\1/p' "$manifests/README.md")
  cd "$BATS_TEST_DIRNAME/../.."
  run bash -c "$command"
  assert_equal 1 "$status"
  assert_equal "$(sed -n '/^\$ bin\/check/,/^…/p' "$manifests/README.md" | sed '1d; $d')" "$(sed '/^$/,$d' <<<"$output")"
}

# --- a cluster

@test "with --cluster, it reads the cluster, in which nothing is taken for granted" {
  start_api rules '.ingresses.items |= [.[] | select(.metadata.name == "fruit")] | .services.items |= map(select(.metadata.name != "banana"))'
  check --cluster
  assert_equal 2 "$status"
  assert_json '[.assumed, (.ingresses[] | .ingress, .verdict, (.findings[] | .reason))]' '[[],"demo/fruit","not there","ServiceNotFound"]' <"$dir/verdicts"
  check --cluster --class nginx
  assert_json '[.class, .ingresses[0].findings[0].reason]' '["nginx","NotOurs"]' <"$dir/verdicts"
  touch "$api/forbidden"
  run "$bin/check" --cluster
  assert_equal 2 "$status"
  assert_contains "$output" 'cannot read ingresses: Error from server (Forbidden)'
}

# --- the proof

# The controller gets the same Ingresses, with the Services, pods and Secrets that check takes for granted.
@test "over random Ingresses, nginx does with each what its verdict says, and no problem is missing or too much" {
  local first=${FIRST_INGRESS:-1} count=${INGRESSES:-60} batch=100 number
  start_pods
  for ((number = first; number < first + count; number += batch)); do
    assert_verdicts "$number" "$((first + count - number < batch ? first + count - number : batch))" ||
      { echo "FIRST_INGRESS=$number INGRESSES=$batch" && return 1; }
  done
}

assert_verdicts() { # FIRST COUNT
  jq -n -c -L "$BATS_TEST_DIRNAME/tables" --argjson first "$1" --argjson count "$2" --slurpfile examples "$BATS_TEST_DIRNAME/tables/examples.json" \
    --argjson classes "$(jq -c .ingressClasses "$fixtures/rules/lists.json")" -f "$BATS_TEST_DIRNAME/tables/verdicts.jq" >"$dir/lists"
  jq -c '.ingresses.items[]' "$dir/lists" >"$dir/ingresses.json"
  check "$dir/ingresses.json"
  assert_json '.ingresses | length' "$2" <"$dir/verdicts" || return
  "$fixtures/snapshot" <"$dir/lists" >"$dir/snapshot"
  rm -f "$dir/model.json"
  features_in_use=$dir/features
  (source "$bin/lib/annotations/features.bash" && choose_features "$dir/snapshot")
  serve_snapshot <"$dir/snapshot"
  jq -r '.asks[]' "$dir/lists" >"$dir/asks"
  awk -F '\t' -v port="$HTTP_PORT" '{ printf "%sheader = \"Host: %s\"\nurl = \"http://127.0.0.1:%s%s\"\noutput = /dev/null\npath-as-is\ngloboff\nmax-time = 20\nwrite-out = \"%%{http_code}\\n\"\n", (NR > 1 ? "next\n" : ""), $2, port, $3 }' "$dir/asks" |
    curl -s -K - >"$dir/codes"
  assert_equal "$(wc -l <"$dir/asks")" "$(wc -l <"$dir/codes")"
  jq -n -r --slurpfile verdicts "$dir/verdicts" --slurpfile model "$dir/model.json" --slurpfile lists "$dir/lists" \
    --rawfile codes <(paste "$dir/asks" "$dir/codes") \
    -f "$BATS_TEST_DIRNAME/tables/verdict-errors.jq" >"$dir/errors"
  assert_equal '' "$(<"$dir/errors")"
}
