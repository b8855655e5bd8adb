# Helpers of all tests.

# Before each command, bats notes where it is, which takes it half a millisecond. From here on, it does so in tests and in
# setup, whose line it shows if something fails, but not in the functions that they call.
note_lines_of_tests_only() {
  trap '[[ ${FUNCNAME-} != @("${BATS_TEST_NAME-}"|setup|setup_file) ]] || bats_debug_trap "$BASH_SOURCE"' DEBUG
}

# Runs COMMAND until it succeeds; fails, and says what it waited for, after SECONDS, or three times as many if other
# tests use the CPUs (SLOWER). Between two tries it pauses for as long as COMMAND takes, at least, and after
# two seconds for longer, so that it leaves the CPUs to others. (COMMAND sees these variables and may set some of its
# own, so theirs are names that nobody else takes.)
wait_for() { # SECONDS COMMAND...
  local wait_seconds=$(($1 * (${SLOWER:-1} > 1 ? 3 : 1))) wait_least=50000 wait_try wait_pause
  local wait_deadline=$((SECONDS + wait_seconds)) wait_rarely=$((SECONDS + 2))
  while wait_try=${EPOCHREALTIME/./} && ! "${@:2}" >/dev/null 2>&1; do
    if ((SECONDS >= wait_deadline)); then
      printf 'waited %s s in vain for: %s\n' "$wait_seconds" "${*:2}" >&2
      return 1
    fi
    ((SECONDS < wait_rarely)) || wait_least=200000
    wait_pause=$((${EPOCHREALTIME/./} - wait_try)) # microseconds; the clock may jump
    wait_pause=$((wait_pause < wait_least ? wait_least : wait_pause < 999999 ? wait_pause : 999999))
    printf -v wait_pause '0.%06d' "$wait_pause"
    sleep "$wait_pause"
  done
}

# Changes FILE with sed, and fails if that changes nothing: an edit that no longer matches would leave a test without what
# it tests.
edit() { # FILE SED_ARGUMENT...
  sed "${@:2}" "$1" >"$1.edited" || return
  if cmp -s "$1" "$1.edited"; then
    rm "$1.edited"
    printf 'this changes nothing in %s: sed %s\n' "$1" "${*:2}" >&2
    return 1
  fi
  cat "$1.edited" >"$1" # and not mv, which would take its mode away
  rm "$1.edited"
}

assert_equal() { # EXPECTED ACTUAL
  [[ $1 == "$2" ]] || {
    printf 'expected: %s\nactual:   %s\n' "$1" "$2" >&2
    return 1
  }
}

assert_contains() { # TEXT PART
  [[ -n $2 && $1 == *"$2"* ]] || {
    printf 'expected: a text that contains %s\nactual:   %s\n' "$2" "$1" >&2
    return 1
  }
}

refute_contains() { # TEXT PART
  [[ $1 != *"$2"* ]] || {
    printf 'expected: a text without %s\nactual:   %s\n' "$2" "$1" >&2
    return 1
  }
}

# Prints the code blocks of the README, and of the pages about the programs and installing, that are marked with KIND.
readme_commands() { # KIND
  awk -v start="\`\`\`bash $1" '$0 == start { inside = 1; next } /^```/ { inside = 0 } inside' "$BATS_TEST_DIRNAME"/../../{,bin/,manifests/}README.md
}

# Sets each NAME to a TCP port that nothing listens on, below those that the kernel gives to outgoing
# connections; another one each time, since who gets it may use it only later.
set_free_ports() { # NAME...
  local name candidate given=$BATS_RUN_TMPDIR/ports taken=''
  for name; do
    [[ ! -e $given ]] || IFS= read -r -d '' taken <"$given" || true # to the end of the file
    while true; do
      candidate=$((RANDOM % 20000 + 10000))
      [[ $'\n'$taken == *$'\n'$candidate$'\n'* ]] || { : <>"/dev/tcp/127.0.0.1/$candidate"; } 2>/dev/null || break
    done
    echo "$candidate" >>"$given"
    printf -v "$name" '%s' "$candidate"
  done
}

# Prints one.
free_port() {
  local port
  set_free_ports port
  echo "$port"
}

# Builds test/go/NAME and prints where the program is. It is kept until its source changes: to link it takes Go a second.
go_program() { # NAME
  local source=${BASH_SOURCE[0]%/*}/go/$1 folder=${XDG_CACHE_HOME:-$HOME/.cache}/bash-ingress/test-programs sum program
  sum=$(cat "$source"/*.go "$source"/../go.{mod,sum} | sha256sum)
  program=$folder/$1-${sum:0:12}
  if [[ ! -x $program ]]; then
    mkdir -p "$folder"
    CGO_ENABLED=0 go build -C "$source" -o "$program.$$" . >&2
    mv -T "$program.$$" "$program"
  fi
  echo "$program"
}

# Fails and shows both sides unless the filter gives EXPECTED (compact JSON).
assert_json() { # FILTER EXPECTED <JSON
  local actual
  actual=$(jq -c "$1")
  assert_equal "$2" "$actual"
}

# Makes FILE.crt and FILE.key: a certificate for the hosts, with commas between,
# that it signs itself. Its subject is the file's name, by which tests know it.
make_pair() { # FILE HOSTS rsa|ecdsa|rsa:BITS
  local algorithm=("$3")
  case $3 in
    ecdsa) algorithm=(ec -pkeyopt ec_paramgen_curve:P-256) ;;
    rsa) algorithm=(rsa:2048) ;;
  esac
  openssl req -x509 -newkey "${algorithm[@]}" -nodes -days 1 -subj "/CN=${1##*/}" -addext "subjectAltName=DNS:${2//,/,DNS:}" \
    -keyout "$1.key" -out "$1.crt" 2>/dev/null
}

# Makes FILE: the list of what AUTHORITY has revoked, valid until then (UTC). A certificate is CERTIFICATE.crt, or a number.
make_revocations() { # FILE AUTHORITY UNTIL CERTIFICATE...
  local certificate
  printf '[ca]\ndefault_ca = ca_here\n[ca_here]\ndatabase = %s.index\ndefault_md = sha256\n' "$1" >"$1.conf"
  for certificate in "${@:4}"; do
    [[ ! -e $certificate.crt ]] || certificate=$(openssl x509 -in "$certificate.crt" -noout -serial | cut -d = -f 2)
    printf 'R\t991231000000Z\t260101000000Z\t%s\tunknown\t/CN=x\n' "$certificate"
  done >"$1.index"
  openssl ca -gencrl -config "$1.conf" -cert "$2.crt" -keyfile "$2.key" -crl_lastupdate 20260101000000Z -crl_nextupdate "$3" -out "$1" 2>/dev/null
}

# What is read first, the mechanism.
level_1=(bin/{loop,fetch,route,render,apply} bin/lib/fetch/{whole.bash,items.jq,services.jq,endpointslices.jq,ingresses.jq}
  bin/lib/route/route.jq templates/nginx.jq templates/nginx.conf.template)
