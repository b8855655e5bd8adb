# The annotations that ingress-nginx documents, and what ignoring one would mean.
#
#   protective  restricts who gets in, how, or how often, or may do so (a snippet can hold a `deny`): a path whose
#               Ingress asks for it is closed unless it can be given
#   switch      is protective unless it is switched off: false, or off
#   boolean     is protective unless it is true or false: nobody knows what another value would restrict
#   convenience anything else: what cannot be given is a problem, and the path is served
#
# Source: the table in ingress-nginx's docs/user-guide/nginx-configuration/annotations.md, v1.15.1.

# output: {"name after nginx.ingress.kubernetes.io/": its class, ...}
def documented_annotations:
  def each_is($class): split(" +|\n"; null) | map(select(. != "") | {(.): $class}) | add;
  ( "allowlist-source-range denylist-source-range whitelist-source-range satisfy custom-headers
     auth-always-set-cookie auth-cache-duration auth-cache-key auth-keepalive auth-keepalive-requests auth-keepalive-share-vars
     auth-keepalive-timeout auth-method auth-proxy-set-headers auth-realm auth-request-redirect auth-response-headers auth-secret
     auth-secret-type auth-signin auth-signin-redirect-param auth-type auth-url
     auth-tls-error-page auth-tls-match-cn auth-tls-pass-certificate-to-upstream auth-tls-secret auth-tls-verify-depth
     auth-snippet configuration-snippet modsecurity-snippet server-snippet stream-snippet
     global-rate-limit global-rate-limit-header-only global-rate-limit-ignored-cidrs global-rate-limit-key global-rate-limit-window
     limit-allowlist limit-burst-multiplier limit-connections limit-rate limit-rate-after limit-rpm limit-rps limit-whitelist
     modsecurity-transaction-id" | each_is("protective") )
  + ( "force-ssl-redirect ssl-redirect" | each_is("boolean") )
  + ( "auth-tls-verify-client enable-global-auth enable-modsecurity enable-owasp-core-rules enable-owasp-modsecurity-crs
       proxy-ssl-verify ssl-passthrough" | each_is("switch") )
  + ( "affinity affinity-canary-behavior affinity-mode app-root backend-protocol
       canary canary-by-cookie canary-by-header canary-by-header-pattern canary-by-header-value canary-weight canary-weight-total
       client-body-buffer-size connection-proxy-header
       cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin cors-expose-headers cors-max-age enable-cors
       custom-http-errors default-backend disable-proxy-intercept-errors enable-access-log enable-opentelemetry enable-opentracing
       enable-rewrite-log fastcgi-index fastcgi-params-configmap from-to-www-redirect http2-push-preload load-balance
       mirror-host mirror-request-body mirror-target opentelemetry-operation-name opentelemetry-trust-incoming-span
       opentracing-trust-incoming-span permanent-redirect permanent-redirect-code preserve-trailing-slash
       proxy-body-size proxy-buffer-size proxy-buffering proxy-buffers-number proxy-busy-buffers-size proxy-connect-timeout
       proxy-cookie-domain proxy-cookie-path proxy-http-version proxy-max-temp-file-size proxy-next-upstream
       proxy-next-upstream-timeout proxy-next-upstream-tries proxy-read-timeout proxy-redirect-from proxy-redirect-to
       proxy-request-buffering proxy-send-timeout proxy-ssl-ciphers proxy-ssl-name proxy-ssl-protocols proxy-ssl-secret
       proxy-ssl-server-name proxy-ssl-verify-depth relative-redirects rewrite-target server-alias
       service-upstream session-cookie-change-on-failure session-cookie-conditional-samesite-none session-cookie-domain
       session-cookie-expires session-cookie-hash session-cookie-max-age session-cookie-name session-cookie-path
       session-cookie-samesite session-cookie-secure ssl-ciphers ssl-prefer-server-ciphers temporal-redirect
       temporal-redirect-code upstream-hash-by upstream-hash-by-subset upstream-hash-by-subset-size upstream-vhost
       use-port-in-redirects use-regex x-forwarded-prefix" | each_is("convenience") );

# input: the name of an annotation after the prefix / output: its class; $documented is what documented_annotations says
#
# A name that is not documented may be a typo: "whitelist-source-ranges" asks for protection all the same.
def annotation_class($documented):
  ascii_downcase
  | $documented[.]
    // (if test("auth|allow|deny|white|black|limit|tls|secur|secret|waf|snippet|modsec|owasp") then "protective" else "convenience" end);
