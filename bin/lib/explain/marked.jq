
# --- what explain adds: each server and location says which it is. (A feature may have added some; they have no place.)

# input: model / output: the same
def with_features:
  with_features_only
  | .servers[]? |= (
      .lines = ["    set $explained_server \"\(.at // "")\";"] + (.lines // [])
      | .locations[] |= (.directives = "set $explained \"\(.at // "new")\"; set $explained_path $uri; " + (.directives // "")));
