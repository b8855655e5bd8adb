# Helpers of the tests with neighbours.
load ../e2e/helpers
neighbours=$BATS_TEST_DIRNAME/neighbours

# The programs of NAME become the image bash-ingress-NAME:dev: from scratch, with the files of the module that they read.
# It runs PROGRAM, unless a pod says otherwise.
bring_neighbour() { # NAME PROGRAM
  local folder
  folder=$("$neighbours" folder "$1")
  make_image "bash-ingress-$1:dev" "$folder" "$2" "$BATS_RUN_TMPDIR/$1.tar" >"$BATS_RUN_TMPDIR/$1.log" 2>&1 || { cat "$BATS_RUN_TMPDIR/$1.log" && return 1; }
  load_image "$BATS_RUN_TMPDIR/$1.tar"
  rm "$BATS_RUN_TMPDIR/$1.tar"
}

make_image() ( # NAME FOLDER PROGRAM FILE
  source "$root/test/image"
  choose_builder
  name=$1
  printf '%s\n' 'FROM scratch' 'COPY . /' 'USER 65532:65532' "ENTRYPOINT [\"/$3\"]" >"$4.Dockerfile"
  "$BUILDER" build --tag "$(local_name "$name")" --file "$4.Dockerfile" "$2"
  save "$4"
)

load_image() ( # FILE
  source "$root/test/demo/demo"
  "${CLUSTER}_load" "$1"
)

# Some of the neighbours' own descriptions of their kinds are too long for the note that a plain apply leaves.
apply_kinds() { # FILE...
  local files=() file
  for file; do files+=(-f "$file"); done
  kubectl apply --server-side "${files[@]}"
  kubectl wait --for condition=Established --timeout 30s "${files[@]}"
}

start_neighbour() { # NAME
  kubectl -n neighbours rollout status "deployment/$1" --timeout 120s
}

explain_neighbour() { # NAME
  [[ -n ${BATS_TEST_COMPLETED-} ]] || kubectl -n neighbours logs "deployment/$1" --all-containers --tail 60 || true
}

# Where pods reach the controller, on every cluster.
address_in_cluster() {
  kubectl -n bash-ingress get service bash-ingress -o 'jsonpath={.spec.clusterIP}'
}

# How many requests each pod with that label has noted, as JSON: the pods' own counts.
counts_of() { # LABEL
  local pod
  for pod in $(api "/api/v1/namespaces/e2e/pods?labelSelector=$1" | jq -r '.items[] | select(.status.podIP).metadata.name'); do
    api "/api/v1/namespaces/e2e/pods/$pod:8080/proxy/ids" | jq --arg pod "$pod" '{($pod): .received}'
  done | jq -s 'add // {}'
}

# How many percent of 12 seconds' requests came to the pods with the label CANARY. Only while nothing changes: a pod that
# goes takes its count along.
share_of() { # CANARY MAIN   labels
  local counts=$BATS_TEST_TMPDIR/counts label
  for label; do counts_of "$label"; done >"$counts-before"
  sleep 12
  for label; do counts_of "$label"; done >"$counts-after"
  jq -n --slurpfile before "$counts-before" --slurpfile after "$counts-after" '
    [range(2) | . as $side | [$after[$side] | to_entries[] | .value - ($before[$side][.key] // 0)] | add // 0]
    | if add < 300 then "too few requests to tell: \(.)" else 100 * .[0] / add | round end'
}

# Fails unless the canary's share is within 5 points of its weight.
assert_share() { # WEIGHT CANARY MAIN
  local share
  share=$(share_of "${@:2}")
  echo "# weight $1: $share % of the requests" >&3
  [[ $share != *[!0-9]* ]] && ((share >= $1 - 5 && share <= $1 + 5)) || {
    echo "expected: $1 % of the requests; actual: $share" >&2
    return 1
  }
}
