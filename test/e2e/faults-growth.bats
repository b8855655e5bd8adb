# What grows? Nothing with time; and with the cluster, no more than there is room for.
load helpers

setup() {
  cd "$root"
  pod=$(controller_pods | head -n 1)
}

teardown() {
  local pid
  [[ -n ${BATS_TEST_COMPLETED-} ]] || show_processes
  for pid in ${proxy-} ${changing-}; do kill "$pid" 2>/dev/null || true; done
  kubectl delete namespace -l restless=yes --wait=false >/dev/null
  common_teardown
}

# Prints SAMPLES lines: the numbers of processes, file descriptors, files and zombies in the pod, and the KiB of memory
# of the processes (what they share counts once); then the number and KiB of the lingering workers. A worker that was
# replaced may linger until its last request has ended, and so counts in these last two columns only.
samples() { # SAMPLES
  kubectl -n bash-ingress exec "$pod" -- bash -c '
    memory_of() { sed -n "s/^Pss: *\([0-9]*\) kB/\1/p" /dev/null ${@//cmdline/smaps_rollup} | paste -sd +; }
    for ((i = 0; i < $1; i++)); do
      lingering=$(grep -lsz "[s]hutting down" /proc/[0-9]*/cmdline)
      others=$(grep -Lsz "[s]hutting down" /proc/[0-9]*/cmdline)
      echo "$(wc -w <<<"$others") $(ls -d ${others//cmdline/fd/*} | wc -l) $(find /tmp/bash-ingress -type f | wc -l)" \
        "$(grep -l "^State:.Z" /proc/[0-9]*/status | wc -l)" \
        "$(($(memory_of $others))) $(wc -w <<<"$lingering") $(($(memory_of $lingering)))"
      sleep 0.2
    done 2>/dev/null' _ "$1"
}

# Prints how many processes of the pod have the same command line.
show_processes() {
  echo "--- processes of $pod"
  kubectl -n bash-ingress exec "$pod" -- bash -c '
    for of in /proc/[0-9]*; do tr "\0\n" "  " <"$of/cmdline" | head -c 150 && echo; done 2>/dev/null | sort | uniq -c'
}

# Whether the doorbell watches: for each of the five lists, there is a grep that reads what the API server tells. After
# faults, it may pause for 10 s before it watches again, and until then the pod is smaller than it should be.
doorbell_watches() {
  kubectl -n bash-ingress exec "$pod" -- bash -c '
    (($(grep -lszx "[-]-line-buffered" /proc/[0-9]*/cmdline | wc -l) == 5))'
}

of_each() { # min|max   of each column
  jq -Rrs --arg which "$1" '[split("\n")[] | select(. != "") | split(" ") | map(tonumber)] | transpose
    | map(if $which == "min" then min else max end) | join(" ")'
}

# Sets these numbers, each the smallest of some samples: what a poll uses for a moment does not count.
measure() {
  read -r processes descriptors files zombies memory lingering _ <<<"$(samples 15 | of_each min)"
  echo "# processes $processes, file descriptors $descriptors, files $files, zombies $zombies, memory $memory KiB; and $lingering lingering workers" >&3
}

# Prints 20 namespaces, each with an Ingress, in a List: one alone would have to wait (see bin/hold-back).
restless_namespaces() {
  jq -n '{apiVersion: "v1", kind: "List", items: [range(20) | "restless-\(.)" |
    {apiVersion: "v1", kind: "Namespace", metadata: {name: ., labels: {restless: "yes"}}},
    {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: {namespace: ., name: "restless"}, spec: {ingressClassName: "bash",
      rules: [{host: "\(.).example", http: {paths: [{path: "/", pathType: "Prefix", backend: {service: {name: "none", port: {number: 80}}}}]}}]}}]}'
}

# Ten times a second, one of their Ingresses gets another host.
change_ten_times_a_second() { # ADDRESS
  local i
  for ((i = 0; ; i++)); do
    curl -s -X PATCH -H 'Content-Type: application/json-patch+json' "http://$1/apis/networking.k8s.io/v1/namespaces/restless-$((i % 20))/ingresses/restless" \
      -d "[{\"op\": \"replace\", \"path\": \"/spec/rules/0/host\", \"value\": \"restless-$i.example\"}]" >/dev/null || return 0
    sleep 0.1
  done
}

has_reloaded() { # TIMES   since $begin
  sleep 0.5      # to ask is work, too
  (($(metric "$pod" reloads_total) >= begin + $1))
}

@test "with ten changes a second, memory, processes, file descriptors and files stay as they are" {
  restless_namespaces | kubectl create -f - >/dev/null
  kubectl proxy --port 0 >"$BATS_TEST_TMPDIR/proxy" 3>&- &
  proxy=$!
  wait_for 10 grep -q 'Starting to serve on' "$BATS_TEST_TMPDIR/proxy"
  change_ten_times_a_second "$(sed 's/.* on //' "$BATS_TEST_TMPDIR/proxy")" 3>&- &
  changing=$!
  wait_for 30 doorbell_watches
  begin=$(metric "$pod" reloads_total)
  wait_for "$(lasting 60 900)" has_reloaded "$(lasting 10 1000)"
  measure
  before=("$processes" "$descriptors" "$files" "$memory")
  ((processes > 0 && descriptors > 0 && files > 0 && memory > 0))
  begin=$(metric "$pod" reloads_total)
  wait_for "$(lasting 120 3000)" has_reloaded "$(lasting 60 5000)" # what each of them would leave behind is more than the bounds allow
  measure
  kill -0 "$changing"
  assert_equal 0 "$zombies"
  ((processes <= before[0] + 6))    # those of a poll come and go: two for each of its five reads
  ((descriptors <= before[1] + 40)) # of a worker more, which is just being replaced
  ((files <= before[2] + 2))
  ((memory <= before[3] * 5 / 4 + 8192))
  ((lingering <= 8)) # few_workers in bin/lib/apply/drain.bash
}

# An Ingress NAME with RULES rules, each with PATHS paths of LENGTH characters.
large_ingress() { # NAME RULES PATHS LENGTH
  jq -n --arg name "$1" --argjson rules "$2" --argjson paths "$3" --argjson length "$4" '
    {apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: {namespace: "e2e", $name}, spec: {ingressClassName: "bash",
      rules: [range($rules) | {host: "\($name)-\(.).example", http: {paths: [range($paths) |
        {path: ("/\(.)" + ("x" * ($length - 5) // "")), pathType: "Prefix", backend: {service: {name: "backend", port: {number: 80}}}}]}}]}}'
}

@test "thousands of Ingresses, one with 1,000 rules and one of a megabyte, are served, and changes among them follow" {
  restarts=$(kubectl -n bash-ingress get pods -l "$controller_label" -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}')
  many_ingresses "$(lasting 500 3900)" | kubectl create -f - >/dev/null
  large_ingress wide 1000 1 6 | kubectl create -f - >/dev/null
  large_ingress deep 1 1000 900 | kubectl create -f - >/dev/null
  wait_for 60 always_status 200 wide-999.example /0x
  wait_for 60 always_status 200 deep-0.example "/999$(printf 'x%.0s' {1..895})"
  create_ingress last 'last.example/=backend:80'
  samples 40 >"$BATS_TEST_TMPDIR/samples" &
  begin=$EPOCHSECONDS
  wait_for 60 always_status 200 last.example /
  echo "# the change was live within $((EPOCHSECONDS - begin)) s" >&3
  wait "$!"
  read -r _ _ _ _ memory _ lingering <<<"$(of_each max <"$BATS_TEST_TMPDIR/samples")"
  ((memory += lingering))
  echo "# most memory of the pod, $memory KiB" >&3
  ((memory < 2 * 1024 * 1024)) # the limit in manifests/base
  assert_equal "$restarts" "$(kubectl -n bash-ingress get pods -l "$controller_label" -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}')"
  kubectl -n e2e delete ingress --all --wait=false >/dev/null
  wait_for 60 always_status 404 many-0.example /
}
