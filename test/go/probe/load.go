package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// load is what is sent, and what became of it.
type load struct {
	address, host, path string
	post, new           bool
	pause               time.Duration

	run      int64 // with which the ids begin
	ids      atomic.Int64
	mu       sync.Mutex
	sent     int
	longest  time.Duration
	failures map[string]*failure
}

type failure struct {
	number int
	first  time.Time
}

// A client that has sent a request waits this long for the answer.
const patience = 30 * time.Second

// A connection that has been idle for 5 s is closed by a reload, and that may meet a request on its way (the template's
// keepalive_min_timeout). A client can only keep away from it.
const idle = 4 * time.Second

func (l *load) sendOnSchedule(ctx context.Context, rate int) {
	fmt.Println("started")
	client := l.newClient(100)
	var wg sync.WaitGroup
	for due := time.Now(); sleepUntil(ctx, due); due = due.Add(time.Second / time.Duration(rate)) {
		wg.Go(func() { l.count(l.send(client), due) })
	}
	wg.Wait()
}

func (l *load) runClients(ctx context.Context, number int) {
	fmt.Println("started")
	var wg sync.WaitGroup
	for range number {
		wg.Go(func() {
			client := l.newClient(1)
			for sleepUntil(ctx, time.Now().Add(l.anyPause())) {
				start := time.Now()
				l.count(l.send(client), start)
			}
		})
	}
	wg.Wait()
}

func (l *load) anyPause() time.Duration {
	if l.pause == 0 {
		return 0
	}
	return rand.N(l.pause)
}

// sleepUntil returns false, perhaps early, if nothing is to be sent any more.
func sleepUntil(ctx context.Context, due time.Time) bool {
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(due)):
	}
	return ctx.Err() == nil
}

func (l *load) newClient(connections int) *http.Client {
	return &http.Client{
		Timeout: patience,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: connections,
			IdleConnTimeout:     idle,
			DisableCompression:  true,
			DisableKeepAlives:   l.new,
			TLSClientConfig:     &tls.Config{ServerName: l.host, InsecureSkipVerify: true},
		},
	}
}

// send returns what went wrong, or nothing.
func (l *load) send(client *http.Client) string {
	request := l.request()
	// Go's client sends a request again if a connection that it kept was closed under it. That is a loss, too.
	connections := 0
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connections++ }}
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err != nil {
		return kind(err)
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body) // to the end, or else the connection is not kept
	switch {
	case err != nil:
		return "in the answer: " + kind(err)
	case connections > 1:
		return "connection closed on a request, which had to be sent again"
	case response.StatusCode != http.StatusOK:
		return response.Status
	}
	return ""
}

func (l *load) request() *http.Request {
	address, method, body := l.address, http.MethodGet, ""
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if l.post {
		method, body = http.MethodPost, fmt.Sprintf("%d-%d", l.run, l.ids.Add(1))
	}
	request, err := http.NewRequest(method, address+l.path, strings.NewReader(body))
	if err != nil {
		panic(err) // a wrong address
	}
	request.Host = l.host
	return request
}

// kind leaves out the addresses, in which every error differs from the others.
func kind(err error) string {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}

func (l *load) holdSockets(ctx context.Context, number int) {
	var wg, opening sync.WaitGroup
	opening.Add(number)
	for range number {
		wg.Go(func() {
			sleepUntil(ctx, time.Now().Add(l.anyPause()))
			l.holdSocket(ctx, opening.Done)
		})
	}
	if l.pause == 0 {
		opening.Wait()
	}
	fmt.Println("started")
	wg.Wait()
}

// holdSocket opens it again when it is cut.
func (l *load) holdSocket(ctx context.Context, opened func()) {
	connection, err := dial(context.Background(), l.address, l.host, l.path)
	opened()
	for due := time.Now(); sleepUntil(ctx, due); due = due.Add(time.Second) {
		if err == nil {
			_, err = exchange(context.Background(), connection, "are you there?")
		}
		if err == nil {
			l.count("", due)
			continue
		}
		l.count(kind(err), due)
		connection, err = dial(context.Background(), l.address, l.host, l.path)
	}
	if err == nil {
		connection.Close(websocket.StatusNormalClosure, "")
	}
}

func dial(ctx context.Context, address, host, path string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, _, err := websocket.Dial(ctx, "ws://"+address+path, &websocket.DialOptions{Host: host})
	return connection, err
}

// exchange sends a message and returns the answer.
func exchange(ctx context.Context, connection *websocket.Conn, message string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := connection.Write(ctx, websocket.MessageText, []byte(message)); err != nil {
		return "", err
	}
	_, answer, err := connection.Read(ctx)
	return string(answer), err
}

func (l *load) count(what string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	l.longest = max(l.longest, time.Since(since))
	if what == "" {
		return
	}
	if l.failures[what] == nil {
		l.failures[what] = &failure{first: time.Now()}
	}
	l.failures[what].number++
}

func (l *load) report() {
	failed, kinds := 0, []string{}
	for what, f := range l.failures {
		failed += f.number
		kinds = append(kinds, fmt.Sprintf("%6d %s, first at %s", f.number, what, f.first.UTC().Format("15:04:05.000")))
	}
	sort.Strings(kinds)
	fmt.Printf("sent %d, failed %d\n", l.sent, failed)
	fmt.Printf("longest %d ms\n", l.longest.Milliseconds())
	for _, line := range kinds {
		fmt.Println(line)
	}
}
