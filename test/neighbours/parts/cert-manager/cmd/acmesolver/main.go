// acmesolver is cert-manager's own answer to a challenge, behind a main of our own: the module of the library has none.
//
//	Usage: acmesolver --listen-port PORT --domain HOST --token TOKEN --key KEY
package main

import (
	"flag"
	"log"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	logs "github.com/cert-manager/cert-manager/pkg/logs"
)

func main() {
	var server solver.HTTP01Solver
	flag.IntVar(&server.ListenPort, "listen-port", 8089, "")
	flag.StringVar(&server.Domain, "domain", "", "")
	flag.StringVar(&server.Token, "token", "", "")
	flag.StringVar(&server.Key, "key", "", "")
	flag.Parse()
	log.Fatal(server.Listen(logs.Log))
}
