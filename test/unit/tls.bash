# Helpers of tls.bats and secrets.bats: a cluster with Secrets, passes that read them, and clients of TLS.
load helpers

# What every test begins with, the fixture as a pass of the loop has digested it.
setup_file() {
  common_setup "$BATS_FILE_TMPDIR/first"
  mkdir "$dir"
  start_api rules
  be_the_proxy
  "$bin/fetch" "$BATS_FILE_TMPDIR/lists-read" >/dev/null
  end_servers
}

setup() {
  common_setup
  cp -r "$BATS_FILE_TMPDIR/lists-read" "$dir"
  start_pods
  start_api rules
  be_the_proxy
}
teardown() { common_teardown; }

# --- the cluster

# Adds a Secret of the type for TLS with these files, or replaces it: in the list, and at an address of its own.
add_secret() { # NAMESPACE/NAME CERTIFICATE_FILE KEY_FILE
  local version=$((RANDOM * 32768 + RANDOM))
  jq -c --arg name "$1" --arg version "$version" --rawfile certificate "$2" --rawfile key "$3" '
    ($name | split("/")) as [$namespace, $name]
    | .metadata.resourceVersion = $version
    | .items |= (map(select([.metadata.namespace, .metadata.name] != [$namespace, $name]))
      + [{metadata: {namespace: $namespace, name: $name, uid: "00000000-0000", resourceVersion: $version}, type: "kubernetes.io/tls",
          data: {"tls.crt": ($certificate | @base64), "tls.key": ($key | @base64)}}])' "$api/secrets" >"$api/secrets.new"
  jq -c '{kind: "Secret", apiVersion: "v1"} + .items[-1]' "$api/secrets.new" >"$api/new"
  mv "$api/new" "$api/secret-${1/\//-}"
  mv "$api/secrets.new" "$api/secrets"
}

add_pair() { # NAMESPACE/NAME HOSTS [ecdsa | BITS of RSA]
  local name=${1//\//-}
  if [[ ${3-} == [1-9]* ]]; then make_rsa_pair "$dir/$name" "$2" "$3"; else make_pair "$dir/$name" "$2" ecdsa; fi
  add_secret "$1" "$dir/$name.crt" "$dir/$name.key"
}

# Makes it one of another type: it is not in the list of those for TLS, but has an address of its own.
make_opaque() { # NAMESPACE/NAME
  jq -c --arg name "$1" '.items[] | select("\(.metadata.namespace)/\(.metadata.name)" == $name)
    | {kind: "Secret", apiVersion: "v1"} + . + {type: "Opaque"}' "$api/secrets" >"$api/secret-${1/\//-}"
  jq -c --arg name "$1" 'del(.items[] | select("\(.metadata.namespace)/\(.metadata.name)" == $name))' "$api/secrets" >"$api/secrets.new"
  mv "$api/secrets.new" "$api/secrets"
}

# The cluster is the fixture "rules" and an Ingress for each line: NAMESPACE/NAME, as JSON what its spec has, and perhaps when
# it was created, and its annotations.
ingresses_are() {
  local name spec edit='.'
  while read -r name spec; do
    [[ -n $name && $name != '#'* ]] || continue
    edit+=" | .ingresses.items += [$spec | {metadata: {namespace: \"${name%/*}\", name: \"${name#*/}\", creationTimestamp: (.created // \"2027\"), annotations},
      spec: ({ingressClassName: \"bash\"} + del(.created, .annotations))}]"
  done
  cluster_is rules "$edit"
}

# What the passes of some seconds fetch: one that looks at the Secrets at once and waits for it.
# shellcheck disable=SC2120 # secrets.bats passes one
fetch_all() { # [FOLDER]
  bash -c 'source "$1/fetch" && program=fetch look_seconds=0 times_as_long=0 && is_waited_for() { true; } && patience() { echo 200; } && fetch "$2"' \
    _ "$bin" "${1:-$dir/lists-read}"
}

# One pass; nginx is started if it does not run yet.
go_live() {
  fetch_all >"$dir/snapshot"
  if [[ -s $STATE_DIR/run/nginx.pid ]]; then
    "$bin/route" <"$dir/snapshot" >"$dir/model.json"
    "$bin/render" <"$dir/model.json" | "$bin/apply" "$dir/model.json" >>"$dir/apply.log" 2>&1
  else
    serve_snapshot <"$dir/snapshot"
  fi
  cp "$dir/snapshot" "$STATE_DIR/live/snapshot"
}

# --- the client

# Prints the subject of the certificate that nginx shows for the name in the handshake; "-" for none.
certificate_for() { # HOST [S_CLIENT_OPTION...]
  local name=(-servername "$1")
  [[ $1 != - ]] || name=(-noservername)
  connect "${name[@]}" "${@:2}" </dev/null 2>/dev/null | sed -nE 's/^ *0 s:(.* = )?//p' | sed 's/^bash-ingress default.*/default/'
}

# openssl's client. To read the authorities that the machine knows would take it 30 ms, and it asks none of them.
connect() { # S_CLIENT_OPTION...
  openssl s_client -connect "127.0.0.1:$HTTPS_PORT" -no-CAfile -no-CApath -no-CAstore "$@"
}

# Each row: the name in the handshake, and the certificate; more words are options of s_client.
assert_certificates() {
  local host expected options
  while read -r host expected options; do
    [[ -n $host && $host != '#'* ]] || continue
    # shellcheck disable=SC2086 # each word is an option
    assert_equal "$host: $expected" "$host: $(certificate_for "$host" $options)"
  done
}

ask_tls() { # HOST PATH [CURL_OPTION...]
  curl -sk --max-time 10 --connect-to "::127.0.0.1:$HTTPS_PORT" "${@:3}" "https://$1$2"
}

problems() {
  jq -r '.problems[] | "\(.reason): \(.message)"' "$dir/model.json"
}

shows_certificate() { # SUBJECT HOST
  [[ $(certificate_for "$2") == "$1" ]]
}

# --- openssl

# Puts a program before openssl that notes how it is called, and runs SCRIPT first.
watch_openssl() { # [SCRIPT]
  mkdir -p "$dir/path"
  printf '#!/bin/bash\necho "$*" >>%s/openssl.calls\n%s\nexec %s "$@"\n' "$dir" "${1-}" "$(command -v openssl)" >"$dir/path/openssl"
  chmod +x "$dir/path/openssl"
  PATH=$dir/path:$PATH
}
