# quiet - a pass that finds nothing new starts no process
#
# Mostly, nothing has changed. Then all that a pass comes to is that the lists are what they were, byte for byte; so the
# loop itself reads them, over the proxy, and compares them with those that were summarised last. Whatever differs, or
# is in doubt, is for an ordinary pass, which decides as if this had not been tried. (What it costs to start a process
# is most of what such a pass costs.)
#
# next, now, again and rung are the loop's, lists, kinds and in_order of lists.bash, proxy of api.bash
# shellcheck shell=bash disable=SC2154,SC2034

declare -A as_summarised=() # of each list: its items
reading='' guard='' is_remembered='' was_quiet=''
most_quiet_bytes=400000 # of all lists: a megabyte takes bash 60 ms, and the processes of an ordinary pass take 25

# Sets status to 0 if nothing is new; fails otherwise. After a ring, something most likely is. If the last pass found
# nothing new, or held nothing back, the snapshot is the live one: so nothing is new as long as the lists and the
# Secrets are what they were.
nothing_is_new() {
  local step='' folder=$next/lists
  was_quiet=''
  if [[ -z $rung && $status == 0 && -z $again && -n $guard ]] && kill -0 "$guard" 2>/dev/null &&
    read -r step <"$next/step" && [[ $step == fetch || ! -s $next/held ]] && nothing_waits && remember_lists && lists_are_same; then
    : >"$next/log"
    was_quiet=yes
    return
  fi
  is_remembered=''
  return 1
} 2>/dev/null

# What a pass looks at beside the lists: the quarantine, pods that wait, large Ingresses, ports, names of DNS, Secrets.
nothing_waits() {
  local late=$folder/known/ingresses/late
  [[ ! -s $next/quarantine && ! -s $next/added && ! -e $late/items && ! -e $late/over ]] || return
  no_port_is_new && no_name_is_due && no_secret_waits
}

no_port_is_new() {
  local -A wanted=() listening=()
  local now_there master
  [[ -z $has_streams ]] || ports_are_same
}

no_name_is_due() {
  local names=''
  [[ -s $folder/last/outside.summary ]] || return 0
  { read -r _ && read -r names; } <"$folder/outside" || return
  ! names_are_due
}

no_secret_waits() {
  local edition='' listed='' unread='' valid_until='' names_are_new='' how time
  [[ -s $folder/wanted-secrets || -n $DEFAULT_TLS_SECRET ]] || return 0
  read -r edition <"$keys/edition" && read -r listed unread valid_until <"$folder/listed" || return
  TZ=UTC printf -v time '%(%F %TZ)T' -1
  [[ $listed == "$edition" && $time < $valid_until && ! -s $folder/error/secrets ]] || return
  ! look_at_all_is_due && ! something_is_to_be_asked
}

# After an ordinary pass, the lists may be others.
remember_lists() {
  local name bytes=0 items
  [[ -z $is_remembered ]] || return 0
  for name in "${!lists[@]}"; do
    [[ -s $folder/last/$name ]] || return
    mapfile -d '' -t items <"$folder/last/$name"
    as_summarised[$name]=${items[0]}
    bytes=$((bytes + ${#items[0]}))
  done
  ((bytes <= most_quiet_bytes)) || return
  is_remembered=yes
}

# The API server answers all questions at the same time.
lists_are_same() {
  local name connection is_same=yes
  local -A connections=()
  echo begins >&"$reading"
  for name in "${!lists[@]}"; do
    if send_request "${lists[$name]}"; then connections[$name]=$proxy; else is_same=''; fi
  done
  for name in "${!connections[@]}"; do
    connection=${connections[$name]}
    [[ -z $is_same ]] || is_same_list "$name" "$connection" || is_same=''
    exec {connection}<&-
  done
  echo ends >&"$reading"
  [[ -n $is_same ]]
}

is_same_list() { # NAME CONNECTION
  local part='' said=''
  while IFS= read -r -N 65536 part <&"$2"; do said+=$part; done
  said+=$part
  [[ ${said%%$'\r\n'*} == *' 200 '* ]] || return
  said=${said#*$'\r\n\r\n'}
  is_whole_head "${kinds[$1]}List" "${said%%'['*}" && [[ ${said#*'['} == "${as_summarised[$1]}" ]]
}

# A read without a bound of time is quick (with one, each character takes bash two system calls). So a process that
# stays bounds it, by the end of a proxy that hangs.
start_guard() {
  rm -f "$next/reading"
  mkfifo "$next/reading"
  exec {reading}<>"$next/reading"
  guard_reads &
  guard=$!
}

guard_reads() {
  local word
  while read -r word <&"$reading"; do
    [[ $word != begins ]] || read -r -t "$((READ_SECONDS + 1))" word <&"$reading" || end_proxy
  done
}
