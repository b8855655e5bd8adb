// probe is the client in the tests for what curl cannot do.
//
//	Usage: probe websocket ADDRESS HOST PATH
//	           opens a WebSocket through ADDRESS (ip:port), sends each line of its
//	           standard input and prints each answer; ends with the input
//
//	       probe rate ADDRESS HOST PATH REQUESTS_PER_SECOND SECONDS
//	           sends GET requests on schedule, whether or not earlier ones have been
//	           answered; prints "sent N, failed M" and each kind of failure. With
//	           https:// before ADDRESS, each goes over a TLS connection of its own
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

func main() {
	log.SetFlags(0)
	switch arguments := os.Args[1:]; {
	case len(arguments) == 4 && arguments[0] == "websocket":
		talk(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 6 && arguments[0] == "rate":
		rate, err1 := strconv.Atoi(arguments[4])
		seconds, err2 := strconv.Atoi(arguments[5])
		if err1 != nil || err2 != nil || rate < 1 || seconds < 1 {
			log.Fatal("probe: REQUESTS_PER_SECOND and SECONDS are whole numbers above 0")
		}
		load(arguments[1], arguments[2], arguments[3], rate, time.Duration(seconds)*time.Second)
	default:
		log.Fatal("usage: probe websocket ADDRESS HOST PATH | probe rate ADDRESS HOST PATH REQUESTS_PER_SECOND SECONDS")
	}
}

func talk(address, host, path string) {
	ctx := context.Background()
	connection, _, err := websocket.Dial(ctx, "ws://"+address+path, &websocket.DialOptions{Host: host})
	if err != nil {
		log.Fatal("probe: ", err)
	}
	defer connection.Close(websocket.StatusNormalClosure, "")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		if err := connection.Write(ctx, websocket.MessageText, input.Bytes()); err != nil {
			log.Fatal("probe: ", err)
		}
		_, message, err := connection.Read(ctx)
		if err != nil {
			log.Fatal("probe: ", err)
		}
		fmt.Println(string(message))
	}
}

func load(address, host, path string, rate int, duration time.Duration) {
	secure := strings.HasPrefix(address, "https://")
	if !secure {
		address = "http://" + address
	}
	client := &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 100,
			DisableCompression:  true,
			DisableKeepAlives:   secure,
			TLSClientConfig:     &tls.Config{ServerName: host, InsecureSkipVerify: true},
		},
	}
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		sent     int
		failures = map[string]int{}
	)
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for start := time.Now(); time.Since(start) < duration; <-ticker.C {
		sent++
		wg.Add(1)
		go func() {
			defer wg.Done()
			if failure := get(client, address, host, path); failure != "" {
				mu.Lock()
				failures[failure]++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	report(sent, failures)
}

// get returns what went wrong, or nothing.
func get(client *http.Client, address, host, path string) string {
	request, err := http.NewRequest(http.MethodGet, address+path, nil)
	if err != nil {
		return err.Error()
	}
	request.Host = host
	// Go's client sends a request again if a connection that it kept was closed under it. That is a loss, too.
	connections := 0
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connections++ }}
	response, err := client.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	if connections > 1 {
		return "connection closed on a request, which had to be sent again"
	}
	if response.StatusCode != http.StatusOK {
		return response.Status
	}
	return ""
}

func report(sent int, failures map[string]int) {
	failed, kinds := 0, []string{}
	for kind, number := range failures {
		failed += number
		kinds = append(kinds, fmt.Sprintf("%6d %s", number, kind))
	}
	sort.Strings(kinds)
	fmt.Printf("sent %d, failed %d\n", sent, failed)
	for _, kind := range kinds {
		fmt.Println(kind)
	}
}
