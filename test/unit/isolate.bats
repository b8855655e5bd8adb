# What if something that nginx refuses got past the allow-lists? The hook for that
# is TEMPLATES_DIR: a copy without the check of a path's length.
load helpers

setup() {
  common_setup
  cp -r "$templates" "$dir/templates"
  sed -i 's/if length > 1024 then/if false then/' "$dir/templates/allow.jq"
  export TEMPLATES_DIR=$dir/templates
}
teardown() { common_teardown; }

# A jq filter: adds Ingresses to the fixture "rules", each with such a path.
with_long_paths() { # NAME...
  jq -n -r --args '[$ARGS.positional[] | ".ingresses.items += [.ingresses.items[0] * {metadata: {name: \"\(.)\", uid: \"\(.)\", resourceVersion: \"100\"},
    spec: {rules: [{host: \"\(.).example\", http: {paths: [.ingresses.items[0].spec.rules[0].http.paths[0] + {path: (\"/\" + \"x\" * 5000)}]}}]}}]"] | join("|")' "$@"
}

@test "isolate names the Ingresses that nginx refuses, with nginx's words" {
  snapshot rules "$(with_long_paths long longer)" >"$dir/snapshot"
  "$bin/isolate" <"$dir/snapshot" >"$dir/refused"
  assert_json 'keys' '["demo/long","demo/longer"]' <"$dir/refused"
  assert_json '.["demo/long"].version' '"100"' <"$dir/refused"
  assert_contains "$(<"$dir/refused")" 'too long parameter'
}

@test "of two Ingresses that nginx takes alone but not together, isolate names the newer" {
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
  model rules "$two | del(.ingresses.items[-1])" >"$STATE_DIR/live/model.json"
  PATH=$dir/path:$PATH "$bin/isolate" < <(snapshot rules "$two") | assert_json . '{"demo/one":{"version":"100","message":"they clash"}}'
}

@test "isolate names nobody when nginx takes the configuration" {
  assert_equal '{}' "$(snapshot rules | "$bin/isolate" | jq -c .)"
}

@test "isolate blames no Ingress when nginx refuses what the templates or the settings say" {
  sed -i 's/^  server_tokens off/  nonsense on/' "$dir/templates/nginx.conf.template"
  run "$bin/isolate" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'nginx refuses even a configuration without Ingresses'
}

@test "isolate blames no Ingress when nginx fails for want of something" {
  mkdir "$dir/path"
  printf '#!/bin/sh\n[ "$1" != -v ] || exec nginx -v\necho "nginx: [emerg] malloc(16384) failed (12: Cannot allocate memory)" >&2; exit 1\n' |
    sed "s|exec nginx|exec $(command -v nginx)|" >"$dir/path/nginx"
  chmod +x "$dir/path/nginx"
  PATH=$dir/path:$PATH run "$bin/isolate" < <(snapshot rules)
  assert_equal 1 "$status"
  assert_contains "$output" 'not because of an Ingress'
  assert_contains "$output" 'Cannot allocate memory'
}

# Whether the route of the Ingress "long", which nginx refused, is there after the EDIT.
is_routed() { # EDIT
  snapshot rules "$edit | .ingresses.items[-1] |= ($1)" | cat - "$dir/refused" | "$bin/route" | jq 'any(.servers[]; .host == "long.example")'
}

@test "a refused Ingress is another version when it was changed or made anew, and not when only its status was" {
  edit="$(with_long_paths long) | .ingresses.items[-1].metadata |= . + {uid: \"u\", generation: 1, annotations: {}}"
  snapshot rules "$edit" | "$bin/isolate" >"$dir/refused"
  assert_equal false "$(is_routed .)"
  assert_equal false "$(is_routed '.metadata.resourceVersion = "999" | .status.loadBalancer.ingress = [{ip: "192.0.2.9"}]')"
  assert_equal true "$(is_routed '.metadata.generation = 2')"
  assert_equal true "$(is_routed '.metadata.uid = "another"')"
  assert_equal true "$(is_routed '.metadata.annotations["nginx.ingress.kubernetes.io/backend-protocol"] = "GRPC"')"
}

@test "route leaves out a refused Ingress until it is another version" {
  edit=$(with_long_paths long)
  snapshot rules "$edit" >"$dir/snapshot"
  "$bin/isolate" <"$dir/snapshot" >"$dir/refused"
  cat "$dir/snapshot" "$dir/refused" | "$bin/route" >"$dir/model"
  assert_json '[.problems[] | select(.ingress == "demo/long").reason]' '["RefusedByNginx"]' <"$dir/model"
  assert_json 'any(.servers[]; .host == "long.example")' false <"$dir/model"
  snapshot rules "$edit | .ingresses.items[-1].metadata.resourceVersion = \"101\"" | cat - "$dir/refused" | "$bin/route" |
    assert_json 'any(.servers[]; .host == "long.example")' true
}

@test "an Ingress that nginx refuses does not hold up the others, is named, and returns when it is mended" {
  start_pods
  start_api rules
  start_controller
  cluster_is rules "$(with_long_paths long) | .ingresses.items[0].spec.rules[0].host = \"new.example\" | .ingresses.items[0].metadata.resourceVersion = \"200\""
  wait_for 30 served new.example /apple apple-
  wait_for 30 logged 'Ingress demo/long: nothing of it is served, because nginx refuses it: too long parameter'
  wait_for 15 eval '(($(metric refused_ingresses) == 1))'
  cluster_is rules "$(with_long_paths long) | .ingresses.items[-1].spec.rules[0].http.paths[0].path = \"/short\" | .ingresses.items[-1].metadata.resourceVersion = \"101\""
  wait_for 30 served long.example /short apple-
  wait_for 15 eval '(($(metric refused_ingresses) == 0))'
  wait_for 30 logged 'solved: Ingress demo/long: nothing of it is served'
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
  wait_for 30 eval '(($(metric failed_reloads_total) >= 2))'
  served fruit.example /apple apple-
  rm "$dir/no-memory"
  wait_for 30 served fruit.example /apple 'No rule'
}

@test "what nginx could not do is tried less and less often, but a failed read at once" {
  source "$bin/ingress-controller"
  mkdir -p "$next"
  pauses=()
  for step in apply apply isolate apply apply apply apply fetch route route apply route; do
    echo "$step has failed" >"$next/log"
    after_failure 2>/dev/null
    pauses+=("$back_off")
  done
  assert_equal '1 2 4 8 16 30 30 0 1 2 4 4' "${pauses[*]}"
}
