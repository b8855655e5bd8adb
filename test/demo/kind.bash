# kind - Kubernetes in a container, as a cluster for the demo (see clusters)
#
# Sourced by clusters. kind is told which program keeps the node, which image the node has,
# and which of the machine's ports lead to it.
# shellcheck shell=bash

NODE=$PROFILE-control-plane
CONTAINER_PROGRAM='' # docker, podman or nerdctl, once one is chosen

kind_works() { command -v kind >/dev/null && choose_container_program; }

kind_hint() {
  if ! command -v kind >/dev/null; then
    echo 'CLUSTER=kind needs the program kind: https://kind.sigs.k8s.io'
  else
    printf 'CLUSTER=kind needs docker, podman or nerdctl that answers. Tried:%s\n' "$tried"
    printf '      Start one (systemctl start docker; podman machine start), or name its socket in DOCKER_HOST.'
  fi
}

kind_start() {
  export KUBECONFIG=$STATE/kubeconfig
  choose_container_program || die "$(kind_hint)"
  echo "kind's node is a container of $CONTAINER_PROGRAM${DOCKER_HOST:+ at $DOCKER_HOST}"
  remove_half_made_cluster
  if kind get clusters | grep --line-regexp "$PROFILE"; then
    start_nodes
    kind export kubeconfig --name "$PROFILE"
    wait_for 120 nodes_are_ready
  else
    create_kind_cluster
  fi
}

kind_load() { kind load image-archive --name "$PROFILE" "$1"; } # FILE
kind_env() { printf 'export KUBECONFIG=%q\n' "$STATE/kubeconfig"; }

# Only the container knows for certain which ports it was given.
kind_address() { port_on_host 30080 | sed 's/:80$//'; }
kind_tls_address() { port_on_host 30443; }

kind_stop() {
  choose_container_program || die "$(kind_hint)"
  delete_kind_cluster
}

kind_outage() {
  local signal
  for signal in STOP CONT; do
    printf "%s exec %s sh -c 'kill -%s \$(pidof kube-apiserver)'\n" "$CONTAINER_PROGRAM" "$NODE" "$signal"
  done
}

# ---- the program that keeps the node ------------------------------------------------------------

# kind takes the first of docker, podman and nerdctl that is installed, whether its daemon runs or
# not. So ask each, and tell kind which one answers. A cluster stays with the one that has it.
choose_container_program() {
  local program
  tried=''
  for program in $(remembered_program) docker podman nerdctl; do
    if "find_$program"; then
      export CONTAINER_PROGRAM=$program KIND_EXPERIMENTAL_PROVIDER=$program
      return
    fi
  done
  return 1
}

remembered_program() {
  if [[ -f $STATE/container-program ]]; then cat "$STATE/container-program"; fi
}

# The socket that the user names, or else docker's own, or else where rootless and Desktop's are.
find_docker() {
  local socket
  if answers_info docker; then return; fi
  [[ -z ${DOCKER_HOST-} ]] || return 1
  for socket in "${XDG_RUNTIME_DIR:-/run/user/$UID}/docker.sock" "$HOME/.docker/run/docker.sock"; do
    if [[ -S $socket ]] && DOCKER_HOST=unix://$socket answers_info docker; then
      export DOCKER_HOST=unix://$socket
      return
    fi
  done
  return 1
}

find_podman() { answers_info podman; }
find_nerdctl() { answers_info nerdctl; }

answers_info() { # PROGRAM
  if ! command -v "$1" >/dev/null; then
    tried+=" $1 (not installed)"
  elif timeout 10 "$1" info >/dev/null 2>&1; then
    return
  else
    tried+=" $1 (no answer${DOCKER_HOST:+ at $DOCKER_HOST})"
  fi
  return 1
}

# ---- the cluster --------------------------------------------------------------------------------

# A file tells that a cluster is being made. It stays if the making is interrupted.
create_kind_cluster() {
  choose_ports
  kind_config >"$STATE/kind-cluster.yaml"
  echo "$CONTAINER_PROGRAM" >"$STATE/container-program"
  : >"$STATE/half-made"
  if ! kind create cluster --name "$PROFILE" --config "$STATE/kind-cluster.yaml" --wait 120s \
    ${KIND_IMAGE:+--image "$KIND_IMAGE"}; then
    remove_half_made_cluster
    die 'kind could not make the cluster; nothing of it is left'
  fi
  rm "$STATE/half-made"
}

remove_half_made_cluster() {
  [[ -f $STATE/half-made ]] || return 0
  echo 'removing a cluster that was only half made'
  delete_kind_cluster
  rm "$STATE/half-made"
}

# A node that is removed while Docker still makes it would be listed for ever.
delete_kind_cluster() {
  wait_for 30 nodes_are_made
  kind delete cluster --name "$PROFILE" --kubeconfig "$STATE/kubeconfig"
}

nodes_are_made() {
  local node
  for node in $(kind get nodes --name "$PROFILE" 2>/dev/null); do
    "$CONTAINER_PROGRAM" inspect "$node" >/dev/null 2>&1 || return
  done
}

# After a restart of the machine, or of Docker, the nodes are there but stopped.
start_nodes() {
  local node
  for node in $(kind get nodes --name "$PROFILE"); do
    if [[ $("$CONTAINER_PROGRAM" inspect --format '{{.State.Running}}' "$node") != true ]]; then
      echo "starting the stopped node $node"
      "$CONTAINER_PROGRAM" start "$node"
    fi
  done
}

nodes_are_ready() {
  kubectl get --raw /readyz >/dev/null 2>&1 && kubectl wait --for condition=Ready node --all --timeout 1s
}

kind_config() {
  sed -e "s/hostPort: 80$/hostPort: $http_port/" -e "s/hostPort: 443$/hostPort: $https_port/" \
    "${KIND_CONFIG:-$ROOT/manifests/variants/kind/kind-cluster.yaml}"
}

# ---- the ports ----------------------------------------------------------------------------------

choose_ports() {
  http_port=$(choose_port HTTP_PORT_ON_HOST 80 8080) || exit
  https_port=$(choose_port HTTPS_PORT_ON_HOST 443 8443) || exit
}

# prints: the port that the variable SETTING names, or PORT, or the first free one from OTHER on
choose_port() { # SETTING PORT OTHER
  local port=${!1:-$2} other=$3
  if is_free "$port"; then
    echo "$port"
    return
  fi
  [[ -z ${!1-} ]] || die "$1=$port is taken by $(holder "$port"): name another port, or stop that program"
  until is_free "$other"; do other=$((other + 1)); done
  notice "port $port of this machine is taken by $(holder "$port"); the demo gets port $other instead ($1 chooses)"
  echo "$other"
}

is_free() { # PORT
  ! (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# prints: "NAME (process ID)". Another user's program has no name for us.
holder() { # PORT
  local found=''
  if command -v ss >/dev/null; then
    found=$(ss --no-header --listening --tcp --numeric --processes "sport = :$1" |
      sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/\1 (process \2)/p' | head -n 1)
  elif command -v lsof >/dev/null; then
    found=$(lsof -nP -iTCP:"$1" -sTCP:LISTEN | awk 'NR == 2 { print $1 " (process " $2 ")" }')
  fi
  echo "${found:-a program of another user}"
}

# prints: ADDRESS:PORT of this machine that leads to the node's PORT
port_on_host() { # PORT
  local node
  for node in $(kind get nodes --name "$PROFILE"); do
    # A node that no port leads to is an error to docker, and the next is asked.
    "$CONTAINER_PROGRAM" port "$node" "$1/tcp" 2>/dev/null && return
  done
  die "no port of this machine leads to port $1 of the nodes: make demo-down, and make demo"
}
