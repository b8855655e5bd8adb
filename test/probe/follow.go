package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

// follow makes changes in the cluster and measures how long it takes until
// traffic follows them.
type follow struct {
	api, namespace, address string
	number                  int
	pause                   time.Duration
	client                  *http.Client // of the API server
}

const (
	every  = 2 * time.Millisecond // how often it looks
	giveUp = 60 * time.Second
)

// run changes something again and again. change(i) makes the i-th change, and
// returns the host to ask and what its answer has to contain from then on.
func (f *follow) run(change func(i int) (host, wanted string)) {
	var took []float64
	failed := 0
	for i := range f.number {
		time.Sleep(f.pause)
		start := time.Now()
		host, wanted := change(i)
		if f.waitFor(host, wanted, start) {
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		} else {
			failed++
		}
	}
	sort.Float64s(took)
	result := map[string]any{"changes": f.number, "failed": failed}
	if len(took) > 0 {
		result["min"], result["max"] = took[0], took[len(took)-1]
		result["median"], result["p99"] = took[len(took)/2], took[len(took)*99/100]
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// waitFor asks on schedule, each time over a new connection: a slow answer does
// not keep the next question back.
func (f *follow) waitFor(host, wanted string, start time.Time) bool {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	seen := make(chan struct{})
	var once sync.Once
	tick := time.NewTicker(every)
	defer tick.Stop()
	under := make(chan struct{}, 64) // so many questions at the same time
	for time.Since(start) < giveUp {
		select {
		case <-seen:
			return true
		case <-tick.C:
		}
		select {
		case under <- struct{}{}:
		default:
			continue
		}
		go func() {
			defer func() { <-under }()
			if f.answers(client, host, wanted) {
				once.Do(func() { close(seen) })
			}
		}()
	}
	return false
}

func (f *follow) answers(client *http.Client, host, wanted string) bool {
	request, err := http.NewRequest(http.MethodGet, "http://"+f.address+"/", nil)
	if err != nil {
		panic(err) // a wrong address
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode == http.StatusOK && strings.Contains(string(body), wanted)
}

// addIngress makes a new Ingress, of a host of its own, for the Service "bench".
func (f *follow) addIngress(run int64) func(int) (string, string) {
	return func(i int) (string, string) {
		name := fmt.Sprintf("follow-%d-%d", run, i)
		host := name + ".example"
		f.send(http.MethodPost, "/apis/networking.k8s.io/v1/namespaces/"+f.namespace+"/ingresses", fmt.Sprintf(
			`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":%q,"labels":{"bench":"follow"}},
			  "spec":{"ingressClassName":"bash","rules":[{"host":%q,"http":{"paths":[{"path":"/","pathType":"Prefix",
			  "backend":{"service":{"name":"bench","port":{"number":80}}}}]}}]}}`, name, host))
		return host, ""
	}
}

// moveEndpoint lets the EndpointSlice "moving" name each of the pods in turn. A pod
// answers with its address.
func (f *follow) moveEndpoint(pods []string) func(int) (string, string) {
	return func(i int) (string, string) {
		pod := pods[i%len(pods)]
		f.send(http.MethodPut, "/apis/discovery.k8s.io/v1/namespaces/"+f.namespace+"/endpointslices/moving", fmt.Sprintf(
			`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"moving",
			  "labels":{"kubernetes.io/service-name":"moving"}},"addressType":"IPv4",
			  "ports":[{"name":"web","port":8080,"protocol":"TCP"}],"endpoints":[{"addresses":[%q],"conditions":{"ready":true}}]}`, pod))
		return "moving.example", pod
	}
}

func (f *follow) send(method, path, body string) {
	request, err := http.NewRequest(method, f.api+path, bytes.NewBufferString(body))
	if err != nil {
		log.Fatal("probe: ", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(request)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode >= 300 {
		log.Fatalf("probe: the API server answered %s: %s", response.Status, answer)
	}
}
