# What the machine must offer, and Debian packages for what it lacks.

# Each program that we call, with the Debian package it comes from.
PACKAGE_OF=(
  "envsubst gettext-base"
  "ip iproute2"
  "iptables iptables"
  "nsenter util-linux"
  "openssl openssl"
  "runc runc"
  "$CNI_PLUGINS/ptp containernetworking-plugins"
)

check_host() {
  require_root
  require_go
  require_packages
  require_kernel
}

prepare_host() {
  require_root
  require_go
  install_packages
  require_kernel
}

refuse() { # REASON
  die 3 "the embedded cluster cannot run here: $1. kind can be used instead: make demo CLUSTER=kind"
}

require_root() {
  ((EUID == 0)) || refuse 'it needs root, for namespaces and control groups'
}

# Not a package to install: Debian's Go is often too old to fetch the one that go.mod asks for.
require_go() {
  is_built || command -v go >/dev/null ||
    refuse 'its programs must be built first, for which Go is missing (1.21 or later, https://go.dev/dl)'
}

missing_packages() {
  local program package
  local -a missing=()
  for package in "${PACKAGE_OF[@]}"; do
    read -r program package <<<"$package"
    command -v "$program" >/dev/null || missing+=("$package")
  done
  printf '%s' "${missing[*]}"
}

require_packages() {
  local missing
  missing="$(missing_packages)"
  [[ -z $missing ]] || command -v apt-get >/dev/null || refuse "these Debian packages (or their like) are missing: $missing"
}

install_packages() {
  require_packages
  local -a missing
  read -r -a missing <<<"$(missing_packages)"
  ((${#missing[@]} > 0)) || return 0
  run apt-get update --quiet=2 >&2
  DEBIAN_FRONTEND=noninteractive run apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" >&2
}

# Each feature is tried, not looked up: namespaces of its own take the attempt and vanish with it.
require_kernel() {
  try_apart true || refuse 'the kernel does not let us make namespaces'
  has_overlayfs || refuse "$CLUSTER_HOME is not on a file system that overlayfs works on (CLUSTER_HOME names another folder)"
  has_cgroups || refuse 'the control groups cpu, memory and pids cannot be written to'
  # Until their packages are there, these two cannot be tried.
  ! command -v ip >/dev/null || try_apart ip link add left type veth peer name right || refuse 'the kernel has no veth devices'
  ! command -v iptables >/dev/null || try_apart iptables -t nat -A POSTROUTING -m comment --comment try -j MASQUERADE ||
    refuse 'iptables cannot translate addresses with this kernel'
}

try_apart() { # COMMAND...
  unshare --mount --net --pid --fork --mount-proc -- "$@" >/dev/null 2>&1
}

has_overlayfs() {
  local base works=0
  mkdir -p "$CLUSTER_HOME" && base="$(mktemp -d "$CLUSTER_HOME/try-XXXXXX")" || return 1
  mkdir "$base/lower" "$base/upper" "$base/work" "$base/merged"
  try_apart mount -t overlay -o "lowerdir=$base/lower,upperdir=$base/upper,workdir=$base/work" overlay "$base/merged" || works=1
  rm -r "$base"
  remove_home_if_empty
  return "$works"
}

remove_home_if_empty() {
  [[ ! -d $CLUSTER_HOME ]] || rmdir --ignore-fail-on-non-empty "$CLUSTER_HOME"
}

has_cgroups() {
  local controller
  for controller in cpu memory pids; do
    if is_cgroup_v2; then
      offers_controller "$controller" || return 1
    else
      [[ -w /sys/fs/cgroup/$controller/cgroup.procs ]] || return 1
    fi
  done
}

offers_controller() { # CONTROLLER
  local root=/sys/fs/cgroup
  grep -qw "$1" "$root/cgroup.controllers" && [[ -w $root/cgroup.procs ]] || return 1
  # In a container the root is none really (a real one has no type), and passes on what it does already, or nothing.
  [[ ! -e $root/cgroup.type ]] || grep -qw "$1" "$root/cgroup.subtree_control"
}
