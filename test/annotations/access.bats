# allowlist-source-range and denylist-source-range: who may use a path, by address.
load words

# bats test_tags=cluster
@test "only the addresses of allowlist-source-range get in, and those of denylist-source-range do not" {
  ingress open one.example / red
  ingress shut two.example / red allowlist-source-range=192.0.2.0/24
  ingress let three.example / red allowlist-source-range=0.0.0.0/0,::/0
  ingress denied four.example / red denylist-source-range=0.0.0.0/0,::/0
  ingress own-prefix five.example / red bash-ingress.local/denylist-source-range=0.0.0.0/0,::/0
  serve
  assert_equal '200 403 200 403 403' "$(statuses {one,two,three,four,five}.example/)"
  assert_equal red "$(who_answers three.example /)"
}

@test "two names for one thing must say the same: else the Ingress is closed" {
  ingress same one.example / red allowlist-source-range=0.0.0.0/0,::/0 whitelist-source-range=0.0.0.0/0,::/0
  ingress other two.example / red allowlist-source-range=0.0.0.0/0,::/0 whitelist-source-range=192.0.2.1
  serve
  assert_equal '200 503' "$(statuses {one,two}.example/)"
  assert_contains "$(problems)" 'allowlist-source-range and whitelist-source-range are two names for one thing, but their values differ'
}
