#!/usr/bin/env bash
# kustomize cannot generate a ConfigMap with a key that looks like a number
#
# Software:      kustomize: module sigs.k8s.io/kustomize/api v0.21.1 (the same in kubectl 1.32 and its Kustomize 5.5.0)
# Behaviour:     configMapGenerator with the literal 9000=default/redis:6379, a key as ingress-nginx's ConfigMap of TCP
#                services has, builds, but the result cannot be printed: "json: unsupported type: map[interface {}]
#                interface {}", without the name of a generator or a file. Words such as `on` are no trouble as keys, nor
#                are numbers as values.
# Likely guess:  A ConfigMap's keys are texts (data: map[string]string), so the generator writes each as a text, as
#                `kubectl create configmap --from-literal` does.
# Source:        measured

source "${BASH_SOURCE[0]%/*}/lib.bash"

version=v0.21.1
echo "sigs.k8s.io/kustomize/api $version"
go_run "sigs.k8s.io/kustomize/api@$version" "sigs.k8s.io/kustomize/kyaml@$version" >"$folder/said" <<'GO'
package main

import (
	"fmt"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func build(what, key, value string) {
	disk := filesys.MakeFsInMemory()
	text := "configMapGenerator:\n- name: tcp\n  literals:\n  - " + key + "=" + value + "\n"
	if err := disk.WriteFile("kustomization.yaml", []byte(text)); err != nil {
		panic(err)
	}
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, ".")
	if err == nil {
		_, err = result.AsYaml()
	}
	fmt.Printf("%s: %v\n", what, err)
}

func main() {
	build("port", "9000", "default/redis:6379")
	build("word", "on", "1")
	build("name", "redis", "9000")
}
GO
cat "$folder/said"
answer() { # WHAT
  sed -n "s/^$1: .*\(json: unsupported type\|<nil>\).*/\1/p" "$folder/said"
}
seen 'a key that is a number' 'json: unsupported type' "$(answer port)"
seen 'a key that is a word' '<nil>' "$(answer word)"
seen 'a value that is a number' '<nil>' "$(answer name)"
verdict
