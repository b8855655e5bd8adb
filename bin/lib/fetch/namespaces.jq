# The summary of the namespaces that are being deleted.
#
# input:  the items of a NamespaceList, one on each line (jq -n -R)
# output: a line for each: {terminating: "name"}
include "fetch/items";

each_item("Namespace"; {terminating: .metadata.name})
