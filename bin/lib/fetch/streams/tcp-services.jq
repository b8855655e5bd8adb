# The summary of the ConfigMap that TCP_SERVICES names (entries.jq says what is in it).
include "fetch/streams/entries"; # summary
include "fetch/items";
include "allow";

summary("TCP"; $ENV.TCP_SERVICES)
