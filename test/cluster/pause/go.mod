module bash-ingress.local/test/cluster/pause

go 1.26.0
