# The Secrets and ConfigMaps that our Ingresses name, in spec.tls and in annotations: which to look at, and what fetch
# says of each. A ConfigMap is treated as a Secret here, with the name that named.jq gives it.
#
# input:  lines (jq -n -R); if $print is "pairs": the items of a SecretList, one on each line; or Secrets with their
#         names; otherwise lines that "pairs" has printed after the word "found"
# args:   $print: "pairs", "others", "settled" or "list"
#         $asked: "named" if before each Secret there is its name, "namespace/name "
#         $claims: the digest of the Ingresses; $default: a Secret that is wanted too; $namespace: the only one, or ""
#         $found: what was found so far (lines); $facts: [what is known of the key pairs] (keypairs.jq)
#         $times: lines "SECONDS NAMESPACE/NAME", when Secrets were last asked for by name; $began: when this look began
#         $files: the names of the key files that are there; $now: the time, as the facts have it
# output: "pairs":  "found {certificate: "namespace/name", use, id, size}" for each use of a Secret that is wanted
#                   (named.jq; without "use": as a pair; "*": as anything); instead of id and size, {reason, message} if
#                   it cannot be used, or {missing: true}. The id is the name of its file; a ConfigMap has {headers} and
#                   no file;
#                   "pair NUMBER ID TEXT" if that is to be examined, "restore 0 ID TEXT" if only its file is
#                   missing; in the text, commas are the ends of lines;
#                   "more" if there are too many for one round
#         "others": what to do about the wanted Secrets that were not found: "ask NAMESPACE/NAME" reads one by its name,
#                   "asked SECONDS NAMESPACE/NAME" and "found ..." are what is known of one that was asked not long ago;
#                   "more" if there are too many for one round
#         "settled": the same lines; for a Secret whose new key pair is not examined yet, the line of the one before
#         "list":   "NUMBER TIME": how many of the Secrets have not been read yet, and until when the list is valid;
#                   then a line for each: {certificate, use, file, algorithm, names, notAfter}, or {certificate, use,
#                   reason, message}; of a ConfigMap, {certificate, use, headers}
include "passwords";
include "named";
include "config-maps";
include "header-values";
include "items";
include "quoting";
include "allow";

# --- limits

# Two thirds are the base64 of 64 KiB, once as data and once as what `kubectl apply` notes in an annotation.
def largest_secret: 262144;

# tls.crt and tls.key together in base64. A chain of 10 certificates with RSA 4096 has a third of it.
def largest_pair: 90000;

# The keys are in memory: some 3,000 pairs of the usual size.
def largest_namespace: 16000000;

# What is written before it is examined.
def pairs_a_round: 50;

# How many are asked for in a round, and how often: one that serves at each look, as its passwords may have changed.
def missing_a_round: 50;
def serving_a_round: 100;
def seconds_before_asked_again: 4;
def asked_a_namespace: 50;

# --- which are wanted

# input: text / output: its lines
def lines: split("\n")[] | select(. != "");

# output: [{secret: "namespace/name", use}, ...]: what the oldest Ingress names comes first
def wishes:
  [ ($default | select(. != "") | {secret: ., use: "pair"}),
    ( [$claims | lines | fromjson | select(.ingress)] | sort_by([.created, .ingress])[]
      | (.ingress | split("/")[0]) as $of
      | (.tls[].secretName | select(is_name) | {secret: "\($of)/\(.)", use: "pair"}),
        (.options.set // {} | uses($of)) )
  ]
  | map(select($namespace == "" or (.secret | startswith("\($namespace)/"))));

# input: these / output: {"namespace/name": [use, ...], ...}
def by_secret: group_by(.secret) | map({(.[0].secret): (map(.use) | unique)}) | add // {};

def wanted: wishes | by_secret;

# --- pairs

# output: why a Secret cannot be used
def refused($reason; $message): {$reason, $message};

# input: a Secret / output: the name of its file, which differs for each Secret and use, and after each change
def id($use):
  {pair: ".pem", ca: (if .data["ca.crl"] then ".crl.ca.pem" else ".ca.pem" end),
   "auth-file": ".file.htpasswd", "auth-map": ".map.htpasswd"}[$use] as $ending
  | "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"))
  | . + $ending;

# input: {id} / output: what is known of what is in the file; null while openssl and nginx have not examined it.
# Passwords are examined here: of them, no more needs to be known.
def fact: if .id | endswith(".pem") then $facts[0][.id] else {} end;

# input: text / output: the PEM blocks of a kind, which has only the characters of base64
def blocks($kind):
  [scan("-----BEGIN \($kind)-----[A-Za-z0-9+/= \\t\\r\\n]*-----END \($kind)-----")];

# input: a PEM block of a private key / output: whether it begins as one that is not encrypted
#
# openssl goes by the bytes and not by the label: it decrypts whatever is there. A clear key is a sequence that begins
# with a number, its version: 0 or 1 (RFC 5958, 8017 and 5915). In base64, that is one of these, by how long it is. An
# encrypted key (RFC 5958) begins with a sequence, PKCS #12 (RFC 7292) with the number 3.
def is_clear:
  test("\\A-----BEGIN [A-Z ]*-----[ \\t\\r]*\\n(?:M[A-Za-z0-9+/]{2}CAQ[A-H]|MI[A-Za-z0-9+/]{2}AgE[AB]|MII[A-Za-z0-9+/]{3}IBA[A-Za-f])");

# input: text / output: [PEM block of a list of what was revoked], without any that openssl would pass over
#
# openssl wants each mark on a line of its own, and takes any other for nothing: it would let in whom that list names.
def revocation_lists:
  [scan("(?:\\A|\\n)(-----BEGIN X509 CRL-----[ \\t\\r]*\\n[A-Za-z0-9+/= \\t\\r\\n]*\\n-----END X509 CRL-----)(?=[ \\t\\r]*(?:\\n|\\z))")[0]];

# input: text with PEM blocks / output: the same with commas for the ends of lines
def in_one_line: split("\r") | join("") | split("\n") | join(",");

# input: a Secret / output: {text}, or why it cannot be used
#
# openssl and nginx get nothing but certificates and one clear private key. They would read much more: above all a key
# that is encrypted so that it takes minutes to find out that no passphrase fits.
def key_pair:
  (.data["tls.crt"] // "" | @base64d) as $crt
  | (.data["tls.key"] // "" | @base64d) as $key
  | ($crt | blocks("(?:X509 )?CERTIFICATE")) as $certificates
  | ($key | blocks("(?:RSA |EC )?PRIVATE KEY")) as $keys
  | if $certificates == [] then refused("CertificateInvalid"; "its tls.crt holds no certificate in PEM form")
    elif ($certificates | length) < ([$crt | scan("-----BEGIN [A-Z0-9 ]*CERTIFICATE-----")] | length) then
      refused("CertificateInvalid"; "a certificate in its tls.crt is cut, or not in PEM form")
    elif $keys == [] and ($key | test("-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:[^\\n]{0,20}ENCRYPTED")) then
      refused("PrivateKeyEncrypted";
        "its private key is encrypted, and nobody is here to enter the passphrase: store it without one")
    elif $keys == [] then refused("PrivateKeyInvalid"; "its tls.key holds no private key in PEM form")
    elif $keys[0] | length > 8192 then
      refused("KeyPairRefused"; "its private key is larger than 8 KiB, which no key needs that is served")
    elif $keys[0] | is_clear | not then
      refused("PrivateKeyInvalid"; "what its tls.key calls a private key is none, or an encrypted one")
    else {text: ([$certificates[], $keys[0]] | join("\n") | in_one_line)}
    end;

# input: a Secret / output: the same of the authorities in its ca.crt, and of the lists of what they have revoked in its
# ca.crl; and whether it has a pair, too
def authorities:
  ([.data["tls.crt", "tls.key"] | values | select(. != "")] != []) as $pair
  | (.data["ca.crt"] // "" | @base64d) as $crt
  | (.data["ca.crl"] // "" | @base64d) as $crl
  | ($crt | blocks("(?:X509 |TRUSTED )?CERTIFICATE")) as $certificates
  | ($crl | revocation_lists) as $lists
  | if $certificates == [] then refused("AuthorityMissing"; "its ca.crt holds no certificate in PEM form")
    elif ($certificates | length) < ([$crt | scan("-----BEGIN [A-Z0-9 ]*CERTIFICATE-----")] | length) then
      refused("AuthorityInvalid"; "a certificate in its ca.crt is cut, or not in PEM form")
    elif .data["ca.crl"] and ($lists == [] or ($lists | length) * 4 != ([$crl | scan("-----")] | length)) then
      refused("AuthorityInvalid";
        "its ca.crl holds no list of revoked certificates in PEM form, or one that is cut or has no lines")
    else {text: ($certificates + $lists | join("\n") | in_one_line)}
    end
    | . + {$pair};

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
  fact as $fact
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

# output: {"name of a key file": true} of those that are there
def present: [$files | lines | {(.): true}] | add // {};

def pairs:
  wanted as $wanted
  | present as $present
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
          | (if $it | fact then . else .new[$of] += 1 end)
          | .new[$of] as $number
          | .orders = [$it | order($present; $number)]
        end;
      "found \(.found | tojson)", .orders[]);

# --- others

# input: a line that was found / output: whether it is what is there to use; $present are the files
def serves($present): .headers or .id != null and ($facts[0][.id].reason | not) and $present[.id];

# input: [{name, its: what is known of its uses, time: when it was asked for, serves}] / output: what to do about them
#
# The namespaces take turns. Those that nobody has asked for come first, and then those that were asked longest ago.
def due:
  def turns:
    group_by(.name | split("/")[0])
    | [.[] | sort_by(.time // -1) | to_entries[] | .value + {number: .key}]
    | sort_by([.number, .time // -1]);
  (map(select(.time and .serves)) | turns) as $serving
  # (fabs, because a time far ahead is one of before a restart of the machine)
  | (map(select(.time == null or ((.serves | not) and ($began - .time | fabs) >= seconds_before_asked_again)))
     | turns) as $missing
  | ($serving[:serving_a_round] + $missing[:missing_a_round] | map({(.name): true}) | add // {}) as $ask
  | (select(any($missing[missing_a_round:][]; .time == null)) | "more"),
    ( .[]
      | if $ask[.name] then "ask \(.name)"
        elif .time then "asked \(.time) \(.name)", "found \(.its[] | tojson)"
        else empty
        end );

# input: none / output: what to do about the wanted Secrets that no line of the input is about
#
# One that is wanted for another use, too, or whose file is gone, counts as one that nobody has asked for.
def others:
  ([inputs | fromjson | {(.certificate): true}] | add // {}) as $there
  | ([$found | lines | fromjson] | group_by(.certificate) | map({(.[0].certificate): .}) | add // {}) as $known
  | ([$times | lines | split(" ") | {(.[1]): (.[0] | tonumber)}] | add // {}) as $times
  | present as $present
  | wishes as $wishes
  | ($wishes | by_secret) as $wanted
  | (reduce $wishes[].secret as $name ({}; .[$name] //= length)) as $rank
  | [$wanted | keys[] | select($there[.] | not)] | sort_by($rank[.]) | group_by(split("/")[0])
  | (.[][asked_a_namespace:][]
     | {certificate: ., use: "*"}
       + refused("LimitExceeded";
           "its namespace names more than \(asked_a_namespace) Secrets that are missing, or not of type kubernetes.io/tls, and ConfigMaps")
     | "found \(tojson)"),
    ( [ .[][:asked_a_namespace][]
        | ($known[.] // []) as $its
        | ([$its[] | .use // "pair"]) as $uses
        | {name: ., $its, serves: ($its != [] and all($its[]; serves($present))),
           time: (if ($uses == ["*"] or $wanted[.] - $uses == [])
                    and all($its[]; .id == null or $facts[0][.id].reason or $present[.id]) then $times[.]
                  else null
                  end)} ]
      | due );

# --- settled

# input: {certificate, use, id} / output: the same; or what was found before, if only that was examined so far
#
# So a host keeps the certificate that it has until the next one is known.
def settled:
  ([$found | lines | fromjson | select($facts[0][.id // ""]) | {(key_of_use): .}] | add // {}) as $before
  | inputs | fromjson
  | if .id and (fact | not) then $before[key_of_use] // . else . end
  | tojson;

# --- list

# input: {certificate, use, id} of a Secret / output: its line
def line($present):
  fact as $fact
  | del(.id, .size)
    + if $fact == null or ($fact.reason == null and ($present[.id] | not)) then
        refused("SecretNotReady"; "it is being examined, for some seconds")
      elif $fact.reason then $fact
      elif $fact.notAfter and $fact.notAfter <= $now then
        refused("CertificateExpired"; "its certificate expired at \($fact.notAfter)")
      else $fact + {file: .id}
      end;

def list:
  ([inputs | fromjson | {(key_of_use): .}] | add // {}) as $found
  | present as $present
  | [ wanted
      | to_entries[]
      | .value[] as $use
      | ({certificate: .key} + if $use == "pair" then {} else {$use} end) as $head
      | ($found[$head | key_of_use] // $found["* \(.key)"]) as $it
      | if $it == null then $head + refused("SecretNotReady"; "it has not been read yet") + {unread: true}
        elif $it.missing then empty
        elif $it.reason then ($it | del(.use)) + $head
        elif $it.headers then $it
        else $it | line($present)
        end ]
  | "\(map(select(.unread)) | length) \([.[].notAfter // empty] | min // "9999")",
    (.[] | del(.unread) | tojson);

if $print == "pairs" then pairs
elif $print == "others" then others
elif $print == "settled" then settled
else list
end
