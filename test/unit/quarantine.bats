# What if something that nginx rejects got past the allow-lists? The programs here are
# copies without the check of a path's length.
load helpers

setup() {
  common_setup
  cp -r "$bin" "$templates" "$dir"
  mkdir -p "$dir/test/fixtures"
  cp -r "$fixtures"/* "$dir/test/fixtures"
  bin=$dir/bin templates=$dir/templates fixtures=$dir/test/fixtures
  sed -i 's/if length > 1024 then/if false then/' "$bin/lib/allow.jq"
}
teardown() { common_teardown; }

# A jq filter: adds Ingresses to the fixture "rules", each with such a path.
with_long_paths() { # NAME...
  jq -n -r --args '[$ARGS.positional[] | ".ingresses.items += [.ingresses.items[0] * {metadata: {name: \"\(.)\", uid: \"\(.)\", resourceVersion: \"100\"},
    spec: {rules: [{host: \"\(.).example\", http: {paths: [.ingresses.items[0].spec.rules[0].http.paths[0] + {path: (\"/\" + \"x\" * 5000)}]}}]}}]"] | join("|")' "$@"
}

@test "quarantine names the Ingresses that nginx rejects, with nginx's words" {
  snapshot rules "$(with_long_paths long longer)" >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
  assert_json 'keys' '["demo/long","demo/longer"]' <"$dir/quarantine"
  assert_json '.["demo/long"].digest | fromjson | .ingress' '"demo/long"' <"$dir/quarantine"
  assert_contains "$(<"$dir/quarantine")" 'too long parameter'
}

@test "of two Ingresses that nginx takes alone but not together, quarantine names the newer" {
  mkdir "$dir/path"
  cat >"$dir/path/nginx" <<NGINX
#!/bin/bash
file=\${*: -1}
if [[ " \$* " == *' -t '* ]] && grep -q one.example "\$file" && grep -q other.example "\$file"; then
  echo "nginx: [emerg] they clash in \$file:7" >&2
  echo "nginx: configuration file \$file test failed" >&2
  exit 1
fi
exec $(command -v nginx) "\$@"
NGINX
  chmod +x "$dir/path/nginx"
  two='.ingresses.items += [("other", "one") as $name | .ingresses.items[0] * {metadata: {$name, uid: $name, resourceVersion: "100"},
    spec: {rules: [{host: "\($name).example"}]}}]'
  mkdir -p "$STATE_DIR/live"
  snapshot rules "$two | del(.ingresses.items[-1])" >"$STATE_DIR/live/snapshot"
  PATH=$dir/path:$PATH "$bin/quarantine" < <(snapshot rules "$two") | assert_json 'map_values(.message)' '{"demo/one":"they clash"}'
}

@test "quarantine names nobody when nginx takes the configuration" {
  assert_equal '{}' "$(snapshot rules | "$bin/quarantine" | jq -c .)"
}

@test "quarantine blames no Ingress when nginx rejects what the templates or the settings say" {
  sed -i 's/^  server_tokens off/  nonsense on/' "$dir/templates/nginx.conf.template"
  run "$bin/quarantine" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx rejects even a configuration without Ingresses'
}

@test "quarantine blames no Ingress when nginx fails because it has no memory" {
  mkdir "$dir/path"
  printf '#!/bin/sh\n[ "$1" != -v ] || exec nginx -v\necho "nginx: [emerg] malloc(16384) failed (12: Cannot allocate memory)" >&2; exit 1\n' |
    sed "s|exec nginx|exec $(command -v nginx)|" >"$dir/path/nginx"
  chmod +x "$dir/path/nginx"
  PATH=$dir/path:$PATH run "$bin/quarantine" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'not because of an Ingress'
  assert_contains "$output" 'Cannot allocate memory'
}

# Whether the route of the Ingress "long", which nginx rejected, is there after the EDIT.
is_routed() { # EDIT
  snapshot rules "$edit | .ingresses.items[-1] |= ($1)" | "$bin/route" "$dir/quarantine" | jq 'any(.servers[]; .host == "long.example")'
}

@test "a quarantined Ingress gets another chance when what it asks for has changed, and not when only its status has" {
  edit="$(with_long_paths long) | .ingresses.items[-1].metadata |= . + {uid: \"u\", generation: 1, annotations: {}}"
  snapshot rules "$edit" | "$bin/quarantine" >"$dir/quarantine"
  assert_equal false "$(is_routed .)"
  assert_equal false "$(is_routed '.metadata.resourceVersion = "999" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}]')"
  assert_equal true "$(is_routed '.spec.rules[0].http.paths += [.spec.rules[0].http.paths[0] | .path = "/a"]')"
  assert_equal true "$(is_routed '.metadata.annotations["nginx.ingress.kubernetes.io/backend-protocol"] = "GRPC"')"
}

@test "route leaves out a quarantined Ingress until its digest is another" {
  edit=$(with_long_paths long)
  snapshot rules "$edit" >"$dir/snapshot"
  "$bin/quarantine" <"$dir/snapshot" >"$dir/quarantine"
  "$bin/route" "$dir/quarantine" <"$dir/snapshot" >"$dir/model"
  assert_json '[.problems[] | select(.ingress == "demo/long").reason]' '["RejectedByNginx"]' <"$dir/model"
  assert_json 'any(.servers[]; .host == "long.example")' false <"$dir/model"
  snapshot rules "$edit | .ingresses.items[-1].spec.tls = [{hosts: [\"long.example\"]}]" | "$bin/route" "$dir/quarantine" |
    assert_json 'any(.servers[]; .host == "long.example")' true
}

has_quarantined() { # INGRESSES
  (($(metric quarantined_ingresses) == $1))
}

has_failed_to_reload() { # TIMES
  (($(metric failed_reloads_total) >= $1))
}

@test "an Ingress that nginx rejects does not hold up the others, is named, and returns when it is mended" {
  start_pods
  start_api rules
  start_controller
  cluster_is rules "$(with_long_paths long) | .ingresses.items[0].spec.rules[0].host = \"new.example\" | .ingresses.items[0].metadata.resourceVersion = \"200\""
  wait_for 30 served new.example /apple apple-
  wait_for 30 logged 'Ingress demo/long: it is quarantined: nothing of it is served, because nginx rejects it: too long parameter'
  wait_for 15 has_quarantined 1
  cluster_is rules "$(with_long_paths long) | .ingresses.items[-1].spec.rules[0].http.paths[0].path = \"/short\" | .ingresses.items[-1].metadata.resourceVersion = \"101\""
  wait_for 30 served long.example /short apple-
  wait_for 15 has_quarantined 0
  wait_for 30 logged 'solved: Ingress demo/long: it is quarantined'
}

@test "while nginx takes no configuration, the last one serves, and the new one is live as soon as it does" {
  start_pods
  start_api rules
  mkdir "$dir/path" # an nginx that has no memory as soon as there is the file
  printf '#!/bin/sh\ncase " $* " in *" -t "*) if [ -e %s ]; then echo "nginx: [emerg] no memory" >&2; exit 1; fi ;; esac\nexec %s "$@"\n' \
    "$dir/no-memory" "$(command -v nginx)" >"$dir/path/nginx"
  chmod +x "$dir/path/nginx"
  start_controller PATH="$dir/path:$PATH"
  touch "$dir/no-memory"
  cluster_is nothing
  wait_for 30 has_failed_to_reload 2
  served fruit.example /apple apple-
  rm "$dir/no-memory"
  wait_for 30 served fruit.example /apple 'No rule'
}

@test "what nginx could not do is tried less and less often, but a failed read at once" {
  source "$bin/loop"
  mkdir -p "$next"
  pauses=()
  for name in apply apply quarantine apply apply apply apply fetch route route apply; do
    echo "$name" >"$next/step"
    echo "$name has failed" >"$next/log"
    tell_failure 2>/dev/null
    pauses+=("$rest")
  done
  assert_equal '1 2 4 8 16 30 30 0 1 2 4' "${pauses[*]}"
}
