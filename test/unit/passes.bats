# The passes of the loop, one after the other, without nginx: work that stops where nothing has changed
# leaves the same behind as work that is done from the beginning.
load helpers

setup() {
  common_setup
  answers=$dir/answers
  mkdir "$answers"
}

teardown() {
  pkill -f "$dir/prepared" || true # none waits any more
}

# What is not the loop's own here are the ends of the pipeline: the lists are files, and what would be served is kept.
# Each pass looks at the Secrets, which takes some seconds otherwise; it does so with a kubectl.
use_files() {
  mkdir -p "$dir/path"
  printf '%s\n' '#!/bin/sh' 'case ${3%%\?*} in' "*/secrets) exec cat $answers/secrets ;;" \
    '*) echo "Error from server (NotFound): secrets \"${3##*/}\" not found" >&2 && exit 1 ;;' 'esac' >"$dir/path/kubectl"
  chmod +x "$dir/path/kubectl"
  PATH=$dir/path:$PATH look_seconds=0 times_as_long=0
  is_waited_for() { true; }
  patience() { echo 200; }
  mkdir -p "$next" "$live"
  : >"$next/quarantine"
  send_request() { # PATH   as if the proxy answered
    local path=${1%%\?*}
    exec {proxy}< <(printf 'HTTP/1.0 200 OK\r\n\r\n' && exec cat "$answers/${path##*/}")
  }
  apply() { # MODEL
    cat >"$live/nginx.conf"
    cp "$1" "$live/model.json"
  }
}

# Two pairs that are good, one of a key and another's certificate, and what is none.
key_pairs() {
  make_pair "$dir/one" a.example,x.a.example ecdsa
  make_pair "$dir/two" '*.a.example,b.example' ecdsa
  jq -n -c --rawfile one_crt "$dir/one.crt" --rawfile one_key "$dir/one.key" --rawfile two_crt "$dir/two.crt" --rawfile two_key "$dir/two.key" \
    '[{crt: $one_crt, key: $one_key}, {crt: $two_crt, key: $two_key}, {crt: $one_crt, key: $two_key}, {crt: "x", key: "y"}] | map(map_values(@base64))' >"$dir/pairs"
}

# Prints what the API server says of random clusters (tables/clusters.jq).
clusters() { # FIRST COUNT CHANGES
  jq -n -r -L "$BATS_TEST_DIRNAME/tables" --argjson first "$1" --argjson count "$2" --argjson changes "$3" --argjson pairs "$(<"$dir/pairs")" -f "$BATS_TEST_DIRNAME/tables/clusters.jq"
}

# Fails and shows the differences unless a pass in an empty state folder leaves the same behind.
assert_same_from_nothing() {
  mv "$STATE_DIR" "$dir/kept" # the folder's name is part of the configuration
  mkdir -p "$next" "$live"
  : >"$next/quarantine"
  pass
  diff -r "$live" "$dir/kept/live"
  rm -r "$STATE_DIR"
  mv "$dir/kept" "$STATE_DIR"
}

@test "whatever changes in whatever cluster, passes that stop where nothing has changed, and use what was prepared, leave the same snapshot, model and nginx.conf as one from nothing" {
  local clusters=${CLUSTERS:-3} changes=${CHANGES:-3} number=$((${FIRST_CLUSTER:-1} - 1)) compared=0 prepared_used=0
  key_pairs
  source "$bin/loop"
  use_files
  next=$dir make_room_for_prepared # not in the folder that is moved
  while read -r name list; do
    case $name in
      new)
        number=$((number + 1))
        pass
        ;;
      changed)
        prepare_steps
        pass
        [[ $(<"$waiting/route.state") != used ]] || prepared_used=$((prepared_used + 1))
        echo "cluster $number" # shown if it fails
        assert_same_from_nothing
        compared=$((compared + 1))
        ;;
      *) printf '%s\n' "$list" >"$answers/$name" ;;
    esac
  done < <(clusters "$((number + 1))" "$clusters" "$changes")
  assert_equal "$((clusters * changes))" "$compared"
  ((prepared_used > 0))
}

# --- lists that end too soon

# Large lists, as the API server writes them: in one line.
large_lists() { # INGRESSES SLICES
  lists rules | jq -r --argjson ingresses "$1" --argjson slices "$2" '
    def times($n): . as $items | [range($n) as $i | $items[$i % ($items | length)] | .metadata.name += "-\($i)"];
    {Ingress: (.ingresses.items | times($ingresses)), IngressClass: .ingressClasses.items, Namespace: [{metadata: {name: "gone"}}], Service: (.services.items | times($ingresses)),
      EndpointSlice: (.endpointSlices.items | times($slices)), Secret: [range(20) | {metadata: {namespace: "demo", name: "s\(.)"}, data: {"tls.crt": "eA==", "tls.key": "eQ=="}}]}
    | to_entries[] | "\({Ingress: "ingresses", IngressClass: "ingressclasses", Namespace: "namespaces", Service: "services", EndpointSlice: "endpointslices", Secret: "secrets"}[.key]) \(
        {kind: "\(.key)List", apiVersion: "v1", metadata: {resourceVersion: "7"}, items: (.value | map({metadata} + .))} | tojson)"' >"$dir/large"
  while read -r name list; do printf '%s\n' "$list" >"$answers/$name"; done <"$dir/large"
}

# Reads one list and summarises it, as a pass does of all.
read_and_summarise() { # NAME
  (
    local name
    lists=(["$1"]="/$1")
    use_folder "$folder"
    if [[ $1 == secrets ]]; then
      summarise_secrets
    else
      in_time read_lists
      for name in "${!kinds[@]}"; do state[$name]=${state[$name]-same}; done
      summarise_lists
    fi
  ) >"$dir/said" 2>&1
}

# Prints how many bytes of a list to keep: all places near its end, and RANDOM ones.
cuts() { # BYTES NEAR RANDOM
  seq "$(($1 > $2 ? $1 - $2 : 0))" "$(($1 - 1))"
  awk -v bytes="$1" -v count="$3" 'BEGIN { srand(1); for (i = 0; i < count; i++) print int(rand() * bytes) }'
}

@test "a list that was cut is taken for whole nowhere, and changes nothing" {
  local name at bytes
  source "$bin/loop"
  use_files
  large_lists "${INGRESSES:-12}" "${SLICES:-20}"
  folder=$dir/lists
  export DEFAULT_TLS_SECRET=demo/s0 # so that Secrets are read
  (fetch "$folder") >"$dir/whole"
  sha256sum "$folder"/last/*.summary >"$dir/summaries"
  for name in ingresses ingressclasses namespaces services endpointslices secrets; do
    cp "$folder"/last/* "$folder/new"
    cp "$answers/$name" "$dir/list"
    bytes=$(($(wc -c <"$dir/list") - 1)) # all but the end of the line
    while read -r at; do
      head -c "$at" "$dir/list" >"$answers/$name"
      ! read_and_summarise "$name" || { echo "$name: taken for whole after $at of $bytes bytes" && false; }
    done < <(cuts "$bytes" "${LAST_BYTES:-12}" "${RANDOM_CUTS:-5}")
    sha256sum --quiet -c "$dir/summaries"
    cp "$dir/list" "$answers/$name"
    read_and_summarise "$name"
  done
  cmp "$dir/whole" <(fetch "$folder")
}

@test "a step has a bound of CPU time: where that is over, its pass fails, and the log says why" {
  source "$bin/loop"
  use_files
  step_cpu_seconds=1
  fetch() {
    ulimit -S -t >"$dir/seconds"
    kill -XCPU "$BASHPID" # as the kernel does then
  }
  try pass
  assert_equal 152 "$status"
  assert_equal fetch "$(<"$next/step")"
  run tell_failure
  assert_contains "$output" 'fetch took more than 1 s of CPU time'
  assert_equal 1 "$(<"$dir/seconds")"
}

@test "a step that takes more than half of the memory fails its pass, and nothing else of the pod" {
  source "$bin/loop"
  use_files
  half_of_memory=100000
  fetch() { run_jq -n '[range(2e7)]'; } # 400 MB
  try pass
  ((status != 0))
  assert_equal fetch "$(<"$next/step")"
  assert_contains "$(<"$next/log")" 'allocate memory'
}
