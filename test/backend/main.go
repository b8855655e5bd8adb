// backend is the application behind the Ingresses in the tests. It says what it
// was asked, and misbehaves on demand.
//
//	Usage: backend ADDRESS...        listens on each, for example 127.77.0.1:8080
//
//	/            the request as JSON: pod, method, host, uri, header, body (as a string)
//	/events      server-sent events: a number every 100 ms, until the client leaves
//	/websocket   sends every message back
//	/upload      counts the bytes of the body as they arrive
//	/drop        reads the request, then closes the connection without an answer
//	/counts      JSON: bytes received so far by /upload, requests received by /drop for each method
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
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
	switch r.URL.Path {
	case "/events":
		events(w, r)
	case "/websocket":
		webSocket(w, r)
	case "/upload":
		upload(w, r)
	case "/drop":
		drop(w, r)
	case "/counts":
		showCounts(w, r)
	default:
		echo(w, r)
	}
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: backend ADDRESS...")
	}
	failed := make(chan error)
	for _, address := range os.Args[1:] {
		go func() { failed <- http.ListenAndServe(address, http.HandlerFunc(serve)) }()
	}
	log.Fatal(<-failed)
}
