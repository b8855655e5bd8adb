# Container images: from archives or a builder's local storage into containerd, and the one that we make ourselves.

load_images() { # IMAGE...
  local image
  (($# > 0)) || die 2 'name at least one image or archive. Usage: cluster load IMAGE...'
  node_exists || die 1 'the cluster is not up. Start it: cluster up'
  for image in "$@"; do
    if [[ -f $image ]]; then
      import_archive "$image"
    else
      load_from_builder "$image"
    fi
  done
}

load_from_builder() ( # NAME
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
  save_image "$1" "$folder/image.tar"
  import_archive "$folder/image.tar"
)

# buildah and podman are asked to write the name as the user gave it; they would put localhost/ before it.
save_image() { # NAME ARCHIVE
  local tool
  for tool in buildah podman; do
    if command -v "$tool" >/dev/null && "$tool" inspect --type image "$1" >/dev/null 2>&1; then
      run "$tool" push --quiet "$1" "docker-archive:$2:$1"
      return
    fi
  done
  command -v docker >/dev/null && docker image inspect "$1" >/dev/null 2>&1 ||
    die 1 "$1 is neither a file nor an image that buildah, podman or docker has here"
  run docker save --output "$2" "$1"
}

import_archive() { # ARCHIVE
  local answer names name
  answer="$(ctr image import --local "$1" 2>&1)" || die 1 "containerd does not take $1: $answer"
  names="$(sed -n 's/^unpacking \(.*\) (sha256:.*/\1/p' <<<"$answer")"
  [[ -n $names ]] || die 1 "$1 names no image. With buildah: buildah push NAME docker-archive:FILE:NAME"
  for name in $names; do
    name_as_kubernetes_does "$name"
  done
}

# A Pod's `image: web` means docker.io/library/web:latest, which archives often call localhost/web or just web.
name_as_kubernetes_does() { # NAME
  local full="${1#localhost/}"
  # What ctr makes of an OCI archive's bare name.
  [[ $full != import-*:* ]] || full="${full#import-*:}:latest"
  [[ $full == */* ]] || full="library/$full"
  [[ ${full%%/*} == *[.:]* ]] || full="docker.io/$full"
  [[ $full == "$1" ]] || ctr image tag --local --force "$1" "$full" >/dev/null 2>&1 || die 1 "containerd does not take the name $full"
  say "imported ${full#docker.io/library/}"
}

# Kubernetes' images are in a containerd namespace of their own.
ctr() { # ARGUMENT...
  "$(cache_entry containerd)/ctr" --address "$STATE/run/containerd/containerd.sock" --namespace k8s.io "$@"
}

# An archive as `docker save` writes it, of one layer with one static program.
make_image_archive() { # FOLDER PROGRAM IMAGE
  local layer architecture
  architecture="$(go env GOARCH)"
  tar -C "$1" --owner 0 --group 0 -cf "$1/layer.tar" "$2"
  layer="$(sha256sum "$1/layer.tar" | cut -d ' ' -f 1)"
  printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/%s"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}\n' \
    "$architecture" "$2" "$layer" >"$1/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]\n' "$3" >"$1/manifest.json"
  tar -C "$1" -cf "$1/image.tar" manifest.json config.json layer.tar
  rm "$1/layer.tar" "$1/config.json" "$1/manifest.json"
}
