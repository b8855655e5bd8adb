// external-dns is its source `ingress`, plan and loop, with records in memory, behind a main of our own: a module that
// its other sources need cannot be had. Its log has a line for each record that it makes, changes or deletes.
//
//	Usage: external-dns ZONE
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/external-dns/controller"
	"sigs.k8s.io/external-dns/endpoint"
	"sigs.k8s.io/external-dns/plan"
	"sigs.k8s.io/external-dns/provider/inmemory"
	"sigs.k8s.io/external-dns/registry/noop"
	"sigs.k8s.io/external-dns/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal("external-dns: ", err)
	}
}

func run(ctx context.Context, zone string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ingresses, err := source.NewIngressSource(ctx, client, &source.Config{AnnotationFilter: labels.Everything(), LabelFilter: labels.Everything()})
	if err != nil {
		return err
	}
	domains := endpoint.NewDomainFilter([]string{zone})
	records := inmemory.NewInMemoryProvider(inmemory.InMemoryInitZones([]string{zone}), inmemory.InMemoryWithDomain(domains), inmemory.InMemoryWithLogging())
	registry, err := noop.New(nil, records)
	if err != nil {
		return err
	}
	loop := controller.Controller{
		Source:             ingresses,
		Registry:           registry,
		Policy:             &plan.SyncPolicy{},
		Interval:           time.Second,
		DomainFilter:       domains,
		ManagedRecordTypes: []string{endpoint.RecordTypeA, endpoint.RecordTypeAAAA, endpoint.RecordTypeCNAME},
	}
	return loop.Run(ctx)
}
