# What the annotations of an Ingress ask for. They are ingress-nginx's, and each is for a whole Ingress.
#
# Some ask for protection. What cannot be given closes the Ingress: its paths answer 503, because to serve
# them without it would open to everybody what was meant for a few. So each annotation has a class:
#
#   protective  restricts who gets in, how, or how often, or may do so (a snippet can hold a `deny`)
#   switch      is protective unless it is switched off: false, or off
#   boolean     is protective unless it is true or false: nobody knows what another value would restrict
#   convenience anything else: what cannot be given is a problem, and the path is served
#
# ingress-nginx.json has the class of each that ingress-nginx documents (docs/user-guide/nginx-configuration/annotations.md,
# v1.15.1). It is data and not a program, because jq reads data much faster. (jq 1.6 wants `import` after `include`.)
include "allow";
include "networks";
import "ingress-nginx" as $documented;

def prefix: "nginx.ingress.kubernetes.io/";

# input: an Ingress / output: the value of an annotation, or null
def annotation($name):
  .metadata.annotations[prefix + $name];

# input: an Ingress / output: the names of its annotations after the prefix
def annotation_names:
  [.metadata.annotations // {} | keys[] | select(startswith(prefix))[prefix | length:]];

# input: an Ingress / output: true, false, or null if the annotation is not there or is neither (as Go's strconv.ParseBool)
def flag($name):
  {"1": true, "t": true, "T": true, "true": true, "True": true, "TRUE": true,
   "0": false, "f": false, "F": false, "false": false, "False": false, "FALSE": false}[annotation($name) | strings // ""];

# input: an Ingress / output: the protocol that its pods speak, HTTPS, GRPC or GRPCS; null for HTTP
def backend_protocol:
  annotation("backend-protocol") | strings // "" | ascii_upcase
  | if . == "HTTPS" or . == "GRPC" or . == "GRPCS" then . else null end;

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

# input: a host / output: whether it is one of those that redirected_hosts names
def is_redirected($redirected):
  $redirected != {} and ($redirected["*"] or $redirected[.] or $redirected[as_wildcard]);

def sharing: "bash-ingress.local/share-host-with";

# input: an Ingress / output: [namespace, ...] that may have rules for its hosts, "*" for all; null if it does not say (ownership.jq)
def shared_with:
  .metadata.annotations[sharing]
  | if type == "string" then [split(",")[:100][] | .[:300] | gsub("\\s+"; "")] else null end;

# --- protection

# input: the name of an annotation after the prefix / output: its class
#
# A name that is not documented may be a typo: "whitelist-source-ranges" asks for protection all the same.
def class:
  ascii_downcase
  | $documented[0][.]
    // (if test("auth|allow|deny|white|black|limit|tls|secur|secret|waf|snippet|modsec|owasp") then "protective" else "convenience" end);

# input: an Ingress / output: the names of its annotations that ask for protection
def protections:
  annotation_names[] as $name
  | ($name | class) as $class
  | select($class == "protective"
      or $class == "switch" and flag($name) != false and annotation($name) != "off"
      or $class == "boolean" and flag($name) == null)
  | $name;

# Two names for one list.
def allowlists: ["allowlist-source-range", "whitelist-source-range"];

# input: an Ingress / output: why the protection that this annotation asks for cannot be given; nothing if it can
def obstacle($name):
  annotation($name) as $value
  | if $name | IN(allowlists[], "denylist-source-range") then
      if $value | strings | split(",") | length > 1000 then
          "\($name) has more than 1,000 networks"
        elif first(($value | networks), null) == null then
          "\($name) is \($value | quoted), and possible are addresses and networks with commas between"
        elif $name == allowlists[0] and (annotation(allowlists[1]) | . != null and . != $value) then
          "\(allowlists | join(" and ")) are two names for one list, but they differ"
        else empty
        end
    elif $name | IN("force-ssl-redirect", "ssl-redirect") then
      "\($name) is \($value | quoted), and possible are true and false"
    else
      "\($name | quoted) is not supported"
    end;

# input: an Ingress / output: the protection that it asks for: null if it asks for none, else
# {names: [of its annotations], and allow: [network, ...] and deny: [network, ...] or null, or closed: why it is}
def protection:
  [protections] as $names
  | [$names[] as $name | obstacle($name)] as $obstacles
  | if $names == [] then null
    elif $obstacles != [] then
      {names: $names[:10], closed: "closed, because its protection is not available here: \($obstacles[:5] | join("; "))\(if $obstacles | length > 5 then "; and more" else "" end)"}
    else
      {names: $names[:10], allow: first((annotation(allowlists[]) | networks), null), deny: first((annotation("denylist-source-range") | networks), null)}
    end;

# --- problems

def supported_conveniences: ["backend-protocol"];

# input: an Ingress / output: a problem {reason, message} for what is not as its annotations say: if it is closed, and for
# each convenience that it does not get
def annotation_problems($closed):
  select(.metadata.annotations) # most have none
  | ($closed | values | {reason: "ProtectionNotAvailable", message: .}),
    ( annotation("backend-protocol") | values
      | select(strings // "" | ascii_upcase | IN("HTTP", "HTTPS", "GRPC", "GRPCS") | not)
      | {reason: "AnnotationRefused", message: "the annotation \(prefix)backend-protocol is \(quoted), and possible are HTTP, HTTPS, GRPC and GRPCS"} ),
    ( shared_with // [] | map(select(. != "*" and (is_name | not)))[:1][]
      | {reason: "AnnotationRefused", message: "the annotation \(sharing) has \(quoted), and possible are names of namespaces with commas between, or *"} ),
    ( [annotation_names[] | select(class == "convenience")] - supported_conveniences
      | select(length > 0)
      | {reason: "AnnotationNotSupported", message: "these annotations of ingress-nginx have no effect here: \(.[:10] | map(quoted) | join(", "))\(if length > 10 then " and others" else "" end)"} );
