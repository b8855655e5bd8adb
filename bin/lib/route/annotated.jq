# What annotations make of the claims (features.jq), and what must stay shut.
include "route/tls"; # redirected_with_tls
include "annotations/features"; # feature_claims

# input: an answered claim / output: the same; pods that do not speak HTTP have an upstream of their own
def with_protocol: if .upstream and .protocol then .upstream += "." + (.protocol | ascii_downcase) else . end;

# input:  the state
# output: the same, with the claims as annotations change them, and those of Ingresses beyond a limit, which are shut
# args:   answer: {service, port} => the same, answered (route.jq)
def as_annotations_say(answer):
  . as $state
  | (.claims | map(with_protocol)
     | redirected_with_tls($state.ours; $state.limits)
     | feature_claims($state; answer | with_protocol)
     | map(.shut // .)) as $claims
  | .claims = ($claims | map(select(.problem | not))) + .shut
  | .problems += [$claims[].problem | values];
