# Whether a Service has pods that can answer, as EndpointSlices have it.

# input: {service, port} as `answer` in route.jq says / output: whether a pod of it is ready, or ends and still answers
def has_pods($context):
  .port.name as $name
  | any($context.slices[.service][]?; .ports[$name] and .ready + .ending != []);
