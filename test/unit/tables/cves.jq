# What was published against ingress-nginx, each as the Ingress that did the harm there.
#
# input:  a snapshot
# args:   $file: what the Ingresses are after
# output: the snapshot with an Ingress for each, and with .cves: [{cve, ingress, host, reason}]: the problem that each must
#         be. Where that is ProtectionNotAvailable, the Ingress is closed (503); the others' path /good is served.
#
# Two are not here, because there is nothing like what they were against: CVE-2025-1974 and CVE-2026-24514 (the
# admission webhook).

"location /canary { alias \($file); }" as $location
| def conveniences: ["app-root", "cors-allow-origin", "custom-http-errors", "mirror-host", "mirror-target"];
def annotated($name; $value):
  {annotations: {("nginx.ingress.kubernetes.io/\($name)"): $value},
   reason: (if $name | IN(conveniences[]) then "AnnotationRefused" else "ProtectionNotAvailable" end)};
def path($path): {paths: [{$path, pathType: ("ImplementationSpecific", "Exact", "Prefix")}], reason: "PathRefused"};

def cves:
  ("CVE-2020-8553" | {cve: .} + annotated("auth-secret"; "../demo-secret")),
  ("CVE-2021-25742" | {cve: .} + annotated("server-snippet", "configuration-snippet"; $location)),
  ("CVE-2021-25745" | {cve: .} + path("/canary { alias \($file); } location /x")),
  ("CVE-2021-25746" | {cve: .} + annotated("rewrite-target", "app-root", "cors-allow-origin", "secure-verify-ca-secret"; "/; } \($location) location /x {")),
  ("CVE-2021-25748" | {cve: .} + path("/x\n{\n}\n\($location)\nlocation /y")),
  ("CVE-2022-4886" | {cve: .} + path("/canary{alias \($file);log_format x y;}#")),
  ("CVE-2023-5043" | {cve: .} + annotated("configuration-snippet"; "more_set_headers 'x'; } \($location) location /x {")),
  ("CVE-2023-5044" | {cve: .} + annotated("permanent-redirect"; "https://x;}\n\($location)\nlocation /x{#")),
  ("CVE-2024-7646" | {cve: .} + annotated("auth-realm", "auth-signin"; "x\r;}\r\($location)\rlocation /x{#")),
  ("CVE-2025-1097" | {cve: .} + annotated("auth-tls-match-cn"; "CN=x #(\n){}\n}}\nssl_engine \($file);\n\($location)\n#")),
  ("CVE-2025-1098" | {cve: .} + (annotated("mirror-target", "mirror-host"; "http://x/;}\n\($location)\n#"), {uid: "x;\n}\n\($location)\n#", reason: null})),
  ("CVE-2025-15566" | {cve: .} + annotated("auth-proxy-set-headers"; "demo/x;}\n\($location)\n#")),
  ("CVE-2025-24513" | {cve: .} + (annotated("auth-tls-secret", "auth-secret"; "demo/../../..\($file)"), {tls: "../../..\($file)", reason: "SecretRefused"})),
  ("CVE-2025-24514" | {cve: .} + annotated("auth-url"; "http://x/#;\n}\n\($location)\nload_module \($file);#")),
  ("CVE-2026-1580" | {cve: .} + annotated("auth-method"; "GET;\n}\n\($location)\n#")),
  ("CVE-2026-24512" | {cve: .} + path("/x\" {} \($location) location ~* \"^/y")),
  ("CVE-2026-24513" | {cve: .} + annotated("custom-http-errors"; "401,403")),
  ("CVE-2026-3288" | {cve: .} + annotated("rewrite-target"; "/$1\" break; } \($location) location /x { rewrite x \"y")),
  ("CVE-2026-3288" | {cve: .} + path("/x(\"; } \($location) #")),
  ("CVE-2026-4342" | {cve: .} + path("/x#;\n\($location)\n#"));

def apple: {service: {name: "apple", port: {number: 80}}};
[ [cves] | to_entries[] | .value + {host: "cve-\(.key).example", ingress: "demo/cve-\(.key)"} ] as $cves
| .ingresses.items += [ $cves[] | {
    metadata: {namespace: "demo", name: (.ingress[5:]), uid, annotations, creationTimestamp: "2027-01-01T00:00:00Z"},
    spec: {
      ingressClassName: "bash", tls: [.tls | values | {secretName: ., hosts: []}],
      rules: [{host, http: {paths: [{path: "/good", pathType: "Exact", backend: apple}, ((.paths // [])[] | . + {backend: apple})]}}]
    }} ]
| .cves = $cves
