# What the findings share: pinned packages in a temporary folder, an nginx and a pod on sockets there, and the verdict.
# shellcheck shell=bash

set -euo pipefail

folder=$(mktemp -d) failed=0
chmod 755 "$folder" # for root's nginx, whose workers are another user
trap 'end' EXIT

end() {
  local pids
  pids=$(jobs -p)
  # shellcheck disable=SC2086 # each word is a process
  [[ -z $pids ]] || kill $pids 2>/dev/null || true
  rm -rf "$folder"
}

needs() { # PROGRAM...
  local program
  for program; do
    command -v "$program" >/dev/null || { echo "this needs $program" >&2 && exit 1; }
  done
}

# Unpacks Debian's packages in the folder, without installing them.
debian() { # PACKAGE=VERSION...
  needs apt-get dpkg
  (cd "$folder" && apt-get download -qq "$@" 2>"$folder/apt.log" && for file in ./*.deb; do dpkg -x "$file" root; done) ||
    { cat "$folder/apt.log" >&2 && exit 1; }
}

# Runs a Go program with these modules. Its own text comes first, on standard input.
go_run() { # MODULE@VERSION...
  needs go
  mkdir "$folder/go" && cat >"$folder/go/main.go"
  (
    cd "$folder/go" && go mod init finding && go get "$@" && go mod tidy
  ) >"$folder/go.log" 2>&1 || { cat "$folder/go.log" >&2 && exit 1; }
  (cd "$folder/go" && go run .)
}

# Starts nginx with this http block, on standard input; its server listens on unix:$folder/nginx, its pod is
# unix:$folder/pod.
start_nginx() {
  local name
  {
    echo "daemon off; pid $folder/pid; error_log $folder/log; events { } http {"
    for name in client_body proxy fastcgi uwsgi scgi; do echo "${name}_temp_path $folder/temp;"; done
    cat && echo '}'
  } >"$folder/nginx.conf"
  "$folder/root/usr/sbin/nginx" -e "$folder/log" -c "$folder/nginx.conf" &
  wait_for test -S "$folder/nginx"
}

# Starts a pod: to each connection, it runs this Perl. The connection is $_, and what the client has sent at first $sent.
start_pod() { # PERL
  # shellcheck disable=SC2016 # the dollar signs are Perl's
  perl -MIO::Socket::UNIX -MSocket -e '
    $socket = IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => $ARGV[0], Listen => 9) or die $!;
    chmod 0777, $ARGV[0];
    $SIG{CHLD} = "IGNORE";
    while ($_ = $socket->accept) {
      if (fork) { close $_; next }
      $_->autoflush(1);
      $_->sysread($sent, 65536);
      eval $ARGV[1]; die $@ if $@;
      exit;
    }' "$folder/pod" "$1" &
  wait_for test -S "$folder/pod"
}

ask() { # CURL_OPTION...
  curl -s --max-time 9 --unix-socket "$folder/nginx" "$@" || echo "curl ended with status $?" >&2
}

wait_for() { # COMMAND...
  local try
  for try in {1..100}; do
    ! "$@" || return 0
    sleep 0.1
  done
  echo "waited in vain for: $* ($try tries)" >&2
  return 1
}

# Prints what was seen, and notes whether it is what was seen when this was written.
seen() { # WHAT EXPECTED ACTUAL
  printf '%s: %s\n' "$1" "$3"
  [[ $3 == "$2" ]] || { printf '  CHANGED, it was: %s\n' "$2" && failed=1; }
}

verdict() {
  ((failed == 0)) || { echo 'The behaviour has changed.' && exit 1; }
  echo 'The behaviour is as described.'
}
