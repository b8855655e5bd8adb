// Package dns stands in for DNS-01, which imports what all the providers of DNS have written for Go. No Issuer here asks
// for it.
package dns

import (
	"context"
	"errors"

	cmacme "github.com/cert-manager/cert-manager/pkg/apis/acme/v1"
	v1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
)

// Solver solves nothing.
type Solver struct{}

var errNotThere = errors.New("DNS-01 was left out")

// NewSolver makes one.
func NewSolver(*controller.Context) (*Solver, error) { return &Solver{}, nil }

// Present fails.
func (*Solver) Present(context.Context, v1.GenericIssuer, *cmacme.Challenge) error {
	return errNotThere
}

// Check fails.
func (*Solver) Check(context.Context, v1.GenericIssuer, *cmacme.Challenge) error { return errNotThere }

// CleanUp fails.
func (*Solver) CleanUp(context.Context, *cmacme.Challenge) error { return errNotThere }
