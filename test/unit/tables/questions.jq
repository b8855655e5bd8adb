# Random requests for the clusters of combinations.jq, always the same for the same number.
#
# args:   $cluster: its number; $count: how many
# output: a line for each, as `explain --questions` takes it (jq -c)

include "random"; # random, pick

def scheme: pick($cluster * 1000 + .; 1; ["http", "http", "http", "https"]);
def host: pick($cluster * 1000 + .; 2;
  ["a.example", "a.example", "a.example", "b.example", "b.example", "x.c.example", "x.c.example", "y.x.c.example", "c.example", "none.example", "A.Example", "a.example.", "www.a.example", "a.example:8000", "alias.example"]);
def target: pick($cluster * 1000 + .; 3;
  ["/", "/", "/x", "/x", "/x/", "/x/y", "/x/y/", "/x/yz", "/xy", "/z", "/z/", "/z/a", "/oauth2", "/oauth2/auth?a=b", "/%78/y", "//x", "/x/../z", "/nothing", "/x;a=b", "/x?a=/y", "/a%2fb",
   "/.well-known/acme-challenge/t", "/\("a" * 300)"]);
def method: pick($cluster * 1000 + .; 4; ["GET", "GET", "GET", "GET", "POST", "DELETE", "OPTIONS"]);
def headers: pick($cluster * 1000 + .; 5;
  [[], [], [], ["X-Canary: a1b"], ["X-Canary: always"], ["X-Canary: never"], ["Cookie: a=b; canary=always"], ["Cookie: canary=never"],
   ["User-Agent: BadBot/1"], ["Referer: http://evil.example/"], ["Authorization: Basic am9lOmdvb2Q="], ["Authorization: Basic am9lOmJhZA=="], ["Origin: https://a.example", "Access-Control-Request-Method: PUT"]]);
# (Where TLS is passed on, no header says who the client is: so for HTTPS it has an address of this machine.)
def from: if scheme == "https" then "127.0.0.9" else pick($cluster * 1000 + .; 6; ["10.0.0.9", "10.0.0.9", "192.0.2.7"]) end;

range($count) | {url: "\(scheme)://\(host)\(target)", method: method, headers: headers, from: from}
