module bash-ingress/test/api-proxy

go 1.25
