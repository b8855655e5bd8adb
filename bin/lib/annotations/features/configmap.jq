# Keys of the ConfigMap that CONFIGMAP names (lib/annotations/configmap), those that are neither a setting, nor a
# directive, nor the default of an annotation: block-cidrs, block-user-agents, block-referers, hide-headers,
# add-headers, http-redirect-code, no-tls-redirect-locations, no-auth-locations, upstream-keepalive-*.
#
# And where a key that protects has a wrong value, and no last good one, all is closed here.
include "annotations/claims";
include "quoting";

# input: an answered claim / output: the same, closed, and without all that annotations have added
def closed_for_all($why):
  if .problem or .pathType == "Refused" or (.upstream or .status or .moves | not) then .
  else
    {of, host, path, pathType, weighed, created, protections, share, only_challenges, redirect,
     status: 503, reason: "ProtectionNotAvailable", message: $why}
    | with_entries(select(.value != null or .key == "of"))
  end;

# input: [answered claim] / output: the same; .free_of_login for those that global-auth-url does not count for
def claims($context; answer):
  $context.configured as {$closed, $parts}
  | if $closed then map(closed_for_all($closed))
    elif ($parts.no_auth // []) == [] then .
    else
      map(. as $claim
        | when(annotations($context.options)["auth-url-by-default"] and any($parts.no_auth[]; . as $start | $claim.path | startswith($start));
            .free_of_login = true))
    end;

# --- blocked requests

# input: {name: what keys come to} / output: lines for the http block: $blocked is empty, or tells what is blocked
def block_lines:
  (select(.blocked_networks)
   | "  geo $blocked_network {", "    default \"\";", (.blocked_networks[] | "    \(.) 1;"), "  }"),
  (select(.blocked_agents) | map_lines("$http_user_agent"; "$blocked_agent"; "default \"\";", "\(.blocked_agents[]) 1;")),
  (select(.blocked_referers) | map_lines("$http_referer"; "$blocked_referer"; "default \"\";", "\(.blocked_referers[]) 1;")),
  ([ (select(.blocked_networks) | "$blocked_network"), (select(.blocked_agents) | "$blocked_agent"),
     (select(.blocked_referers) | "$blocked_referer") ]
   | map_lines("\"\(add)\""; "$blocked"; "\"\" \"\";", "default 1;"));

# --- the model

# input: model / output: the same
def model:
  (.configured.parts // {}) as $parts
  | when($parts.blocked_networks or $parts.blocked_agents or $parts.blocked_referers;
      .lines += [$parts | block_lines, ""]
      | .servers |= map(.lines = ["    if ($blocked) { return 403 \"This is not allowed.\\n\"; }"] + (.lines // [])))
  | (($parts.hidden // []) + ($parts.added // {} | keys) | unique_by(ascii_downcase)) as $hidden
  | when($hidden != [];
      .lines += [
        ($hidden[] | "  proxy_hide_header \(.); grpc_hide_header \(.);"),
        ($parts.added // {} | to_entries[] | "  add_header \(.key) \"\(.value)\" always;") ]
      | each_location(when(.answer_headers; .hidden = $hidden)))
  | when($parts.redirect_code; each_location(when(.redirect; .redirect_code = $parts.redirect_code)))
  | when($parts.no_redirect;
      each_location(. as $location
        | when(.redirect and any($parts.no_redirect[]; . as $start | $location.path | startswith($start)); del(.redirect))))
  | when($parts.kept_connections;
      $parts.kept_connections as $kept
      | .upstreams |= map(
          .connections = $kept.connections | .idle_seconds = $kept.timeout
          | .lines += [$kept.lines[] | "    \(.)"]
          | when(any(.lines[]; . == "    keepalive_requests 1;");
              .lines |= map(select(startswith("    keepalive_requests") | not)) + ["    keepalive_requests 1;"])));

# input: a location / output: its directives. (With others of their kind, those of the http block do not count there.)
def location: kind as $kind | .hidden // empty | map("\($kind)_hide_header \(.); ") | add;
