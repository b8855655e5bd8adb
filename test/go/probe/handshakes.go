package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"time"
)

// shown is what a host's clients saw.
type shown struct {
	host                                string
	own, standIn, foreign, lost, failed int
	first                               string    // of what must not be
	since                               time.Time // of the first one that was its own
}

// Each replica of a controller learns of a certificate in its own time. After this long, all must have it.
const catchingUp = time.Minute

// watchCertificates asks for each host's certificate every 200 ms, each time with a new handshake, until the context ends.
func watchCertificates(ctx context.Context, address string, hosts []string) {
	fmt.Println("started")
	all := make([]shown, len(hosts))
	var wg sync.WaitGroup
	for i, host := range hosts {
		all[i].host = host
		wg.Go(func() {
			for due := time.Now(); sleepUntil(ctx, due); due = due.Add(200 * time.Millisecond) {
				all[i].look(address)
			}
		})
	}
	wg.Wait()
	for _, s := range all {
		fmt.Printf("%s: own %d, stand-in %d, foreign %d, lost %d, failed %d%s\n", s.host, s.own, s.standIn, s.foreign, s.lost, s.failed, s.first)
	}
}

func (s *shown) look(address string) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{ServerName: s.host, InsecureSkipVerify: true}}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		s.failed++
		s.note(kind(err))
		return
	}
	defer connection.Close()
	s.count(connection.(*tls.Conn).ConnectionState().PeerCertificates[0])
}

// count takes a certificate that signs itself for the stand-in of hosts that have none yet.
func (s *shown) count(certificate *x509.Certificate) {
	switch {
	case certificate.VerifyHostname(s.host) == nil:
		if s.own++; s.own == 1 {
			s.since = time.Now()
		}
	case certificate.Issuer.String() != certificate.Subject.String():
		s.foreign++
		s.note(fmt.Sprint("foreign: ", certificate.DNSNames))
	case s.own > 0 && time.Since(s.since) > catchingUp:
		s.lost++
		s.note("lost")
	default:
		s.standIn++
	}
}

func (s *shown) note(what string) {
	if s.first == "" {
		s.first = fmt.Sprintf(", first %s at %s", what, time.Now().UTC().Format("15:04:05.000"))
	}
}
