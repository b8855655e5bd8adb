# Reads the Secrets and ConfigMaps that our Ingresses name: what is let in of each.
#
# input:  lines (jq -n -R): the items of a SecretList, one on each line; or Secrets and ConfigMaps with their names
# args:   those of wanted-secrets.jq, and $found: what was found so far (lines)
#         $asked: "named" if before each Secret there is its name, "namespace/name "
# output: "found {certificate: "namespace/name", use, id, size}" for each use of a Secret that is wanted (named.jq;
#         without "use": as a pair; "*": as anything); instead of id and size, {reason, message} if it cannot be used,
#         or {missing: true}. The id is the name of its file; a ConfigMap has {headers} and no file;
#         "pair NUMBER ID TEXT" if that is to be examined, "restore 0 ID TEXT" if only its file is missing; in the text,
#         commas are the ends of lines;
#         "more" if there are too many for one round
include "secrets/key-material"; # key_pair, authorities
include "secrets/passwords"; # passwords
include "secrets/wanted-secrets"; # wishes, by_secret, refused, fact, present, lines
include "secrets/named"; # is_headers, as_config_map
include "secrets/config-maps"; # headers
include "annotations/header-values";
include "fetch/items"; # read_item, key, key_of_line
include "quoting";
include "allow";

# Two thirds are the base64 of 64 KiB, once as data and once as what `kubectl apply` notes in an annotation.
def largest_secret: 262144;

# tls.crt and tls.key together in base64. A chain of 10 certificates with RSA 4096 has a third of it.
def largest_pair: 90000;

# The keys are in memory: some 3,000 pairs of the usual size.
def largest_namespace: 16000000;

# What is written before it is examined.
def pairs_a_round: 50;

# input: a Secret / output: the name of its file, which differs for each Secret and use, and after each change
def id($use):
  {pair: ".pem", ca: (if .data["ca.crl"] then ".crl.ca.pem" else ".ca.pem" end),
   "auth-file": ".file.htpasswd", "auth-map": ".map.htpasswd"}[$use] as $ending
  | "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"))
  | . + $ending;

# input: a Secret / output: {id, size, text} of what it is wanted for, or {reason, message}
def used_secret($use):
  ([ .data
     | {pair: [.["tls.crt", "tls.key"]], ca: [.["ca.crt", "ca.crl"]],
        "auth-file": [.auth], "auth-map": [tojson]}[$use][]
     | strings | length ]
   | add // 0) as $size
  | if [id($use)] == [] then refused("ObjectUnreadable"; "it has no uid or resourceVersion")
    elif $use == "pair" and $size > largest_pair then
      refused("KeyPairRefused"; "its tls.crt and tls.key are larger than 64 KiB")
    elif $use == "ca" and $size > largest_pair then
      refused("AuthorityRefused"; "its ca.crt and ca.crl are larger than 64 KiB")
    else
      {id: id($use), $size}
      + if $use == "pair" then key_pair elif $use == "ca" then authorities else passwords($use) end
    end
  | if .reason then del(.id, .size) else . end;

# input: a Secret or ConfigMap / output: the same, or {headers}
def used($use): if $use | is_headers then headers($use) else used_secret($use) end;

# input: a Secret or ConfigMap / output: its name here
def name_here: if .kind == "ConfigMap" then key | as_config_map else key end;

# input: "namespace/name" of a Secret / output: for each use, if it is wanted, a line with what `value` gives
def for_each_use($wanted; value):
  . as $certificate
  | $wanted[$certificate][]? as $use
  | {$certificate} + if $use == "pair" then {} else {$use} end + ($use | value);

# input:  {name, line} of a Secret
# output: {certificate, use, id, size, text}, or {certificate, use, reason, message}; nothing if nobody wants it
def looked_at($wanted):
  .name as $name
  | .line as $line
  | def as_it_says: $name // ($line | key_of_line);
    if $line | length > largest_secret then
      as_it_says | for_each_use($wanted; refused("KeyPairRefused"; "it is larger than 256 KiB"))
    else
      $line
      | read_item
      | if has("object") | not then
          as_it_says | for_each_use($wanted; refused("ObjectUnreadable"; "it is nested too deeply to be read"))
        elif (.object | type) != "object"
            or (.object.metadata.name | type) != "string"
            or ($name and (.object | (.kind | IN("Secret", "ConfigMap") | not) or name_here != $name)) then
          error("an item of the list is not a Secret, or what was asked for is another object")
        else
          .object as $secret
          | $secret | name_here
          | for_each_use($wanted; . as $use | $secret | used($use))
        end
    end;

# input: {id, text} / output: what to do about it. $number is how many of its namespace come first.
def order($present; $number):
  fact($facts) as $fact
  | if $fact.reason or ($fact and $present[.id]) then empty
    elif $fact then "restore 0 \(.id) \(.text)"
    elif $number > pairs_a_round then "more"
    else "pair \($number) \(.id) \(.text)"
    end;

# output: {namespace: the bytes of its key pairs so far, ...}
def sizes:
  reduce ($found | lines | fromjson | select(.size)) as $it ({}; .[$it.certificate | split("/")[0]] += $it.size);

# output: {line} of each item of the list; or {name, line} of each Secret that was asked for by name, if it is there
def items:
  inputs
  | if $asked == "" then {line: .}
    else
      select(. != "")
      | (index(" ") // 0) as $at
      | {name: .[:$at], line: .[$at + 1:]}
      | select(.line != "-")
    end;

(wishes($claims; $default; $namespace) | by_secret) as $wanted
| present($files) as $present
| foreach (items | looked_at($wanted)) as $it ({bytes: sizes, new: {}};
    ($it.certificate | split("/")[0]) as $of
    | .bytes[$of] += ($it.size // 0)
    | .orders = []
    | if $it.text | not then .found = $it
      elif .bytes[$of] > largest_namespace then
        .found = ($it | {certificate} + if .use then {use} else {} end)
          + refused("KeyPairRefused";
              "the key pairs of namespace \($of) have more than 12 MB: this one is too much")
      else
        .found = ($it | del(.text))
        | (if $it | fact($facts) then . else .new[$of] += 1 end)
        | .new[$of] as $number
        | .orders = [$it | order($present; $number)]
      end;
    "found \(.found | tojson)", .orders[])
