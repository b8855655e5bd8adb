# The rule of includes ("jq in short" in bin/README.md): a program includes also what its includes include, and after
# them (jqlang/jq#3636).
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
  cd "$BATS_TEST_DIRNAME/../.."
}

# Prints the files that FILE includes, in order. (For "a", jq takes a.jq or a/a.jq; the program of the features is written
# where it is run. A file without a function of its own
# stands for what it includes.)
includes_of() { # FILE
  local name file
  while read -r name; do
    file=$lib/$name.jq
    [[ -e $file ]] || file=$lib/$name/${name##*/}.jq
    [[ -e $file ]] || file=$written/$name.jq
    if grep -q '^def ' "$file"; then echo "$file"; else includes_of "$file"; fi
  done < <(sed -nE 's/^include "([^"]+)".*/\1/p' "$1")
}

# Prints a line for each include that is missing, or too early.
what_is_missing() { # PROGRAM...
  local program included needed own rest
  for program; do
    own=$(includes_of "$program")
    for included in $own; do
      rest=$'\n'${own#*"$included"}$'\n' # what comes after it
      for needed in $(includes_of "$included"); do
        [[ $rest == *$'\n'"$needed"$'\n'* ]] || echo "$program includes $included, and after it must include $needed, too"
      done
    done
  done
}

# Prints the programs among the files: what no other file includes, and is no feature.
programs() {
  local file modules
  modules=$(while read -r file; do includes_of "$file"; done <"$dir/files")
  grep -vxF "$modules" "$dir/files" | grep -v /features/
}

# The same of programs that stand in a line of shell: writes what they include into a file each, NAME:LINE.
programs_in_shell() {
  local name line text
  while IFS=: read -r name line text; do
    name=$dir/${name//\//_}:$line
    tr ';' '\n' <<<"${text#?}" | sed 's/^ *//' >"$name"
    echo "$name"
  done < <(grep -rnoE "'(include \"[^\"]+\"; ?)+" bin)
}

@test "a program includes also what its includes include, and after them" {
  lib=bin/lib dir=$BATS_TEST_TMPDIR
  written=$dir/features
  (source bin/settings && source bin/lib/annotations/features.bash && features_in_use=$written write_features "$(<bin/lib/annotations/features.json)")
  find bin/lib templates "$written" -name '*.jq' >"$dir/files"
  mapfile -t programs < <(programs)
  assert_contains "${programs[*]}" bin/lib/route/route.jq
  assert_contains "${programs[*]}" templates/nginx.jq
  mapfile -t -O "${#programs[@]}" programs < <(programs_in_shell)
  assert_contains "${programs[*]}" "$dir/bin_settings:"
  assert_equal '' "$(what_is_missing "${programs[@]}")"
}

@test "an include that is missing or too early is named" {
  lib=$BATS_TEST_TMPDIR written=''
  mkdir "$lib/c"
  echo 'include "b";' >"$lib/missing.jq"
  printf 'include "c"; # the functions of c\ninclude "b";\n' >"$lib/early.jq"
  printf 'include "b";\ninclude "c";\n' >"$lib/right.jq"
  printf 'include "c";\ndef b: c;\n' >"$lib/b.jq"
  echo 'def c: 1;' >"$lib/c/c.jq"
  assert_equal "$lib/missing.jq includes $lib/b.jq, and after it must include $lib/c/c.jq, too
$lib/early.jq includes $lib/b.jq, and after it must include $lib/c/c.jq, too" "$(what_is_missing "$lib"/{missing,early,right}.jq)"
}
