# The controller's image: bash, nginx, jq and kubectl from Debian, and this repository's programs.

# Debian 14 (forky) is the first whose nginx closes idle connections only when no request can be on its way
# (keepalive_min_timeout came with nginx 1.27.4); a digest in place of the tag would also stop its security updates.
# The short name "debian" is docker.io/library/debian; in full it means the same to docker, podman and buildah.
FROM docker.io/library/debian:forky-slim

ARG MODULES=""
# One RUN, because a file that a later RUN deletes stays in the layer before it.
# - gettext-base has envsubst, which fills in the templates.
# - libnginx-mod-stream is for TCP and UDP services; nginx loads it only while there are some.
# - MODULES are further packages with modules of nginx, for templates of your own (templates/README.md).
# - --no-install-recommends leaves out what is only often useful together.
# - What apt downloaded and logged helps nobody at run time, and is more than half of the layer.
# - Nothing here may become another user, so no program keeps the bit that would let it (setuid, setgid).
RUN set -eu; \
    apt-get update; \
    echo "gettext-base jq kubectl libnginx-mod-stream nginx openssl $MODULES" | \
        DEBIAN_FRONTEND=noninteractive xargs apt-get install --yes --no-install-recommends; \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/*; \
    find / -xdev -type f -perm /6000 -exec chmod a-s {} +

# After the packages: when only a program changed, the layer above comes from the build cache.
COPY bin/ /opt/bash-ingress/bin/
COPY templates/ /opt/bash-ingress/templates/

# The version of bash-ingress stands here only. The log, /metrics and the image's label show it.
ARG VERSION=0.9.0

# With PATH, `kubectl exec ... -- fetch` runs a single step. HOME is where kubectl looks for its
# files: the root file system is read-only in the pod, and /tmp is not.
# A kubectl here lives for some 50 ms, but for that of proxy, which has a setting of its own. To
# collect garbage in that time was a fifth of its work, so it waits for much memory (GOGC, GOMEMLIMIT).
ENV BASH_INGRESS_VERSION=$VERSION \
    PATH=/opt/bash-ingress/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/tmp \
    GOGC=off \
    GOMEMLIMIT=100MiB
WORKDIR /opt/bash-ingress

# A number, not a name: Kubernetes can check runAsNonRoot only for numbers. No user of Debian's has this one.
USER 65532:65532

# Web, web with TLS, and health and metrics. Ports under 1024 would need a privilege; the Service maps 80 and 443.
EXPOSE 8080 8443 10254

STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/bash-ingress/bin/ingress-controller"]

LABEL org.opencontainers.image.title="bash-ingress" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.description="A Kubernetes Ingress controller in bash, made to be read" \
      org.opencontainers.image.base.name="docker.io/library/debian:forky-slim"
