// backend is the application behind the Ingresses in the tests. It says what it
// was asked, and misbehaves on demand.
//
//	Usage: backend ADDRESS...   listens on each, for example 127.77.0.1:8080; on
//	                            https://:8443 by TLS, with a certificate that nobody trusts;
//	                            SIGTERM ends it when the open requests are answered
//
//	/            the request as JSON: pod, address, method, host, uri, header, body (as a string), tls, and
//	             then the serverName of the handshake.
//	             ?status=401&header=Name:value answers with that status and that header; with &hints=yes,
//	             a 103 (Early Hints) comes first; &cookies=N sets N cookies, &large=N has a header X-Large of N bytes
//	/anonymous   the same without a Server header, which all others have
//	/asked       the same, with that JSON in the header X-Asked, too
//	/signed-in   the same, with NAME in the header X-User, for who has a cookie user=NAME; for others, 401
//	/last        what the last twenty of these requests were, the newest first
//	/events      server-sent events: a number every 100 ms, until the client leaves
//	/websocket   sends every message back
//	/upload      counts the bytes of the body as they arrive
//	/download    as many bytes as ?bytes= says
//	/drop        reads the request, then closes the connection without an answer
//	/early       answers 413 before it has read the body, and closes the connection
//	/slow        answers after ?seconds=
//	/ids         POST: notes the body, an id; GET: JSON: how many came, and how many different ones.
//	             Where $COLLECTOR is the address of another backend, that one notes them: it knows them still
//	             when this one is gone
//	/counts      JSON: bytes received so far by /upload, requests received by /drop for each method
package main

import (
	"bytes"
	"context"
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
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

var (
	counts   = map[string]int{}
	ids      = map[string]int{}
	last     []map[string]any
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
	if r.URL.Query().Has("hints") {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
	}
	for _, header := range r.URL.Query()["header"] {
		name, value, _ := strings.Cut(header, ":")
		w.Header().Add(name, value)
	}
	cookies, _ := strconv.Atoi(r.URL.Query().Get("cookies"))
	for number := 1; number <= cookies; number++ {
		w.Header().Add("Set-Cookie", fmt.Sprintf("c%d=%d; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Path=/", number, number))
	}
	if large, err := strconv.Atoi(r.URL.Query().Get("large")); err == nil {
		w.Header().Set("X-Large", strings.Repeat("x", large))
	}
	asked := map[string]any{
		"pod": pod, "address": fmt.Sprint(r.Context().Value(http.LocalAddrContextKey)), "method": r.Method, "host": r.Host, "uri": r.RequestURI, "header": r.Header, "body": string(body),
		"tls": r.TLS != nil,
	}
	if r.TLS != nil {
		asked["serverName"] = r.TLS.ServerName
	}
	if r.URL.Path == "/asked" {
		text, _ := json.Marshal(asked)
		w.Header().Set("X-Asked", string(text))
	}
	countsMu.Lock()
	last = append([]map[string]any{asked}, last[:min(len(last), 19)]...)
	countsMu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status, err := strconv.Atoi(r.URL.Query().Get("status")); err == nil {
		w.WriteHeader(status)
	}
	answer(w, asked)
}

func signedIn(w http.ResponseWriter, r *http.Request) {
	user, err := r.Cookie("user")
	if err != nil {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-User", user.Value)
	echo(w, r)
}

func showLast(w http.ResponseWriter) {
	countsMu.Lock()
	defer countsMu.Unlock()
	answer(w, last)
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

func early(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer connection.Close()
	fmt.Fprint(connection, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 6\r\nConnection: close\r\n\r\nearly\n")
}

func slow(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
	if err != nil {
		http.Error(w, "?seconds= must be a number", http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	fmt.Fprintln(w, "at last")
}

func noteID(w http.ResponseWriter, r *http.Request) {
	id, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client left
	}
	if collector := os.Getenv("COLLECTOR"); collector != "" {
		err = passOn(collector, id)
	} else {
		countsMu.Lock()
		ids[string(id)]++
		countsMu.Unlock()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // not 502, which is for nginx to say
		return
	}
	fmt.Fprintln(w, "noted")
}

func passOn(collector string, id []byte) error {
	response, err := http.Post("http://"+collector+"/ids", "text/plain", bytes.NewReader(id))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("the collector answered %s (%v)", response.Status, err)
	}
	return nil
}

func showIDs(w http.ResponseWriter) {
	countsMu.Lock()
	defer countsMu.Unlock()
	received := 0
	for _, times := range ids {
		received += times
	}
	answer(w, map[string]int{"received": received, "different": len(ids)})
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
	if r.URL.Path != "/anonymous" {
		w.Header().Set("Server", "backend")
	}
	switch r.URL.Path {
	case "/signed-in":
		signedIn(w, r)
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
	case "/early":
		early(w)
	case "/slow":
		slow(w, r)
	case "/ids":
		if r.Method == http.MethodPost {
			noteID(w, r)
		} else {
			showIDs(w)
		}
	case "/last":
		showLast(w)
	case "/counts":
		showCounts(w, r)
	default:
		echo(w, r)
	}
}

func listen(server *http.Server, address string) error {
	address, secure := strings.CutPrefix(address, "https://")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
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
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"pod.example"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, err
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: backend ADDRESS...")
	}
	failed, told := make(chan error), make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	var servers []*http.Server
	for _, address := range os.Args[1:] {
		server := &http.Server{Handler: http.HandlerFunc(serve)}
		servers = append(servers, server)
		go func() { failed <- listen(server, address) }()
	}
	select {
	case err := <-failed:
		log.Fatal(err)
	case <-told:
		shutDown(servers)
	}
}

// shutDown does what Go's documentation advises: at once, no new connections and
// none that is idle; the others end with their request.
func shutDown(servers []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, server := range servers {
		wg.Go(func() {
			if err := server.Shutdown(ctx); err != nil {
				log.Print(err)
			}
		})
	}
	wg.Wait()
}
