# watch - hear which Secrets change, and nothing of what is in them
#
# The other watches go through the pod's `kubectl proxy`, which decides by paths: it would give every Secret to whoever
# may ask it. So a kubectl of its own watches here, and prints what a table of Secrets has: event, namespace, name and
# type. It takes 45 MB, of which 10 MB are its own: the rest is its program, which it shares with the proxy.
#
# is_denied is doorbell's
# shellcheck shell=bash disable=SC2154

keys=$STATE_DIR/keys heard='' known_edition=none
declare -A wanted=() # {NAMESPACE/NAME: yes}

# While no Ingress names a Secret, nothing is watched. First it prints all Secrets that there are: so what has changed
# before is heard, too. GOGC and HTTP2_* are as in `proxy`.
hear_secrets() { # PAUSE
  local line said='' where=(--all-namespaces)
  [[ -z $WATCH_NAMESPACE ]] || where=(--namespace "$WATCH_NAMESPACE")
  nap "$1"
  until [[ -s $keys/wanted ]]; do nap 1; done
  exec {heard}< <(GOGC=25 HTTP2_READ_IDLE_TIMEOUT_SECONDS=$READ_SECONDS HTTP2_PING_TIMEOUT_SECONDS=$READ_SECONDS \
    exec kubectl get secrets "${where[@]}" --watch --output-watch-events --no-headers 2>&1)
  kubectl=$!
  trap end_hearing EXIT
  trap exit TERM
  while IFS= read -r line <&"$heard"; do
    note_event "$line" || said=$line
  done
  if [[ $said != *Forbidden* ]]; then exit 1; fi
  ((is_denied[secrets])) || log "cannot watch secrets ($said), so their changes wait for some seconds"
  exit 4
}

end_hearing() {
  rm -f "$STATE_DIR/run/secrets-watch"
  kill "$kubectl" 2>/dev/null || true # it may have ended
}

# Fails if LINE is no event. With WATCH_NAMESPACE, it has no namespace. The file tells fetch that changes are heard.
note_event() { # LINE
  local event namespace name
  read -r event namespace name _ <<<"$1"
  [[ $event == @(ADDED|MODIFIED|DELETED) ]] || return
  [[ -e $STATE_DIR/run/secrets-watch ]] || echo "$kubectl" >"$STATE_DIR/run/secrets-watch"
  [[ -z $WATCH_NAMESPACE ]] || name=$namespace namespace=$WATCH_NAMESPACE
  know_wanted
  [[ -v wanted[$namespace/$name] ]] || return 0
  : >"$keys/changed/${namespace}_$name"
  echo
}

# Each look writes the file, with another first line.
know_wanted() {
  local edition='' name
  read -r edition <"$keys/wanted" || true # none is wanted any more
  [[ $edition != "$known_edition" ]] || return 0
  known_edition=$edition wanted=()
  while read -r name; do wanted[$name]=yes; done <"$keys/wanted"
}
