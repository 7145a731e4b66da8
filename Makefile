# Coderrr: `make run` and `make test` are all that a newcomer needs.
# `make help` lists the rest.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := bin/coderrr
TOOL     = $(GO) tool -modfile=$(CURDIR)/tools.mod
LDFLAGS := -s -w -X main.version=$(VERSION)

# Everything that is not a race test is compiled with the same flags, so that a
# cold machine compiles the standard library and the dependencies for it once.
PLAIN := CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false'

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build, then open the demo in the browser
	./$(BIN) ui --demo

.PHONY: build
build: ## build bin/coderrr, one static file
	@mkdir -p bin
	$(PLAIN) $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/coderrr

# What packages install beside the program. The date is that of the commit.
DATE ?= $(shell git log -1 --format=%cs 2>/dev/null || echo undated)

# What is built here and tested only on Linux: see docs/security.md.
.PHONY: cross
cross: ## build for macOS and Windows, which CI does not run
	GOOS=darwin GOARCH=arm64 $(PLAIN) $(GO) build -o /dev/null ./cmd/coderrr
	GOOS=windows GOARCH=amd64 $(PLAIN) $(GO) build -o /dev/null ./cmd/coderrr

.PHONY: manual
manual: ## manual pages and completions into bin/manual
	$(PLAIN) $(GO) run ./internal/cli/manual bin/manual '$(VERSION)' '$(DATE)'

.PHONY: test
test: deps test-go e2e ## all tests; installs Chromium where it is missing

.PHONY: deps
deps: ## install what the tests need (see scripts/test-deps)
	@scripts/test-deps

# vet is a part of lint. The profile is what `make cover` and CI judge.
.PHONY: test-go
test-go: ## the Go tests with the race detector, without the browser
	@mkdir -p bin && rm -f bin/cover.out
	$(GO) test -race -vet=off -coverprofile=bin/cover.out ./...

.PHONY: e2e
e2e: build ## the tests that drive the built binary through Chromium
	cd internal/e2e && $(PLAIN) CODERRR_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 ./...

.PHONY: screenshots
screenshots: build ## pictures of the browser UI into artifacts/, those of the documents too
	cd internal/e2e && $(PLAIN) CODERRR_BIN=$(CURDIR)/$(BIN) CODERRR_ARTIFACTS=$(CURDIR)/artifacts \
		$(GO) test -count=1 ./...
	mkdir -p docs/images
	cd artifacts && cp plan.png write.png done.png ../docs/images/

.PHONY: recording
recording: build ## the demo in a terminal, as docs/images/demo.svg and demo.cast
	CODERRR_BIN=$(CURDIR)/$(BIN) CODERRR_RECORDING=$(CURDIR)/docs/images \
		$(GO) test -vet=off -tags recording -count=1 -run TestRecording ./internal/cli

.PHONY: conformance
conformance: ## the official MCP conformance suite (from npm) against our client
	@GO='$(GO)' scripts/conformance

.PHONY: mcp-real
mcp-real: ## real MCP servers (from npm) seen through our client
	@GO='$(GO)' scripts/mcp-real

.PHONY: lint
lint: ## gofumpt, vet, staticcheck, errcheck
	@GO='$(GO)' scripts/lint

.PHONY: fmt
fmt: ## format the Go and templ sources
	$(PLAIN) $(TOOL) gofumpt -w .
	$(PLAIN) $(TOOL) templ fmt web

# templ writes paths relative to where it runs, so it always runs in web.
.PHONY: generate
generate: ## regenerate the committed generated code
	cd web && $(PLAIN) $(TOOL) templ generate -include-version=false
	$(PLAIN) $(GO) generate ./...

.PHONY: catalog
catalog: ## the table of models and prices anew, from charm.land/catwalk
	cd internal/llm/catalog/gen && $(PLAIN) $(GO) run . > ../models.json.new && mv ../models.json.new ../models.json

.PHONY: check-generated
check-generated: ## fail if the committed generated code is not current
	@GO='$(GO)' scripts/check-generated

.PHONY: check-modules
check-modules: ## fail if go.mod or go.sum is not tidy
	@GO='$(GO)' scripts/check-modules

.PHONY: cover
cover: ## coverage by lines of the packages that must be above 90 %
	@mkdir -p bin
	$(GO) test -race -vet=off -coverprofile=bin/cover.out $$(scripts/cover --packages)
	scripts/cover bin/cover.out

.PHONY: check
check: ## everything that CI runs
	CI=$${CI:-} bash .ci/run

.PHONY: bench
bench: build ## what a person feels, against limits and other programs; then the benchmarks
	@over=0; $(PLAIN) $(GO) run ./internal/bench $(BIN) $(BENCH) || over=1; \
	$(PLAIN) CODERRR_BIN=$(CURDIR)/$(BIN) $(GO) test -vet=off -run '^$$' -bench . -benchtime 0.3s ./... || over=1; \
	cd internal/e2e && $(PLAIN) CODERRR_BIN=$(CURDIR)/$(BIN) $(GO) test -vet=off -count=1 -v -tags bench -run '^TestFigure' . || over=1; exit $$over

.PHONY: pgo
pgo: ## a profile of scripted runs that later builds are made with
	$(PLAIN) $(GO) build -pgo=off -tags profile -o bin/profiled ./cmd/coderrr
	rm -rf bin/profiles
	-$(PLAIN) $(GO) run ./internal/bench -profiles bin/profiles bin/profiled turns session
	$(GO) tool pprof -proto bin/profiles/*.pprof > bin/default.pgo
	mv bin/default.pgo cmd/coderrr/default.pgo

.PHONY: soak
soak: ## the long test sets
	$(GO) test -race -vet=off -tags soak -timeout 60m ./...
	@GO='$(GO)' scripts/fuzz 5m '$(STREAMFUZZ)'

FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (10s)
	@GO='$(GO)' scripts/fuzz $(FUZZTIME)

# What reads the bytes of a model's server: a minute in CI, longer in soak.
STREAMFUZZ = FuzzSSE|FuzzChatAssembler|FuzzGeminiParts
.PHONY: fuzz-ci
fuzz-ci: ## the fuzz targets of the model streams for 20 s each
	@GO='$(GO)' scripts/fuzz 20s '$(STREAMFUZZ)'

.PHONY: clean
clean: ## remove what the build and the tests made
	rm -rf bin artifacts
