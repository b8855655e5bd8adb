# auth-signin, auth-signin-redirect-param: where clients go that are not signed in, with the URL that they asked for.
include "annotations/claims";
include "quoting";

# input:  an auth-signin with its parameter, {auth-signin, auth-signin-redirect-param}
# output: the URL for the client, for nginx
def sign_in_page:
  .["auth-signin"] as $url
  | (.["auth-signin-redirect-param"] // "rd") as $parameter
  | (if $url | startswith("/") then "$scheme://$forwarded_host" else "" end) + $url
    + if any($url | split("?")[1:] | join("?") | split("&")[];
          startswith($parameter + "=") and length > ($parameter | length) + 1) then ""
      else
        (if $url | contains("?") then "&" else "?" end)
        + $parameter + "=$scheme://$forwarded_host$escaped_request_uri"
      end
  | in_quotes_with_variables;

# output: maps that encode the path and query of a request: "/a?b=c" => "%2Fa%3Fb%3Dc", as $escaped_request_uri
#
# nginx has no function for that, but a map can put together what a regular expression has found. A map cannot look up a
# code for each character, so it searches a text in which the codes stand already: the request, a space, and a table
# "!%21#%23..." of all characters with their codes. For each special character in the request, the expression looks
# ahead into the table, finds it there once more (\k<...>), and takes the code that follows it.
#
# One map does so for up to 16 special characters, because nginx takes no longer text than that needs, and 16 maps
# follow each other. Each passes on "what is done", a space, and "the rest"; a URL has no space itself:
#
#   " /a?b=c"            what $uri_after_1 is made of: nothing is done yet
#   "%2Fa%3Fb%3Dc "      $uri_after_1: no rest
#
# So if there is a rest after the last map, the URL has too many of them, and $escaped_request_uri stays empty.
# ("$" cannot stand in the table. It means nothing in a query, so it stays as it is. ++, *+ and ?+ never go back, so
# that the time grows with the length of the URL alone.)
def encoding:
  16 as $maps
  | "[A-Za-z0-9._~$\\x80-\\xff-]" as $plain
  | "[^A-Za-z0-9._~$\\x80-\\xff -]" as $special
  | ( "!\"#%&'()*+,/:;<=>?@[\\]^`{|}"
      | [ explode[] | [.] | implode
          # jq 1.6 leaves these five as they are
          | . + ({"'": "%27", "!": "%21", "(": "%28", ")": "%29", "*": "%2A"}[.] // @uri) ]
      | add | gsub("(?<c>[\"\\\\])"; "\\\(.c)") ) as $table
  | [ range(1; 17)
      # one, or none
      | "(?:(?<uri_special_\(.)>\($special))(?=[^ ]*+ [^ ]*?\\k<uri_special_\(.)>(?<uri_code_\(.)>%[0-9A-F]{2})))?+"
        + "(?<uri_plain_\(.)>\($plain)*+)" ] as $groups # and what follows it
  | ( range(1; $maps + 1)
      | map_lines("\"\(if . == 1 then " $request_uri" else "$uri_after_\(. - 1)" end) \($table)\""; "$uri_after_\(.)";
          "\"~^(?<uri_done>[^ ]*) (?<uri_plain_0>\($plain)*+)\($groups | add)(?<uri_rest>[^ ]*) \" \"$uri_done$uri_plain_0\([range(1; 17) | "$uri_code_\(.)$uri_plain_\(.)"] | add) $uri_rest\";") ),
    map_lines("$uri_after_\($maps)"; "$escaped_request_uri"; "\"~^(?<uri_encoded>%2F[^ ]*) $\" $uri_encoded;");

# input:  [{options: their number, set: {annotation: value}}] of those with auth-url
# output: lines for auth-signin, if one has it
def sign_in_lines:
  map(select(.set["auth-signin"])) as $pages
  | (select($pages != [] or any(.[].set["auth-url"]; contains("$escaped_request_uri"))) | encoding),
    ( select($pages != [])
      | map_lines("$asks"; "$sign_in_page"; $pages[] | "\(.options) \(.set | sign_in_page);"),
        "  map \"$upstream_status|$escaped_request_uri|$client_host|$sign_in_page\" $sign_in { # a 401 of the pod is none of these",
        "    default /nginx-says/$upstream_name;",
        "    \"~^[|][^|]+[|][^|]+[|]http\" $sign_in_page;",
        "  }" );
