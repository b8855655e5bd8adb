# Odd objects of all four kinds, made by chance: what nobody thought of. A failure is a bug of the controller, and
# becomes a test of its own.
#
# SEED repeats a run, and FIRST_BATCH only from that batch on: enough for a failure that one object causes alone.
load helpers
load tenants

setup_file() { setup_tenants; }
teardown_file() { remove_tenants; }

setup() {
  SEED=${SEED:-$(lasting 1 "$EPOCHSECONDS")}
  make_pair "$BATS_TEST_TMPDIR/pair" h1.tenant.example,*.tenant.example ecdsa
  begin_asking
}

teardown() {
  kill "$asking"
  [[ -n ${BATS_TEST_COMPLETED-} ]] || {
    echo "--- to try that once more: SEED=$SEED FIRST_BATCH=$batch bats test/e2e/faults-generator.bats"
    explain_tenants
  }
  tenant_deletes_all
}

# Prints what to do with a list of objects, and on the next line the list.
generate() { # BATCH
  jq -n -r -c -L "$root/test/e2e" -f "$root/test/e2e/generator.jq" --argjson seed "$SEED" --argjson batch "$1" --argjson count 40 \
    --rawfile certificate "$BATS_TEST_TMPDIR/pair.crt" --rawfile key "$BATS_TEST_TMPDIR/pair.key" | nest
}

# Each mark becomes so many levels of nesting.
nest() {
  local depth script=()
  for depth in 300 4990 5200 9000; do script+=(-e "s/\"NESTED-$depth\"/$(nested "$depth")/g"); done
  sed "${script[@]}"
}

# Notes what the API server takes. Most of what it refuses is refused for one field, or for its name.
send() { # <BATCH
  local verb options=(-o name)
  read -r verb
  case $verb in
    create | replace) options+=(--validate=false) ;;
    apply) options+=(--validate=false --server-side --force-conflicts) ;;
    delete) options+=(--ignore-not-found --wait=false) ;;
  esac
  tenant "$verb" "${options[@]}" -f - >>"$BATS_TEST_TMPDIR/taken" 2>>"$BATS_TEST_TMPDIR/refused" || true
}

# What holds after each batch.
assert_nothing_broke() {
  local pod since=$EPOCHSECONDS took
  assert_equal '' "$(<"$wrong_answers")"
  for pod in $(controller_pods); do
    wait_for 10 has_passed_since "$since" "$pod"
    took=$((EPOCHSECONDS - since))
    ((took <= longest)) || longest=$took
  done
}

# (How old the last good pass is would say more of the API server, if that has just made everybody wait.)
has_passed_since() { # SECONDS POD
  (($(metric "$2" last_good_poll_timestamp_seconds) > $1))
}

note_memory() {
  local pod memory
  for pod in $(controller_pods); do
    memory=$(memory_of "$pod")
    ((memory <= most)) || most=$memory
  done
}

# How often the container of each pod has restarted; pods that are ending, as from a test before, do not count.
restarts() {
  api "$controllers" |
    jq -c '[.items[] | select(.metadata.deletionTimestamp == null) | {(.metadata.name): .status.containerStatuses[0].restartCount}] | add'
}

@test "odd objects, by the hundred, harm nobody: the neighbour's hosts answer, and a new one is served within seconds" {
  restarts=$(restarts)
  longest=0 most=0 first=${FIRST_BATCH:-0} batches=$(lasting 12 10000)
  end=$((EPOCHSECONDS + 600))
  for ((batch = first; batch < first + batches && EPOCHSECONDS < end; batch++)); do
    generate "$batch" | send
    assert_nothing_broke
    ((batch % 4 == first % 4)) || continue
    assert_new_ingress_is_served "batch $batch" 5000
    note_memory
  done
  echo "# SEED=$SEED: $((batch - first)) batches, $(wc -l <"$BATS_TEST_TMPDIR/taken") objects were taken, $(grep -c . "$BATS_TEST_TMPDIR/refused") lines of refusals; at most $longest s until a good pass, and $most bytes of memory" >&3
  (($(wc -l <"$BATS_TEST_TMPDIR/taken") >= 100))
  ((most > 0 && most < 2 * 1024 ** 3)) # the limit in manifests/base
  assert_equal "$restarts" "$(restarts)"
  for pod in $(controller_pods); do
    kubectl -n bash-ingress exec "$pod" -- nginx -e stderr -t -q -c /tmp/bash-ingress/live/nginx.conf
  done
  log_of_test >"$BATS_TEST_TMPDIR/log"
  [[ -s $BATS_TEST_TMPDIR/log ]]
  run env LC_ALL=C grep -nE -m 5 '[^ -~]' "$BATS_TEST_TMPDIR/log"
  assert_equal '' "$output"
}
