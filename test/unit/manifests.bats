# Objects in files, before they are applied, as a snapshot has them: what bin/lib/check/manifests reads for other programs.
load helpers

setup() {
  common_setup
  export KUBECONFIG=/dev/null # there is no cluster
}

# Runs a word of the reader, as a program would.
reader() ( # WORD...
  source "$bin/settings"
  source "$bin/lib/check/manifests/manifests.bash"
  "$@"
)

# Prints the snapshot that FILES make of that on standard input, one JSON value a line.
merged() { # FILE...
  cat >"$dir/before"
  reader read_manifests "$dir/manifests" "$@" &&
    reader with_manifests "$dir/manifests" <"$dir/before"
}

# A manifest of an Ingress, with a line more of its metadata.
ingress() { # NAME HOST [LINE]
  cat <<YAML
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: $1
  ${3-}
spec:
  ingressClassName: bash
  rules:
  - host: $2
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: apple, port: {number: 80}}}}]}
YAML
}

@test "an Ingress of a file joins those of a snapshot; without a namespace it is of the default one, and it is the youngest" {
  { ingress late late.example && ingress last last.example 'namespace: demo'; } >"$dir/a.yaml"
  golden_snapshot rules | merged "$dir/a.yaml" >"$dir/after"
  tail -n 1 "$dir/after" | assert_json . '{"whole":true}'
  jq -s '[.[] | select(.of)] | sort_by(.created)[-2:]' "$dir/after" | assert_json 'map([.of, .claims[0].host])' \
    '[["Ingress default/late","late.example"],["Ingress demo/last","last.example"]]'
  diff <(golden_snapshot rules | grep -v whole) <(grep -v -e whole -e 'not created yet' "$dir/after" | grep -v '^{}$') |
    grep '^[<>]' | grep -vFx '< {}' >"$dir/differences" || true # none
  assert_equal '' "$(<"$dir/differences")"
}

@test "what a file has takes the place of the object of that name, and an Ingress keeps its age" {
  ingress fruit other.example 'namespace: demo' >"$dir/a.yaml"
  printf '%s' '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "apple", "namespace": "demo"}, "spec": {"ports": [{"port": 81}]}}' >"$dir/b.json"
  golden_snapshot rules | merged "$dir/a.yaml" "$dir/b.json" | jq -s . >"$dir/after"
  assert_json '[.[] | select(.of == "Ingress demo/fruit") | [.created, .claims[0].host]]' '[["2026-01-01T00:01:00Z","other.example"]]' <"$dir/after"
  assert_json '[.[] | select(.service == "demo/apple" and .ports.numbers).ports.numbers | keys[]]' '["81"]' <"$dir/after"
}

@test "an Ingress that another class takes leaves the snapshot" {
  ingress fruit other.example 'namespace: demo' | sed 's/ClassName: bash/ClassName: other/' >"$dir/a.yaml"
  golden_snapshot rules | merged "$dir/a.yaml" | jq -s . | assert_json 'any(.of == "Ingress demo/fruit")' false
}

@test "a folder is read with the folders in it, a List is its items, and of two objects of a name the last one counts" {
  mkdir -p "$dir/in/deeper"
  ingress one one.example >"$dir/in/a.yaml"
  cat >"$dir/in/deeper/b.yml" <<'YAML'
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: apple}, spec: {ports: [{port: 80}]}}
- {apiVersion: v1, kind: Service, metadata: {name: apple}, spec: {ports: [{port: 90}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, labels: {kubernetes.io/service-name: apple}}, addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}], ports: [{port: 8080}]}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: apple}}
YAML
  reader empty_snapshot | merged "$dir/in" | jq -s -c 'map(.of // .slice // .service | values)' >"$dir/names"
  assert_equal '["default/a","Ingress default/one","default/apple"]' "$(<"$dir/names")"
  assert_json '[.kind, .metadata.name]' '["Deployment","apple"]' <"$dir/manifests/new/others"
}

@test "an IngressClass of a file decides which Ingresses are ours" {
  {
    ingress one one.example | sed 's/ClassName: bash/ClassName: mine/'
    printf '%s\n' --- 'apiVersion: networking.k8s.io/v1' 'kind: IngressClass' 'metadata: {name: mine}' 'spec: {controller: bash-ingress.local/controller}'
  } >"$dir/a.yaml"
  reader empty_snapshot | merged "$dir/a.yaml" | jq -s . | assert_json '[.[].of | values]' '["Ingress default/one"]'
}

@test "the Secrets and ConfigMaps of a file are examined as those of a cluster are, and no byte of them is shown" {
  make_pair "$dir/pair" one.example ecdsa
  {
    ingress one one.example 'annotations: {nginx.ingress.kubernetes.io/auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users, nginx.ingress.kubernetes.io/custom-headers: default/headers}'
    printf '  tls: [{hosts: [one.example], secretName: pair}, {hosts: [two.example], secretName: bad}, {secretName: missing}]\n'
    printf '%s\n' --- 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {name: headers}' 'data: {X-Team: blue}'
    printf '%s\n' --- 'apiVersion: v1' 'kind: Secret' 'metadata: {name: users}' 'stringData: {auth: "joe:$apr1$mSq.fY5w$3kBTVtvKRPQAnCFhKw71l/"}'
    printf '%s\n' --- 'apiVersion: v1' 'kind: Secret' 'metadata: {name: bad}' 'type: kubernetes.io/tls' 'data: {tls.crt: eA==, tls.key: eA==}'
    printf '%s\n' ---
    jq -n --rawfile crt "$dir/pair.crt" --rawfile key "$dir/pair.key" \
      '{apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata: {name: "pair"}, data: {"tls.crt": ($crt | @base64), "tls.key": ($key | @base64)}}'
  } >"$dir/a.yaml"
  reader empty_snapshot | merged "$dir/a.yaml" >"$dir/after"
  jq -s . "$dir/after" | assert_json '[.[] | select(.certificate) | [.certificate, .names // .headers // .reason]]' \
    '[["default/bad","CertificateInvalid"],["default/configmaps/headers",{"X-Team":"blue"}],["default/pair",["one.example"]],["default/users",null]]'
  refute_contains "$(<"$dir/after")" 3kBTVtvKRPQAnCFhKw71l
}

@test "what cannot be read is said in a sentence that names the file, with status 2" {
  printf 'a: b: c\n' >"$dir/wrong.yaml"
  printf '%s\n' 'apiVersion: v1' 'kind: Service' 'spec: {}' >"$dir/unnamed.yaml"
  printf '# nothing\n' >"$dir/nothing.yaml"
  for file in wrong unnamed nothing missing; do
    run reader read_manifests "$dir/manifests" "$dir/$file.yaml"
    assert_equal 2 "$status"
    assert_contains "$output" "$dir/$file.yaml"
  done
}

@test "standard input is read for a file named -" {
  ingress one one.example | (reader read_manifests "$dir/manifests" - && reader empty_snapshot | reader with_manifests "$dir/manifests") | jq -s . | assert_json '[.[].of | values]' '["Ingress default/one"]'
}
