# cidrs - ENDPOINT_CIDRS, for fetch: which addresses are served
#
# shellcheck shell=bash

# To read the program that compares networks takes 3 ms: so it only runs if there are any.
digest_within_cidrs() { # NAME
  if [[ $1 == endpointslices && -n $ENDPOINT_CIDRS ]]; then
    digest "$1" | run_jq -n -c -f "$bin/lib/fetch/cidrs.jq" --arg cidrs "$ENDPOINT_CIDRS"
  else
    digest "$1"
  fi
}
