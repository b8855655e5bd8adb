# A URL that names a Service: by a name that the cluster gives it, or by its cluster address. nginx asks its pods, so
# no name has to be resolved.

# input: {"namespace/name": digest of a Service} / output: {address: "namespace/name"} of their cluster addresses
def service_addresses: [.[] | .service as $service | .addresses[]? | {(.): $service}] | add // {};

# input: the host of a URL / output: "namespace/name" of the Service that it names, or null; $addresses are these
def service_named($addresses):
  $addresses[ltrimstr("[") | rtrimstr("]")]
  // ([capture("\\A(?<name>[a-z0-9-]+)\\.(?<namespace>[a-z0-9-]+)(\\.svc(\\.cluster\\.local\\.?)?)?\\z")]
      | if . == [] then null else .[0] | "\(.namespace)/\(.name)" end);
