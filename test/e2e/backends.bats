# Whom the controller asks beside the pods of Ingresses, and templates of one's own, in a real cluster: DEFAULT_BACKEND,
# names outside of it by a real DNS server whose answer turns, appProtocol, and a template mounted over one file.
load helpers

# The controller asks that DNS server. One address of inside is allowed, that of Service backend, which plays a host
# outside.
setup_file() {
  load_servers
  backend=$(cluster_ip e2e backend)
  answer_is "$backend"
  kubectl -n e2e apply -f - <<'SERVICE'
{apiVersion: v1, kind: Service, metadata: {name: names}, spec: {selector: {app: names}, ports: [{port: 53, targetPort: 5300, protocol: UDP}]}}
SERVICE
  kubectl -n bash-ingress get deployment bash-ingress -o json | jq 'del(.metadata.resourceVersion, .metadata.uid, .status)' >"$BATS_FILE_TMPDIR/before.json"
  kubectl -n bash-ingress patch deployment bash-ingress -p "$(jq -n --arg dns "$(cluster_ip e2e names)" --arg cidr "$backend/32" '{spec: {template: {spec: {
    dnsPolicy: "None", dnsConfig: {nameservers: [$dns]},
    containers: [{name: "controller", env: [
      {name: "DEFAULT_BACKEND", value: "e2e/backend:80"}, {name: "EXTERNAL_NAMES", value: "*.out.example"}, {name: "EXTERNAL_CIDRS", value: $cidr}]}]}}}}')"
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

teardown() { common_teardown; }

teardown_file() {
  kubectl replace -f "$BATS_FILE_TMPDIR/before.json"
  kubectl -n bash-ingress delete configmap template --ignore-not-found
  kubectl -n e2e delete --wait=false deployment/names service/{names,far,farther,secure} --ignore-not-found
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
}

cluster_ip() { # NAMESPACE SERVICE
  kubectl -n "$1" get service "$2" -o jsonpath='{.spec.clusterIP}'
}

# All names below out.example have that address from now on.
answer_is() { # ADDRESS
  kubectl -n e2e apply -f - <<DEPLOYMENT
apiVersion: apps/v1
kind: Deployment
metadata: {name: names}
spec:
  selector: {matchLabels: {app: names}}
  strategy: {type: Recreate}
  template:
    metadata: {labels: {app: names}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: dns
          image: bash-ingress-servers:dev
          imagePullPolicy: Never
          command: [dnsmasq, --no-daemon, --no-resolv, --no-hosts, --port=5300, --pid-file=, "--user=", "--address=/out.example/$1"]
          readinessProbe: {tcpSocket: {port: 5300}, periodSeconds: 1}
DEPLOYMENT
  kubectl -n e2e rollout status deployment/names --timeout 60s
}

@test "DEFAULT_BACKEND answers whatever no rule is for, and the errors that custom-http-errors lists" {
  wait_for 20 eval '[[ $(ask nobody.example /x | jq -r "\(.host) \(.uri)") == "nobody.example /x" ]]'
  kubectl -n e2e create ingress errors --class bash --rule 'errors.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/custom-http-errors=404
  wait_for 20 eval '[[ $(ask errors.example "/?status=404" | jq -r ".header[\"X-Ingress-Name\"][0]") == errors ]]'
  assert_equal '404 null' "$(ask errors.example '/?status=404' | jq -r '.header["X-Code"][0]') $(ask errors.example '/?status=403' | jq -r '.header["X-Code"]')"
}

external() { # SERVICE
  kubectl -n e2e create service externalname "$1" --external-name "$1.out.example"
}

@test "an ExternalName is served at its address, and when that turns to one inside, it is a 503 with a sentence, and nobody else's" {
  external far
  kubectl -n e2e create ingress far --class bash --rule 'far.example/*=far:80'
  create_ingress near 'near.example/=backend:80'
  wait_for 30 always_status 200 far.example /
  answer_is "$(cluster_ip default kubernetes)"
  external farther # a new name: so all are asked for at once
  wait_for 90 always_status 503 far.example /
  assert_contains "$(ask far.example /)" 'Service e2e/far is an ExternalName: far.out.example turns to an address inside of the cluster'
  always_status 200 near.example /
  answer_is "$(cluster_ip e2e backend)"
  wait_for 120 always_status 200 far.example / # they are asked for again every minute
}

# Port 443 of the pods speaks TLS.
@test "appProtocol says that pods speak TLS" {
  kubectl -n e2e apply -f - <<'SERVICE'
{apiVersion: v1, kind: Service, metadata: {name: secure}, spec: {selector: {app: backend}, ports: [{port: 443, targetPort: secure, appProtocol: https}]}}
SERVICE
  create_ingress secure 'secure.example/=secure:443'
  wait_for 20 always_status 200 secure.example /
  assert_equal true "$(ask secure.example / | jq '.tls != null')"
}

# Mounts a template with this line at its end over the one of that name.
mount_template() { # LINE
  cat "$root/templates/clients.conf.template" - <<<"$1" >"$BATS_TEST_TMPDIR/clients.conf.template"
  kubectl -n bash-ingress create configmap template --from-file "$BATS_TEST_TMPDIR/clients.conf.template" --dry-run=client -o json | kubectl apply -f -
  kubectl -n bash-ingress patch deployment bash-ingress -p "$(jq -n --arg line "$1" '{spec: {template: {metadata: {annotations: {template: $line}}, spec: {
    volumes: [{name: "template", configMap: {name: "template"}}],
    containers: [{name: "controller", volumeMounts: [{name: "template", mountPath: "/opt/bash-ingress/templates/clients.conf.template", subPath: "clients.conf.template"}]}]}}}}')"
}

@test "a template of one's own counts after the rollout; a broken one stops it with what nginx says, and what was there serves on" {
  create_ingress plain 'plain.example/=backend:80'
  mount_template '  add_header X-Template mine always;'
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 120s
  wait_for_line 20 'X-Template: mine' ask plain.example / -o /dev/null -D -
  mount_template '  no_such_directive on;'
  wait_for_line 60 'unknown directive "no_such_directive"' controller_logs
  run kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 1s
  ((status != 0))
  always_status 200 plain.example /
  wait_for_line 5 'X-Template: mine' ask plain.example / -o /dev/null -D -
}
