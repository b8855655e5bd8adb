package main

import (
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

// changes are made in the cluster, and it is measured how long it takes until
// traffic follows them.
type changes struct {
	api, namespace, class, address string
	number                         int
	pause                          time.Duration
	client                         *http.Client // of the API server
}

const (
	lookFor = time.Minute
	workers = 16 // that make objects, or ask, at the same time
)

// follow changes something again and again. change(i) makes the i-th change, and
// returns what tells whether it shows.
func (c *changes) follow(change func(i int) (shows func() bool)) {
	var took []float64
	for i := range c.number {
		time.Sleep(c.pause)
		start := time.Now()
		if waitFor(change(i), 5*time.Millisecond, start.Add(lookFor)) {
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		}
	}
	result := map[string]any{"changes": c.number, "failed": c.number - len(took)}
	if len(took) > 0 {
		sort.Float64s(took)
		result["min"], result["max"] = took[0], took[len(took)-1]
		result["median"], result["p99"] = took[len(took)/2], took[len(took)*99/100]
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// waitFor asks on schedule, each time over a new connection: a slow answer does
// not keep the next question back.
func waitFor(shows func() bool, every time.Duration, end time.Time) bool {
	seen := make(chan bool, 1)
	asking := make(chan bool, 64)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for time.Now().Before(end) {
		select {
		case asking <- true:
			go func() {
				defer func() { <-asking }()
				if shows() {
					select {
					case seen <- true:
					default:
					}
				}
			}()
		default: // so many have no answer yet
		}
		select {
		case <-seen:
			return true
		case <-tick.C:
		}
	}
	return false
}

// answers tells whether HOST's answer, at ADDRESS, contains what is wanted.
func answers(address, host, wanted string) func() bool {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return func() bool { return ask(client, address, host, wanted) }
}

func ask(client *http.Client, address, host, wanted string) bool {
	request, err := http.NewRequest(http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		log.Fatal("probe: ", err)
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
func (c *changes) addIngress(run int64) func(int) func() bool {
	return func(i int) func() bool {
		name := fmt.Sprintf("follow-%d-%d", run, i)
		c.sendIngress(name, "follow", "bench", "")
		return answers(c.address, name+".example", "")
	}
}

// moveEndpoint lets the EndpointSlice "moving" name each of the pods in turn. A pod
// answers with its address, in a line.
func (c *changes) moveEndpoint(pods []string) func(int) func() bool {
	return func(i int) func() bool {
		pod := pods[i%len(pods)]
		c.send(http.MethodPut, "/apis/discovery.k8s.io/v1", "endpointslices/moving", slice("moving", "", []string{pod}))
		return answers(c.address, "moving.example", pod+"\n")
	}
}

func (c *changes) fill(pods []string) {
	each(c.number, func(i int) {
		name := fmt.Sprintf("many-%d", i)
		// Without an address of its own, the Service costs nobody else in the cluster anything.
		c.send(http.MethodPost, "/api/v1", "services", fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"labels":{"bench":"probe"}},
			"spec":{"clusterIP":"None","ports":[{"name":"web","port":80,"targetPort":8080}]}}`, name))
		c.send(http.MethodPost, "/apis/discovery.k8s.io/v1", "endpointslices", slice(name, "probe", pods))
		c.sendIngress(name, "probe", name, "")
	})
	reach(c.number, c.address)
}

// reach waits until all hosts answer. While the first does not, the others are not asked: a
// controller that starts has other things to do.
func reach(number int, address string) {
	if number > 0 {
		waitFor(answers(address, "many-0.example", ""), 5*time.Millisecond, time.Now().Add(5*lookFor))
	}
	each(number, func(i int) {
		host := fmt.Sprintf("many-%d.example", i)
		if !waitFor(answers(address, host, ""), 50*time.Millisecond, time.Now().Add(5*lookFor)) {
			log.Fatalf("probe: %s does not answer", host)
		}
	})
}

func each(number int, do func(i int)) {
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < number; i += workers {
				do(i)
			}
		})
	}
	wg.Wait()
}

// sendIngress makes an Ingress for the host NAME.example; the rest, if any, are further fields of its spec.
func (c *changes) sendIngress(name, label, service, rest string) {
	c.send(http.MethodPost, "/apis/networking.k8s.io/v1", "ingresses", fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1",
		"kind":"Ingress","metadata":{"name":%q,"labels":{"bench":%q}},"spec":{"ingressClassName":%q,%s"rules":[{"host":"%s.example","http":{"paths":[{"path":"/","pathType":"Prefix",
		"backend":{"service":{"name":%q,"port":{"number":80}}}}]}}]}}`, name, label, c.class, rest, name, service))
}

func slice(service, label string, pods []string) string {
	return fmt.Sprintf(`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":%q,
		"labels":{"bench":%q,"kubernetes.io/service-name":%q}},"addressType":"IPv4",
		"ports":[{"name":"web","port":8080,"protocol":"TCP"}],"endpoints":[{"addresses":["%s"],"conditions":{"ready":true}}]}`,
		service, label, service, strings.Join(pods, `"],"conditions":{"ready":true}},{"addresses":["`))
}

func (c *changes) send(method, group, what, object string) {
	request, err := http.NewRequest(method, fmt.Sprintf("%s%s/namespaces/%s/%s", c.api, group, c.namespace, what), strings.NewReader(object))
	if err != nil {
		log.Fatal("probe: ", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	if response.StatusCode >= 300 && response.StatusCode != http.StatusConflict {
		log.Fatalf("probe: the API server answered %s: %s", response.Status, answer)
	}
}
