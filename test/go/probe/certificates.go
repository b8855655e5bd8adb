package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"
)

// newCertificate makes a new Ingress, of a host of its own, and just before it the Secret that it names.
func (c *changes) newCertificate(run int64) func(int) func() bool {
	return func(i int) func() bool {
		name := fmt.Sprintf("follow-%d-%d", run, i)
		serial := c.sendSecret(http.MethodPost, "secrets", name)
		c.sendSecureIngress(name)
		return presents(c.address, name+".example", serial)
	}
}

// renewedCertificate gives an Ingress that has a Secret another key pair, again and again.
func (c *changes) renewedCertificate(run int64) func(int) func() bool {
	name := fmt.Sprintf("follow-%d", run)
	serial := c.sendSecret(http.MethodPost, "secrets", name)
	c.sendSecureIngress(name)
	if !waitFor(presents(c.address, name+".example", serial), 50*time.Millisecond, time.Now().Add(lookFor)) {
		log.Fatal("probe: the first certificate is not shown")
	}
	time.Sleep(c.pause)
	return func(i int) func() bool {
		return presents(c.address, name+".example", c.sendSecret(http.MethodPut, "secrets/"+name, name))
	}
}

// presents tells whether the certificate that is shown for HOST, at ADDRESS, has that serial number.
func presents(address, host string, serial *big.Int) func() bool {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return func() bool {
		connection, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{ServerName: host, InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer connection.Close()
		return connection.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(serial) == 0
	}
}

func (c *changes) sendSecureIngress(name string) {
	c.sendIngress(name, "follow", "bench", fmt.Sprintf(`"tls":[{"hosts":["%s.example"],"secretName":%q}],`, name, name))
}

// sendSecret sends a new key pair for NAME.example, and returns the certificate's serial number.
func (c *changes) sendSecret(method, what, name string) *big.Int {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	certificate := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		DNSNames:     []string{name + ".example"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
	signed, err := x509.CreateCertificate(rand.Reader, &certificate, &certificate, key.Public(), key)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	c.send(method, "/api/v1", what, fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/tls","metadata":{"name":%q,"labels":{"bench":"follow"}},
		"data":{"tls.crt":%q,"tls.key":%q}}`, name, encoded("CERTIFICATE", signed), encoded("PRIVATE KEY", private)))
	return certificate.SerialNumber
}

func encoded(kind string, bytes []byte) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}
