# The verbs of this repository, in the order in which one needs them. `make help` explains them.

# One manifest: that of VARIANT, with IMAGE, the name in a registry that the nodes can pull from.
RENDER = kubectl kustomize manifests/$(or $(VARIANT),base) | sed 's|image: bash-ingress:dev$$|image: $(or $(IMAGE),bash-ingress:dev)|'

.DEFAULT_GOAL := help
SHELL = bash
.SHELLFLAGS = -o pipefail -c
.PHONY: demo lesson lessons demo-down page test-page test test-unit test-e2e test-kind test-nodes test-faults test-neighbours lint update-golden image deploy release-manifest cluster-up cluster-down conformance bench bench-quick help

demo: ## start a cluster with the controller and two applications, and show what to try
	test/demo/demo up

lesson: ## run lesson N of bin/lessons on the demo's cluster; with BREAK=1, break it (N=1 to N=10)
	test/demo/lesson "$(N)"

lessons: ## list the lessons, with minutes
	@test/demo/lesson list

demo-down: ## remove everything that `make demo` made
	test/demo/demo down

page: ## open the page that shows who serves what, on http://localhost:8254/page/ (PAGE_PORT=..., as long as this runs)
	@printf 'http://localhost:%s/page/ (Ctrl-C ends it)\n' $(or $(PAGE_PORT),8254)
	@{ sleep 2; xdg-open http://localhost:$(or $(PAGE_PORT),8254)/page/ || open http://localhost:$(or $(PAGE_PORT),8254)/page/ || true; } >/dev/null 2>&1 &
	@kubectl -n bash-ingress port-forward deployment/bash-ingress $(or $(PAGE_PORT),8254):10254

test: ## run all tests: lint, unit and e2e
	test/run lint unit e2e

test-unit: ## run the steps on saved snapshots: no cluster, no root
	test/run unit

test-e2e: ## run the real image in a real cluster (CLUSTER=kind|minikube|embedded)
	test/run e2e

test-kind: ## run what another cluster can break on a real kind cluster, also without Docker
	test/run kind

test-nodes: ## what clients lose when a node is drained or dies, behind a balancer, on a kind cluster with three nodes
	test/run nodes

test-faults: ## the faults among them, as long as they may last
	FAULTS=long test/run faults

test-neighbours: ## beside the real cert-manager, oauth2-proxy, Argo Rollouts, Flagger and external-dns, compiled once
	test/run neighbours

test-page: ## look at the page with a real Chromium
	test/run page

lint: ## check the files without running them
	test/run lint

update-golden: ## write again what the unit tests compare with; look at `git diff` then
	test/fixtures/update

image: ## build the container image bash-ingress:dev
	test/image build

deploy: ## install the controller in the cluster that kubectl talks to (IMAGE=..., VARIANT=base|variants/NAME)
	$(RENDER) | kubectl apply -f -

release-manifest: ## print one manifest, for `kubectl apply -f` without a checkout (IMAGE=..., VARIANT=...)
	@$(RENDER)

cluster-up: ## start the embedded cluster: real Kubernetes without Docker, as root
	test/cluster/cluster up

cluster-down: ## stop the embedded cluster and leave nothing of it
	test/cluster/cluster down

conformance: ## run the conformance suite of Kubernetes' Ingress API on the demo's cluster (SUITE=its checkout)
	test/conformance $(SUITE)

bench: ## measure how fast traffic follows, and what the controller costs, on the embedded cluster
	test/bench/bench

bench-quick: ## the rows of 10 Ingresses, once instead of three times
	test/bench/bench quick

help: ## list the verbs
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/make \1 \2/p' $(MAKEFILE_LIST) | awk '{ printf "make %-17s ", $$2; $$1 = $$2 = ""; print substr($$0, 3) }'
