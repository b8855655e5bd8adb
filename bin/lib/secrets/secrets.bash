# secrets - how the passes get to know Secrets and ConfigMaps, which `certificates` reads beside them
#
# They are read beside the passes. Those that an Ingress names for the first time, or that the doorbell has heard of
# (keys/changed), are asked for by name, at once. And all are looked at every minute, in case the doorbell has missed
# one; every 5 s while it hears nothing of Secrets, as it may be off, or without the right. It is more rarely if that
# would take more than a sixth of a CPU, since anybody may have a hundred large ones that no Ingress names.
#
# folder is of lists.bash; use_proxy, names_secret and names_config_map are api.bash's
# shellcheck shell=bash disable=SC2154

keys=$STATE_DIR/keys look_seconds=5 times_as_long=6 # as the CPU time of the last look
seconds_if_heard=60 how=''

# A new summary of the Ingresses may name other Secrets or ConfigMaps. The file says whether there are any of each kind.
note_wanted_secrets() {
  local kinds=''
  : >"$folder/listed"
  ! some_ingress_names "$names_secret" || kinds=Secrets
  ! some_ingress_names "$names_config_map" || kinds+=ConfigMaps
  printf '%s' "$kinds" >"$folder/wanted-secrets" || summarise_again
}

some_ingress_names() { # EXPRESSION
  local text
  if read_short "$folder/new/ingresses.summary"; then
    [[ $text =~ $1 ]]
  else
    grep -qE "$1" "$folder/new/ingresses.summary"
  fi
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
    [[ ! -s $keys/wanted ]] || : >"$keys/wanted" # the doorbell listens for none
    return
  fi
  take_time
  [[ -s $folder/listed ]] || names_are_new=yes
  list_secrets
  choose_look
  if [[ -n $how ]]; then
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

# Sets how: "all", "changed", or nothing. If the last look failed, each pass looks again.
choose_look() {
  how=''
  if look_at_all_is_due; then
    how=all
  elif something_is_to_be_asked; then
    how=changed
  fi
  [[ -z $how ]] || ! is_looking || how=''
}

# (took is in hundredths of a second.)
look_at_all_is_due() {
  local looked='' took=0 seconds=$look_seconds
  { read -r looked <"$folder/looked" && read -r took <"$keys/took"; } 2>/dev/null || true # nobody has looked yet
  [[ -n $looked && ! -s $folder/error/secrets ]] || return 0
  if is_heard && [[ ! -e $keys/unfinished ]]; then seconds=$seconds_if_heard; fi
  ((now - looked >= seconds && (now - looked) * 100 >= took * times_as_long))
}

# Nothing rings for a ConfigMap. And a look that was killed has left something unread.
something_is_to_be_asked() {
  local changes=("$keys"/changed/*_*) looked=0 kinds=''
  [[ ! -e ${changes[0]} && ! -e $folder/look-again ]] || return 0
  [[ -z $names_are_new || $unread == 0 ]] || return 0
  { read -r looked <"$folder/looked-by-name"; } 2>/dev/null || true # nobody has looked yet
  { read -r kinds <"$folder/wanted-secrets"; } 2>/dev/null || true  # there is only DEFAULT_TLS_SECRET
  ((unread > 0)) || [[ $kinds == *ConfigMaps* ]] || return
  ((now - looked >= look_seconds))
}

# Whether the doorbell hears when a Secret changes.
is_heard() {
  local pid=''
  { read -r pid <"$STATE_DIR/run/secrets-watch"; } 2>/dev/null && [[ -n $pid && -e /proc/$pid ]]
}

# Only one look at a time: a second one would wait for the first. It is noted before the first one can have ended, which
# rings for the second.
is_looking() {
  local pid='' since=0
  : >"$folder/look-again"
  { read -r pid since <"$folder/looking"; } 2>/dev/null || return
  [[ -n $pid && -e /proc/$pid ]] && ((now - since < 300))
}

# Starts `certificates` beside the passes. A pass that needs to know waits for it, but not for long: a certificate that
# comes late gets a later pass. Until nothing is unread, none waits again: who names a hundred Secrets would hold up
# each pass. The pipe ends when it does; nothing comes. (read's status is above 128 when the time is over.)
look() {
  local beside
  if [[ $how == changed ]]; then
    printf '%s\n' "$now" >"$folder/looked-by-name"
  else
    printf '%s\n' "$now" >"$folder/looked"
  fi
  rm -f "$folder/look-again"
  exec {beside}< <(run_certificates "${how:-all}")
  printf '%s %s\n' "$!" "$now" >"$folder/looking"
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
run_certificates() { # all|changed
  local said status=0
  said=$(nice -n 5 "$bin/certificates" "$folder/last/ingresses.summary" "$1" 2>&1) || status=$?
  if ((status == 0)); then said=''; else said=${said:-certificates ended with status $status}; fi
  [[ -d $folder/error ]] || return 0 # a fetch that was run alone has taken its folder away
  if ((status != 3)); then
    printf '%s' "$said" >"$folder/error/secrets.new"
    mv -T "$folder/error/secrets.new" "$folder/error/secrets"
  fi
  rest_from_look "$1"
}

# A Secret that changes all the time must not keep a CPU busy: after a look by name, there is none for twice as long as
# that took. (What waits for this process goes on when its output is closed.)
rest_from_look() { # all|changed
  local took=0 hundredths
  exec >&-
  if [[ $1 == changed ]]; then
    { read -r took <"$keys/took-by-name"; } 2>/dev/null || true # it has failed
    hundredths=$((took * times_as_long / 3))
    ((hundredths == 0)) || sleep "$((hundredths / 100)).$(printf %02d "$((hundredths % 100))")"
  fi
  rm -f "$folder/looking"
  [[ ! -e $folder/look-again ]] || ring
}
