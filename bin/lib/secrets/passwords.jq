# The passwords in a Secret: what auth-secret names.
#
# nginx compares them in its workers, which serve everybody: only hashes are let in that take a tenth of a second at
# most. Nobody but nginx gets to see them; a problem never has a part of a line.

def most_users: 1000;
def most_bytes: 131072;

# input: the hash of a password / output: whether nginx can compare it, in little time
#
# bcrypt up to cost 10. SHA-256 and SHA-512 with the usual number of rounds, and no number in the hash.
def is_cheap_hash:
  length <= 200
  and test("\\A(?:[$]apr1[$][./A-Za-z0-9]{1,8}[$][./A-Za-z0-9]{22}|\\{SHA\\}[A-Za-z0-9+/]{27}=|\\{SSHA\\}[A-Za-z0-9+/]{28,100}={0,2}|[$]2[aby][$](?:0[4-9]|10)[$][./A-Za-z0-9]{53}|[./A-Za-z0-9]{13}|[$]1[$][./A-Za-z0-9]{0,8}[$][./A-Za-z0-9]{22}|[$]5[$][./A-Za-z0-9]{1,16}[$][./A-Za-z0-9]{43}|[$]6[$][./A-Za-z0-9]{1,16}[$][./A-Za-z0-9]{86})\\z");

# input: the name of a user / output: whether it is let in
def is_user: test("\\A[^:,#\\x00-\\x20\\x7f][^:,\\x00-\\x1f\\x7f]{0,127}\\z");

# input:  a line of an htpasswd file
# output: {user, hash}; nothing for a comment or an empty line. What follows a second colon is a comment.
def entry:
  select(test("\\A\\s*(?:#|\\z)") | not)
  | rtrimstr("\r") | split(":") | {user: .[0], hash: (.[1] // null)};

# output: why passwords cannot be used
def refused($message): {reason: "PasswordsRefused", $message};

# input: [{user, hash}] / output: {text}, an htpasswd file with commas for the ends of lines; or {reason, message}
#
# A user without a hash cannot log in.
def htpasswd:
  if length > most_users then refused("it has more than \(most_users) users")
  elif any(.[]; .hash == null or (.user | is_user | not)) then
    refused("a line of it is not user:hash, or the user's name has a character that is not possible")
  elif any(.[]; .hash != "" and (.hash | is_cheap_hash | not)) then
    refused("the hash of a password in it is none of apr1, {SHA}, {SSHA}, bcrypt up to cost 10, or crypt without a number of rounds")
  else {text: (map(select(.hash != "") | "\(.user):\(.hash)") | join(","))}
  end;

# input:  text in base64
# output: the hash in it, without white space at its end; longer text stays as it is, and is no hash
def value_as_hash: if length > 400 then . else @base64d | sub("\\s+\\z"; "") end;

# input: a Secret / output: the same of its passwords
def passwords($use):
  (.data // {}) as $data
  | if $use == "auth-file" then
      if $data.auth | type != "string" then
        refused("it has no key \"auth\", which holds an htpasswd file; if its keys are users, say so with auth-secret-type: auth-map")
      elif $data.auth | length > most_bytes * 4 / 3 then refused("it has more than 128 KiB of passwords")
      else [$data.auth | @base64d | split("\n")[] | entry] | htpasswd
      end
    elif $data | length > most_users then refused("it has more than \(most_users) users")
    elif [$data[] | length] | add > most_bytes then refused("it has more than 128 KiB of passwords")
    else [$data | to_entries[] | {user: .key, hash: (.value | value_as_hash)}] | htpasswd
    end;
