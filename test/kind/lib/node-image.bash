# The node image, by the real `kind build node-image`: of a base image, and of an archive as Kubernetes releases it.

node_image() { # prints its name, with the hash of all that goes into it
  local hash
  hash=$({ printf '%s\n' "${CACHE_ENTRIES[@]}" && for entry in "${CACHE_ENTRIES[@]}"; do cache_entry "$entry"; done &&
    of_cluster cache_entry kubernetes && of_cluster cache_entry containerd &&
    cat "$HERE"/{lib/node-image.bash,node.Dockerfile,kindnetd}; } | sha256sum | cut -c 1-12)
  printf 'bash-ingress-node:%s-%s\n' "$(of_cluster version_of kubernetes)" "$hash"
}

has_node_image() {
  our_docker image inspect "$(node_image)" >/dev/null 2>&1
}

build_node_image() {
  if has_node_image; then return; fi
  local log="$STATE/node-image.log" started
  started=$(uptime_seconds)
  say "building the node image $(node_image); this happens once. Log: $log"
  make_node_image >"$log" 2>&1 || {
    say 'building the node image failed:'
    tail -n 30 "$log" >&2
    exit 1
  }
  our_docker image prune --force >/dev/null
  say "built the node image in $(($(uptime_seconds) - started)) s"
}

make_node_image() (
  set -euo pipefail # bash forgets it where a function is a condition
  work=$(mktemp -d "$STATE/node-image-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  make_base_image
  make_server_archive
  DOCKER_HOST="unix://$SOCKET" DOCKER_BUILDKIT=0 PATH="$(cache_entry docker)/client:$PATH" TMPDIR="$work" \
    "$(cache_entry kind)/kind" build node-image --type file --base-image bash-ingress-node-base --image "$(node_image)" "$work/server.tar.gz"
  our_docker rmi --no-prune bash-ingress-node-base
)

# ---- the base image: what kind's own Dockerfile makes, from Debian packages and our programs -----

make_base_image() {
  local context="$work/base" files
  files="$(cd "$HERE/parts/kind" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind)/images/base/files"
  mkdir "$context"
  cp -r --no-preserve=mode "$files" "$context/files"
  chmod +x "$context"/files/usr/local/bin/* "$context"/files/kind/bin/*
  mkdir "$context/bin"
  cp "$(of_cluster cache_entry containerd)"/* "$context/bin"
  ln "$(cache_entry debian)/node.tar" "$context/node.tar" 2>/dev/null || cp "$(cache_entry debian)/node.tar" "$context"
  cp "$HERE/node.Dockerfile" "$context/Dockerfile"
  adapt_base_files "$context/files"
  our_docker build --quiet --force-rm --tag bash-ingress-node-base "$context"
}

# A container cannot lower its score everywhere; and kubelet refuses version 1 of control groups, if nobody asks for it.
adapt_base_files() { # FOLDER
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "$1/etc/containerd/config.toml"
  printf 'KUBELET_EXTRA_ARGS="--runtime-cgroups=/system.slice/containerd.service --fail-cgroupv1=false"\n' >"$1/etc/default/kubelet"
}

# ---- the archive: kubeadm, kubelet and kubectl, and all container images -------------------------

make_server_archive() {
  local server="$work/kubernetes/server/bin" version name
  version=$(of_cluster version_of kubernetes)
  programs=$(of_cluster cache_entry kubernetes)
  mkdir -p "$server" "$work/images"
  printf '%s\n' "$version" >"$work/kubernetes/version"
  ln -s "$(cache_entry kubeadm)/kubeadm" "$programs/kubelet" "$(of_cluster cache_entry kubectl)/kubectl" "$server"
  make_layers
  "$server/kubeadm" config images list --kubernetes-version "$version" >"$work/names"
  for name in kube-apiserver kube-controller-manager kube-scheduler; do
    make_archive "$server/$name.tar" < <(printf '%s /usr/local/bin/%s %s\n' "$(name_of "$name")" "$name" "$name")
  done
  make_archive "$server/kube-proxy.tar" < <(other_images)
  tar -C "$work" --dereference -c kubernetes | gzip -1 >"$work/server.tar.gz"
  rm -r "$work/kubernetes" "$work/images"
}

# A line for each image: its name, what it starts, its layers. Nothing here uses volumes, so what provides them only waits.
other_images() {
  local kind_source
  kind_source="$(cd "$HERE/parts/kind" && go list -m -f '{{.Dir}}' sigs.k8s.io/kind)"
  cat <<IMAGES
$(name_of kube-proxy) /usr/local/bin/kube-proxy debian kube-proxy
$(name_of etcd) /usr/local/bin/etcd etcd
$(name_of coredns) /usr/local/bin/coredns coredns
$(sed -n 's/ *sandbox_image = "\(.*\)"/\1/p' "$kind_source/images/base/files/etc/containerd/config.toml") /usr/local/bin/pause pause
$(image_in "$kind_source" kindnetd) /usr/local/bin/kindnetd debian kubectl kindnetd
$(image_in "$kind_source" local-path-provisioner) /usr/local/bin/local-path-provisioner local-path-provisioner
$(image_in "$kind_source" local-path-helper) /usr/local/bin/pause pause
IMAGES
}

name_of() { # COMPONENT: prints the image that kubeadm asks for
  grep "/$1:" "$work/names"
}

image_in() { # SOURCE NAME: prints the image that this release of kind asks for
  sed -n "s#^const .*Image = \"\(docker.io/kindest/$2:.*\)\"#\1#p" "$1"/pkg/build/nodeimage/const_*.go
}

make_layers() {
  local program
  for program in kube-apiserver kube-controller-manager kube-scheduler kube-proxy etcd; do
    make_layer "$program" "$programs/$program"
  done
  make_layer coredns "$(cache_entry coredns)/coredns"
  make_layer kubectl "$(of_cluster cache_entry kubectl)/kubectl"
  make_layer pause "$(of_cluster cache_entry pause)/pause"
  make_layer local-path-provisioner "$(of_cluster cache_entry pause)/pause"
  make_layer kindnetd "$HERE/kindnetd"
  cp "$(cache_entry debian)/pod.tar" "$work/images/debian.tar"
}

make_layer() { # PROGRAM FILE: an archive with the program in /usr/local/bin
  tar --owner 0 --group 0 --mode 755 --transform "s|.*|usr/local/bin/$1|" -P -cf "$work/images/$1.tar" "$2"
}

# As `docker save` writes it. `repositories` comes first: there, or else of the first image only, kind looks which images
# it need not pull.
make_archive() { # FILE <"NAME PROGRAM LAYER..."
  local name program layers number=0 folder="$work/archive"
  mkdir "$folder"
  while read -r name program layers; do
    # shellcheck disable=SC2086 # each word is a layer
    describe_image "$name" "$program" $layers >"$folder/manifest-$number"
    number=$((number + 1))
  done
  jq -s . "$folder"/manifest-* >"$folder/manifest.json"
  jq '[.[].RepoTags[0] | capture("^(?<repository>.*):(?<tag>[^:]*)$") | {(.repository): {(.tag): "0"}}] | add' \
    "$folder/manifest.json" >"$folder/repositories"
  rm "$folder"/manifest-*
  (cd "$folder" && printf '%s\n' repositories manifest.json config-*) >"$work/members"
  jq -r '[.[].Layers[]] | unique[]' "$folder/manifest.json" >"$work/layers"
  tar -cf "$1" -C "$folder" --files-from "$work/members" -C "$work/images" --files-from "$work/layers"
  rm -r "$folder"
}

# prints: the image's part of the manifest; writes its configuration into FOLDER
describe_image() { # NAME PROGRAM LAYER...
  local config="config-$number.json" path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  for layer in "${@:3}"; do
    sha256sum "$work/images/$layer.tar" | cut -d ' ' -f 1
  done | jq -R '"sha256:" + .' | jq -s --arg program "$2" --arg path "$path" --arg architecture "$(go env GOARCH)" \
    '{architecture: $architecture, os: "linux", config: {Entrypoint: [$program], Env: ["PATH=" + $path]}, rootfs: {type: "layers", diff_ids: .}}' \
    >"$folder/$config"
  printf '%s.tar\n' "${@:3}" | jq -R . | jq -s --arg name "$1" --arg config "$config" '{Config: $config, RepoTags: [$name], Layers: .}'
}
