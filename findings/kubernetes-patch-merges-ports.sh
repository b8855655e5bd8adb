#!/usr/bin/env bash
# A strategic merge patch of a Service cannot tell TCP from UDP at one port
#
# Software:      k8s.io/apimachinery and k8s.io/api v0.36.3: what kubectl edit and kubectl patch send, and the API server runs
# Behaviour:     A Service has port 53 twice, UDP and TCP, as any DNS has. A patch that names port 53 with TCP changes the
#                one that comes first, UDP's: its protocol becomes TCP, so that there are two of TCP, which the API server
#                refuses. To a patch, a port is its number alone; to the API server it is number and protocol.
# Likely guess:  The key by which a patch finds a port is what makes ports different: port and protocol.
# Source:        patchMergeKey of ServiceSpec.Ports (`port`) beside its listMapKeys (`port` and `protocol`) in
#                k8s.io/api/core/v1; kubernetes/kubernetes issues 39188 and 105610.

source "${BASH_SOURCE[0]%/*}/lib.bash"

version=v0.36.3
echo "k8s.io/apimachinery $version"
go_run "k8s.io/apimachinery@$version" "k8s.io/api@$version" >"$folder/patched" <<'GO'
package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func main() {
	service := `{"spec":{"ports":[{"name":"dns","port":53,"protocol":"UDP","targetPort":53},{"name":"dns-tcp","port":53,"protocol":"TCP","targetPort":53}]}}`
	patch := `{"spec":{"ports":[{"port":53,"protocol":"TCP","targetPort":5353}]}}`
	patched, err := strategicpatch.StrategicMergePatch([]byte(service), []byte(patch), v1.Service{})
	if err != nil {
		panic(err)
	}
	var result v1.Service
	if err := json.Unmarshal(patched, &result); err != nil {
		panic(err)
	}
	for _, port := range result.Spec.Ports {
		fmt.Println(port.Name, port.Port, port.Protocol, port.TargetPort.String())
	}
}
GO
seen 'ports after the patch' 'dns 53 TCP 5353,dns-tcp 53 TCP 53' "$(paste -sd , "$folder/patched")"
verdict
