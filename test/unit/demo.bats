# The demo on kind and minikube, with programs in the place of these and of docker that note what they were told.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
  mkdir "$BATS_TEST_TMPDIR"/{programs,state}
  PATH=$BATS_TEST_TMPDIR/programs:$PATH
  told=$BATS_TEST_TMPDIR/told
  unset DOCKER_HOST KIND_EXPERIMENTAL_PROVIDER KIND_IMAGE KIND_CONFIG HTTP_PORT_ON_HOST HTTPS_PORT_ON_HOST
  export told HOME=$BATS_TEST_TMPDIR XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
  program docker 'exit 0'
  program podman 'exit 1'
  program nerdctl 'exit 1'
  program kubectl 'exit 0'
  program kind 'exit 0'
  source "$BATS_TEST_DIRNAME/../demo/demo"
  STATE=$BATS_TEST_TMPDIR/state
}

teardown() {
  [[ -z ${listener-} ]] || kill "$listener"
}

# Puts a program first in PATH that notes its name and arguments, and then does as the script says.
program() { # NAME SCRIPT
  # shellcheck disable=SC2016 # the dollar signs are for the program
  printf '#!/usr/bin/env bash\necho "${0##*/} $*" >>"$told"\n%s\n' "$2" >"$BATS_TEST_TMPDIR/programs/$1"
  chmod +x "$BATS_TEST_TMPDIR/programs/$1"
}

# Something of another that listens on PORT.
take_port() { # PORT
  perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], Listen => 9) or die; while ($s->accept) {}' \
    "$1" 3>&- &
  listener=$!
  wait_for 5 is_taken "$1"
}

is_taken() { ! is_free "$1"; } # PORT

choose_ports_in_the_test() {
  HTTP_PORT_ON_HOST=$(free_port) HTTPS_PORT_ON_HOST=$(free_port)
}

@test "KIND_IMAGE is the image of kind's node" {
  choose_ports_in_the_test
  KIND_IMAGE=example/node:v1 kind_start
  assert_contains "$(grep '^kind create' "$told")" '--image example/node:v1'
}

@test "without KIND_IMAGE, kind takes the image of its own release" {
  choose_ports_in_the_test
  kind_start
  refute_contains "$(grep '^kind create' "$told")" --image
}

@test "kind gets the program that answers, not the first that is installed" {
  program docker 'exit 1'
  program podman 'exit 0'
  choose_ports_in_the_test
  program kind 'echo "with $KIND_EXPERIMENTAL_PROVIDER" >>"$told"'
  kind_start >"$BATS_TEST_TMPDIR/output"
  assert_contains "$(<"$told")" 'with podman'
  assert_contains "$(<"$BATS_TEST_TMPDIR/output")" "kind's node is a container of podman"
}

@test "a docker daemon at the socket of its rootless mode is found" {
  program docker '[[ ${DOCKER_HOST-} == unix://$XDG_RUNTIME_DIR/docker.sock ]]'
  perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die' "$XDG_RUNTIME_DIR/docker.sock"
  choose_container_program
  assert_equal docker "$CONTAINER_PROGRAM"
  assert_equal "unix://$XDG_RUNTIME_DIR/docker.sock" "$DOCKER_HOST"
}

@test "a cluster stays with the program that has it" {
  program podman 'exit 0'
  echo podman >"$STATE/container-program"
  choose_container_program
  assert_equal podman "$CONTAINER_PROGRAM"
}

@test "where no program answers, the demo says what it tried and what to start" {
  program docker 'exit 1'
  DOCKER_HOST=unix:///nowhere.sock CLUSTER=kind run "$BATS_TEST_DIRNAME/../demo/demo" up
  assert_equal 1 "$status"
  assert_contains "$output" 'docker (no answer at unix:///nowhere.sock) podman (no answer'
  assert_contains "$output" 'systemctl start docker'
}

@test "a node that was stopped is started, and the cluster is not made again" {
  program kind 'case $2 in clusters) echo bash-ingress ;; nodes) echo bash-ingress-control-plane ;; esac'
  program docker '[[ $1 != inspect ]] || echo false'
  kind_start
  assert_contains "$(<"$told")" 'docker start bash-ingress-control-plane'
  assert_contains "$(<"$told")" 'kubectl wait --for condition=Ready'
  refute_contains "$(<"$told")" 'kind create'
}

@test "a taken port is seen before the cluster is made: the next free one is used, and the holder named" {
  http=$(free_port) https=$(free_port)
  take_port "$http"
  chosen=$(choose_port NO_SETTING "$http" "$http")
  assert_equal "$((http + 1))" "$chosen"
  assert_contains "$(show_notices)" "port $http of this machine is taken by perl (process $listener); the demo gets port $chosen instead"
}

@test "a port that the user names and that is taken ends the demo before anything is made" {
  HTTP_PORT_ON_HOST=$(free_port)
  take_port "$HTTP_PORT_ON_HOST"
  run kind_start
  assert_equal 1 "$status"
  assert_contains "$output" "HTTP_PORT_ON_HOST=$HTTP_PORT_ON_HOST is taken by perl"
  refute_contains "$(<"$told")" 'kind create'
}

@test "kind's node gets the chosen ports of the machine" {
  choose_ports_in_the_test
  kind_start
  assert_equal "$HTTP_PORT_ON_HOST $HTTPS_PORT_ON_HOST" "$(sed -n 's/.*hostPort: //p' "$STATE/kind-cluster.yaml" | xargs)"
}

@test "KIND_CONFIG names another list of nodes, which get the chosen ports, too" {
  choose_ports_in_the_test
  KIND_CONFIG=$ROOT/manifests/variants/kind/kind-workers.yaml kind_start
  assert_equal 2 "$(grep -c 'role: worker' "$STATE/kind-cluster.yaml")"
  assert_contains "$(<"$STATE/kind-cluster.yaml")" "hostPort: $HTTP_PORT_ON_HOST"
}

@test "the address has the port that the node really got, and none if that is 80" {
  program kind 'echo node'
  choose_container_program
  program docker 'echo "127.0.0.1:$PORT"'
  assert_equal 127.0.0.1:8080 "$(PORT=8080 kind_address)"
  assert_equal 127.0.0.1 "$(PORT=80 kind_address)"
}

@test "a cluster that could not be made is removed" {
  choose_ports_in_the_test
  program kind '[[ $1 != create ]]'
  run kind_start
  assert_equal 1 "$status"
  assert_contains "$(sed -n '/^kind create/,$p' "$told")" 'kind delete cluster --name bash-ingress'
  [[ ! -e $STATE/half-made ]]
}

@test "a cluster whose making was interrupted is removed, and made again" {
  choose_ports_in_the_test
  : >"$STATE/half-made"
  kind_start
  assert_contains "$(sed -n '/^kind delete/,$p' "$told")" 'kind create'
  [[ ! -e $STATE/half-made ]]
}

@test "minikube's node gets the chosen ports of the machine, once: when the cluster is made" {
  choose_ports_in_the_test
  program minikube '[[ $1 != profile ]] || echo "{\"invalid\": [], \"valid\": []}"'
  minikube_start
  assert_contains "$(grep '^minikube start' "$told")" "--ports 127.0.0.1:$HTTP_PORT_ON_HOST:30080,127.0.0.1:$HTTPS_PORT_ON_HOST:30443"
  program minikube '[[ $1 != profile ]] || echo "{\"valid\": [{\"Name\": \"bash-ingress\"}]}"'
  : >"$told"
  minikube_start
  assert_equal 'minikube start --profile bash-ingress' "$(grep '^minikube start' "$told")"
}

@test "on minikube, the address is a port of this machine, or else the node's own" {
  program docker 'echo 127.0.0.1:8080'
  assert_equal 127.0.0.1:8080 "$(minikube_address)"
  assert_equal 'docker port bash-ingress 30080/tcp' "$(<"$told")"
  program docker 'exit 1'
  program minikube 'echo 192.0.2.1'
  assert_equal 192.0.2.1:30080 "$(minikube_address)"
  assert_equal 192.0.2.1:30443 "$(minikube_tls_address)"
}

@test "a step prints one line, and what it said only if it fails, with the name of the whole log" {
  chatter() { seq 60; }
  broken() { seq 60 && false; }
  assert_equal 'do it ... N s' "$(step 'do it' chatter | sed -E 's/[0-9]+ s$/N s/')"
  run bash -c 'source "$1" && STATE=$2 && trap explain_failure EXIT && broken() { seq 60; false; } && step "break it" broken; exit' _ \
    "$BATS_TEST_DIRNAME/../demo/demo" "$STATE"
  [[ $status != 0 ]]
  assert_contains "$output" $'\n60\n'
  assert_contains "$output" "could not break it. The whole log: $STATE/log"
}
