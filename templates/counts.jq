# Numbers for /metrics.
# input: a routing model / output: "INGRESSES PROBLEMS REFUSED", the last being the Ingresses that nginx refuses
(.objects // {} | keys | map(select(startswith("Ingress "))) | length) as $served
| (.problems // [] | map(select(.reason == "RefusedByNginx")) | length) as $refused
| "\($served + $refused) \(.problems // [] | length) \($refused)"
