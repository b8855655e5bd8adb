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

# input: [answered claim] / output: the same; those that want another balancing have upstreams of their own
#
# Names of upstreams do not differ by upper and lower case, so all but small letters are written as their numbers.
def claims($context):
  map(
    if .upstream and .options and (.balance | not) then
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
