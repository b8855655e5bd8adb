# secrets - how the passes get to know Secrets and ConfigMaps, which `certificates` reads beside them
#
# A kubectl for it in each pass would be most of what an idle controller costs, and a watch one that stays, with 50 MB.
# So the Secrets are looked at when an Ingress names one that was not read yet, and every 5 s; more rarely if that would
# take more than a sixth of a CPU, since anybody may have a hundred large ones that no Ingress names.
#
# folder is of lists.bash; use_proxy, names_secret and names_config_map are api.bash's
# shellcheck shell=bash disable=SC2154

keys=$STATE_DIR/keys look_seconds=5 times_as_long=6 # as the CPU time of the last look

# A new summary of the Ingresses may name other Secrets or ConfigMaps. The file is empty if none of them names one.
note_wanted_secrets() {
  : >"$folder/listed"
  grep -m 1 -oE "$names_secret|$names_config_map" "$folder/new/ingresses.summary" >"$folder/wanted-secrets" ||
    (($? == 1)) || # 1 means that there is none
    summarise_again
}

# The disk is full. If the Ingresses become again what they were, they have to be summarised all the same: so they do
# not count as read.
summarise_again() {
  rm -f "$folder/last/ingresses"
  die 1 "cannot note whether an Ingress names a Secret; is $STATE_DIR full?"
}

summarise_secrets() {
  local now edition='' listed='' valid_until='' unread=0 names_are_new=''
  if [[ ! -s $folder/wanted-secrets && -z $DEFAULT_TLS_SECRET ]]; then
    : >"$folder/last/secrets.summary"
    return
  fi
  take_time
  [[ -s $folder/listed ]] || names_are_new=yes
  list_secrets
  if look_is_due; then
    look
    list_secrets
  fi
  [[ ! -s $folder/error/secrets ]] || fail "$(<"$folder/error/secrets")"
}

# --- the list of what is known

# Prints nothing, unless something is new. Sets unread: how many Secrets nothing is known of yet.
list_secrets() {
  local time
  { read -r edition <"$keys/edition"; } 2>/dev/null || true # nobody has looked yet
  { read -r listed unread valid_until <"$folder/listed"; } 2>/dev/null || true
  TZ=UTC printf -v time '%(%F %TZ)T' -1 # in the form of `openssl -dateopt iso_8601`, so that times compare as text
  if [[ -n $listed && $listed == "${edition:-none}" && $time < $valid_until ]]; then return; fi
  print_list "$time" >"$folder/secret-list" || die 1 'cannot list the Secrets and ConfigMaps: jq says above why'
  read -r unread valid_until <"$folder/secret-list"
  tail -n +2 "$folder/secret-list" >"$folder/new/secrets.summary"
  mv -t "$folder/last" "$folder/new/secrets.summary"
  printf '%s\n' "${edition:-none} $unread $valid_until" >"$folder/listed"
}

print_list() { # TIME
  local found=$keys/found facts=$keys/facts.json files=("$keys"/*.{pem,htpasswd})
  [[ -n $edition ]] || found=/dev/null facts=/dev/null
  run_jq -n -R -r -c -f "$bin/lib/secrets/list-secrets.jq" "$found" --arg now "$1" \
    --rawfile claims "$folder/last/ingresses.summary" --arg default "$DEFAULT_TLS_SECRET" \
    --arg namespace "$WATCH_NAMESPACE" --slurpfile facts "$facts" --rawfile files <(printf '%s\n' "${files[@]##*/}")
}

# --- looking

# If the last one failed, each pass looks again. (took is in hundredths of a second.)
look_is_due() {
  local looked='' took=0
  { read -r looked <"$folder/looked" && read -r took <"$keys/took"; } 2>/dev/null || true # nobody has looked yet
  [[ -z $looked || -s $folder/error/secrets || (-n $names_are_new && $unread -gt 0) ]] ||
    ((now - looked >= look_seconds && (now - looked) * 100 >= took * times_as_long))
}

# Starts `certificates` beside the passes. A pass that needs to know waits for it, but not for long: a certificate that
# comes late gets a later pass. Until nothing is unread, none waits again: who names a hundred Secrets would hold up
# each pass. The pipe ends when it does; nothing comes. (read's status is above 128 when the time is over.)
look() {
  local beside
  printf '%s\n' "$now" >"$folder/looked"
  exec {beside}< <(run_certificates)
  if is_waited_for; then
    read -r -t "$(patience)" <&"$beside" || (($? <= 128)) || : >"$folder/is-late"
  elif ((unread == 0)); then
    rm -f "$folder/is-late"
  fi
  exec {beside}<&-
}

is_waited_for() {
  [[ -s $folder/error/secrets ]] || { ((unread > 0)) && [[ ! -e $folder/is-late ]]; }
}

# By hand, there is no next pass. And the first one waits longer, so that a controller that starts becomes ready with
# the certificates of its hosts.
patience() {
  if [[ -z $use_proxy ]]; then echo 600; elif [[ -e $STATE_DIR/live/snapshot ]]; then echo 0.5; else echo 30; fi
}

# While there are not enough CPUs, the passes come first, but not by much (nice): an Ingress may be closed until its
# Secret has been read. Status 3: another one is at it.
run_certificates() {
  local said status=0
  said=$(nice -n 5 "$bin/certificates" "$folder/last/ingresses.summary" 2>&1) || status=$?
  if ((status == 0)); then said=''; else said=${said:-certificates ended with status $status}; fi
  if ((status != 3)) && [[ -d $folder/error ]]; then # a fetch that was run alone has taken its folder away
    printf '%s' "$said" >"$folder/error/secrets.new"
    mv -T "$folder/error/secrets.new" "$folder/error/secrets"
  fi
}
