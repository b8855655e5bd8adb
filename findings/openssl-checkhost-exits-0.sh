#!/usr/bin/env bash
# openssl x509 -checkhost ends with status 0 whether the certificate is for that host or not
#
# Software:      OpenSSL 3.0 (Debian bookworm)
# Behaviour:     Of a certificate for a.test, `-checkhost b.test` prints "does NOT match certificate", with status 0. Its
#                neighbour `-checkend` prints as well, but says by its status, too, when the certificate will have expired.
#                So `if openssl x509 -checkhost ...` is always true: read what it prints.
# Likely guess:  An option whose name begins with -check sets the exit status, as -checkend does.
# Source:        openssl-x509(1): of -checkend it says "exits nonzero if yes it will expire", of -checkhost only "check that
#                the certificate matches".

source "${BASH_SOURCE[0]%/*}/lib.bash"
debian openssl=3.0.20-1~deb12u2 libssl3=3.0.20-1~deb12u2
openssl() { LD_LIBRARY_PATH=$(echo "$folder"/root/usr/lib/*-linux-gnu) OPENSSL_CONF=/dev/null "$folder/root/usr/bin/openssl" "$@"; }
openssl version

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=a.test -addext subjectAltName=DNS:a.test \
  -keyout "$folder/key" -out "$folder/crt" 2>/dev/null

status_and_words() { # OPTION...
  local status=0 words
  words=$(openssl x509 -in "$folder/crt" -noout "$@" 2>&1) || status=$?
  echo "$status, $words"
}
seen '-checkhost a.test' '0, Hostname a.test does match certificate' "$(status_and_words -checkhost a.test)"
seen '-checkhost b.test' '0, Hostname b.test does NOT match certificate' "$(status_and_words -checkhost b.test)"
seen '-checkend, an hour' '0, Certificate will not expire' "$(status_and_words -checkend 3600)"
seen '-checkend, two days' '1, Certificate will expire' "$(status_and_words -checkend 172800)"
verdict
