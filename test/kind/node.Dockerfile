# The base of kind's nodes, after images/base/Dockerfile of kind: Debian with systemd, kind's files, containerd.
FROM scratch
ADD node.tar /
COPY files/ /
COPY bin/ /usr/local/bin/
# The same as kind's: nothing starts but what a node needs.
RUN find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete; \
    rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* \
      /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/sockets.target.wants/*udev* \
      /lib/systemd/system/sockets.target.wants/*initctl* /lib/systemd/system/basic.target.wants/*; \
    echo ReadKMsg=no >>/etc/systemd/journald.conf; \
    systemctl enable kubelet.service containerd.service undo-mount-hacks.service; \
    systemctl mask systemd-binfmt.service; \
    mkdir -p /etc/kubernetes/manifests /opt/cni; \
    ln -s /usr/lib/cni /opt/cni/bin; \
    rm -f /etc/machine-id; \
    ctr oci spec | jq '.hooks.createContainer += [{path: "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' \
      >/etc/containerd/cri-base.json
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]
