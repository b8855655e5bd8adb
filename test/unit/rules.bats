# Which rule serves which request: each row of these tables has rules, a request
# and what must answer. Real nginx answers, on behalf of pods of the Services
# apple, banana and cherry of the namespace demo, and apple of the namespace shop
# (which answers "shop"). 404 is nginx's own.
#
# How rules are written is told in tables/rules.jq. In short: TYPE:HOST/PATH=SERVICE;
# an Ingress's rules are separated by a space, and Ingresses by "; ", the oldest first.
load helpers

setup() {
  common_setup
  start_pods
}
teardown() { common_teardown; }

# Rows: INGRESSES, [HOST]/PATH, ANSWER, and the beginning of the problem that the INGRESSES have, if any.
#
# One nginx serves all rows, each with names and hosts of its own (tables/rules.jq),
# but for those where a rule for any host is to answer a request for a certain one:
# these rows share it only with rows of the same INGRESSES.
assert_rows() {
  local ingresses
  rows | awk -F '\t' -v OFS='\t' '{ print ($2 ~ /^[^\/]/ && $1 ~ /(^|[ :])[=\/]|(^|[;:] )default=/ ? "-" : NR), $0 }' >"$dir/rows"
  grep -v ^- "$dir/rows" | assert_together
  while read -r ingresses; do
    awk -F '\t' -v ingresses="$ingresses" '$1 == "-" && $2 == ingresses' "$dir/rows" | assert_together
  done < <(grep ^- "$dir/rows" | cut -f 2 | sort -u)
}

assert_together() {
  local number ingresses request answer problem actual
  cat >"$dir/together"
  sort -u -t $'\t' -k 1,2 "$dir/together" >"$dir/different"
  snapshot_of rules --rawfile rows "$dir/different" | serve_snapshot
  while IFS=$'\t' read -r number _ request _; do
    row_request "$number" "$request"
  done <"$dir/together" | who_answers_each >"$dir/answers"
  while IFS=$'\t' read -r number ingresses request answer problem && read -r actual <&4; do
    assert_row "$answer" "$actual" "$ingresses" "$request"
    assert_problem "$problem" "$(row_problems "$number")" "$ingresses" "$request"
  done <"$dir/together" 4<"$dir/answers"
  assert_equal "$(wc -l <"$dir/together")" "$(wc -l <"$dir/answers")"
}

# Rows: IngressClasses, what the Ingress for a host of its own says, ANSWER. Rows of
# the same IngressClasses share an nginx: these concern the whole cluster.
assert_classes() {
  local all classes ingress answer actual
  rows >"$dir/rows"
  while read -r all; do
    awk -F '\t' -v classes="$all" '$1 == classes { print NR "\t" $0 }' "$dir/rows" >"$dir/together"
    snapshot_of classes --rawfile rows "$dir/together" | serve_snapshot
    sed -E 's|^([0-9]+).*|class-\1.example\t/|' "$dir/together" | who_answers_each >"$dir/answers"
    while IFS=$'\t' read -r _ classes ingress answer && read -r actual <&4; do
      assert_row "$answer" "$actual" "$classes" "$ingress"
    done <"$dir/together" 4<"$dir/answers"
    assert_equal "$(wc -l <"$dir/together")" "$(wc -l <"$dir/answers")"
  done < <(cut -f 1 "$dir/rows" | sort -u)
}

# Prints the request as who_answers_each wants it: HOST<tab>PATH.
row_request() { # NUMBER REQUEST
  [[ $2 =~ ^([^/:]*[^/:.])?(\.?(:[0-9]+)?)(/.*)$ ]]
  local host=${BASH_REMATCH[1]} rest=${BASH_REMATCH[2]} path=${BASH_REMATCH[4]}
  [[ $1 == - ]] || host=${host:+$host.}row-$1
  printf '%s\t%s\n' "$host$rest" "$path"
}

@test "the examples of the Kubernetes documentation: path types" {
  # "Ingress", section "Path types", "Examples"; where it has two request paths, here are two rows
  assert_rows <<'ROWS'
    # rules                                        request         answer
    Prefix:/=apple                                 /               apple
    Prefix:/=apple                                 /any/path       apple
    Exact:/foo=apple                               /foo            apple
    Exact:/foo=apple                               /bar            404
    Exact:/foo=apple                               /foo/           404
    Exact:/foo/=apple                              /foo            404
    Prefix:/foo=apple                              /foo            apple
    Prefix:/foo=apple                              /foo/           apple
    Prefix:/foo/=apple                             /foo            apple
    Prefix:/foo/=apple                             /foo/           apple
    Prefix:/aaa/bb=apple                           /aaa/bbb        404
    Prefix:/aaa/bbb=apple                          /aaa/bbb        apple
    Prefix:/aaa/bbb/=apple                         /aaa/bbb        apple
    Prefix:/aaa/bbb=apple                          /aaa/bbb/       apple
    Prefix:/aaa/bbb=apple                          /aaa/bbb/ccc    apple
    Prefix:/aaa/bbb=apple                          /aaa/bbbxyz     404
    Prefix:/=apple /aaa=banana                     /aaa/ccc        banana
    Prefix:/=apple /aaa=banana                     /ccc            apple
    Prefix:/=apple /aaa=banana /aaa/bbb=cherry     /aaa/bbb        cherry
    Prefix:/=apple /aaa=banana /aaa/bbb=cherry     /ccc            apple
    Prefix:/aaa=apple                              /ccc            404
    Prefix:/aaa=apple default=cherry               /ccc            cherry
    Prefix:/foo=apple Exact:/foo=banana            /foo            banana
ROWS
}

@test "the examples of the Kubernetes documentation: wildcard hosts" {
  assert_rows <<'ROWS'
    # rules               request             answer
    *.foo.com=apple       bar.foo.com/        apple
    *.foo.com=apple       baz.bar.foo.com/    404
    *.foo.com=apple       foo.com/            404
ROWS
}

@test "Exact is that path and nothing else" {
  assert_rows <<'ROWS'
    # rules                                 request       answer
    Exact:/foo=apple                        /foo?a=b      apple
    Exact:/foo=apple                        /foo?x=/bar   apple
    Exact:/foo=apple                        /Foo          404
    Exact:/Foo=apple                        /foo          404
    Exact:/foo=apple                        /foo/bar      404
    Exact:/foo=apple                        /foobar       404
    Exact:/foo=apple                        /fo           404
    Exact:/=apple                           /             apple
    Exact:/=apple                           /?a=b         apple
    Exact:/=apple                           /foo          404
    # nginx would redirect /foo to /foo/ of its own accord: 301
    Exact:/foo/=apple                       /foo/         apple
    Exact:/foo/=apple                       /foo?a=b      404
    Exact:/foo/=apple                       /foo/bar      404
    Exact:/foo/=apple Exact:/foo=banana     /foo          banana
    Exact:/foo/=apple Exact:/foo=banana     /foo/         apple
    Exact:/a/foo/=apple Prefix:/a=banana    /a/foo        banana
    Exact:/foo/=apple default=cherry        /foo          cherry
ROWS
}

@test "Prefix goes by path element, and a trailing slash of the rule means nothing" {
  assert_rows <<'ROWS'
    # rules                            request             answer
    Prefix:/foo=apple                  /foo/bar/baz        apple
    Prefix:/foo/=apple                 /foo/bar            apple
    Prefix:/foo/=apple                 /foobar             404
    Prefix:/foo=apple                  /foobar/            404
    Prefix:/foo=apple                  /fo                 404
    Prefix:/foo=apple                  /bar/foo            404
    Prefix:/foo=apple                  /FOO                404
    Prefix:/foo=apple                  /                   404
    Prefix:/foo=apple                  /foo?a=b            apple
    Prefix:/foo=apple                  /foo/?a=b           apple
    Prefix:/foo=apple                  /bar?x=/foo         404
    Prefix:/foo.bar=apple              /fooxbar            404
    Prefix:/foo+(bar)*=apple           /foo+(bar)*/baz     apple
    Prefix:/foo+(bar)*=apple           /foobar             404
    # of both, the longer one has what is below
    Prefix:/foo=apple Prefix:/foo/=banana    /foo          apple
    Prefix:/foo=apple Prefix:/foo/=banana    /foo/         banana
    Prefix:/foo/=banana Prefix:/foo=apple    /foo/bar      banana
    Prefix:/foo=apple Exact:/foo/=banana     /foo/bar      apple
    # the same, if nobody told nginx about /foo itself: 301
    Prefix:/foo/bar=apple              /foo                404
ROWS
}

@test "an encoded path is matched as what it means, and a detour gets a 400" {
  # as nginx does it: %XX is decoded, repeated slashes are one
  assert_rows <<'ROWS'
    # rules                            request             answer
    Prefix:/foo=apple                  //foo               apple
    Prefix:/foo=apple                  /foo//bar           apple
    Prefix:/foo/bar=apple              /foo//bar           apple
    Prefix:/foo/bar=apple              /foo///bar//        apple
    Exact:/foo=apple                   //foo               apple
    Exact:/foo=apple                   /foo//              404
    Exact:/foo/=apple                  /foo//              apple
    Prefix:/bar=apple                  /foo/../bar         400
    Prefix:/foo=apple                  /foo/../bar         400
    Prefix:/foo=apple                  /./foo              400
    Prefix:/foo=apple                  /foo/..             400
    Prefix:/foo=apple                  /foo/%2e%2e/bar     400
    Prefix:/foo=apple                  /%66oo              apple
    Exact:/foo=apple                   /%66oo              apple
    Exact:/foo=apple                   /f%6Fo?x            apple
    Prefix:/foo/bar=apple              /foo%2Fbar          apple
    Prefix:/foo/bar=apple              /foo%2fbar/baz      apple
    Exact:/foo/bar=apple               /foo%2Fbar          apple
    Prefix:/foo=apple                  /foo%2Fbar          apple
    Exact:/foo=apple                   /foo%3Fx            404
    Prefix:/foo=apple                  /foo%20             404
    Prefix:/foo=apple                  /foo%252Fbar        404
    # to Kubernetes a path element is all between two slashes: a parameter belongs to it
    Prefix:/foo=apple                  /foo;x              404
    Prefix:/foo=apple                  /foo/;x             apple
    Exact:/foo=apple                   /foo;x              404
    # above the root there is nothing: nginx refuses
    Prefix:/=apple                     /../foo             400
    Prefix:/=apple                     /%00                400
ROWS
}

@test "ImplementationSpecific is as Prefix, and an empty path is /" {
  assert_rows <<'ROWS'
    # rules                                                request      answer
    ImplementationSpecific:=apple                          /            apple
    ImplementationSpecific:=apple                          /foo/bar     apple
    ImplementationSpecific:/=apple                         /foo         apple
    ImplementationSpecific:/foo=apple                      /foo         apple
    ImplementationSpecific:/foo=apple                      /foo/        apple
    ImplementationSpecific:/foo=apple                      /foo/bar     apple
    ImplementationSpecific:/foo/=apple                     /foo         apple
    ImplementationSpecific:/foo=apple                      /foobar      404
    ImplementationSpecific:/foo=apple                      /FOO         404
    ImplementationSpecific:/foo=apple Exact:/foo=banana    /foo         banana
    ImplementationSpecific:/foo=apple /foo/bar=banana      /foo/bar     banana
ROWS
}

@test "of several paths that match, the longest decides, and Exact before Prefix of the same" {
  assert_rows <<'ROWS'
    # rules                                                request      answer
    Exact:/foo=apple Prefix:/foo=banana                    /foo         apple
    Exact:/foo=apple Prefix:/foo=banana                    /foo/        banana
    Exact:/foo=apple Prefix:/foo=banana                    /foo/bar     banana
    Exact:/foo/=apple Prefix:/foo=banana                   /foo/        apple
    Exact:/foo/=apple Prefix:/foo=banana                   /foo         banana
    Exact:/foo=apple Prefix:/foo/=banana                   /foo         apple
    Prefix:/foo=apple Exact:/foo/bar=banana                /foo/bar     banana
    Prefix:/foo=apple Exact:/foo/bar=banana                /foo/bar/    apple
    Prefix:/foo=apple Exact:/foo/bar=banana                /foo/bar/x   apple
    Prefix:/foo/bar=apple Prefix:/foo=banana               /foo/bar/x   apple
    Prefix:/foo=banana Prefix:/foo/bar=apple               /foo/bar/x   apple
    Prefix:/foo=banana; Prefix:/foo/bar=apple              /foo/bar/x   apple
    Prefix:/foo/bar=apple; Prefix:/foo=banana              /foo/bar/x   apple
    Prefix:/foo=apple Prefix:/foo/bar=banana               /foo/barbaz  apple
    Prefix:/=banana Exact:/=apple                          /            apple
    Prefix:/=banana Exact:/=apple                          /foo         banana
    Prefix:/foo/a/b/c=apple /foo/longest=banana            /foo/longest   banana
ROWS
}

@test "a path that could mean something else to nginx is refused by itself" {
  assert_rows <<'ROWS'
    # rules                                    request          answer   problem
    Prefix:/a%20b=apple                        /a%20b           404      PathRefused
    Prefix:/foo;x=apple                        /foo;x           404      PathRefused
    Prefix:/foo"=apple                         /foo"            404      PathRefused
    Prefix:/foo$host=apple                     /foo             404      PathRefused
    Prefix:/foo{}=apple Prefix:/bar=banana     /bar             banana   PathRefused
    ImplementationSpecific:/a/../b=apple       /b               404      PathRefused
    ImplementationSpecific:/a//b=apple         /a/b             404      PathRefused
    ImplementationSpecific:/foo(.*)=apple      /foo(.*)         apple
    ImplementationSpecific:/foo(.*)=apple      /foobar          404
ROWS
}

@test "an exact host comes before a wildcard, and a wildcard before none" {
  assert_rows <<'ROWS'
    # rules                                            request                  answer
    foo.com=apple                                      foo.com/                 apple
    foo.com=apple                                      bar.com/                 404
    foo.com=apple                                      bar.foo.com/             404
    bar.foo.com=apple *.foo.com=banana =cherry         bar.foo.com/             apple
    bar.foo.com=apple *.foo.com=banana =cherry         baz.foo.com/             banana
    bar.foo.com=apple *.foo.com=banana =cherry         foo.com/                 cherry
    =cherry; *.foo.com=banana; bar.foo.com=apple       bar.foo.com/             apple
    =cherry                                            any.example/             cherry
    =cherry                                            10.0.0.1/                cherry
    Exact:/=apple /a=banana                            any.example/             apple
    Exact:/=apple /a=banana                            any.example/a/b          banana
    Exact:/=apple /a=banana                            any.example/c            404
    *.foo.com=apple =cherry                            a.b.foo.com/             cherry
    *.foo.com=apple *.b.foo.com=banana                 a.b.foo.com/             banana
    *.foo.com=apple                                    barfoo.com/              404
    *.foo.com=apple                                    bar.fooxcom/             404
    # neither the port nor upper case counts, nor a dot at the end
    foo.com=apple                                      foo.com:8080/            apple
    foo.com=apple                                      FOO.Com/                 apple
    foo.com=apple                                      foo.com./                apple
    *.foo.com=apple                                    BAR.FOO.COM:443/         apple
ROWS
}

@test "what no path of its host matches does not fall through to a wildcard or to rules without a host" {
  # the API leaves it open; ingress-nginx does so too. The other rules may be somebody else's.
  assert_rows <<'ROWS'
    # rules                                                   request           answer
    foo.com/a=apple; =cherry                                  foo.com/a         apple
    foo.com/a=apple; =cherry                                  foo.com/b         404
    bar.foo.com/a=apple; *.foo.com=banana                     bar.foo.com/b     404
    *.foo.com/a=apple; =cherry                                bar.foo.com/b     404
    foo.com/a=apple default=banana; =cherry                   foo.com/b         banana
    bar.foo.com/a=apple default=cherry; *.foo.com=banana      bar.foo.com/b     cherry
    foo.com/a=apple; default=cherry                           foo.com/b         404
ROWS
}

@test "many Ingresses make up one host; of two that claim the same, the oldest has it" {
  assert_rows <<'ROWS'
    # Ingresses                                                         request      answer   problem
    foo.com/a=apple; foo.com/b=banana                                   foo.com/a    apple
    foo.com/a=apple; foo.com/b=banana                                   foo.com/b    banana
    demo/one+shop: foo.com/a=banana; shop/far: foo.com/b=apple          foo.com/a    banana
    demo/one+shop: foo.com/a=banana; shop/far: foo.com/b=apple          foo.com/b    shop
    foo.com/a=apple; Exact:foo.com/a=banana                             foo.com/a    banana
    demo/one@2001: foo.com=apple; demo/two@2002: foo.com=banana         foo.com/     apple    PathTaken: demo/two: Prefix path / of host foo.com is already taken by Ingress demo/one
    demo/two@2002: foo.com=apple; demo/one@2001: foo.com=banana         foo.com/     banana   PathTaken: demo/two: Prefix path / of host foo.com is already taken by Ingress demo/one
    # of the same age: the first by namespace and name
    demo/two@2001: foo.com=apple; demo/one@2001: foo.com=banana         foo.com/     banana   PathTaken: demo/two: Prefix path / of host foo.com is already taken by Ingress demo/one
    shop/one@2001: foo.com=apple; demo/two@2001+*: foo.com=banana       foo.com/     banana   PathTaken: shop/one: Prefix path / of host foo.com is already taken by Ingress demo/two
    # the same path, because a trailing slash or ImplementationSpecific makes no difference
    demo/one: foo.com/a=apple; demo/two: foo.com/a/=banana              foo.com/a    apple    PathTaken: demo/two: Prefix path /a of host foo.com is already taken by Ingress demo/one
    demo/one: foo.com/a=apple ImplementationSpecific:foo.com/a=banana   foo.com/a    apple    PathTaken: demo/one: Prefix path /a of host foo.com is already taken by an earlier path of this Ingress
    demo/one: Exact:foo.com/a=apple; demo/two: Exact:foo.com/a=banana   foo.com/a    apple    PathTaken: demo/two: Exact path /a of host foo.com is already taken by Ingress demo/one
    demo/one: Exact:foo.com/a=apple; demo/two: Exact:foo.com/a/=banana  foo.com/a/   banana
    # not the same host
    demo/one: *.foo.com=apple; demo/two: bar.foo.com=banana             bar.foo.com/   banana
    demo/one: =apple; demo/two: =banana                                 any.host/    apple    PathTaken: demo/two: Prefix path / of host * is already taken by Ingress demo/one
    # who lost one path keeps the others
    demo/one: foo.com/a=apple; demo/two: foo.com/a=banana foo.com/b=banana   foo.com/b   banana   PathTaken: demo/two: Prefix path /a of host foo.com is already taken by Ingress demo/one
ROWS
}

@test "a host belongs to the namespace of the oldest Ingress with a rule for it: no other's rules count, whatever their paths" {
  taken='HostTaken: shop/far: host foo.com belongs to namespace demo, whose Ingress demo/own is the oldest with a rule for it (2001-01-01'
  assert_rows <<ROWS
    # Ingresses                                                                        request        answer   problem
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple                              foo.com/a      banana   $taken
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple                              foo.com/b      404      $taken
    demo/own: foo.com=banana; shop/far: foo.com/.well-known/acme-challenge/=apple      foo.com/.well-known/acme-challenge/x   banana   ${taken/rule for it/rule for it that is for more than ACME challenges}
    demo/own: foo.com=banana; shop/far: Exact:foo.com/login=apple                      foo.com/login  banana   $taken
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple default=apple                foo.com/x      404      $taken
    shop/old@2001: foo.com=apple; demo/new@2002: foo.com/a=banana                      foo.com/a      shop     HostTaken: demo/new: host foo.com belongs to namespace shop
    demo/new@2002: foo.com/a=banana; shop/old@2001: foo.com=apple                      foo.com/a      shop     HostTaken: demo/new: host foo.com belongs to namespace shop
    # all rules of the owner's Ingresses count, and what others ask for elsewhere
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple; demo/two: foo.com/c=cherry  foo.com/c      cherry   $taken
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple bar.com/b=apple              bar.com/b      shop     $taken
    # an exact host and a wildcard are two hosts; rules without a host are nobody's
    demo/own: *.foo.com=banana; shop/far: bar.foo.com=apple                            bar.foo.com/   shop
    demo/own: *.foo.com=banana; shop/far: bar.foo.com=apple                            any.foo.com/   banana
    demo/own: bar.foo.com=banana; shop/far: *.foo.com/login=apple                      bar.foo.com/login   banana
    demo/own: =banana; shop/far: /a=apple                                              any.host/a     shop
    demo/own: foo.com/a=banana; shop/far: /b=apple                                     foo.com/b      404
ROWS
}

@test "a host belongs to the oldest Ingress that is more than a challenge of ACME, which comes and goes; to a challenge only if there is no other" {
  acme=/.well-known/acme-challenge
  assert_rows <<ROWS
    # Ingresses                                                                                   request        answer   problem
    demo/solver: Exact:foo.com$acme/x=banana; shop/app: foo.com=apple                             foo.com/       shop     HostTaken: demo/solver: host foo.com belongs to namespace shop, whose Ingress shop/app is the oldest with a rule for it that is for more than ACME challenges (2002
    demo/solver: Exact:foo.com$acme/x=banana; shop/app: foo.com=apple                             foo.com$acme/x  shop     HostTaken: demo/solver
    demo/solver: foo.com$acme/=banana; shop/app: foo.com/a=apple                                  foo.com$acme/x  404      HostTaken: demo/solver
    demo/solver: Exact:foo.com$acme/x=banana; shop/app+demo: foo.com=apple                        foo.com$acme/x  banana
    demo/solver: Exact:foo.com$acme/x=banana; shop/app+demo: foo.com=apple                        foo.com/       shop
    demo/solver+*: Exact:foo.com$acme/x=banana; shop/app: foo.com=apple                           foo.com$acme/x  shop     HostTaken: demo/solver
    # as a whole: all paths, also those that are refused
    demo/solver: foo.com$acme/a;b=banana bar.com$acme/x=banana; shop/app: foo.com=apple           foo.com/       shop     HostTaken: demo/solver
    demo/own: foo.com$acme/x=banana bar.com/a=banana; shop/app: foo.com=apple                     foo.com/       404      HostTaken: shop/app: host foo.com belongs to namespace demo, whose Ingress demo/own is the oldest with a rule for it (2001
    demo/own: foo.com$acme/x=banana foo.com/a;b=banana; shop/app: foo.com=apple                   foo.com/       404      PathRefused: demo/own
    demo/own: foo.com${acme}s=banana; shop/app: foo.com=apple                                     foo.com/       404      HostTaken: shop/app
    demo/own: foo.com$acme/x=banana default=banana; shop/app: foo.com/a=apple                     foo.com/a      banana   HostTaken: shop/app
    # only challenges: the oldest of them, as ever
    demo/solver: foo.com$acme/x=banana; shop/solver: foo.com$acme/y=apple                         foo.com$acme/y  404      HostTaken: shop/solver: host foo.com belongs to namespace demo, whose Ingress demo/solver is the oldest with a rule for it (2001
    shop/young@2003: foo.com=apple; demo/solver@2001: foo.com$acme/x=banana; demo/old@2002: foo.com/a=banana   foo.com/   404   HostTaken: shop/young: host foo.com belongs to namespace demo, whose Ingress demo/old
    # in a namespace, the oldest has a path, whatever it is
    demo/solver: Exact:foo.com$acme/x=banana; demo/app: foo.com=apple Exact:foo.com$acme/x=cherry   foo.com$acme/x   banana   PathTaken: demo/app
ROWS
  HOST_OWNERSHIP=strict assert_rows <<ROWS
    demo/solver: bar.foo.com$acme/x=banana; shop/app: *.foo.com=apple                             bar.foo.com/   shop     HostTaken: demo/solver
    demo/solver: *.foo.com$acme/x=banana; shop/app: bar.foo.com=apple                             bar.foo.com/   shop
ROWS
}

@test "the owner of a host can share it with other namespaces: then the oldest has a path" {
  assert_rows <<'ROWS'
    # Ingresses                                                                        request        answer   problem
    demo/own+shop: foo.com/a=banana; shop/far: foo.com/b=apple                         foo.com/b      shop
    demo/own+x,shop: foo.com/a=banana; shop/far: foo.com/b=apple                       foo.com/b      shop
    demo/own+*: foo.com/a=banana; shop/far: foo.com/b=apple                            foo.com/b      shop
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple; demo/two+shop: foo.com=cherry   foo.com/b  shop
    demo/own+shop: foo.com/a=banana; shop/far: foo.com/a=apple                         foo.com/a      banana   PathTaken: shop/far: Prefix path /a of host foo.com is already taken by Ingress demo/own
    # not with others; and who does not own the host cannot share it
    demo/own+sho,shop-2,demo: foo.com/a=banana; shop/far: foo.com/b=apple              foo.com/b      404      HostTaken: shop/far
    demo/own+Shop: foo.com/a=banana                                                    foo.com/a      banana   AnnotationRefused: demo/own: the annotation bash-ingress.local/share-host-with has "Shop"
    demo/own: foo.com/a=banana; shop/far+*,shop: foo.com/b=apple                       foo.com/b      404      HostTaken: shop/far
    demo/own: foo.com/a=banana; demo/two+shop: bar.com=cherry; shop/far: foo.com/b=apple   foo.com/b  404      HostTaken: shop/far
ROWS
}

@test "with HOST_OWNERSHIP=shared, hosts are shared path by path; with strict, a wildcard owns its hosts, if it was first" {
  export HOST_OWNERSHIP=shared
  assert_rows <<'ROWS'
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple     foo.com/b      shop
    demo/new@2002: foo.com=banana; shop/old@2001: foo.com=apple   foo.com/   shop     PathTaken: demo/new: Prefix path / of host foo.com is already taken by Ingress shop/old
ROWS
  HOST_OWNERSHIP=strict
  assert_rows <<'ROWS'
    demo/own: *.foo.com=banana; shop/far: bar.foo.com=apple        bar.foo.com/    banana   HostTaken: shop/far: host bar.foo.com belongs to namespace demo, whose Ingress demo/own
    demo/own+shop: *.foo.com=banana; shop/far: bar.foo.com=apple   bar.foo.com/    shop
    demo/own: *.foo.com=banana; shop/far: a.bar.foo.com=apple      a.bar.foo.com/  shop
    demo/own: *.foo.com=banana; demo/two: bar.foo.com=cherry       bar.foo.com/    cherry
    # who was there before the wildcard stays
    demo/own@2002: *.foo.com=banana; shop/far@2001: bar.foo.com=apple   bar.foo.com/    shop
    demo/own: foo.com/a=banana; shop/far: foo.com/b=apple          foo.com/b       404      HostTaken: shop/far
ROWS
}

@test "a default backend takes what its Ingress does not match, and without rules every host that no rule names" {
  assert_rows <<'ROWS'
    # Ingresses                                                 request         answer   problem
    default=cherry                                              any.host/       cherry
    default=cherry                                              any.host/x/y    cherry
    foo.com/a=apple; default=cherry                             bar.com/        cherry
    foo.com/a=apple; default=cherry                             foo.com/a       apple
    /a=apple; default=cherry                                    any.host/a      apple
    /a=apple; default=cherry                                    any.host/b      cherry
    foo.com/a=apple default=cherry                              foo.com/a       apple
    foo.com/a=apple default=cherry                              foo.com/b       cherry
    foo.com/a=apple default=cherry                              bar.com/        404
    foo.com/a=apple bar.com/a=apple default=cherry              bar.com/b       cherry
    *.foo.com/a=apple default=cherry                            bar.foo.com/b   cherry
    Exact:foo.com/=apple default=cherry                         foo.com/b       cherry
    foo.com=apple default=cherry                                foo.com/b       apple
    foo.com/a=apple =banana default=cherry                      foo.com/b       cherry
    foo.com/a=apple /b=banana default=cherry                    foo.com/c       cherry
    foo.com/a=apple /b=banana default=cherry                    any.host/c      cherry
    # no default backend anywhere
    foo.com/a=apple                                             foo.com/b       404
    foo.com/a=apple                                             bar.com/        404
    # of two, the older one's, where both could
    demo/one: foo.com/a=apple default=cherry; demo/two: foo.com/b=banana default=banana   foo.com/c   cherry   PathTaken: demo/two: the default of host foo.com is already taken by Ingress demo/one
    demo/one: foo.com/a=apple; demo/two: foo.com/b=banana default=banana                  foo.com/c   banana
    demo/one: default=cherry; demo/two: default=banana                                    foo.com/c   cherry   PathTaken: demo/two: the default of host * is already taken by Ingress demo/one
ROWS
}

@test "a backend is a Service of the Ingress's own namespace; another kind is not served, and the answer says so" {
  assert_rows <<'ROWS'
    # Ingresses                        request       answer   problem
    demo/one: foo.com=apple            foo.com/      apple
    shop/one: foo.com=apple            foo.com/      shop
    shop/one+demo: foo.com/a=apple; demo/two: foo.com/b=apple    foo.com/a   shop
    shop/one+demo: foo.com/a=apple; demo/two: foo.com/b=apple    foo.com/b   apple
    shop/one: foo.com=cherry           foo.com/      503      ServiceNotFound: shop/one: Service shop/cherry does not exist
    demo/one: foo.com=resource         foo.com/      501      ResourceBackendNotServed: demo/one: a resource cannot be the backend here, only a Service can
    demo/one: default=resource         any.host/     501      ResourceBackendNotServed: demo/one: a resource cannot be the backend here, only a Service can
    demo/one: foo.com/a=resource foo.com/b=apple     foo.com/b   apple   ResourceBackendNotServed: demo/one: a resource cannot be the backend here, only a Service can
ROWS
}

@test "an Ingress is ours by its class, else by its annotation, else if our class is the default" {
  assert_classes <<'ROWS'
    # IngressClasses and their controllers         Ingress                       answer
    bash=ours                                      class=bash                    apple
    bash=ours other=theirs                         class=other                   404
    bash=ours other=theirs                         class=bash                    apple
    red=ours blue=ours other=theirs                class=red                     apple
    red=ours blue=ours other=theirs                class=blue                    apple
    bash=ours                                      class=unknown                 404
    # our own name, INGRESS_CLASS, while nothing has it: to delete it by mistake takes no route away
    none                                           class=bash                    apple
    bash=theirs                                    class=bash                    404
    # the annotation of before Kubernetes 1.18 names a class, too
    bash=ours                                      annotation=bash               apple
    red=ours other=theirs                          annotation=red                apple
    bash=ours other=theirs                         annotation=other              404
    none                                           annotation=bash               apple
    # the field wins over the annotation: as in ingress-nginx, and the API calls the field the successor
    bash=ours other=theirs                         class=bash annotation=other   apple
    bash=ours other=theirs                         class=other annotation=bash   404
    # neither
    bash=ours                                      neither                       404
    bash=ours,default                              neither                       apple
    bash=ours red=ours,default                     neither                       apple
    bash=ours other=theirs,default                 neither                       404
    bash=ours,default other=theirs,default         neither                       apple
    none                                           neither                       404
    # a default is for Ingresses that name none
    bash=ours,default other=theirs                 class=other                   404
    bash=ours,default                              class=unknown                 404
    bash=ours,default other=theirs                 annotation=other              404
    bash=ours,default                              annotation=                   404
ROWS
}
