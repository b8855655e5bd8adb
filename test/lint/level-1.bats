# Level 1, the mechanism, is read in one sitting; and bin/lib is a house whose folders can be taken in at a glance.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
  cd "$BATS_TEST_DIRNAME/../.."
}

@test "level 1 has at most 375 lines of code, in 13 files that the README names" {
  assert_equal 13 "${#level_1[@]}"
  for file in "${level_1[@]}"; do
    assert_contains "$(<README.md)" "]($file)"
    printf '%4d %s\n' "$(grep -vcE '^\s*(#|$)' "$file")" "$file"
  done | tee "$BATS_TEST_TMPDIR/lines"
  (($(awk '{ lines += $1 } END { print lines }' "$BATS_TEST_TMPDIR/lines") <= 375))
}

@test "no line of level 1 is longer than 120 columns" {
  run awk 'length > 120 { print FILENAME ":" FNR ": " $0 }' "${level_1[@]}"
  assert_equal '' "$output"
}

# Prints what is left of a line of bash with two statements, after quotes, comments and the heads of if, for, while and
# case. (Where shfmt is content, { a; } and a case's ;; are the only other places for a semicolon.)
@test "level 1 has one statement a line" {
  mapfile -t shell < <(printf '%s\n' "${level_1[@]}" | grep -vE '[.](jq|template)$')
  shfmt -i 2 -ci -d "${shell[@]}"
  run awk '
    { line = $0
      gsub(/\\./, "", line)
      gsub(/\047[^\047]*\047|"[^"]*"/, "", line)
      sub(/(^| )#.*/, "", line)
      gsub(/;;&?|; (then|do|else|elif|fi|done|in|})( |$)|; }$|\(\([^()]*;[^()]*;[^()]*\)\)/, "", line) }
    line ~ /;/ { print FILENAME ":" FNR ": " $0 }' "${shell[@]}"
  assert_equal '' "$output"
}

@test "no file of level 1 asks to look away" {
  run grep -nEi 'at a first reading|\(2\)|not( part of)? level 1|\<skips?\>' "${level_1[@]}"
  assert_equal '' "$output"
}

@test "what decides the routing is in the snapshot: no file that route loads reads the environment" {
  lib=bin/lib
  reads() { # FILE   prints it and what it includes
    local name file
    echo "$1"
    while read -r name; do
      file=$lib/$name.jq
      [[ -e $file ]] || file=$lib/$name/${name##*/}.jq
      [[ ! -e $file ]] || reads "$file" # the program of the features is written where it is run
    done < <(sed -nE 's/^include "([^"]+)".*/\1/p' "$1")
  }
  # (Features also have hooks for render.)
  mapfile -t files < <({ ls bin/lib/route/*.jq && reads bin/lib/route/route.jq; } | sort -u | grep -v ^bin/lib/render/)
  ((${#files[@]} > 8))
  run grep -nE '[$]ENV|\<env\>' "${files[@]}"
  assert_equal '' "$output"
}

@test "no folder of bin/lib has more than 16 entries, but that of the features" {
  find bin/lib -type d | while read -r folder; do
    [[ $folder == */features ]] || printf '%s %s\n' "$folder" "$(find "$folder" -mindepth 1 -maxdepth 1 | wc -l)"
  done >"$BATS_TEST_TMPDIR/folders"
  assert_equal '' "$(awk '$2 > 16' "$BATS_TEST_TMPDIR/folders")"
}
