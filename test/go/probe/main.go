// probe is the client in the tests for what curl cannot do.
//
//	Usage: probe websocket ADDRESS HOST PATH
//	           opens a WebSocket through ADDRESS (ip:port), sends each line of its
//	           standard input and prints each answer; ends with the input
//
//	       probe load OPTION... ADDRESS HOST PATH
//	           sends requests until SIGTERM; prints "started" when it begins, and at
//	           the end "sent N, failed M", the longest time that one took, and each
//	           kind of failure. With https:// before ADDRESS, it speaks TLS.
//
//	           -rate N      N requests a second, on schedule, whether or not earlier
//	                        ones have been answered
//	           -clients N   N clients, each with a connection of its own; each sends
//	                        its next request when it has the answer to the last one
//	           -pause TIME  they pause between requests, for a random time up to that
//	           -sockets N   N WebSockets; each sends a message every second. With -pause
//	                        they do not all open at once, but within that time
//	           -new         each request goes over a new connection
//	           -post        POST, each with an id of its own as its body, not GET
//
//	       probe handshakes ADDRESS HOST...
//	           asks ADDRESS (ip:port) for each HOST's certificate every 200 ms until
//	           SIGTERM; prints "started" when it begins, and at the end for each host
//	           how many were its own, signed by themselves (the stand-in while it has
//	           none), another's (foreign), the stand-in long after its own (lost), and
//	           how many handshakes failed
//
//	       probe follow OPTION... API ADDRESS
//	           makes changes in the cluster by way of API (a `kubectl proxy`, http://...),
//	           and asks ADDRESS (ip:port) every 2 ms whether traffic follows yet, each
//	           time over a new connection. Prints JSON: how many changes, how many did
//	           not show within a minute, and of the others min, median, p99 and max in ms,
//	           from the moment at which the change was sent
//
//	           -namespace NAME  where it makes them
//	           -class NAME      the class of the Ingresses
//	           -number N        how many
//	           -pause TIME      before each; none: one as soon as the last one has shown
//	           -pods IP,IP...   not new Ingresses for the Service "bench", but an
//	                            EndpointSlice "moving" that names these in turn
//	           -tls new         new Ingresses, each with a new Secret, until ADDRESS, which
//	                            speaks TLS, shows the certificate
//	           -tls renewed     one Ingress, whose Secret gets a new key pair each time
//
//	       probe fill OPTION... API ADDRESS
//	           makes N Ingresses (options as above) for the hosts many-0.example and so
//	           on, each with a Service and an EndpointSlice that names all -pods; what
//	           is there already, stays. Waits until all of them answer at ADDRESS
//
//	       probe reach N ADDRESS
//	           asks for these hosts until each has answered 200; prints the time then,
//	           in seconds since 1970
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

const usage = "usage: probe websocket ADDRESS HOST PATH | probe load OPTION... ADDRESS HOST PATH | probe handshakes ADDRESS HOST... | probe follow|fill OPTION... API ADDRESS | probe reach N ADDRESS"

func main() {
	log.SetFlags(0)
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 4 && arguments[0] == "websocket":
		talk(arguments[1], arguments[2], arguments[3])
	case len(arguments) > 4 && arguments[0] == "load":
		sendLoad(arguments[1:])
	case len(arguments) > 2 && arguments[0] == "handshakes":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
		go stopWithParent(stop)
		watchCertificates(ctx, arguments[1], arguments[2:])
	case len(arguments) > 2 && (arguments[0] == "follow" || arguments[0] == "fill"):
		changeCluster(arguments[0], arguments[1:])
	case len(arguments) == 3 && arguments[0] == "reach":
		number, err := strconv.Atoi(arguments[1])
		if err != nil {
			log.Fatal(usage)
		}
		reach(number, arguments[2])
		fmt.Printf("%.3f\n", float64(time.Now().UnixMilli())/1000)
	default:
		log.Fatal(usage)
	}
}

func talk(address, host, path string) {
	ctx := context.Background()
	connection, err := dial(ctx, address, host, path)
	if err != nil {
		log.Fatal("probe: ", err)
	}
	defer connection.Close(websocket.StatusNormalClosure, "")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		answer, err := exchange(ctx, connection, input.Text())
		if err != nil {
			log.Fatal("probe: ", err)
		}
		fmt.Println(answer)
	}
}

func sendLoad(arguments []string) {
	l := load{run: time.Now().UnixNano(), failures: map[string]*failure{}}
	flags := flag.NewFlagSet("probe load", flag.ExitOnError)
	flags.BoolVar(&l.post, "post", false, "")
	flags.BoolVar(&l.new, "new", false, "")
	flags.DurationVar(&l.pause, "pause", 0, "")
	rate := flags.Int("rate", 0, "")
	clients := flags.Int("clients", 0, "")
	sockets := flags.Int("sockets", 0, "")
	flags.Usage = func() { log.Fatal(usage) }
	_ = flags.Parse(arguments) // it ends the program by itself
	if flags.NArg() != 3 {
		log.Fatal(usage)
	}
	l.address, l.host, l.path = flags.Arg(0), flags.Arg(1), flags.Arg(2)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	go stopWithParent(stop)
	switch {
	case *rate > 0:
		l.sendOnSchedule(ctx, *rate)
	case *clients > 0:
		l.runClients(ctx, *clients)
	case *sockets > 0:
		l.holdSockets(ctx, *sockets)
	default:
		log.Fatal(usage)
	}
	l.report()
}

func changeCluster(verb string, arguments []string) {
	c := changes{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}}
	flags := flag.NewFlagSet("probe "+verb, flag.ExitOnError)
	flags.StringVar(&c.namespace, "namespace", "default", "")
	flags.StringVar(&c.class, "class", "bash", "")
	flags.IntVar(&c.number, "number", 1, "")
	flags.DurationVar(&c.pause, "pause", 0, "")
	pods := flags.String("pods", "", "")
	certificate := flags.String("tls", "", "")
	flags.Usage = func() { log.Fatal(usage) }
	_ = flags.Parse(arguments) // it ends the program by itself
	if flags.NArg() != 2 {
		log.Fatal(usage)
	}
	c.api, c.address = flags.Arg(0), flags.Arg(1)
	switch {
	case verb == "fill":
		c.fill(strings.Split(*pods, ","))
	case *certificate == "new":
		c.follow(c.newCertificate(time.Now().UnixNano()))
	case *certificate == "renewed":
		c.follow(c.renewedCertificate(time.Now().UnixNano()))
	case *pods == "":
		c.follow(c.addIngress(time.Now().UnixNano()))
	default:
		c.follow(c.moveEndpoint(strings.Split(*pods, ",")))
	}
}

// A test that was killed cannot end what it has started.
func stopWithParent(stop func()) {
	for parent := os.Getppid(); os.Getppid() == parent; {
		time.Sleep(time.Second)
	}
	stop()
}
