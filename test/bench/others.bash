# The verbs of another controller, as a pod of an image that the cluster has: what the programs in others/ share. Each
# sets where it differs: image, class, controller (of the IngressClass), the ports http and https, ready (the probe's
# "PORT PATH") and arguments.
# shellcheck shell=bash disable=SC2154 # each program sets these
set -euo pipefail

name=$(basename "$0")
status_address=192.0.2.1 # what it writes into the status of an Ingress; nobody is there

deploy() {
  local json
  json=$(printf '%s\n' "${arguments[@]}" | jq -R . | jq -s -c .)
  # shellcheck disable=SC2016 # the dollar signs are for envsubst
  NAME=$name IMAGE=$image CLASS=$class CONTROLLER=$controller ARGUMENTS=$json PORT=${ready%% *} READY=${ready#* } \
    STATUS=$status_address envsubst '$NAME $IMAGE $CLASS $CONTROLLER $ARGUMENTS $PORT $READY $STATUS' \
    <"${BASH_SOURCE[0]%/*}/others.yaml" | kubectl apply -f -
  kubectl -n "$name" rollout status "deployment/$name" --timeout 120s
}

pod() { # JQ: of the pod
  kubectl -n "$name" get pods -o json |
    jq -r "[.items[] | select(.metadata.deletionTimestamp == null)][0] // empty | $1 // empty"
}

# The container's control group; its processes are this machine's, too.
control_group() {
  local container
  container=$(pod '.status.containerStatuses[0].containerID')
  [[ -n $container ]] || return 1
  find /sys/fs/cgroup -type d -name "*${container##*/}*" | sed -n '/cpuacct/p; $p' | head -n 1
}

usage() {
  local group cpu process total=0 key value
  group=$(control_group)
  cpu=$(cat "$group/cpuacct.usage" 2>/dev/null || sed -n 's/usage_usec //p' "$group/cpu.stat" | sed 's/$/000/')
  while read -r process; do # which may have ended
    while read -r key value _; do
      [[ $key != Pss: ]] || total=$((total + value))
    done 2>/dev/null <"/proc/$process/smaps_rollup" || true
  done <"$group/cgroup.procs"
  echo "$((cpu / 1000000)) $total"
}

# A new pod; it need not be ready yet.
fresh() {
  local group process stat up
  kubectl -n "$name" scale "deployment/$name" --replicas 0 >/dev/null
  kubectl -n "$name" wait --for delete pod --all --timeout 60s >/dev/null
  sleep 2 # the node still has work with the end of the old pod
  kubectl -n "$name" scale "deployment/$name" --replicas 1 >/dev/null
  until group=$(control_group) && process=$(head -n 1 "$group/cgroup.procs") && [[ -n $process ]]; do sleep 0.1; done
  read -r -a stat <"/proc/$process/stat"
  read -r up _ </proc/uptime
  awk -v now="$EPOCHREALTIME" -v up="$up" -v began="${stat[21]}" 'BEGIN { printf "%.3f\n", now - up + began / 100 }'
}

verb() { # VERB...
  case $1 in
    start) deploy ;;
    address) pod ".status.podIP + \":$http\"" ;;
    https) pod ".status.podIP + \":$https\"" ;;
    class) echo "$class" ;;
    usage | fresh) "$1" ;;
    set | forgive | steps) ;; # it has no such thing
    stop) kubectl delete --ignore-not-found "namespace/$name" "clusterrolebinding/$name" "ingressclass/$class" ;;
  esac
}
