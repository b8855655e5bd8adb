# The components' keys, certificates and configuration files, new at each `up`.

configure_components() {
  say 'making certificates and configuration'
  make_certificates
  render_configs
  make_admin_kubeconfig
}

# The subject is who the API server takes the holder for: CN is the user, O a group, and RBAC knows these by name.
make_certificates() {
  make_authority
  make_certificate kube-apiserver /CN=kube-apiserver \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:$(node_address),IP:${SERVICE_SUBNET%.*}.1"
  make_certificate kube-apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  make_certificate admin /O=system:masters/CN=admin
  make_certificate kube-controller-manager /CN=system:kube-controller-manager
  make_certificate kube-scheduler /CN=system:kube-scheduler
  make_certificate kube-proxy /CN=system:kube-proxy
  make_certificate kubelet "/O=system:nodes/CN=system:node:$NODE_NAME" "DNS:$NODE_NAME,IP:$(node_address)"
  make_service_account_key
}

make_authority() {
  new_certificate ca /CN=bash-ingress-ca -addext basicConstraints=critical,CA:TRUE
}

make_certificate() { # NAME SUBJECT [ALTERNATIVE_NAMES]
  local pki="$STATE/run/pki"
  new_certificate "$1" "$2" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -addext basicConstraints=critical,CA:FALSE \
    ${3:+-addext "subjectAltName=$3"}
}

new_certificate() { # NAME SUBJECT OPENSSL_ARGUMENT...
  local file="$STATE/run/pki/$1"
  (umask 077 && openssl req -x509 -config "$HERE/config/openssl.cnf" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc \
    -days 365 -keyout "$file.key" -out "$file.crt" -subj "$2" "${@:3}" 2>"$file.log") ||
    die 1 "openssl could not make the certificate $1: $(<"$file.log")"
}

# Signs the tokens that pods show to the API server.
make_service_account_key() {
  local file="$STATE/run/pki/service-account"
  (umask 077 && openssl ecparam -name prime256v1 -genkey -noout -out "$file.key")
  openssl ec -in "$file.key" -pubout -out "$file.pub" 2>"$file.log"
}

render_configs() {
  local template user
  for template in "$HERE"/config/*.flags "$HERE"/config/{kubelet.yaml,kube-proxy.yaml,containerd.toml}; do
    render "$template" >"$STATE/run/config/${template##*/}"
  done
  render "$HERE/config/cni.conflist" >"$STATE/run/config/cni/pods.conflist"
  for user in kube-controller-manager kube-scheduler kubelet kube-proxy; do
    USER_NAME="$user" PKI=/run/pki render "$HERE/config/kubeconfig.yaml" >"$STATE/run/config/$user.kubeconfig"
  done
  printf 'nameserver %s\n' "$DNS_ADDRESS" >"$STATE/run/config/resolv.conf"
}

# One file with everything in it, for whoever wants to copy it elsewhere.
make_admin_kubeconfig() {
  local linked="$STATE/run/config/admin.kubeconfig"
  USER_NAME=admin PKI="$STATE/run/pki" render "$HERE/config/kubeconfig.yaml" >"$linked"
  (umask 077 && "$(cache_entry kubectl)/kubectl" --kubeconfig "$linked" config view --raw --flatten >"$STATE/kubeconfig")
}

render() { # TEMPLATE
  # shellcheck disable=SC2016 # envsubst wants the names, not the values
  local names='$NODE_NAME $NODE_ADDRESS $POD_SUBNET $SERVICE_SUBNET $DNS_ADDRESS $CGROUP_PATH $PAUSE_IMAGE $CNI_PLUGINS $USER_NAME $PKI'
  export NODE_NAME POD_SUBNET SERVICE_SUBNET DNS_ADDRESS CGROUP_PATH PAUSE_IMAGE CNI_PLUGINS
  NODE_ADDRESS="$(node_address)" envsubst "$names" <"$1"
}
