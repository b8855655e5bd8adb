load helpers
setup() { common_setup; }

@test "settings prints every setting with its value and meaning" {
  run "$bin/settings"
  assert_contains "$output" 'POLL_SECONDS             = 1 '
  assert_contains "$output" 'pause between two passes'
}

@test "a setting that is empty has its default" {
  INGRESS_CLASS='' run "$bin/settings"
  assert_contains "$output" 'INGRESS_CLASS            = bash '
}

@test "who polls rarely renews the Lease rarely, if nothing else is said" {
  for seconds in 0.5:15 1:15 9.5:15 10:60 30.5:60; do
    POLL_SECONDS=${seconds%:*} run "$bin/settings"
    assert_contains "$output" "LEASE_SECONDS            = ${seconds#*:} "
  done
  POLL_SECONDS=30 LEASE_SECONDS=20 run "$bin/settings"
  assert_contains "$output" 'LEASE_SECONDS            = 20 '
}

@test "each wrong setting gets a sentence, and the program ends with status 2" {
  POLL_SECONDS=often INGRESS_CLASS='a b' run "$bin/settings"
  assert_equal 2 "$status"
  assert_contains "$output" 'POLL_SECONDS=often is not possible. It takes a number of seconds above 0: pause between two passes'
  assert_contains "$output" 'INGRESS_CLASS=a\ b is not possible. It takes a name: '
}

@test "a pause of nothing, a port of 70000 and a line end in a path are not possible" {
  for wrong in POLL_SECONDS=0 POLL_SECONDS=0.0 HTTP_PORT=70000 HTTP_PORT=0 STATE_DIR=$'/tmp/a\nb' STATE_DIR=relative PROXY_PROTOCOL=yes \
    LIMITS=namespace_hosts LIMITS=namespace_host=5 LIMITS='ingress_paths=5,ingress_hosts=5' HOST_OWNERSHIP=none \
    PUBLISH_ADDRESS=1:2 PUBLISH_ADDRESS=1:2:3:4:5:6:7:8:9 PUBLISH_ADDRESS=1::2::3 PUBLISH_ADDRESS=[::1] PUBLISH_ADDRESS=fe80::1%eth0 \
    PUBLISH_ADDRESS=::192.0.2.256 PUBLISH_ADDRESS=1:2:3:4:5:6:7:192.0.2.1 PUBLISH_ADDRESS=192.0.2.1:80 PUBLISH_ADDRESS=lb.example. PUBLISH_ADDRESS=a..b PUBLISH_ADDRESS='::1,' \
    DEFAULT_ANNOTATIONS=limit-rps ALLOWED_RESPONSE_HEADERS='X-A, X-B' PROXY_SET_HEADERS=X-A PROXY_SET_HEADERS='X-A: "' PROXY_SET_HEADERS=$'X-A: 1\nhost: b' PROXY_SET_HEADERS='Authorization: a' PROXY_SET_HEADERS='x-service-port: 1'; do
    run env "$wrong" "$bin/settings"
    assert_equal 2 "$status" || { echo "$wrong" && false; }
  done
}

@test "limits can be set one by one" {
  LIMITS='namespace_hosts=20000 ingress_paths=10000' run "$bin/settings"
  assert_equal 0 "$status"
}

@test "a default for all Ingresses must be an annotation with an effect, and with a value that it takes" {
  DEFAULT_ANNOTATIONS=$'proxy-body-size: 1m\nproxy-next-upstream: error timeout\n' run "$bin/settings"
  assert_equal 0 "$status"
  assert_contains "$output" 'DEFAULT_ANNOTATIONS      = proxy-body-size: 1m\nproxy-next-upstream: error timeout\n'
  DEFAULT_ANNOTATIONS=$'limit-rps: many\nserver-snippet: deny all;\ncanary: true\nlimit-whitelist: 10.0.0.1\nlimit-allowlist: 10.0.0.2' run "$bin/settings"
  assert_equal 2 "$status"
  assert_contains "$output" 'DEFAULT_ANNOTATIONS is not possible: limit-rps is "many"; allowed: whole numbers from 0 to 100000; "server-snippet" is no annotation that has an effect here; canary cannot be for all Ingresses; limit-allowlist and limit-whitelist are two names for one thing, but their values differ.'
}

@test "two ports that are the same are not possible" {
  HTTP_PORT=8080 HTTPS_PORT=8080 run "$bin/settings"
  assert_equal 2 "$status"
  assert_contains "$output" 'must be three different ports'
}

@test "a missing program is named, with where to get it" {
  mkdir "$dir/path"
  ln -s "$(command -v bash)" "$(command -v env)" "$dir/path"
  PATH=$dir/path run "$bin/route"
  assert_equal 2 "$status"
  assert_contains "$output" 'these programs are missing: jq.'
}

@test "each program prints the comment at its top as its help, whatever its settings" {
  for program in "$bin"/*; do
    [[ -f $program && -x $program ]] || continue
    for option in -h --help; do
      POLL_SECONDS=often run "$program" "$option"
      assert_equal 0 "$status"
      assert_equal "${program##*/} - " "$(grep -o '^[a-z-]* - ' <<<"${lines[0]}")"
      assert_contains "$output" $'\n\nUsage: '"${program##*/}"
    done
    grep -qxF "# ${lines[-1]}" "$program" # and ends where it ends
    refute_contains "$output" 'set -euo'
  done
}
