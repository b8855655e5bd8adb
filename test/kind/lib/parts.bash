# What is built or fetched once: kind, kubeadm and CoreDNS from Go modules, Docker and the images' Debian from packages.
# Sourced after the embedded cluster's build.bash, whose cache this is, too.
CACHE_ENTRIES=(kind kubeadm coredns docker debian)

require_root() {
  ((EUID == 0)) || die 3 'this needs root, for a dockerd of its own'
}

module_of() { # NAME: prints the folder whose content decides what is built
  printf '%s/parts/%s\n' "$HERE" "$1"
}

version_of() { # NAME
  case "$1" in
    kind) sed -nE 's#^\tsigs\.k8s\.io/kind (v[^ ]+).*#\1#p' "$HERE/parts/kind/go.mod" ;;
    coredns) sed -nE 's#^\tgithub\.com/coredns/coredns (v[^ ]+).*#\1#p' "$HERE/parts/coredns/go.mod" ;;
    kubeadm) of_cluster version_of kubernetes ;;
    *) printf '%s\n' "$SUITE" ;;
  esac
}

# Asks the embedded cluster's functions, in its own folder.
of_cluster() { # COMMAND...
  bash -c 'source "$1" && shift && "$@"' _ "$ROOT/test/cluster/cluster" "$@"
}

build_all() {
  local name
  "$ROOT/test/need" mmdebstrap=mmdebstrap jq=jq iptables=iptables ip=iproute2 runc=runc flock=util-linux
  "$ROOT/test/cluster/cluster" build
  for name in "${CACHE_ENTRIES[@]}"; do
    build_entry "$name"
  done
}

build_kind() { # FOLDER
  go_build parts/kind "$1" '' sigs.k8s.io/kind
}

build_coredns() { # FOLDER
  go_build parts/coredns "$1" '' github.com/coredns/coredns
}

# kubeadm belongs to the module of the embedded cluster, and needs three more modules' sums.
build_kubeadm() { # FOLDER
  local module="$1/module"
  mkdir "$module"
  cp "$ROOT/test/cluster/kubernetes/go.mod" "$module"
  cat "$ROOT/test/cluster/kubernetes/go.sum" "$HERE/parts/kubeadm/go.sum" >"$module/go.sum"
  go_build "$(realpath --relative-to "$HERE" "$module")" "$1" "$(of_cluster kubernetes_version_flags)" k8s.io/kubernetes/cmd/kubeadm
  rm -r "$module"
}

# Not installed, as a service of the machine would start.
build_docker() { # FOLDER
  local packages
  mapfile -t packages <"$HERE/parts/docker/packages"
  (
    cd "$1"
    apt-get download "${packages[@]}" || { apt-get update && apt-get download "${packages[@]}"; }
    for package in *.deb; do dpkg -x "$package" .; done
    rm -- *.deb
    mkdir client
    ln -s ../usr/bin/docker client/docker
  )
}

build_debian() { # FOLDER
  local kind leave_out=()
  for kind in doc man locale info; do
    leave_out+=(--dpkgopt="path-exclude=/usr/share/$kind/*")
  done
  for kind in node pod; do
    mmdebstrap --variant=minbase --format=tar "${leave_out[@]}" --dpkgopt='path-include=/usr/share/doc/*/copyright' \
      --include="$(paste -sd, "$HERE/parts/debian/$kind.packages")" "$SUITE" "$1/$kind.tar"
  done
}
