# A table's rules as Ingresses, in place of those of a snapshot.
#
# input:  a snapshot
# args:   $rows: lines of columns with tabs between: NUMBER, INGRESS; INGRESS; ..., REQUEST
# output: the snapshot with the Ingresses of all rows, the oldest first
#
#   INGRESS  [NAMESPACE/NAME[@YEAR][+NAMESPACE,...]: ]RULE RULE ...   its year of creation; with whom it shares its hosts
#   RULE     [TYPE:][HOST][/PATH]=BACKEND             Prefix:/ unless given
#            default=BACKEND
#   BACKEND  SERVICE, or "resource" for one that is no Service
#
# So that rows do not meet, ".row-NUMBER" is added to hosts and "-row-NUMBER" to
# names; in a row whose request names no host, that is the host of the rules. A row
# with "-" for a number is as it is.

# input: text / output: a backend
def backend:
  if . == "resource" then {resource: {apiGroup: "example.com", kind: "Bucket", name: "files"}}
  else {service: {name: ., port: (if . == "banana" then {name: "web"} else {number: 80} end)}}
  end;

# input: RULE / output: an IngressRule
def rule($suffix; $anyhost):
  capture("\\A((?<type>[A-Z][A-Za-z]+):)?(?<host>[^/=]*)(?<path>/[^=]*)?=(?<backend>.+)\\z")
  | {pathType: (.type // "Prefix"), backend: (.backend | backend)} as $path
  | (if .host == "" then $anyhost else "\(.host).\($suffix)" | rtrimstr(".") end) as $host
  | (if $host == "" then {} else {host: $host} end)
  + {http: {paths: [$path + if .path then {path} elif .type then {} else {path: "/"} end]}};

# input: INGRESS / output: an Ingress
def ingress($suffix; $anyhost; $number):
  capture("\\A((?<namespace>[a-z]+)/(?<name>[a-z]+)(@(?<year>[0-9]+))?([+](?<share>[^: ]+))?: )?(?<rules>.*)\\z")
  | [.rules | split(" ")[] | select(. != "")] as $rules
  | {
      metadata: {
        namespace: (.namespace // "demo"),
        name: ("\(.name // "ingress-\($number)")-\($suffix)" | rtrimstr("-")),
        creationTimestamp: "\(.year // 2001 + $number)-01-01T00:00:00Z",
        annotations: (if .share then {"bash-ingress.local/share-host-with": .share} else {} end)
      },
      spec: {
        ingressClassName: "bash",
        defaultBackend: ($rules | map(select(startswith("default="))[8:] | backend)[0]),
        rules: ($rules | map(select(startswith("default=") | not) | rule($suffix; $anyhost)))
      }
    };

.ingresses.items = [
  $rows | split("\n")[] | select(. != "") | split("\t") as [$number, $ingresses, $request]
  | (if $number == "-" then "" else "row-\($number)" end) as $suffix
  | (if $request | startswith("/") then $suffix else "" end) as $anyhost
  | $ingresses | split("; ") | range(length) as $i
  | .[$i] | ingress($suffix; $anyhost; $i)
]
