
# --- what explain adds: each location says which it is. (A feature may have added some; they have no place.)

# input: model / output: the same
def with_features:
  with_features_only
  | .servers[]?.locations[] |= (.directives = "set $explained \"\(.at // "new")\"; set $explained_path $uri; " + (.directives // ""));
