# affinity: cookie. A client's requests go to one pod: the cookie has a random key, and the pod is the one that the
# key's hash points to. So every replica finds the same pod, also after a reload. When a pod goes or comes, only the
# keys that point to it move. With affinity-mode: persistent, none moves while its pod is there: the cookie names that.
#
# While a pod fails, another one answers. A cookie that names its pod then names that one, and the session stays there:
# so session-cookie-change-on-failure needs such a cookie, too.
#
# session-cookie-name, -path, -domain, -max-age, -expires, -secure, -samesite and -conditional-samesite-none are the
# cookie's attributes.
#
# Expires is a date, and no variable of nginx has one that is to come; but its `expires` writes one into a header. So
# for a new session, nginx asks itself (`auth_request`, on the admin port) for an answer with such a header. Old
# browsers alone need that, as Max-Age counts before it: where auth-url has the only `auth_request` of a location, there
# is none.
include "annotations/claims";
include "quoting";

# input: {annotation: value} / output: whether the cookie names the pod
def names_pod: .["affinity-mode"] == "persistent" or .["session-cookie-change-on-failure"];

# input: [answered claim] / output: the same; those with affinity have upstreams of their own
def claims($context; answer):
  map(
    annotations($context.options) as $set
    | if (.upstream and $set.affinity) | not then .
      elif $set | names_pod then .upstream += ".persistent" | .balance = {sticky: "persistent"}
      else .upstream += ".sticky" | .balance = {sticky: "balanced"}
      end);

# input: a location / output: the value of the cookie's Path; for regular expressions and what a cookie cannot have, "/"
def cookie_path:
  .set["session-cookie-path"]
  // if .set["use-regex"] or .set["rewrite-target"] or (.path | test("\\A[A-Za-z0-9._~/-]+\\z") | not) then "/"
     else .path
     end;

# input: a location / output: the attributes of its cookie, as nginx writes them
def attributes:
  (.set["session-cookie-max-age"] // .set["session-cookie-expires"]) as $seconds
  | (.set["session-cookie-samesite"] // "" | ascii_downcase) as $site
  | "; Path=\(cookie_path | harmless)"
  + (if $seconds then "; Max-Age=\($seconds)" else "" end)
  + (if .set["session-cookie-domain"] then "; Domain=\(.set["session-cookie-domain"] | harmless)" else "" end)
  + (if .set["session-cookie-secure"] then "; Secure" else "$session_secure" end)
  + "; HttpOnly"
  + if $site == "" then ""
    elif $site == "none" and .set["session-cookie-conditional-samesite-none"] then "$session_samesite_none"
    else "; SameSite=\($site[:1] | ascii_upcase)\($site[1:])"
    end;

# input: {annotation: value} / output: in how many seconds the date of its cookie is, or null if it has none
def seconds_of_date: if .affinity and (has("auth-url") | not) then .["session-cookie-expires"] else null end;

# input:  [number of seconds]
# output: a server's lines: where nginx asks for these dates. (A client's path begins with "/".)
def date_locations:
  (.[] | "    location = nginx-date/\(.) { internal; if ($session_name = \"\") { return 204; } error_page 502 504 = @no_date; proxy_pass_request_headers off; proxy_pass_request_body off; proxy_set_header Host dates.invalid; proxy_connect_timeout 1s; proxy_read_timeout 1s; proxy_pass http://127.0.0.1:\($ENV.ADMIN_PORT)/\(.); }"),
  "    location @no_date { return 204; }";

# input: [number of seconds] / output: lines for the http block: who answers, and the date as cookies have it
def date_lines:
  "  server {",
  "    listen \($ENV.ADMIN_PORT);",
  "    server_name dates.invalid;",
  "    access_log off;",
  (.[] | "    location = /\(.) { expires \(.)s; return 204; }"),
  "    location / { return 404; }",
  "  }",
  map_lines("$session_date"; "$session_expires";
    "\"~^(?<date_day>[^ ]+ [0-9]+) (?<date_month>[^ ]+) [0-9]{2}(?<date_year>[0-9]{2}) (?<date_time>[0-9:]+ GMT)$\" \"; Expires=$date_day-$date_month-$date_year $date_time\";");

# input: a location / output: directives that read its cookie, KEY or KEY-canary or KEY.POD, or else begin a session
#
# $session_home is where the session lives: main, or main-canary (canary.jq). A sub-request for authentication has the
# variables of the request itself, so a session that is known already stays as it is.
def location:
  select(.set.affinity)
  | (.set["session-cookie-name"] // "INGRESSCOOKIE" | harmless) as $name
  | "set $session_known \"$session|$http_cookie\"; ",
    "if ($session_known ~ \"^[|](?:.*; ?)?\($name)=([0-9a-f]{32})(-canary)?([.][0-9]+)?(?:;|$)\") { ",
    "set $session $1; set $session_home main$2; set $session_suffix \"$2\"; set $session_pod \"$3\"; ",
    (select(.set | names_pod) | "set $session_name \($name); set $session_attributes \"\(attributes)\"; "),
    "} ",
    "if ($session = \"\") { set $session $request_id; set $session_suffix \"\"; set $session_pod \"\"; set $session_name \($name); set $session_attributes \"\(attributes)\"; } ",
    (select(.upstream).set | seconds_of_date | values
     | "auth_request nginx-date/\(.); auth_request_set $session_date $upstream_http_expires; ");

# input: the address of a pod / output: what stands for it in a cookie: the same everywhere, and no address
def pod_number:
  reduce explode[] as $byte ([7, 11];
    [(.[0] * 257 + $byte) % 2147483629, (.[1] * 263 + $byte) % 2147483587])
  | ".\(.[0])\(.[1])";

# output: lines for the http block: where a session is, and the cookie that says so. $pods: [address] of those that
#         cookies may name; $dates: in how many seconds cookies may expire
#
# The browsers that take SameSite=None for Strict, or drop such a cookie: those of iOS 12 and macOS 10.14, Chromium 51
# to 66, and UC Browser before 12.13.2 (www.chromium.org/updates/same-site/incompatible-clients).
def session_lines($pods; $dates):
  map_lines("$upstream_addr"; "$session_address"; "\"~(?<last_address>[^ ]+)$\" $last_address;"),
  map_lines("$session_address"; "$session_pod_now"; $pods[] | "\(in_quotes) \(pod_number);"),
  map_lines("\"$session_address|$session_name|$session_pod|$session_pod_now\""; "$new_session";
    "\"~^[|]|^[^|]+[|][|]\" \"\"; # no pod has been asked, or there is nothing to tell",
    "\"~[|]([.][0-9]+)[|]\\1$\" \"\"; # the session is where it was",
    "default $session_name=$session$session_suffix$session_pod_now$session_attributes\(if $dates == [] then "" else "$session_expires" end);"),
  "  add_header Set-Cookie $new_session always;",
  map_lines("$client_scheme"; "$session_secure"; "https \"; Secure\";"),
  map_lines("$http_user_agent"; "$session_samesite_none";
    "\"~UCBrowser/([0-9]|1[01])[.]|UCBrowser/12[.]([0-9]|1[0-2])[.]\" \"\";",
    "\"~Chrom(e|ium)/(5[1-9]|6[0-6])[.]\" \"\";",
    "\"~Chrom(e|ium)/\" \"; SameSite=None\";",
    "\"~CPU (iPhone )?OS 12_|Mac OS X 10_14.*Version/\" \"\";",
    "default \"; SameSite=None\";");

# input:  model
# output: the same with the cookie of new sessions, and of those that have moved. (An answer of nginx itself has none.)
def model:
  .options as $options
  | def dates: [.[].locations[] | select(.upstream) | annotations($options) | seconds_of_date | values] | unique;
  ([.upstreams[] | select(.balance.sticky == "persistent").endpoints[]] | unique) as $pods
  | (.servers | dates) as $dates
  | when(any(.servers[].locations[]; annotations($options).affinity);
      .upstreams |= map(
        if .balance.sticky == "persistent" then
          .lines += [
            (.endpoints[] | "    server \(in_quotes) max_fails=0 route=\(pod_number);"),
            "    hash $session consistent;",
            "    sticky route $session_pod;" ]
          | .endpoints = []
        elif .balance.sticky then .lines += ["    hash $session consistent;"]
        else .
        end)
      | .servers |= map(([.] | dates) as $own | when($own != []; .lines += [$own | date_locations]))
      | .lines += [($dates | select(. != []) | date_lines), session_lines($pods; $dates), ""]);
