# upstream-hash-by, load-balance, service-upstream: which of a Service's pods gets a request.
#
# upstream-hash-by sends all requests for which a text is the same, such as "$request_uri", to one pod; when a pod goes or
# comes, only its share moves. load-balance: ewma is nginx's nearest to it, the pod with the fewest open requests.
# service-upstream: true asks for the Service's own address instead of those of its pods. Here requests always go to the
# pods, as kube-proxy's would, so it changes nothing. With affinity, these do not count.

# input: {annotation: value} / output: what the upstream needs for it, or null
#
# ${request_uri} and $request_uri are the same.
def wanted:
  if .["upstream-hash-by"] then {hash: .["upstream-hash-by"] | gsub("\\$(?<name>[a-z]\\w*)"; "${\(.name)}")}
  elif .["load-balance"] == "ewma" then {method: "least_conn"}
  else null
  end;

# How many headers, cookies and arguments upstream-hash-by of one namespace may read. Each is a variable of nginx, which
# compares each with all others when it reads its configuration: with 60,000 that took it 50 s.
def most_read: 20;

# input: {annotation: value} / output: the headers, cookies and arguments that it reads
def read: .["upstream-hash-by"] // "" | [scan("(?:http|cookie|arg)_[a-z0-9_]+")] | unique;

def namespace: .ingress | split("/")[0];

# input: [answered claim, the oldest Ingress first] / output: {"namespace": {name: true, ...}}: the first that are read
def first_read($read):
  reduce (.[] | select(.options and .upstream and $read[.options - 1] != [])) as $claim ({};
    ($claim | namespace) as $of
    | reduce $read[$claim.options - 1][] as $name (.; if .[$of] | length < most_read then .[$of][$name] = true else . end));

# input: [answered claim] / output: the same; those that want another balancing have upstreams of their own
#
# Names of upstreams do not differ by upper and lower case, so all but small letters are written as their numbers.
def claims($context):
  [$context.options[] | read] as $read
  | first_read($read) as $possible
  | def is_too_much: .upstream and .options and (namespace as $of | any($read[.options - 1][]; $possible[$of][.] | not));
  . + [ [.[] | select(is_too_much).ingress] | unique[]
      | {problem: {ingress: ., reason: "LimitExceeded",
          message: "upstream-hash-by has no effect: those of its namespace read more than \(most_read) different headers, cookies and arguments"}} ]
  | map(
    if .upstream and .options and (.balance | not) and (is_too_much | not) then
      ($context.options[.options - 1] | wanted) as $wanted
      | if $wanted.hash then .upstream += ".hash-\($wanted.hash | gsub("(?<sign>[^a-z0-9_])"; "-\(.sign | explode[0])-"))" | .balance = $wanted
        elif $wanted then .upstream += ".least-conn" | .balance = $wanted
        else .
        end
    else . end);

# input: model / output: the same with the directives of these upstreams; the type of upstream-hash-by lets in nothing that needs quoting
def model:
  .upstreams |= map(
    if .balance.hash then .lines += ["    hash \"\(.balance.hash)\" consistent;"]
    elif .balance.method then .lines += ["    \(.balance.method);"]
    else .
    end);
