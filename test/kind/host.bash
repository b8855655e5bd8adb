# What dockerd and a node could leave on the machine.

# prints: mounts, rules, devices, settings, and the processes that a container program has. Embedded clusters (bi-...)
# come and go by themselves, and a few numbers change all the time.
host_state() {
  mount | sort
  { iptables-save && ip6tables-save; } | grep -E '^-A|^:FORWARD DROP|DOCKER' || true # there may be none
  ip -o link | awk '{ print $2 }' | grep -v '^bi-' | sort
  sysctl -a --pattern '^(net|vm\.overcommit|kernel\.panic|kernel\.keys|fs\.protected)' 2>/dev/null |
    grep -vE '\.bi-|nf_conntrack|net\.bridge|_count|\.stable_secret' | sort
  ps -eo comm= | grep -E '^(dockerd|docker-proxy|containerd|kubelet)$' | wc -l
  find /sys/fs/cgroup -maxdepth 2 -name 'bash-ingress-kind*' -o -maxdepth 2 -name docker
  find /var/lib/bash-ingress -maxdepth 1 -name kind 2>/dev/null || true # the folder may not be there
}
