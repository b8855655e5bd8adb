# The files of the features, and what they include. It has no function: it is only for jq 1.8.2, which crashes unless
# the files that another one includes are loaded before that one, and it loads what is included last first.
import "features/access" as access;
import "features/affinity" as affinity;
import "features/balancing" as balancing;
import "features/canary" as canary;
import "features/directives" as directives;
import "features/mirror" as mirror;
include "networks";
include "quoting";
include "allow";
