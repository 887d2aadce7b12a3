# What people do with the tree; `make help` lists it. Go's own commands work too:
# nothing here is needed to build but `go build ./cmd/tracepredict`.

# A Go that scripts/setup had to fetch lies here; elsewhere the folder is absent.
export PATH := $(CURDIR)/build/go/bin:$(PATH)
export GOTOOLCHAIN ?= auto

GO ?= go
PREFIX ?= /usr/local
FUZZTIME ?= 10s
SOAK ?= 20m
CHAOS ?= 2m
# Git refuses a work tree of another user's; the version is then left out.
VCS = $(shell git status --porcelain >/dev/null 2>&1 && echo auto || echo false)

.DEFAULT_GOAL := build

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## build ./tracepredict
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(VCS) -o tracepredict ./cmd/tracepredict

examples: ## build the example programs into build/examples
	$(MAKE) --no-print-directory -C examples

demo: ## set up, build, and find the deadlock and the race of examples/shop
	scripts/setup demo
	$(MAKE) --no-print-directory build examples
	scripts/demo

test: ## run every unit test and the core of the end-to-end tests, as root where sudo allows it
	scripts/test

test-all: ## run every test with all its cases, all with -race, the soak test, and two minutes of chaos
	scripts/test --all

repeat: ## run the core of the end-to-end tests ten times, and ten times beside a load: which fail now and then?
	scripts/setup test
	scripts/as-root scripts/repeat 10
	scripts/as-root scripts/repeat --load 10

check: ## format, vet, lint, floors, and the tests that need no root: what a change should pass first
	scripts/setup check
	scripts/check

bench: ## measure, and write docs/performance.md
	scripts/setup bench
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/bench/bench ./bench
	$(GO) -C scripts build -buildvcs=false -o ../build/bench/plots ./plots
	met=0; scripts/as-root build/bench/bench $(BENCHFLAGS) || met=1; \
	scripts/as-root build/bench/bench -scopes -rounds 3 $(BENCHFLAGS) || met=1; \
	build/bench/plots scopes && exit $$met

plots: ## draw what windows find, how well protocols are learned, and what the lattice takes over threads, window and monitor
	scripts/setup build
	$(GO) -C scripts build -buildvcs=false -o ../build/bench/plots ./plots
	build/bench/plots $(PLOTSFLAGS) recall learning times

real: ## try real programs plain and observed, also under load, and write docs/real-programs.md and performance.md
	scripts/setup real
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/real/real ./real
	$(GO) -C scripts build -buildvcs=false -o ../build/real/survey ./survey
	scripts/as-root build/real/survey $(SURVEYFLAGS)
	scripts/as-root build/real/real $(REALFLAGS)
	scripts/as-root build/real/real -protocols $(PROTOCOLFLAGS)
	scripts/as-root build/real/real -scopes $(SCOPEFLAGS)
	scripts/as-root build/real/real -formulas $(SCOPEFLAGS)
	scripts/as-root build/real/real -large $(LARGEFLAGS)

compare: ## run defective and innocent programs under Helgrind, DRD, ThreadSanitizer and this, and write docs/comparison.md
	scripts/setup compare
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/compare/compare ./compare
	scripts/as-root build/compare/compare $(COMPAREFLAGS)

verdicts: ## run innocent programs and defective ones under this alone, and write docs/verdicts.md
	scripts/setup demo
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/verdicts/verdicts ./verdicts
	scripts/as-root build/verdicts/verdicts $(VERDICTSFLAGS)

randomc: ## run random C programs, and compare the findings with all their interleavings
	scripts/setup randomc
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/randomc/randomc ./randomc
	scripts/as-root build/randomc/randomc $(RANDOMCFLAGS)

othercalls: ## measure what system calls of other processes cost while messages are observed
	scripts/setup demo
	$(MAKE) --no-print-directory build
	scripts/othercalls

soak: ## observe for SOAK (20m) a program of threads and locks that come and go
	scripts/setup demo
	$(MAKE) --no-print-directory build
	scripts/as-root env SOAK=$(SOAK) scripts/soak

chaos: ## kill, stop and starve the tool and the servers that it observes for CHAOS (2m), and look whether it does harm
	scripts/setup chaos
	$(MAKE) --no-print-directory build
	$(GO) -C scripts build -buildvcs=false -o ../build/chaos/chaos ./chaos
	scripts/as-root build/chaos/chaos -for $(CHAOS) $(CHAOSFLAGS)

long-trace: ## analyse a trace of 100 million events in the memory of one of a million
	scripts/setup demo
	scripts/long-trace

pgo: ## profile the tool under a load of locks, and its analyses and lattice, for the compiler: cmd/tracepredict/default.pgo
	scripts/setup demo
	CGO_ENABLED=0 $(GO) test -pgo=off -trimpath -c -o build/pgo/live.test ./cmd/tracepredict
	cd cmd/tracepredict && ../../scripts/as-root ../../build/pgo/live.test -test.run '^$$' -test.bench . \
		-test.benchtime 1000000x -test.cpuprofile ../../build/pgo/profile
	$(GO) test -pgo=off -run '^$$' -bench Reach/all -benchtime 10000000x -o build/pgo/engine.test -cpuprofile $(CURDIR)/build/pgo/engine ./analysis/engine
	$(GO) test -pgo=off -run '^$$' -bench Properties -benchtime 1x -o build/pgo/replay.test -cpuprofile $(CURDIR)/build/pgo/replay ./analysis/replay
	$(GO) tool pprof -proto -output=build/pgo/default.pgo build/pgo/profile build/pgo/engine build/pgo/replay
	cp build/pgo/default.pgo cmd/tracepredict/default.pgo

generate: ## compile the BPF programs again; needs clang 19
	scripts/setup generate
	$(GO) generate ./...

fmt: ## format the Go files, and the BPF C where clang-format 19 is there
	gofmt -l -w .
	! command -v clang-format-19 >/dev/null || clang-format-19 -i bpf/*.h bpf/*.c

lint: ## look for what gofmt, go vet and staticcheck object to
	scripts/lint

fuzz: ## run each fuzz target for FUZZTIME
	scripts/fuzz $(FUZZTIME)

install: build ## install into PREFIX/bin
	install -D -m 0755 tracepredict $(DESTDIR)$(PREFIX)/bin/tracepredict

release: ## make static binaries for amd64 and arm64, .deb, .rpm, bills of materials and checksums, in build/release
	scripts/setup build
	scripts/make-release

clean: ## remove what was built
	rm -rf tracepredict build/bench build/real build/compare build/verdicts build/randomc build/chaos build/pgo build/examples build/staticcheck build/release build/release-tools build/release-source

.PHONY: help build examples demo test test-all repeat check bench plots real compare verdicts randomc othercalls soak chaos long-trace pgo generate fmt lint fuzz install release clean
