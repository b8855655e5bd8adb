# The items of a list, one on each line, as fetch hands them to the summaries.

# input: an object / output: "namespace/name"
def key: "\(.metadata.namespace)/\(.metadata.name)";

# input: a port of a Service or EndpointSlice / output: whether it is of TCP, as one without a protocol is
def is_tcp: (.protocol // "TCP") == "TCP";

# input: a line / output: {object}, or {} if it is nested too deeply; an error if the line is not whole
#
# The API server stores objects that are nested more deeply than jq can read. Any other error means that the line was
# damaged on its way, as the API server stores only valid JSON: then nothing of the list counts.
def read_item:
  try {object: fromjson}
  catch (if startswith("Exceeds depth limit") then {} else error("an item of the list is not whole: \(.)") end);

# input: an object's line / output: its "namespace/name", even if jq cannot read it all
def key_of_line:
  (.[:1000]
   | capture("\\A\\{\"metadata\":\\{\"name\":\"(?<name>[-a-z0-9.]+)\".*?\"namespace\":\"(?<namespace>[-a-z0-9]+)\"")
   | "\(.namespace)/\(.name)") // "?/?";

# input: an object's "namespace/name" / output: the problem that it is left out
def unreadable($kind; $why):
  {problem: {namespace: split("/")[0], reason: "ObjectUnreadable", message: "\($kind) \(.) is left out: \($why)"}};

# input: none (jq -n -R) / output: for each item of a list of $kind what `summary` makes of it; or a problem
#
# One odd object harms only itself: if there is no summary of it, it is left out, and named.
def each_item($kind; summary):
  inputs | . as $line | read_item
  | if has("object") | not then $line | key_of_line | unreadable($kind; "it is nested too deeply to be read")
    elif .object | (try .metadata.name catch null) | type != "string" then
      error("an item of the list is not of the kind \($kind)")
    else .object | . as $object | try summary catch ($object | key | unreadable($kind; "a field has the wrong type"))
    end;
