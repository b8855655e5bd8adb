# The annotations that are understood: some of those of ingress-nginx, for a whole Ingress each.
include "allow";
include "kubernetes";

# input: an Ingress / output: the value of an annotation, or null
def annotation($name):
  .metadata.annotations["nginx.ingress.kubernetes.io/\($name)"];

# input: an Ingress / output: text that is another one when it asks for something else, or when it was made anew
#
# Its resourceVersion changes with its status, too. Its generation does not, but nor does it with annotations.
def version:
  if .metadata.generation == null then .metadata.resourceVersion // ""
  else "\(.metadata.uid) \(.metadata.generation)"
    + if .metadata.annotations == null then ""
      else [" \(annotation("ssl-redirect", "force-ssl-redirect", "backend-protocol"))"[:10]] | add
      end
  end;

# input: an Ingress / output: true, false, or null if the annotation is not there or has another value
def flag($name):
  {"true": true, "false": false}[annotation($name) // ""];

# input: an Ingress / output: the protocol that its pods speak: HTTP, HTTPS, GRPC or GRPCS
def backend_protocol:
  annotation("backend-protocol") // "" | ascii_upcase
  | if . == "HTTPS" or . == "GRPC" or . == "GRPCS" then . else "HTTP" end;

# input: an Ingress / output: {host: true, ...}: the hosts of which HTTP clients are sent to HTTPS; "*" for all
#
# force-ssl-redirect says so for all; ssl-redirect for the hosts in spec.tls.
def redirected_hosts($default):
  flag("ssl-redirect") as $wanted
  | if flag("force-ssl-redirect") then {"*": true}
    elif $wanted or ($wanted == null and $default == "on") then
      [.spec.tls[]? | if (.hosts // []) == [] then "*" else .hosts[] end | {(.): true}] | add // {}
    else {}
    end;

# input: an Ingress / output: a refusal for each of these annotations that has an impossible value, and one for all others
# of ingress-nginx: who came from there must know that what they ask for, protection perhaps, is not there
def annotation_refusals:
  def refuse($name; $possible):
    annotation($name) as $value
    | select($value != null)
    | refusal(key; "AnnotationRefused"; "the annotation nginx.ingress.kubernetes.io/\($name) is \($value | quoted), and possible are \($possible)");
  select(.metadata.annotations) # most have none
  | (("ssl-redirect", "force-ssl-redirect") as $name | select(flag($name) == null) | refuse($name; "\"true\" and \"false\"")),
  ( select(annotation("backend-protocol") // "HTTP" | ascii_upcase | IN("HTTP", "HTTPS", "GRPC", "GRPCS") | not)
    | refuse("backend-protocol"; "HTTP, HTTPS, GRPC and GRPCS") ),
  ( key as $key
    | [.metadata.annotations // {} | keys[] | select(startswith("nginx.ingress.kubernetes.io/"))[28:]]
    | . - ["ssl-redirect", "force-ssl-redirect", "backend-protocol"]
    | select(length > 0)
    | refusal($key; "AnnotationNotSupported"; "these annotations of ingress-nginx have no effect here: \(.[:10] | map(quoted) | join(", "))\(if length > 10 then " and others" else "" end)") );
