#!/usr/bin/env bash
# curl remembers Strict-Transport-Security from one URL of its command line to the next, without --hsts
#
# Software:      curl 7.88.1 (Debian bookworm)
# Behaviour:     `curl https://a.test/ http://a.test/`: if the first answer has Strict-Transport-Security, curl never
#                sends the second request as it was written, but asks https://a.test/ again. A test that compares what a
#                server says on both ports sees the same answer twice. Alone, or first, the second URL is asked as
#                written. A file for --hsts was not given.
# Likely guess:  curl's manual: HSTS is on if --hsts names a file; without one, each URL is asked as it is written.
# Source:        curl/curl pull request 10138: the URLs of one command share a cache of HSTS

source "${BASH_SOURCE[0]%/*}/lib.bash"
needs openssl
debian curl=7.88.1-10+deb12u15 libcurl4=7.88.1-10+deb12u15 nginx=1.22.1-9+deb12u9
library=$(echo "$folder"/root/usr/lib/*-linux-gnu)
"$folder/root/usr/bin/curl" --version | head -n 1 | cut -d ' ' -f 1-4

openssl req -x509 -newkey rsa:2048 -nodes -keyout "$folder/key" -out "$folder/certificate" -days 9 -subj /CN=a.test \
  -addext subjectAltName=DNS:a.test 2>"$folder/openssl.log"
start_nginx <<CONF
server {
  listen 127.0.0.1:18443 ssl; ssl_certificate $folder/certificate; ssl_certificate_key $folder/key;
  add_header Strict-Transport-Security max-age=3600;
  return 200 "the answer of HTTPS\n";
}
server { listen unix:$folder/nginx; listen 127.0.0.1:18080; return 200 "the answer of HTTP\n"; }
CONF

# prints: each answer
both() { # URL...
  HOME=$folder LD_LIBRARY_PATH=$library "$folder/root/usr/bin/curl" -s --max-time 9 --cacert "$folder/certificate" \
    --connect-to a.test:443:127.0.0.1:18443 --connect-to a.test:80:127.0.0.1:18080 "$@" | paste -s -d ,
}

seen 'http://a.test/ alone' 'the answer of HTTP' "$(both http://a.test/)"
seen 'http://a.test/ before https://a.test/' 'the answer of HTTP,the answer of HTTPS' "$(both http://a.test/ https://a.test/)"
seen 'http://a.test/ after https://a.test/' 'the answer of HTTPS,the answer of HTTPS' "$(both https://a.test/ http://a.test/)"
verdict
