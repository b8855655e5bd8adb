# What can happen in a pod of the controller: processes killed, no room, an Ingress that nginx refuses.
load helpers

setup() {
  cd "$root"
  pod=$(controller_pods | head -n 1)
}

teardown() {
  [[ -z ${changing-} ]] || kill "$changing" 2>/dev/null || true
  [[ -z ${filled-} ]] || kubectl -n bash-ingress exec "$pod" -- rm -f /tmp/fill
  [[ -z ${patched-} ]] || mend_allow_list
  common_teardown
}

in_pod() { # SCRIPT [ARGUMENT...]   runs it in $pod, with the words that the steps share
  kubectl -n bash-ingress exec "$pod" -- bash -c "source settings; source \$bin/lib/apply/nginx.bash; $1" _ "${@:2}"
}

# --- kill -9

# Kills a worker, the master, the loop or a step of it; waits until the pod serves
# its live configuration again; prints how many milliseconds that took, how many
# masters there are, and whether the configuration is whole.
kill_script='
  processes() { grep -lzE "$1" /proc/[0-9]*/cmdline 2>/dev/null | tr -dc "0-9\n" || true; }
  case $1 in
    worker) pattern="^nginx: worker process$" ;;
    master) pattern="^nginx: master" ;;
    loop) pattern="/loop$" ;; # a step runs in a shell of the same name
    step) pattern="^(jq|sed|diff|cat|envsubst)$" ;;
  esac
  until victims=$(processes "$pattern") && [[ -n $victims ]]; do sleep 0.01; done
  begin=${EPOCHREALTIME/./} killed=$(shuf -n 1 -e $victims)
  kill -KILL $killed 2>/dev/null || true
  is_well() { # one master, and not the one that was killed (a worker that has just been started looks like one)
    masters=$(processes "^nginx: master")
    [[ $masters =~ ^[0-9]+$ && $masters != "$killed" ]] && is_served "$STATE_DIR/live/nginx.conf"
  }
  for _ in {1..500}; do if is_well; then break; fi; sleep 0.02; done
  took=$(((${EPOCHREALTIME/./} - begin) / 1000)) masters=$(wc -w <<<"$masters")
  if nginx -e stderr -t -q -c "$STATE_DIR/live/nginx.conf"; then echo "$took $masters whole"; else echo "$took $masters torn"; fi
'

change_all_the_time() {
  local i
  for ((i = 0; ; i++)); do
    kubectl -n e2e create ingress "change-$((i % 5))" --class bash --rule "change-$i.example/=backend:80" --dry-run=client -o yaml | kubectl apply -f - || true
  done >/dev/null 2>&1 3>&-
}

@test "whatever process is killed, and whenever, the pod serves again at once, with whole files and one nginx" {
  change_all_the_time &
  changing=$!
  longest=0
  for ((i = 0; i < $(lasting 12 200); i++)); do
    victims=(worker master loop step)
    sleep "0.$((RANDOM % 10))"
    read -r took masters whole <<<"$(in_pod "$kill_script" "${victims[i % 4]}")"
    assert_equal '1 whole' "$masters $whole"
    ((took <= longest)) || longest=$took
  done
  echo "# longest time until it served again: $longest ms" >&3
  ((longest <= 5000))
  kill "$changing"
  create_ingress after-kills 'after-kills.example/=backend:80'
  wait_for 20 always_status 200 after-kills.example /
}

@test "a pod that is killed takes no route with it" {
  kubectl -n bash-ingress delete "$pod" --force --grace-period 0
  wait_for 60 two_others_are_ready "$pod"
  always_status 200 fruit.example /apple
}

two_others_are_ready() { # POD
  (($(api "$controllers" | jq --arg not "${1#pod/}" '
    [.items[] | select(.metadata.name != $not) | .status.conditions[] | select(.type == "Ready" and .status == "True")] | length') == 2))
}

# --- no room

@test "while its folder is full, a pod serves on; when there is room again, it follows" {
  filled=yes
  in_pod 'cat /dev/zero >/tmp/fill 2>/dev/null || true'
  (($(in_pod 'df --output=avail /tmp | tail -n 1') < 64)) # KiB
  create_ingress crowded 'crowded.example/=backend:80'
  wait_for_line 20 'this pass failed' kubectl -n bash-ingress logs "$pod" --since 20s
  always_status 200 fruit.example /apple
  admin "$pod" readyz
  in_pod 'rm /tmp/fill'
  filled=
  wait_for 20 always_status 200 crowded.example /
}

# --- an Ingress that nginx rejects, in spite of all checks
#
# The hook for that: another allow.jq, which lets paths of any length in.

break_allow_list() {
  patched=yes
  cp bin/lib/allow.jq "$BATS_TEST_TMPDIR"
  edit "$BATS_TEST_TMPDIR/allow.jq" 's/if length > 1024 then/if false then/'
  kubectl -n bash-ingress create configmap allow-list --from-file "$BATS_TEST_TMPDIR/allow.jq"
  kubectl -n bash-ingress patch deployment bash-ingress -p '{"spec": {"template": {"spec": {
    "volumes": [{"name": "allow-list", "configMap": {"name": "allow-list"}}],
    "containers": [{"name": "controller", "volumeMounts":
      [{"name": "allow-list", "mountPath": "/opt/bash-ingress/bin/lib/allow.jq", "subPath": "allow.jq"}]}]}}}}'
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
}

mend_allow_list() {
  kubectl -n bash-ingress rollout undo deployment/bash-ingress
  kubectl -n bash-ingress rollout status deployment/bash-ingress --timeout 60s
  kubectl -n bash-ingress delete configmap allow-list
}

quarantined_ingresses() {
  for pod in $(controller_pods); do admin "$pod" metrics | sed -n 's/^bash_ingress_quarantined_ingresses //p'; done | sort -u
}

@test "an Ingress that nginx rejects harms nobody else, is named in log, Event and metric, and returns when it is mended" {
  many_ingresses "$(lasting 1 1000)" | kubectl create -f - >/dev/null
  break_allow_list
  kubectl -n e2e create ingress long --class bash --rule 'long.example/=backend:80' --dry-run=client -o json |
    jq '.spec.rules[0].http.paths[0].path = "/" + "x" * 5000' | kubectl create -f -
  began=$EPOCHREALTIME
  create_ingress beside 'beside.example/=backend:80'
  wait_for 20 always_status 200 beside.example /
  echo "# beside $(lasting 1 1000) others, another Ingress was live after $(since "$began") ms" >&3
  wait_for_line 20 'RejectedByNginx.*too long parameter' kubectl -n e2e get events
  wait_for_equal 20 1 quarantined_ingresses
  wait_for_line 10 'Ingress e2e/long: it is quarantined: nothing of it is served, because nginx rejects it: too long parameter' controller_logs
  wait_for 20 always_status 503 long.example / # and no wildcard's pods answer
  kubectl -n e2e patch ingress long --type json -p '[{"op": "replace", "path": "/spec/rules/0/http/paths/0/path", "value": "/"}]'
  wait_for 20 always_status 200 long.example /
  wait_for_equal 20 0 quarantined_ingresses
}
