# The items of a list, one on each line, as fetch hands them to the digests.

# input: an object / output: "namespace/name"
def key: "\(.metadata.namespace)/\(.metadata.name)";

# input: a line / output: {object}, or {} if it is nested too deeply; an error if the line is not whole
#
# The API server stores objects that are nested more deeply than jq can read. Any other error means that the line was
# damaged on its way, as the API server stores only valid JSON: then nothing of the list counts.
def read_item:
  try {object: fromjson}
  catch (if startswith("Exceeds depth limit") then {} else error("an item of the list is not whole: \(.)") end);

# output: the problem that an object is left out
def unreadable($kind; $namespace; $name; $why):
  {problem: {$namespace, reason: "ObjectUnreadable", message: "\($kind) \($namespace)/\($name) is left out: \($why)"}};

# input: the line of an object that is nested too deeply / output: a problem
def too_deep($kind):
  (capture("^\\{\"metadata\":\\{\"name\":\"(?<name>[-a-z0-9.]+)\".*?\"namespace\":\"(?<namespace>[-a-z0-9]+)\"")
    // {name: "?", namespace: "?"}) as $its
  | unreadable($kind; $its.namespace; $its.name; "it is nested too deeply to be read");

# input: none (jq -n -R) / output: for each item of a list of $kind what `digest` makes of it; or a problem
#
# One odd object harms only itself: if the digest fails, that object is left out, and named.
def each_item($kind; digest):
  inputs
  | . as $line
  | read_item
  | if has("object") | not then $line | too_deep($kind)
    else .object
      | if type == "object" and (.metadata.name | type) == "string" then
          . as $object
          | try digest catch ($object.metadata | unreadable($kind; .namespace; .name; "a field has the wrong type"))
        else error("an item of the list is no \($kind)")
        end
    end;
