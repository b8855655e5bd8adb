# What ingress.jq includes. It has no function: it is only for jq 1.8.2 ("jq in short" in bin/README.md).
include "annotations";
include "annotations/expressions";
include "limits";
include "networks";
include "allow";
