# proxy-redirect-from, proxy-redirect-to: another beginning for the Location that a pod answers.
#
# nginx would add its own scheme, host and port to one that begins with "/" then, and the client may know others.
include "claims";
include "quoting";

# input: a location / output: its directives; relative-redirects says the second one itself
def location:
  (.set["proxy-redirect-from"] // "off") as $from
  | (.set["proxy-redirect-to"] // "off") as $to
  | if $from == "off" or $from == "default" or $to == "off" or speaks_grpc then ""
    else "proxy_redirect \($from | string) \($to | string); " + if .set["relative-redirects"] then "" else "absolute_redirect off; " end
    end;
