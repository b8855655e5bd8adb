# The Secrets that our Ingresses name for TLS: which to look at, and what fetch says of each.
#
# input:  lines (jq -n -R); if $print is "pairs": the items of a SecretList, one on each line; or the Secret $asked
#         otherwise lines that "pairs" has printed after the word "found"
# args:   $print: "pairs", "others", "settled" or "list"; $asked: "namespace/name" of the one Secret that was read by its name
#         $claims: the digest of the Ingresses; $default: a Secret that is wanted too; $namespace: the only one, or ""
#         $found: what was found so far (lines); $facts: [what is known of the key pairs] (keypairs.jq)
#         $times: lines "SECONDS NAMESPACE/NAME", when Secrets were last asked for by name; $uptime: the seconds now
#         $files: the names of the key files that are there; $now: the time, as the facts have it
# output: "pairs":  "found {certificate: "namespace/name", id, size}" for a Secret that is wanted; instead of id and size,
#                   {reason, message} if it cannot be used, or {missing: true};
#                   "pair NUMBER ID PEM" if its key pair is to be examined, "restore 0 ID PEM" if that was done and its file is gone.
#                   In the PEM, commas are the ends of lines; "more" if there are too many for one round
#         "others": what to do about the wanted Secrets that were not found: "ask NAMESPACE/NAME" reads one by its name,
#                   "asked SECONDS NAMESPACE/NAME" and "found ..." are what is known of one that was asked not long ago;
#                   "more" if there are too many for one round
#         "settled": the same lines, but of a Secret whose new key pair was not examined yet that of before
#         "list":   "NUMBER TIME": how many of the Secrets have not been read yet, and until when the list is valid;
#                   then the lines that bin/certificates describes
include "items";
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

# Each is a kubectl.
def asked_a_round: 8;
def seconds_before_asked_again: 10;
def asked_a_namespace: 50;

# --- which are wanted

# input: text / output: its lines
def lines: split("\n")[] | select(. != "");

# output: {"namespace/name": true, ...}
def wanted:
  [ ( $claims | lines | fromjson | select(.ingress)
      | (.ingress | split("/")[0]) as $of
      | .tls[].secretName | select(is_name) | "\($of)/\(.)" ),
    ($default | select(. != ""))
  ]
  | map(select($namespace == "" or startswith("\($namespace)/")) | {(.): true}) | add // {};

# --- pairs

# output: why a Secret cannot be used
def refused($reason; $message): {$reason, $message};

# input: a Secret's line / output: its "namespace/name", even if jq cannot read it all
def key_of_line:
  if $asked != "" then $asked
  else .[:1000] | capture("\\A\\{\"metadata\":\\{\"name\":\"(?<name>[-a-z0-9.]+)\".*?\"namespace\":\"(?<namespace>[-a-z0-9]+)\"") // {} | "\(.namespace)/\(.name)"
  end;

# input: a Secret / output: the name of its file, which differs for each Secret and after each change
def id:
  "\(.metadata.uid)-\(.metadata.resourceVersion)"
  | select(test("\\A[0-9a-f-]{1,64}\\z"));

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

# input: a Secret / output: {id, pem}, or why it cannot be used
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
    elif $keys == [] and ($key | test("-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type:[^\\n]*ENCRYPTED")) then
      refused("PrivateKeyEncrypted"; "its private key is encrypted, and nobody is here to enter the passphrase: store it without one")
    elif $keys == [] then refused("PrivateKeyInvalid"; "its tls.key holds no private key in PEM form")
    elif $keys[0] | length > 8192 then refused("KeyPairRefused"; "its private key is larger than 8 KiB, which no key needs that is served")
    elif $keys[0] | is_clear | not then refused("PrivateKeyInvalid"; "what its tls.key calls a private key is none, or an encrypted one")
    elif [id] == [] then refused("ObjectUnreadable"; "it has no uid or resourceVersion")
    else {id: id, pem: ([$certificates[], $keys[0]] | join("\n") | split("\r") | join("") | split("\n") | join(","))}
    end;

# input: a Secret's line / output: {certificate, id, size, pem}, or {certificate, reason, message}; nothing if nobody wants it
def looked_at($wanted):
  . as $line
  | if length > largest_secret then
      key_of_line | select($wanted[.]) | {certificate: ., reason: "KeyPairRefused", message: "it is larger than 256 KiB"}
    else
      read_item
      | if has("object") | not then
          $line | key_of_line | select($wanted[.]) | {certificate: ., reason: "ObjectUnreadable", message: "it is nested too deeply to be read"}
        elif (.object | type) != "object" or (.object.metadata.name | type) != "string" or ($asked != "" and (.object | .kind != "Secret" or key != $asked)) then
          error("an item of the list is no Secret")
        else
          .object
          | select($wanted[key])
          | ([.data["tls.crt", "tls.key"] | length] | add) as $size
          | {certificate: key} + if $size > largest_pair then refused("KeyPairRefused"; "its tls.crt and tls.key are larger than 64 KiB") else key_pair end
          | if .id then . + {$size} else . end
        end
    end;

# input: {certificate, id, size, pem} / output: what to do about its key pair. $number is how many of its namespace come first.
def order($present; $number):
  $facts[0][.id] as $fact
  | if $fact.reason or ($fact and $present["\(.id).pem"]) then empty
    elif $fact then "restore 0 \(.id) \(.pem)"
    elif $number > pairs_a_round then "more"
    else "pair \($number) \(.id) \(.pem)"
    end;

# output: {namespace: the bytes of its key pairs so far, ...}
def sizes:
  reduce ($found | lines | fromjson | select(.size)) as $it ({}; .[$it.certificate | split("/")[0]] += $it.size);

# output: each line of the list; or the only one of the answer that should be a Secret
def items:
  if $asked == "" then inputs
  else [inputs] | if length == 1 then .[0] else error("the answer is no Secret") end
  end;

def pairs:
  wanted as $wanted
  | ($files | [lines | {(.): true}] | add // {}) as $present
  | foreach (items | looked_at($wanted)) as $it ({bytes: sizes, new: {}};
      ($it.certificate | split("/")[0]) as $of
      | .bytes[$of] += ($it.size // 0)
      | .orders = []
      | if $it.pem | not then .found = $it
        elif .bytes[$of] > largest_namespace then
          .found = {certificate: $it.certificate} + refused("KeyPairRefused"; "the key pairs of namespace \($of) have more than 12 MB: this one is too much")
        else
          .found = ($it | {certificate, id, size})
          | (if $facts[0][$it.id] then . else .new[$of] += 1 end)
          | .new[$of] as $number
          | .orders = [$it | order($present; $number)]
        end;
      "found \(.found | tojson)", .orders[]);

# --- others

# input: [{name, it: what is known of it, time: when it was asked for}] / output: what to do about them
#
# The namespaces take turns. Those that nobody has asked for come first, and then those that were asked longest ago.
def due:
  map(select(.time == null or $uptime - .time >= seconds_before_asked_again)) as $due
  | ( $due | group_by(.name | split("/")[0])
      | [.[] | sort_by(.time // -1) | to_entries[] | .value + {number: .key}] | sort_by([.number, .time // -1]) ) as $due
  | ($due[:asked_a_round] | map({(.name): true}) | add // {}) as $ask
  | (select(any($due[asked_a_round:][]; .time == null)) | "more"),
    ( .[]
      | if $ask[.name] then "ask \(.name)"
        elif .it then "asked \(.time) \(.name)", "found \(.it | tojson)"
        else empty
        end );

# input: none / output: what to do about the wanted Secrets that no line of the input is about
#
# One whose key file is gone counts as one that nobody has asked for.
def others:
  ([inputs | fromjson | {(.certificate): true}] | add // {}) as $there
  | ([$found | lines | fromjson | {(.certificate): .}] | add // {}) as $known
  | ([$times | lines | split(" ") | {(.[1]): (.[0] | tonumber)}] | add // {}) as $times
  | ($files | [lines | {(.): true}] | add // {}) as $present
  | [wanted | keys[] | select($there[.] | not)] | group_by(split("/")[0])
  | (.[][asked_a_namespace:][]
     | {certificate: .} + refused("LimitExceeded"; "its namespace names more than \(asked_a_namespace) Secrets that are missing, or not of type kubernetes.io/tls")
     | "found \(tojson)"),
    ( [ .[][:asked_a_namespace][]
        | $known[.] as $it
        | {name: ., $it, time: (if $it and ($it.id == null or $facts[0][$it.id].reason or $present["\($it.id).pem"]) then $times[.] else null end)} ]
      | due );

# --- settled

# input: {certificate, id} / output: the same; or what was found before, if only that was examined so far
#
# So a host keeps the certificate that it has until the next one is known.
def settled:
  ([$found | lines | fromjson | select($facts[0][.id // ""]) | {(.certificate): .}] | add // {}) as $before
  | inputs | fromjson
  | if .id and ($facts[0][.id] | not) then $before[.certificate] // . else . end
  | tojson;

# --- list

# input: {certificate, id} of a Secret / output: its line
def certificate($present):
  $facts[0][.id] as $fact
  | {certificate}
    + if $fact == null or ($fact.reason == null and ($present["\(.id).pem"] | not)) then refused("SecretNotReady"; "its key pair is being examined, for some seconds")
      elif $fact.reason then $fact
      elif $fact.notAfter <= $now then refused("CertificateExpired"; "its certificate expired at \($fact.notAfter)")
      else $fact + {file: "\(.id).pem"}
      end;

def list:
  ([inputs | fromjson | {(.certificate): .}] | add // {}) as $found
  | ($files | [lines | {(.): true}] | add // {}) as $present
  | [ wanted | keys[]
      | $found[.] as $it
      | if $it == null then {certificate: .} + refused("SecretNotReady"; "it has not been read yet")
        elif $it.missing then empty
        elif $it.reason then $it
        else $it | certificate($present)
        end ]
  | "\(map(select(.message == "it has not been read yet")) | length) \([.[].notAfter // empty] | min // "9999")",
    (.[] | tojson);

if $print == "pairs" then pairs
elif $print == "others" then others
elif $print == "settled" then settled
else list
end
