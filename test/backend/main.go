// backend is the application behind the Ingresses in the tests. It says what it
// was asked, and misbehaves on demand.
//
//	Usage: backend ADDRESS...   listens on each, for example 127.77.0.1:8080; on
//	                            https://:8443 by TLS, with a certificate that nobody trusts
//
//	/            the request as JSON: pod, method, host, uri, header, body (as a string), tls
//	/events      server-sent events: a number every 100 ms, until the client leaves
//	/websocket   sends every message back
//	/upload      counts the bytes of the body as they arrive
//	/download    as many bytes as ?bytes= says
//	/drop        reads the request, then closes the connection without an answer
//	/counts      JSON: bytes received so far by /upload, requests received by /drop for each method
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

var (
	counts   = map[string]int{}
	countsMu sync.Mutex
)

func count(what string, by int) {
	countsMu.Lock()
	defer countsMu.Unlock()
	counts[what] += by
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client left
	}
	pod, _ := os.Hostname()
	answer(w, map[string]any{
		"pod": pod, "method": r.Method, "host": r.Host, "uri": r.RequestURI, "header": r.Header, "body": string(body),
		"tls": r.TLS != nil,
	})
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for number := 1; r.Context().Err() == nil; number++ {
		fmt.Fprintf(w, "data: %d\n\n", number)
		w.(http.Flusher).Flush()
		time.Sleep(100 * time.Millisecond)
	}
}

func webSocket(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered with the reason
	}
	defer connection.CloseNow()
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil {
			return
		}
		if err := connection.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}

func upload(w http.ResponseWriter, r *http.Request) {
	buffer := make([]byte, 64*1024)
	for {
		n, err := r.Body.Read(buffer)
		count("bytes", n)
		if err != nil {
			break
		}
	}
	fmt.Fprintln(w, "received")
}

func download(w http.ResponseWriter, r *http.Request) {
	bytes, err := strconv.Atoi(r.URL.Query().Get("bytes"))
	if err != nil {
		http.Error(w, "?bytes= must be a number", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(bytes))
	for block := make([]byte, 64*1024); bytes > 0; bytes -= len(block) {
		if _, err := w.Write(block[:min(bytes, len(block))]); err != nil {
			return // the client left
		}
	}
}

func drop(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	count(r.Method, 1)
	panic(http.ErrAbortHandler)
}

func showCounts(w http.ResponseWriter, _ *http.Request) {
	countsMu.Lock()
	defer countsMu.Unlock()
	answer(w, counts)
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // fails only if the client left
}

// serve is no http.ServeMux, which would redirect a path with repeated slashes.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "backend")
	switch r.URL.Path {
	case "/events":
		events(w, r)
	case "/websocket":
		webSocket(w, r)
	case "/upload":
		upload(w, r)
	case "/download":
		download(w, r)
	case "/drop":
		drop(w, r)
	case "/counts":
		showCounts(w, r)
	default:
		echo(w, r)
	}
}

func listen(address string) error {
	address, secure := strings.CutPrefix(address, "https://")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := http.Server{Handler: http.HandlerFunc(serve)}
	if !secure {
		return server.Serve(listener)
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	return server.ServeTLS(listener, "", "")
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, err
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: backend ADDRESS...")
	}
	failed := make(chan error)
	for _, address := range os.Args[1:] {
		go func() { failed <- listen(address) }()
	}
	log.Fatal(<-failed)
}
