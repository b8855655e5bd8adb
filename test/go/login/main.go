// login is a browser, as far as signing in goes: it follows redirects, and keeps cookies of any number and size, which
// curl does not. (curl sends 8,190 bytes of them at most.)
//
//	Usage: login OPTION... ADDRESS TLS_ADDRESS URL
//	           The addresses (ip:port) are where all hosts are. Asks for URL, which must lead to the sign-in and from there
//	           back to URL; asks again for as long as -for says; signs out, after which URL leads to the sign-in again.
//	           Prints a line for each step; ends with 1 and what it got if it is not that.
//
//	           -kilobytes N   what the issuer is asked for: an ID token of N kilobytes
//	           -http1         HTTP/1.1, not HTTP/2
//	           -for TIME      how long it stays; each second a request
//	           -refreshes N   how often the session must have been refreshed by then
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

type browser struct {
	http.Client
	page *url.URL
}

func newBrowser(address, tlsAddress string, page *url.URL, http1 bool) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // not without options
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, asked string) (net.Conn, error) {
			if strings.HasSuffix(asked, ":443") {
				return new(net.Dialer).DialContext(ctx, network, tlsAddress)
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: !http1,
	}
	return &browser{http.Client{Jar: jar, Transport: transport, Timeout: 30 * time.Second}, page}
}

// get returns what answered in the end, after all redirects.
func (b *browser) get(link string) (*http.Response, string) {
	response, err := b.Get(link)
	if err != nil {
		log.Fatal("login: ", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal("login: ", err)
	}
	return response, string(body)
}

// ask fails unless the application has answered, has seen the very link, and was told who asks.
func (b *browser) ask(when string) {
	response, body := b.get(b.page.String())
	var asked struct {
		URI    string
		Header http.Header
	}
	if err := json.Unmarshal([]byte(body), &asked); response.StatusCode != http.StatusOK || err != nil {
		log.Fatalf("login: %s: %s answered %s to %d bytes of cookies: %.300s", when, response.Request.URL.Host, response.Status, b.size(), body)
	}
	if asked.URI != b.page.RequestURI() {
		log.Fatalf("login: %s: came to %s", when, asked.URI)
	}
	if email := asked.Header.Get("X-Auth-Request-Email"); email != "jane.doe@example.com" {
		log.Fatalf("login: %s: the application was told %q", when, email)
	}
}

// session has the cookies in which the session is, in order: those that the login service gave.
func (b *browser) session() string {
	var all []string
	for _, cookie := range b.Jar.Cookies(b.page) {
		all = append(all, cookie.String())
	}
	return strings.Join(all, "; ")
}

func (b *browser) size() int {
	return len(b.session())
}

func (b *browser) stay(long time.Duration) (refreshes int) {
	last := b.session()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(time.Second) {
		b.ask(fmt.Sprintf("after %d refreshes", refreshes))
		if now := b.session(); now != last {
			last = now
			refreshes++
		}
	}
	return refreshes
}

func (b *browser) signOut() {
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.get(b.page.Scheme + "://" + b.page.Host + "/oauth2/sign_out")
	response, _ := b.get(b.page.String())
	if location := response.Header.Get("Location"); response.StatusCode != http.StatusFound || !strings.Contains(location, "/oauth2/start?rd=") {
		log.Fatalf("login: after signing out, %s answered %s %s", b.page, response.Status, location)
	}
}

func main() {
	log.SetFlags(0)
	kilobytes := flag.String("kilobytes", "0", "")
	http1 := flag.Bool("http1", false, "")
	long := flag.Duration("for", 0, "")
	least := flag.Int("refreshes", 0, "")
	flag.Usage = func() { log.Fatal("usage: login OPTION... ADDRESS TLS_ADDRESS URL") }
	flag.Parse()
	page, err := url.Parse(flag.Arg(2))
	if flag.NArg() != 3 || err != nil {
		flag.Usage()
	}
	b := newBrowser(flag.Arg(0), flag.Arg(1), page, *http1)
	b.Jar.SetCookies(&url.URL{Scheme: "http", Host: "issuer.example"}, []*http.Cookie{{Name: "kilobytes", Value: *kilobytes}})

	b.ask("signing in")
	fmt.Printf("signed in, with %d bytes of cookies\n", b.size())
	if refreshes := b.stay(*long); refreshes < *least {
		log.Fatalf("login: %d refreshes, not %d", refreshes, *least)
	} else {
		fmt.Printf("stayed, with %d refreshes and %d bytes of cookies\n", refreshes, b.size())
	}
	b.signOut()
	fmt.Println("signed out")
}
