# proxy-cookie-path: another path for the cookies of pods, and flags for them.
#
# In ingress-nginx the value is nginx's own text, and many write flags behind the path: / "/; HttpOnly; Secure". These
# protect. nginx has a directive for them, which knows no paths: so they are for all cookies, and only with "/", which
# any path of a cookie begins with.
include "annotations/claims";
include "quoting";

# input: proxy-cookie-path / output: {from, to, flags: [flag]}; nothing for "off"
def parts:
  capture("\\A(?<from>[^\\s;]+)\\s+[\"']?(?<to>[^\\s;\"']+)(?<flags>[^\"']*)[\"']?\\z")
  | .flags |= [ascii_downcase | split(";")[] | gsub("\\s"; "") | select(. != "")];

# input: [answered claim] / output: the same; closed are those with flags that nginx has no directive for
def claims($context; answer):
  map(when(.upstream and speaks_grpc and [annotations($context.options)["proxy-cookie-path"] | strings | parts.flags[]] != [];
    closed("proxy-cookie-path has flags of cookies, which nginx cannot give with gRPC")));

# input: a location / output: its directives
def location:
  .set["proxy-cookie-path"] // empty
  | if . == "off" then "proxy_cookie_path off; "
    else
      parts
      | "proxy_cookie_path \(.from | in_quotes) \(.to | in_quotes); ",
        (.flags | unique | select(. != []) | "proxy_cookie_flags ~ \(join(" ")); ")
    end;
