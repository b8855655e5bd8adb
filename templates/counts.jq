# Numbers for /metrics.
# input: a routing model / output: "INGRESSES PROBLEMS"
"\(.objects // {} | keys | map(select(startswith("Ingress "))) | length) \(.problems // [] | length)"
