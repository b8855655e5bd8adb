# What stands around the hooks of the features (features.jq).

# input: anything / output: the same; an error if one of these features is not loaded: what it protects would be open
def all_loaded($features; $loaded):
  (($features // []) - $loaded) as $missing
  | if $missing == [] then . else error("these features are not loaded: \($missing | join(", "))") end;

# input: model / output: the same; each location with annotations has its directives, which the hooks `location` give
def with_directives(hooks):
  .options as $options
  | .servers |= map(.locations |= map(
      if .options then .set = $options[.options - 1] | .directives = ([hooks] | add) else . end));
