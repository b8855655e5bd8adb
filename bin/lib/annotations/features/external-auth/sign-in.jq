# auth-signin, auth-signin-redirect-param: where clients go that are not signed in, with the URL that they asked for.
#
# That URL may be so long that the sign-in's own no longer fits into a request line, which would end in a 414. Then its
# path goes along without the query, and if that is too long as well, nothing does: the client can sign in all the same.
include "annotations/claims";
include "quoting";

# output: the longest path and query that nginx takes in a request line of 16 kB (clients.conf.template), beside GET and
#         HTTP/1.1
def longest_uri: 16384 - ("GET  HTTP/1.1\r\n" | length);

# input:  an auth-signin with its parameter, {auth-signin, auth-signin-redirect-param}
# output: the URL for the client, for nginx; $link is what it has in the place of these variables, {variable: text},
#         or null if the request is not to be named
def sign_in_page($link):
  .["auth-signin"] as $url
  | (.["auth-signin-redirect-param"] // "rd") as $parameter
  | (if $url | startswith("/") then "$scheme://$forwarded_host" else "" end) + $url
    + if $link == null or any($url | split("?")[1:] | join("?") | split("&")[];
          startswith($parameter + "=") and length > ($parameter | length) + 1) then ""
      else
        (if $url | contains("?") then "&" else "?" end)
        + $parameter + "=$scheme://$forwarded_host$escaped_request_uri"
      end
  | in_quotes_with_variables
  | gsub("[$][{](?<name>escaped_request_uri|request_uri|is_args|args)[}]"; ($link // {})[.name] // "");

# output: maps that encode the path and query of a request: "/a?b=c" => "%2Fa%3Fb%3Dc", as $escaped_request_uri
#
# nginx has no function for that, but a map can put together what a regular expression has found. A map cannot look up a
# code for each character, so it searches a text in which the codes stand already: some characters of the request, a
# space, and a table "!%21#%23..." of all special ones with their codes. For each special character, the expression
# looks ahead into the table, finds it there once more (\k<...>), and takes the code that follows it.
#
# One map does so for up to 16 of them. So the request is cut into four parts, each of these into four, and so on, until
# they have no more: one map for each of the four, $encoded_LEVEL_1 to _4, which leaves its own parts in $uri_LEVEL_1 to
# _4 of the level below. All parts of a level share these variables, one after the other: so the maps are `volatile`,
# read again each time, and what one of them has found is put together before the next begins.
#
# A request that is longer than all of these parts is not encoded: $escaped_request_uri stays empty.
# ("$" cannot stand in the table. It means nothing in a query, so it stays as it is. ++, *+ and ?+ never go back, so
# that the time grows with the length of the URL alone.)
def encoding:
  16 as $most
  | [64, 256, 1024, 4096] as $lengths # of a part of each level above the lowest; four of the last are a request line
  | "[A-Za-z0-9._~$\\x80-\\xff-]" as $plain
  | "[^A-Za-z0-9._~$\\x80-\\xff -]" as $special
  | ( "%&=/?:+,;!\"#'()*<>@[\\]^`{|}" # the usual ones first, as they are searched in this order
      | [ explode[] | [.] | implode
          # jq 1.6 leaves these five as they are
          | . + ({"'": "%27", "!": "%21", "(": "%28", ")": "%29", "*": "%2A"}[.] // @uri) ]
      | add | gsub("(?<c>[\"\\\\])"; "\\\(.c)") ) as $table
  | [ range(1; $most + 1)
      # one, or none
      | "(?:(?<uri_special_\(.)>\($special))(?=[^ ]*+ (?:....)*?\\k<uri_special_\(.)>(?<uri_code_\(.)>%..)))?+"
        + "(?<uri_plain_\(.)>\($plain)*+)" ] as $groups # and what follows it
  | def cut($level; part): # an expression that cuts a text into four parts, and what these come to
      "\"~(?s)^\([range(1; 5) | "(?<uri_\($level)_\(.)>\(part))"] | add)$\" \"\([range(1; 5) | "$encoded_\($level)_\(.)"] | add)\";";
    def cut_at($level):
      if $level == 0 then cut(0; "(?:\($plain)*+\($special)){0,\($most)}+\($plain)*+")
      else cut($level; ".{0,\($lengths[$level - 1])}+")
      end;
    ( range(1; 5)
      | map_lines("\"$uri_0_\(.) \($table)\""; "$encoded_0_\(.)";
          "volatile;",
          "\"~^(?<uri_plain_0>\($plain)*+)\($groups | add) \" \"$uri_plain_0\([range(1; $most + 1) | "$uri_code_\(.)$uri_plain_\(.)"] | add)\";") ),
    ( range(1; ($lengths | length) + 1) as $level | range(1; 5) | "$uri_\($level)_\(.)" as $part
      | map_lines($part; "$encoded_\($level)_\(.)";
          "volatile;",
          "\"~^\($plain)*+$\" \($part);", # which has none of them, or is empty
          cut_at($level - 1)) ),
    map_lines("$request_uri"; "$escaped_request_uri"; cut_at($lengths | length));

# input:  [{options: their number, set: {annotation: value}}] of those with auth-url
# output: lines for auth-signin, if one has it
def sign_in_lines:
  def page($variable; $link): map_lines("$asks"; $variable; .[] | "\(.options) \(.set | sign_in_page($link));");
  def or_shorter($page; $shorter): "\"~^https?://[^/?]*.{0,\(longest_uri)}$\" \($page);", "default \($shorter);";
  map(select(.set["auth-signin"])) as $pages
  | (select($pages != [] or any(.[].set["auth-url"]; contains("$escaped_request_uri"))) | encoding),
    ( select($pages != [])
      | map_lines("$request_uri"; "$path_to_sign_in"; "\"~^(?<uri_path>[^?]*)\" $uri_path;"),
        map_lines("$escaped_request_uri"; "$escaped_path"; "\"~^(?<uri_escaped_path>.*?)(%3F|$)\" $uri_escaped_path;"),
        ( $pages
          | page("$sign_in_with_link"; ["escaped_request_uri", "request_uri", "is_args", "args"] | map({(.): "${\(.)}"}) | add),
            page("$sign_in_with_path"; {escaped_request_uri: "${escaped_path}", request_uri: "${path_to_sign_in}"}),
            page("$sign_in_alone"; null) ),
        map_lines("$sign_in_with_link"; "$sign_in_page"; or_shorter("$sign_in_with_link"; "$sign_in_shorter")),
        map_lines("$sign_in_with_path"; "$sign_in_shorter"; or_shorter("$sign_in_with_path"; "$sign_in_alone")),
        "  map \"$upstream_status|$client_host|$sign_in_page\" $sign_in { # a 401 of the pod is none of these",
        "    default /nginx-says/$upstream_name;",
        "    \"~^[|][^|]+[|]http\" $sign_in_page;",
        "  }" );
