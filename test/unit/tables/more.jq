# Annotations that examples.json has no value for, for random Ingresses.

# Those that take a Secret, a ConfigMap or another Ingress, and those that meet others in a map of nginx.
def more:
  {"auth-type": "basic", "auth-secret": "users"},
  {"auth-type": "basic", "auth-secret": "users", "auth-secret-type": "auth-map", satisfy: "any", "allowlist-source-range": "10.0.0.0/8"},
  {"auth-tls-secret": "ca"},
  {"auth-tls-secret": "ca", "auth-tls-verify-client": "optional", "auth-tls-pass-certificate-to-upstream": "true"},
  {"auth-tls-secret": "ca", "auth-tls-match-cn": "CN=a", "auth-tls-error-page": "https://errors.example/"},
  {canary: "true", "canary-weight": "50"},
  {canary: "true", "canary-by-header": "X-Canary", "canary-by-header-pattern": "a.*b"},
  {canary: "true", "canary-by-cookie": "canary", "affinity-canary-behavior": "legacy"},
  {affinity: "cookie"},
  {affinity: "cookie", "affinity-mode": "persistent"},
  {"custom-headers": "headers"},
  {"auth-url": "http://apple.demo.svc/", "auth-proxy-set-headers": "headers"},
  {"auth-url": "https://$host/oauth2/auth", "auth-response-headers": "Authorization, X-User", "auth-signin": "https://$host/in"},
  {"backend-protocol": "HTTPS", "proxy-ssl-secret": "ca", "proxy-ssl-verify": "on"},
  {"backend-protocol": "GRPCS", "proxy-ssl-secret": "pair"},
  {"backend-protocol": "GRPC"},
  {"default-backend": "banana", "custom-http-errors": "401,404,503"},
  {"x-forwarded-prefix": "/x"},
  {"ssl-passthrough": "true"},
  {"ssl-passthrough": "true", "whitelist-source-range": "127.0.0.0/8"},
  {"use-regex": "true", "rewrite-target": "/$1"};
