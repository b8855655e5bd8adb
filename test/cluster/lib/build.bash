# Builds the programs from the Go modules beside this folder, into a cache that all checkouts of a user share.
#
# Each entry of the cache is a folder whose name says what went into it, so an entry is either complete or not there.
CACHE_ENTRIES=(kubectl kubernetes containerd pause)

build() { # [kubectl]
  case "${1:-all}" in
    all) build_all ;;
    kubectl)
      build_entry kubectl
      cache_entry kubectl
      ;;
    *) die 2 "cannot build $1. Usage: cluster build [kubectl]" ;;
  esac
}

build_all() {
  local name
  for name in "${CACHE_ENTRIES[@]}"; do
    build_entry "$name"
  done
}

is_built() {
  local name
  for name in "${CACHE_ENTRIES[@]}"; do
    [[ -d "$(cache_entry "$name")" ]] || return 1
  done
}

build_entry() { # NAME
  local entry
  entry="$(cache_entry "$1")"
  [[ ! -d $entry ]] || return 0
  command -v go >/dev/null || die 1 "Go is needed to build $1: 1.21 or later, https://go.dev/dl"
  build_alone "$1" "$entry"
}

# One build at a time, and what an interrupted one left is removed first.
build_alone() ( # NAME ENTRY
  mkdir -p "$CLUSTER_CACHE"
  exec {lock}<"$CLUSTER_CACHE"
  flock "$lock"
  [[ ! -d $2 ]] || return 0
  rm -rf "$CLUSTER_CACHE"/.building-*
  fresh="$(mktemp -d "$CLUSTER_CACHE/.building-XXXXXX")"
  chmod 755 "$fresh"
  build_with_progress "$1" "$fresh"
  mv -T "$fresh" "$2"
)

build_with_progress() { # NAME FOLDER
  local log="$2/build.log" builder
  # With job control the build is a process group of its own, which ends with us.
  set -m
  "build_$1" "$2" >"$log" 2>&1 &
  builder=$!
  set +m
  # shellcheck disable=SC2064 # the process as it is now
  trap "kill -- -$builder" EXIT
  show_progress "$builder" "$log" "building $1 $(version_of "$1")"
  wait "$builder" || {
    say "building $1 failed:"
    tail -n 20 "$log" >&2
    exit 1
  }
  trap - EXIT
  rm "$log"
}

show_progress() { # PID LOG WHAT: on a terminal one line that is rewritten each second, else a line now and then
  local started packages line end='\n' interval=15
  started="$(uptime_seconds)"
  [[ ! -t 2 ]] || end='\r' interval=1
  say "$3; this happens once"
  while kill -0 "$1" 2>/dev/null; do
    # grep finds nothing, and says so by its exit code, while Go still downloads modules.
    packages="$(grep -c -v '^go: ' "$2" || true)"
    line="$(printf '%s: %3d s, %4d steps' "$3" $(($(uptime_seconds) - started)) "$packages")"
    (($(uptime_seconds) % interval)) || printf "  %s$end" "$line" >&2
    sleep 1
  done
  printf '  %-70s\n' "$3: done in $(($(uptime_seconds) - started)) s" >&2
}

build_kubectl() { # FOLDER
  go_build kubernetes "$1" "$(kubernetes_version_flags)" k8s.io/kubernetes/cmd/kubectl
}

build_kubernetes() { # FOLDER
  local tools
  mapfile -t tools <<<"$(tools_of kubernetes | grep -v /kubectl$)"
  go_build kubernetes "$1" "$(kubernetes_version_flags)" "${tools[@]}"
  # Go names a program after the last part of its path, and etcd's is go.etcd.io/etcd/server.
  mv "$1/server" "$1/etcd"
}

build_containerd() { # FOLDER
  go_build containerd "$1" "-X github.com/containerd/containerd/v2/version.Version=$(version_of containerd)" tool
}

build_pause() { # FOLDER
  go_build pause "$1" '' .
  make_image_archive "$1" pause "$PAUSE_IMAGE"
}

# (A compiler lives for seconds: with more room before it collects garbage, it takes a sixth less of CPU.)
go_build() { # MODULE FOLDER LINKER_FLAGS PACKAGE...
  (cd "$HERE/$1" && GOGC=400 GOMEMLIMIT=2GiB CGO_ENABLED=0 GOWORK=off go build -v -mod=readonly -trimpath -ldflags "-s -w $3" -o "$2/" "${@:4}")
}

# Kubernetes learns its own version at link time only.
kubernetes_version_flags() {
  local version major minor
  version="$(version_of kubernetes)"
  IFS=. read -r major minor _ <<<"${version#v}"
  printf -- '-X k8s.io/component-base/version.%s ' "gitVersion=$version" "gitMajor=$major" "gitMinor=$minor"
}

cache_entry() { # NAME: prints the folder that holds, or will hold, the programs of this name
  local hash module
  module="$(module_of "$1")"
  hash="$(cat "$module"/* | sha256sum | cut -c 1-8)"
  printf '%s/%s-%s-%s\n' "$CLUSTER_CACHE" "$1" "$(version_of "$1")" "$hash"
}

module_of() { # NAME: prints its Go module's folder; kubectl comes from Kubernetes'
  printf '%s/%s\n' "$HERE" "${1/kubectl/kubernetes}"
}

version_of() { # NAME: prints the version that its go.mod pins; our own pause has none but its image's tag
  local pinned
  pinned="$(sed -nE 's#^\t(k8s\.io/kubernetes|github\.com/containerd/containerd/v2) (v[^ ]+).*#\2#p' "$(module_of "$1")/go.mod")"
  printf '%s\n' "${pinned:-v${PAUSE_IMAGE##*:}}"
}

tools_of() { # MODULE: prints the packages in go.mod's tool block
  awk '/^tool \(/ { inside = 1; next } /^\)/ { inside = 0 } inside { print $1 }' "$HERE/$1/go.mod"
}
