# proxy-redirect-from, proxy-redirect-to: another beginning for the Location that a pod answers.
#
# nginx would add its own scheme and port to one that begins with "/" then, and the client may know others: so that gets
# those of the request.
include "annotations/claims";
include "quoting";

# input: a location / output: its directives; relative-redirects says the second one itself
def location:
  (.set["proxy-redirect-from"] // "off") as $from
  | (.set["proxy-redirect-to"] // "off") as $to
  | if $from == "off" or $from == "default" or $to == "off" or speaks_grpc then empty
    elif ($to | startswith("/") | not) or .set["relative-redirects"] then
      "proxy_redirect \($from | in_quotes) \($to | in_quotes); "
    else "proxy_redirect \($from | in_quotes) \"$client_scheme://$request_host\($to | harmless)\"; "
    end;
