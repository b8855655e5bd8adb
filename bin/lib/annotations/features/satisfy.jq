# satisfy: whether a client must have all that an Ingress asks for (all), or one of these is enough (any): an address in
# allowlist-source-range, a password, and the word of an authentication service.
#
# With any, allowlist-source-range does not turn clients away (access.jq), and of those that are in it nobody wants a
# password (basic-auth.jq), nor is the service asked about them (external-auth.jq). nginx's own `satisfy` is for the
# other two. It would also weaken `allow` and `deny`, which is why the lists of addresses are none:
# denylist-source-range turns away all the same. So does a client certificate that is missing. With one protection
# alone, any and all are the same.

# input: a location / output: its directive
def location: select(.set.satisfy == "any" and .users and .who) | "satisfy any; ";
