# The summary of the ConfigMap that UDP_SERVICES names (entries.jq says what is in it).
include "fetch/streams/entries"; # summary
include "fetch/items";
include "allow";

summary("UDP"; $ENV.UDP_SERVICES)
