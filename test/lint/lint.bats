# What can be said about the files without running them.
bats_require_minimum_version 1.5.0
load ../helpers

setup() {
  cd "$BATS_TEST_DIRNAME/../.."
}

shell_programs() {
  git ls-files -z --cached --others --exclude-standard | xargs -0 grep -lE '^#!/usr/bin/env bash' 2>/dev/null
}

@test "shellcheck finds nothing in the programs" {
  shell_programs | xargs shellcheck
}

@test "shellcheck finds nothing in the tests" {
  git ls-files -z --cached --others --exclude-standard '*.bats' '*.bash' | xargs -0 grep -L '^#!' | grep -v cluster/lib |
    xargs shellcheck --shell=bats --severity=warning --exclude=SC2154,SC2034,SC2164 # bats and the helpers set variables, and bats runs with set -e
}

@test "shfmt would change nothing" {
  { shell_programs && git ls-files --cached --others --exclude-standard '*.bash' '*.bats'; } | sort -u | xargs shfmt -i 2 -ci -d
}

@test "kubectl kustomize builds the base, every variant and the demo" {
  for folder in manifests/base manifests/demo manifests/variants/*/; do
    kubectl kustomize "$folder" >"$BATS_TEST_TMPDIR/out.yaml" || { echo "$folder" && false; }
    grep -q '^kind: ' "$BATS_TEST_TMPDIR/out.yaml"
  done
}

@test "the release manifest is the variant's, with the image that is named" {
  make -s release-manifest VARIANT=variants/hostport IMAGE=registry.example/ingress:1 >"$BATS_TEST_TMPDIR/out.yaml"
  diff <(kubectl kustomize manifests/variants/hostport | sed 's|bash-ingress:dev|registry.example/ingress:1|') "$BATS_TEST_TMPDIR/out.yaml"
  grep -q 'image: registry.example/ingress:1$' "$BATS_TEST_TMPDIR/out.yaml"
}

@test "yamllint finds nothing in the YAML files" { # but templates, which are not YAML yet
  git ls-files -z --cached --others --exclude-standard '*.yaml' ':!test/cluster/config' | xargs -0 yamllint --strict -c test/lint/yamllint.yaml
}

@test "the Dockerfiles pass BuildKit's checks, and their commands shellcheck" {
  linter=$(go_program dockerfile)
  for file in Dockerfile test/go/*/Dockerfile; do
    "$linter" "$file"
    "$linter" "$file" --runs | shellcheck -
  done
}

@test "go vet and gofmt find nothing in the Go programs" {
  for module in test/*/go.mod test/*/*/go.mod; do
    [[ -n $(find "${module%/*}" -name '*.go') ]] || continue # it pins programs that others wrote
    go vet -C "${module%/*}" ./...
  done
  run -0 gofmt -l test
  assert_equal '' "$output"
}

@test "every program in bin says in its header what it is and how it is used" {
  for program in bin/*; do
    [[ -f $program && $program != *.md ]] || continue
    head -n 6 "$program" | grep -q "^# ${program##*/} - " || { echo "$program: no purpose" && false; }
    head -n 6 "$program" | grep -q '^# Usage: ' || { echo "$program: no usage" && false; }
  done
}

@test "tests change texts with edit, which fails if nothing matches" {
  run grep -rn --include='*.bats' --include='*.bash' --exclude-dir=kind -E 'sed (-[a-zA-Z]+ )*-[a-zA-Z]*i' test
  assert_equal '' "$(grep -v lint.bats <<<"$output")"
}

@test "comments have at most 120 columns" {
  run -0 xargs -a <(git ls-files bin templates | grep -vE '[.](md|json)$') awk 'length > 120 && /^ *#/ {print FILENAME ":" FNR ": " $0}'
  assert_equal '' "$output"
}

@test "make help names every target that is meant for people" {
  run make help
  for target in $(sed -n 's/^.PHONY: //p' Makefile); do
    assert_contains "$output" "make $target "
  done
}
