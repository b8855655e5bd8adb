#!/usr/bin/env bash
# A ConfigMap whose YAML has the keys 9000 and "9000" loses the first, also where duplicate keys are refused
#
# Software:      sigs.k8s.io/yaml 1.6.0, by which kubectl and other programs of Kubernetes read manifests
# Behaviour:     Keys that are no text are made text after the check for duplicates: `9000: a` beside `"9000": b` (the
#                entries of tcp-services, say) is one key with the value b, without an error even in strict mode. Two
#                numbers that are equal are noticed there; `n` and `y` become the keys "false" and "true".
# Likely guess:  YAMLToJSONStrict says that the key "9000" is there twice, as it does for 9000 and 9000.
# Source:        sigs.k8s.io/yaml, the documentation of YAMLToJSONStrict ("duplicate keys"); YAML 1.1, y and n

source "${BASH_SOURCE[0]%/*}/lib.bash"

go_run sigs.k8s.io/yaml@v1.6.0 >"$folder/said" <<'GO'
package main

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, text := range []string{"{9000: a, 9000: b}", "{9000: a, \"9000\": b}", "{n: a, y: b}"} {
		json, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println(string(json))
		}
	}
}
GO
mapfile -t said <"$folder/said"
echo 'sigs.k8s.io/yaml 1.6.0, strict'
seen '{9000: a, 9000: b}' refused "${said[0]}"
seen '{9000: a, "9000": b}' '{"9000":"b"}' "${said[1]}"
seen '{n: a, y: b}' '{"false":"a","true":"b"}' "${said[2]}"
verdict
