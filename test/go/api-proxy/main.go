// api-proxy stands between the controller and the API server in the tests, and
// answers wrongly on demand. It runs in a pod.
//
//	Usage: api-proxy CA_FILE   the certificate by which it knows the API server
//
// What it gets on port 8443 (TLS, with a certificate that nobody trusts) it passes
// on, with the rights of the client: it has none of its own. Port 8080 takes
// orders, and each is obeyed until the next one:
//
//	POST /?answer=ANSWER&to=RESOURCE
//
// RESOURCE is the last word of a path, as in /api/v1/services; without it, the
// order is for all requests. The ANSWERs:
//
//	right                          the API server's own
//	401, 403, 410, 429, 500, 503   an error, in the API server's form
//	empty                          200, and nothing in it
//	html                           200, and a page of HTML, as from a login page in the way
//	kind                           200, and an empty list of another kind
//	half                           the first half of the API server's answer
//	slow                           the API server's answer, one byte a second
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"strconv"
	"sync/atomic"
	"time"
)

type order struct{ answer, resource string }

func (o order) isFor(r *http.Request) bool {
	return o.answer != "right" && (o.resource == "" || o.resource == path.Base(r.URL.Path))
}

var current atomic.Value // of order

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: api-proxy CA_FILE")
	}
	current.Store(order{answer: "right"})
	go func() { log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(takeOrder))) }()
	serveTLS(":8443", spoil(apiServer(os.Args[1])))
}

func takeOrder(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		current.Store(order{r.FormValue("answer"), r.FormValue("to")})
	}
	fmt.Fprintln(w, current.Load().(order))
}

// serveTLS uses the certificate that comes with Go for servers in tests.
func serveTLS(address string, handler http.Handler) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.EnableHTTP2 = true
	server.StartTLS()
	select {}
}

// apiServer passes requests on to where each pod is told that the API server is.
func apiServer(caFile string) *httputil.ReverseProxy {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		log.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(ca)
	address := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "https", Host: address})
			r.Out.Header.Del("Accept-Encoding") // half of a compressed answer would be another fault
		},
		Transport: &http.Transport{
			TLSClientConfig:    &tls.Config{RootCAs: authorities},
			DisableCompression: true,
			ForceAttemptHTTP2:  true,
		},
		FlushInterval:  -1,
		ModifyResponse: spoilAnswer,
	}
}

// spoil answers in place of the API server, if that is the order.
func spoil(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := current.Load().(order)
		status, _ := strconv.Atoi(now.answer)
		switch {
		case !now.isFor(r):
			next.ServeHTTP(w, r)
		case status != 0:
			refuse(w, status)
		case now.answer == "empty":
			w.WriteHeader(http.StatusOK)
		case now.answer == "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintln(w, "<!DOCTYPE html><html><body><h1>Please log in</h1></body></html>")
		case now.answer == "kind":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			next.ServeHTTP(w, r) // and spoilAnswer
		}
	})
}

var reasons = map[int]string{401: "Unauthorized", 403: "Forbidden", 410: "Expired", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1") // kubectl does what it says
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the test's proxy says so","reason":"%s","code":%d}`+"\n",
		reasons[status], status)
}

func spoilAnswer(response *http.Response) error {
	now := current.Load().(order)
	if !now.isFor(response.Request) {
		return nil
	}
	switch now.answer {
	case "half":
		whole, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		half := whole[:len(whole)/2]
		response.Body = io.NopCloser(bytes.NewReader(half))
		response.ContentLength = int64(len(half))
		response.Header.Set("Content-Length", strconv.Itoa(len(half)))
	case "slow":
		response.Body = trickle{response.Body}
	}
	return nil
}

type trickle struct{ io.ReadCloser }

func (t trickle) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return t.ReadCloser.Read(p[:1])
}
