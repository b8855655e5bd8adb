# What a value from the API may look like before it goes any further. The API
# server lets much more through than nginx.conf can hold (a path may contain
# quotes, braces, `;`, `$` and line ends), so only these values are let in.
#
# jq's "$" also matches before a line end at the end of the text: \z does not.

# input: "namespace/name", also with the kind before it: "Ingress demo/apple"; or null / output: the namespace, or null.
#         (split takes jq a quarter of what index does.)
def namespace: (. // "" | split("/")[0] // "") | split(" ")[-1];

# input: any value / output: whether it is a name of a Kubernetes object or class (RFC 1123 subdomain)
def is_name:
  type == "string" and length <= 253 and test("\\A[a-z0-9]([-a-z0-9.]*[a-z0-9])?\\z");

# output: what a host of an Ingress rule looks like, "*." in front allowed, as a regular expression
def host_expression: "([*][.])?[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

# input: any value / output: whether it is a host of an Ingress rule
def is_host: type == "string" and length <= 253 and test("\\A\(host_expression)\\z");

# input: [text] / output: text of lines. (jq's join copies all that it has at each step: 30,000 lines take it 10 s.)
def as_lines: map(. + "\n") | add // "";

# input: [value] / output: those that are hosts
#
# jq compiles an expression at each test, which takes longer than the test: so first all together, one on each line.
def only_hosts:
  if all(.[]; type == "string" and length <= 253 and (contains("\n") | not))
    and (as_lines | test("\\A(?>\(host_expression)\n)*\\z")) then .
  else map(select(is_host))
  end;

# input: [host of a rule] / output: those that are hosts, or "", which is any host
def only_hosts_of_rules: map(select(. == "")) + (. - [""] | only_hosts);

# input: a host / output: the name with a wildcard that is for it: "a.b.c" => "*.b.c" (RFC 6125, section 6.4.3)
def as_wildcard:
  sub("\\A[^.]+"; "*");

# input: a path / output: why it is not let in, as the end of a sentence; null if it is let in
#
# The characters are those of RFC 3986 but "%", ";", "'" and "$". The last rule:
# no part that a client or nginx would resolve. (Most paths are "/", and jq compiles an expression at each test.)
def path_refusal:
  if . == "/" then null
  elif length > 1024 then "is longer than 1024 characters"
  elif length > 128 and (split("/") | length > 65) then "has more than 64 elements"
  elif test("\\A(/(?!/|[.]{1,2}(/|\\z))[A-Za-z0-9._~!&()*+,=:@-]*)+\\z") then null
  elif test("\\A/[A-Za-z0-9._~!&()*+,=:@/-]*\\z") then "has //, /./ or /../ in it"
  else "holds something that is not served; allowed: letters, digits and -._~!&()*+,=:@/"
  end;

# --- paths for ACME challenges: before it gives a host a certificate, an authority asks there whether its client
# controls the host. It asks by HTTP, and has no password (RFC 8555, section 8.3).

def challenges: "/.well-known/acme-challenge";

# input: a claim / output: whether its path is one of these
def is_acme_challenge:
  .pathType != "RegularExpression"
  and (.path // "" | . == challenges or startswith("\(challenges)/"));

# input:  a claim or location; $set: {annotation: value} of its Ingress
# output: whether what $annotation asks for does not count there
#
# This is the list of all that let these paths of their own Ingress go: logins, unless the pod gets another path, and
# redirects to HTTPS. All else holds there, too: above all lists of addresses, rates and other redirects.
def is_free_of($annotation; $set):
  is_acme_challenge
  and ({ "auth-tls-secret": "login", "auth-type": "login", "auth-url": "login",
         "force-ssl-redirect": "redirect", "ssl-redirect": "redirect" }[$annotation]
       | . == "redirect" or (. == "login" and $set["rewrite-target"] == null));

# --- what a path could mean that is not served

# output: a percent-encoded character that means the same to everybody, as a regular expression: any but "%", "/", ".",
#         "\" and NUL; beyond ASCII, all its bytes (RFC 3629, section 4)
def encoded:
  "%[89ab][0-9a-f]" as $byte
  | "%(?:(?!2[5ef]|5c|00)[0-7][0-9a-f]|(?:c[2-9a-f]|d[0-9a-f]|e0%[ab][0-9a-f]|ed%[89][0-9a-f]|(?:e[1-9a-cef]|f0%[9ab][0-9a-f]|f4%8[0-9a-f]|f[1-3]\($byte))\($byte))\($byte))";

# input: text / output: the same with its ASCII characters decoded: "/a%20b" => "/a b"
def decoded:
  gsub("%(?<code>[0-7][0-9A-Fa-f])";
    [.code | ascii_downcase | explode[] | if . > 96 then . - 87 else . - 48 end] | [.[0] * 16 + .[1]] | implode);

# input: a path that is refused / output: whether it means what is written, or what that is decoded to, and nothing else
def is_certain:
  startswith("/")
  and (test("//|/[.]{1,2}(?:/|\\z)|\\x00") | not)
  and ((contains("%") | not) or (length <= 1024 and test("\\A(?>[^%]|\(encoded))*\\z"; "i")));

# input: a path that is refused and not certain, or an expression / output: whether it could be for ACME challenges
def names_challenges:
  (length > 1024 and test("[.][.]|%2e|%25"; "i"))
  or (.[:1024] | gsub("%(?:25)+"; "%") | decoded | test("acme.{0,16}challenge"; "i"));

# input: such a path or expression / output: the folder with all that it could mean: "/a/b%2Fc" => "/a/", "/a/b+/c" =>
#         "/a/", "/a/(b|c)" => "/"
def folder_of_meanings($expression):
  if length > 1024 or test("[|]|[.][.]|%2e"; "i") then "/" # alternatives, and what leads up again
  else
    "[A-Za-z0-9_~!&,=:@\(if $expression then "" else ".()*+" end)-]+" as $element
    | [capture("\\A\\^?(?<folder>/(?![?*{])(\($element)/(?![?*{]))*)").folder][0] // "/"
  end;

# input:  a path that is refused, or a regular expression
# output: each path that it could mean: "/my%20files" => "/my%20files", "/my files"; or, with "/" at its end, the folder
#         in which it could mean any
#
# Of a path beyond 1,024 characters, only those above it can be let in: so the lowest of these stands for it. And tokens
# of ACME challenges come and go, so what is for one of them may be for all.
def meanings($expression):
  if ($expression | not) and is_certain then
    if length > 1024 then .[:1025] | split("/")[:-1] | join("/") else [., decoded | rtrimstr("/")] | unique[] end
    | ., (select(. == challenges or startswith("\(challenges)/")) | "\(challenges)/")
  else
    folder_of_meanings($expression), (select(names_challenges) | "\(challenges)/")
  end;

# input: any value / output: whether it is a number of a TCP port
def is_port:
  type == "number" and . == floor and . >= 1 and . <= 65535;

# input: hexadecimal digits and colons / output: whether they are an IPv6 address: eight groups, or fewer around one
# "::" (RFC 4291, section 2.2), of which there are $most
def is_whole_ipv6($most):
  split("::")
  | (map(split(":")) | add) as $groups
  | all($groups[]; length >= 1 and length <= 4)
    and (length == 1 and ($groups | length) == 8 or length == 2 and ($groups | length) <= $most);

# input: any value / output: whether it is an IP address as an EndpointSlice may hold one
def is_ipv4: # four numbers up to 255
  type == "string" and test("\\A((25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})([.]|\\z)){4}(?<![.])\\z");
def is_ipv6: # as nginx takes it, which is none with seven groups before "::"; it may end with an IPv4 address
  type == "string"
  and (if contains(".") and (split(":")[-1] | is_ipv4) then split(":")[:-1] + ["0", "0"] | join(":") else . end
       | test("\\A[0-9a-fA-F:]{2,39}\\z") and is_whole_ipv6(6));

# input: hexadecimal digits / output: the number
def from_hex:
  reduce (ascii_downcase | explode[]) as $digit (0;
    . * 16 + if $digit < 97 then $digit - 48 else $digit - 87 end);

# input: a number / output: its hexadecimal digits
def to_hex: if . < 16 then "0123456789abcdef"[.:. + 1] else (. / 16 | floor | to_hex) + (. % 16 | to_hex) end;

# input: an IPv6 address / output: it without an IPv4 address at its end: "64:ff9b::192.0.2.1" => "64:ff9b::c000:201"
def in_hexadecimal:
  if contains(".") then
    split(":")
    | (.[-1] | split(".") | map(tonumber)) as [$a, $b, $c, $d]
    | .[:-1] + [256 * $a + $b, 256 * $c + $d | to_hex] | join(":")
  else .
  end;

# input: an IPv6 address / output: its eight groups as numbers: "::1" => [0, 0, 0, 0, 0, 0, 0, 1]
def groups:
  in_hexadecimal
  | [split("::")[] | [split(":")[] | from_hex]] as [$left, $right]
  | if $right == null then $left
    else $left + [range(8 - ($left + $right | length)) | 0] + $right
    end;

# input: an address as a summary of an EndpointSlice has it / output: the same, however it was spelled. (nginx connects
#         an IPv4 address within an IPv6 one, RFC 4291, section 2.5.5.2, as that.)
def one_spelling:
  if startswith("[") | not then split(".") | map(tonumber | tostring) | join(".")
  else .[1:-1] | groups
    | if .[:6] == [0, 0, 0, 0, 0, 65535] then .[6:] | map((. / 256 | floor), . % 256) else map(to_hex) end
    | map(tostring) | join(if length == 4 then "." else ":" end)
  end;

# input: text / output: it with "?" for what a terminal might obey
def printable: [explode[] | if . < 32 or . > 126 then 63 else . end] | implode;

# input: any value / output: it as one line of JSON, at most 60 characters, safe to print in a log
def quoted:
  (if type == "string" then .[:61] else . end | tojson | printable)
  | if length > 60 then .[:57] + "..." else . end;

# input: the name or number of a port / output: the same, as people read it
def shown: if is_name then . else quoted end;
