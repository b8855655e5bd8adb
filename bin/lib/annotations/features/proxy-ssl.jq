# proxy-ssl-secret, -verify, -verify-depth, -name, -server-name, -protocols, -ciphers: how nginx speaks TLS with pods,
# for backend-protocol HTTPS, AUTO_HTTP and GRPCS.
#
# nginx sends a request through any idle connection that it has to a pod, and then verifies nothing. So Ingresses with
# other options have upstreams of their own, each with its own connections; and with AUTO_HTTP, which speaks TLS with
# the pods if the client does, there are two of each, the one for TLS with .https at the end of its name ($of_scheme).
include "annotations/claims";
include "secrets/named";
include "quoting";

# input:  {annotation: value}
# output: what these annotations need: {authority: FILE, certificate: FILE}; or {closed: why}
#
# As for ingress-nginx, nothing is verified unless proxy-ssl-verify says so.
def files($of; $context):
  (.["proxy-ssl-verify"] == "on") as $verify
  | .["proxy-ssl-secret"] as $name
  | if $name == null and $verify then
      {closed: "proxy-ssl-verify needs proxy-ssl-secret, the Secret with the authority in its ca.crt"}
    elif $name == null then {}
    else
      ($name | secret("ca"; $of; $context)) as $authority
      | ($name | secret("pair"; $of; $context)) as $pair
      | if $authority.reason
          and ($verify or $authority.reason != "AuthorityMissing" or ($authority.pair | not)) then
          {closed: $authority.message}
        elif $authority.pair and $pair.reason then {closed: $pair.message}
        else
          (if $verify then {authority: $authority.file} else {} end)
          + (if $authority.pair then {certificate: $pair.file} else {} end)
        end
    end;

# input:  [answered claim]
# output: the same; .tls says which files, and .tls_name which name, its pods' connections need
def claims($context; answer):
  map(
    annotations($context.options) as $set
    | when(.upstream and any($set | keys[]; startswith("proxy-ssl-"));
        own_namespace as $of
        | ($set | files($of; $context)) as $files
        | if $files.closed then closed($files.closed)
          elif speaks_tls then
            .upstream += ".tls-\(.options)"
            | .tls = $files
            | when($set["proxy-ssl-name"]; .tls_name = $set["proxy-ssl-name"])
          else
            when($set["proxy-ssl-verify"] == "on";
              closed("proxy-ssl-verify is on, and nothing is verified without TLS: backend-protocol must be HTTPS, AUTO_HTTP or GRPCS"))
          end));

# input:  [answered claim]
# output: the same; those with AUTO_HTTP have upstreams for TLS, too, also for what else they have (canaries)
def upstreams($context; answer):
  map(when(.protocol == "AUTO_HTTP" and .upstream;
    .also += [{service, port, port_name, upstream, balance}, .also[]? | .upstream += ".https"]));

# input: model / output: the same with the end of the names of these upstreams, by what the client speaks
def model:
  .lines += [
    select(any(.servers[].locations[]; .protocol == "AUTO_HTTP"))
    | map_lines("$scheme"; "$of_scheme"; "https .https;", "default \"\";"), "" ];

# input: a location / output: its directives
def location:
  select(.tls)
  | (if .protocol == "GRPCS" then "grpc_ssl_" else "proxy_ssl_" end) as $prefix
  | .set as $set
  | def file: "\($ENV.STATE_DIR)/keys/\(.)" | in_quotes;
    (.tls.authority // empty
     | "trusted_certificate \(file)",
       (select(has_revocations) | "crl \(file)"),
       "verify on",
       "verify_depth \($set["proxy-ssl-verify-depth"] // 1)"),
    (.tls.certificate // empty | "certificate \(file)", "certificate_key \(file)"),
    ($set["proxy-ssl-server-name"] // empty | "server_name \(.)"),
    ($set["proxy-ssl-protocols"] // empty | "protocols \(split(" ") | map(select(. != "")) | unique | join(" "))"),
    ($set["proxy-ssl-ciphers"] // empty | "ciphers \(in_quotes)")
  | "\($prefix)\(.); ";
