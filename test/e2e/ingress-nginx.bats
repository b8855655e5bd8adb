# manifests/variants/ingress-nginx, beside the controller of the other tests: installed in the namespace "moving" for the
# Ingresses that ingress-nginx has served.
load helpers

setup_file() {
  cd "$root"
  image=$(kubectl -n bash-ingress get deployment bash-ingress -o jsonpath='{.spec.template.spec.containers[0].image}')
  manifests >"$BATS_FILE_TMPDIR/manifests.json"
  wait_for 60 kubectl apply -f "$BATS_FILE_TMPDIR/manifests.json" # the namespace of an earlier run may still be leaving
  make_pair "$BATS_FILE_TMPDIR/pair" old-shop.example ecdsa
  kubectl -n e2e create secret tls old-shop --cert "$BATS_FILE_TMPDIR/pair.crt" --key "$BATS_FILE_TMPDIR/pair.key"
  kubectl -n moving rollout status deployment/moving --timeout 60s
  kubectl -n moving port-forward deployment/moving :8080 :8443 >"$BATS_FILE_TMPDIR/ports" 3>&- &
  echo "$!" >"$BATS_FILE_TMPDIR/forwarding"
  wait_for 20 has_lines 2 "$BATS_FILE_TMPDIR/ports"
}

setup() {
  create_ingresses
}

teardown() {
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n moving logs deployment/moving | grep -v ' access: ' | tail -n 60
  common_teardown
}

teardown_file() {
  kill "$(<"$BATS_FILE_TMPDIR/forwarding")" || true # it ends with its pod
  kubectl -n e2e delete secret old-shop
  kubectl delete --wait=false -f "$BATS_FILE_TMPDIR/manifests.json"
}

# The variant, with other names: objects of the cluster have those of the base already; and with the address of ingress-nginx.
manifests() {
  kubectl kustomize manifests/variants/ingress-nginx | kubectl create --dry-run=client --validate=false -o json -f - |
    jq -s --arg image "$image" '{apiVersion: "v1", kind: "List", items: map(.items // [.]) | add} | walk(
      if . == "bash-ingress" then "moving"
      elif . == "bash-ingress/bash-ingress" then "moving/moving"
      elif . == {name: "PUBLISH_ADDRESS", value: ""} then .value = "192.0.2.1"
      elif . == "bash-ingress:dev" then $image
      elif type == "object" and .replicas == 2 then .replicas = 1
      elif type == "object" and .terminationGracePeriodSeconds then .terminationGracePeriodSeconds = 1
      else . end)'
}

# As a cluster has them in which ingress-nginx ran: with its class, annotations, and address.
create_ingresses() {
  kubectl -n e2e create ingress old-shop --class nginx --rule 'old-shop.example/*=backend:80,tls=old-shop'
  kubectl -n e2e create ingress old-api --class nginx --rule 'old-api.example/v1(/|$)(.*)=backend:80' --dry-run=client -o json \
    --annotation nginx.ingress.kubernetes.io/use-regex=true --annotation 'nginx.ingress.kubernetes.io/rewrite-target=/$2' |
    jq '.spec.rules[].http.paths[].pathType = "ImplementationSpecific"' | kubectl create -f -
  kubectl -n e2e patch ingress old-api --subresource status --field-manager nginx-ingress-controller --type merge \
    -p '{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}'
}

has_lines() { # NUMBER FILE
  (($(wc -l <"$2") >= $1))
}

old() { # 8080|8443 URL [CURL_OPTION...]   asks the controller of "moving"
  local port
  port=$(sed -nE "s/^Forwarding from 127.*:([0-9]+) -> $1\$/\\1/p" "$BATS_FILE_TMPDIR/ports")
  curl -s --max-time 5 --connect-to "::127.0.0.1:$port" "$2" "${@:3}"
}

@test "Ingresses of the class that ingress-nginx had are served as they are, with their annotations and redirects to HTTPS" {
  wait_for_line 20 '"uri":"/users"' old 8080 http://old-api.example/v1/users
  wait_for_line 20 '"host":"old-shop.example"' old 8443 https://old-shop.example/ --cacert "$BATS_FILE_TMPDIR/pair.crt"
  assert_equal '308 https://old-shop.example/a' "$(old 8080 http://old-shop.example/a/ -o /dev/null -w '%{http_code} %{redirect_url}')"
  assert_equal 308 "$(old 8080 http://old-shop.example/ -o /dev/null -w '%{http_code}' -H 'X-Forwarded-Proto: https')"
  assert_contains "$(old 8443 https://old-shop.example/ -k -D - -o /dev/null)" 'max-age=31536000; includeSubDomains'
}

@test "as there, a body may have 1 MiB and is held if its Ingress does not say otherwise, and custom-headers sets no header that is not allowed" {
  kubectl -n e2e create ingress old-upload --class nginx --rule 'old-upload.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/proxy-body-size=2m
  kubectl -n e2e create configmap old-headers --from-literal X-Frame-Options=DENY
  kubectl -n e2e create ingress old-headers --class nginx --rule 'old-headers.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/custom-headers=e2e/old-headers
  head -c 1500000 /dev/zero >"$BATS_TEST_TMPDIR/body"
  wait_for_line 20 'the setting ALLOWED_RESPONSE_HEADERS does not name' api '/api/v1/namespaces/e2e/events?fieldSelector=involvedObject.name=old-headers'
  assert_equal 503 "$(old 8080 http://old-headers.example/ -o /dev/null -w '%{http_code}')"
  local upload=(-o /dev/null -w '%{http_code}' --data-binary "@$BATS_TEST_TMPDIR/body")
  wait_for_equal 20 200 old 8080 http://old-upload.example/ "${upload[@]}"
  assert_equal 413 "$(old 8080 http://old-api.example/v1/users "${upload[@]}")"
  assert_contains "$(old 8080 http://old-api.example/v1/users -H 'Transfer-Encoding: chunked' -d users)" '"Content-Length":["5"]'
  assert_contains "$(old 8080 http://old-api.example/v1/users -H 'X-Forwarded-For: 192.0.2.9')" '"X-Original-Forwarded-For":["192.0.2.9"]'
  kubectl -n e2e delete configmap old-headers
}

@test "check in the pod says what becomes of each: kept, different, and closed where the controller closes it" {
  kubectl -n e2e create ingress old-snippet --class nginx --rule 'old-snippet.example/*=backend:80' --annotation nginx.ingress.kubernetes.io/server-snippet='deny all;'
  wait_for_equal 20 503 old 8080 http://old-snippet.example/ -o /dev/null -w '%{http_code}'
  run --separate-stderr kubectl -n moving exec deployment/moving -- check --cluster --json
  assert_json '[.class, .assumed, [.ingresses[] | select(.ingress | IN("e2e/old-api", "e2e/old-shop", "e2e/old-snippet")) | [.ingress, .verdict, [.findings[].difference]]]]' \
    '["nginx",[],[["e2e/old-api","kept, but different",["dots-of-groups"]],["e2e/old-shop","kept",[]],["e2e/old-snippet","closed",["snippets"]]]]' <<<"$output"
  assert_json '.ingresses[] | select(.ingress == "demo/fruit") | .findings[0].reason' '"NotOurs"' <<<"$output"
  kubectl -n e2e delete ingress old-snippet
}

@test "while PUBLISH_ADDRESS is the address of ingress-nginx, the status stays as that wrote it; the next address takes its place" {
  wait_for_equal 20 192.0.2.1 addresses old-shop
  assert_equal nginx-ingress-controller "$(writer_of_status old-api)"
  kubectl -n moving set env deployment/moving PUBLISH_ADDRESS=192.0.2.2,64:ff9b::192.0.2.2,1:2:3:4:5:6:7::
  kubectl -n moving rollout status deployment/moving --timeout 60s
  wait_for_equal 30 '192.0.2.2 1:2:3:4:5:6:7:: 64:ff9b::192.0.2.2' addresses old-api
}

addresses() { # INGRESS
  kubectl -n e2e get ingress "$1" -o jsonpath='{.status.loadBalancer.ingress[*].ip}'
}

writer_of_status() { # INGRESS
  kubectl -n e2e get ingress "$1" --show-managed-fields -o jsonpath='{.metadata.managedFields[?(@.subresource=="status")].manager}'
}
