# What the files that route.jq includes include themselves. It has no function: jq 1.8.2 has to load them before these
# (bin/README.md, "jq in short").
include "route/tls";
include "route/tcp-udp";
include "route/endpoints";
include "route/limits";
include "route/shut";
include "route/unserved";
include "route/ownership";
include "route/reachable";
include "annotations/features";
include "limits";
include "annotations/feature-files";
