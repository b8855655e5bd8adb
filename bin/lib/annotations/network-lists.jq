# Lists of networks that annotations name: nginx has a variable for each, which is 1 for the clients in it.
#
# Equal lists share one, whatever annotation has them.

# input: model / output: the same with these variables for the annotation $name; each element of options that has it
# gets, as .[$into], the number of its variable, $in_networks_NUMBER
def number_networks($name; $into):
  ([.options[][$name] | values] | unique) as $lists
  | reduce $lists[] as $list (.;
      ($list | tojson) as $key
      | if .network_lists[$key] then .
        else
          .network_lists[$key] = (.network_lists | length) + 1
          | .lines += ["  geo $in_networks_\(.network_lists[$key]) {", ($list[] | "    \(.) 1;"), "  }", ""]
        end)
  | (.network_lists // {}) as $numbers
  | .options |= map(if .[$name] then .[$into] = $numbers[.[$name] | tojson] else . end);
