// oidc is an issuer that lets everybody in: mockoidc, which oauth2-proxy's own tests use, at an address of our choice.
//
//	Usage: oidc LISTEN HOST     its URL is http://HOST/oidc; client "proxy" with the secret "secret"
//
// Who has a cookie kilobytes=N gets an ID token with N kilobytes that cannot be compressed, as of a user with many
// groups.
package main

import (
	"crypto/rand"
	"encoding/base64"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/oauth2-proxy/mockoidc"
)

func main() {
	issuer, err := mockoidc.NewServer(nil)
	if err != nil {
		log.Fatal("oidc: ", err)
	}
	issuer.ClientID, issuer.ClientSecret = "proxy", "secret"
	issuer.Server = &http.Server{Addr: os.Args[2]} // of which it makes its URLs
	http.HandleFunc(mockoidc.AuthorizationEndpoint, func(w http.ResponseWriter, r *http.Request) {
		issuer.QueueUser(user(r))
		issuer.Authorize(w, r)
	})
	http.HandleFunc(mockoidc.TokenEndpoint, issuer.Token)
	http.HandleFunc(mockoidc.UserinfoEndpoint, issuer.Userinfo)
	http.HandleFunc(mockoidc.JWKSEndpoint, issuer.JWKS)
	http.HandleFunc(mockoidc.DiscoveryEndpoint, issuer.Discovery)
	log.Fatal("oidc: ", http.ListenAndServe(os.Args[1], nil))
}

func user(r *http.Request) mockoidc.User {
	user := mockoidc.DefaultUser()
	cookie, err := r.Cookie("kilobytes")
	if err != nil {
		return user
	}
	kilobytes, _ := strconv.Atoi(cookie.Value)
	random := make([]byte, kilobytes*1024*3/4)
	_, _ = rand.Read(random) // it never fails
	user.Address = base64.RawURLEncoding.EncodeToString(random)
	return user
}
