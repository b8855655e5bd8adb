# fetch - the words of fetch that are for more than the mechanism, and the files that have them
#
# shellcheck shell=bash

source "$bin/lib/fetch/lists.bash"           # use_folder, keep, note_classes, within_cidrs: what is kept for the next fetch
source "$bin/lib/fetch/transport.bash"       # in_time, ask_for_all, take_short_list, beside, wait_for_all: all at once
source "$bin/lib/fetch/known-items.bash"     # only_new_items: of a long list, only what is new is summarised
source "$bin/lib/secrets/secrets.bash"       # summarise_secrets: what `certificates` knows
source "$bin/lib/fetch/streams/ports.bash"   # find_unbound_ports: on which ports of TCP and UDP services nobody can listen
source "$bin/lib/fetch/outside/outside.bash" # summarise_outside: where ExternalName Services lead

# What is in no list.
summarise_what_is_beside() {
  summarise_secrets
  summarise_outside
  [[ -z $has_streams ]] || find_unbound_ports
}
