# Every target works alone, from a clean clone.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
KILLS ?= 1000
FAULTS ?= 300
SEEDS ?= 2..501
JOBS ?= 2
TEST ?=
HOT_PATHS ?=

# CI does not debug what it has built. All builds say so alike, or each would begin anew. The index stays: tests are found by it.
flags := $(if $(CI),-debug-info-format none)
# `--version` says the commit and its date.
release := KEYFERRY_BUILD="$$(interop/package/revision)" \
  swift build $(if $(CI),-debug-info-format none) $(if $(RELEASE_SCRATCH),--scratch-path $(RELEASE_SCRATCH)) \
  --configuration release --product keyferry --static-swift-stdlib
program = "$$($(release) --show-bin-path)/keyferry"
package = interop/package/build --program $(program) --output build/package
bench = KEYFERRY="$$($(release) --show-bin-path)/keyferry" swift run --package-path Benchmarks --configuration release bench
documented := ExposureKeys KeyFormats BundleTrust KeyFiles KeyferryClient

.PHONY: demo test must-not-compile formats-alone sample-call-sites build release format lint bench bench-quick peers instructions fuzz kills replicas simulate federation docs pictures licences man dist deb image packaging bookworm clone deploy-compose install completions clean help packages

demo: packages ## run three regional servers, a gateway between them, an app that crosses borders, and a monitor that catches a changed bundle
	swift build $(flags) --product keyferry
	swift build $(flags) --product recipes
	PATH="$$(swift build --show-bin-path):$$PATH" KEYFERRY_DEMO_REPORT=build/demo-report.html interop/demo/run

test: packages ## run the tests; TEST=NAME runs those that match, KEYFERRY_LONG=1 runs every case of slow laws
	Tests/run '$(TEST)'

must-not-compile: packages ## show that some mistakes do not compile
	swift build $(flags)
	Tests/MustNotCompile/run

formats-alone: packages ## show that who uses the formats alone resolves none of the gateway's packages
	Tests/FormatsAlone/run

sample-call-sites: ## show that apps of the sample's generations compile against KeyferryClient as they are
	Tests/SampleCallSites/run

build: packages ## build everything for debugging
	swift build $(flags)

release: packages ## build the program as it is installed
	$(release)
	strip $(program)

format: ## bring the sources into the house style
	swift format format --recursive --parallel --in-place Package.swift Sources Tests interop Benchmarks/Package.swift Benchmarks/Sources Benchmarks/HotPaths

lint: ## check the house style
	swift format lint --recursive --parallel --strict Package.swift Sources Tests interop Benchmarks/Package.swift Benchmarks/Sources Benchmarks/HotPaths

bench: packages release peers ## measure everything against its yardsticks; writes build/bench.json and build/bench.md
	$(bench) --json build/bench.json --markdown build/bench.md

bench-quick: packages release peers ## the same with small inputs and few runs
	$(bench) --quick --json build/bench.json --markdown build/bench.md

peers: packages ## fetch and make the yardsticks that are not in Swift
	Benchmarks/peers

instructions: packages ## count the instructions of the hot paths and compare; HOT_PATHS names some of them
	Benchmarks/instructions $(HOT_PATHS)

fuzz: packages ## fuzz each decoder for FUZZ_SECONDS; FUZZ_TARGETS names some of them
	Tests/Fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

kills: packages ## kill the program KILLS times while it works, and show that nothing is lost
	swift build $(flags)
	Tests/Kills/run --kills $(KILLS)

replicas: packages ## let three replicas share a database and a bucket, and FAULTS things go wrong; needs PostgreSQL
	swift build $(flags)
	Tests/Replicas/run --faults $(FAULTS)

simulate: packages ## run a gateway with everything around it for SEEDS, FROM..TO, JOBS at once; things go wrong as each seed says
	swift run --configuration release --scratch-path .build/simulate simulate --seeds $(SEEDS) --jobs $(JOBS)

federation: packages ## let four countries exchange keys through two gateways, with failures
	swift build $(flags)
	Tests/Federation/run

docs: packages ## write one site of all pages to build/docs: the manual, and the libraries
	interop/docs $(documented)

pictures: packages ## take the pictures of README again, in docs/images; needs chromium
	@.ci/packages chromium
	swift build $(flags) --product keyferry
	swift build $(flags) --product recipes
	PATH="$$(swift build --show-bin-path):$$PATH" interop/pictures

licences: packages release ## list what the program is linked with, and the licences, as SPDX in build/keyferry.spdx.json
	interop/licences "$$($(release) --show-bin-path)" build/keyferry.spdx.json

man: packages release ## write the manual pages to build/man
	interop/package/manual $(program) build/man

dist: packages release ## make a tarball of program, manual, completions, service and licences in build/package
	$(package) dist

deb: packages release ## make a Debian package of the same in build/package
	$(package) deb

image: packages release ## make an OCI image of the same, as a folder and as a tar, in build/package; no Docker is needed
	$(package) image

packaging: packages release ## show that packages are the same bytes twice, and that what is in them runs
	Tests/Package/run $(program)

bookworm: deb ## install the Debian package on a bare Debian 12, and type the auditor's tutorial there; needs root, debootstrap and a mirror
	Tests/Package/bookworm "$$(ls -t build/package/keyferry_*.deb | head -n 1)"

clone: ## type the two commands of README in a fresh clone on a bare Debian 12, as root and as a user; needs root, debootstrap, a mirror, and an hour
	Tests/Package/clone

deploy-compose: image ## start the compose file of interop/deploy/replicas with podman, and let things go wrong; needs root, podman, debootstrap, a mirror and PyPI
	Tests/Deploy/compose "$$(ls -t build/package/keyferry-*.oci.tar | head -n 1)"

install: release completions man ## install program, manual and completions under PREFIX
	install -D -m 755 "$$($(release) --show-bin-path)/keyferry" '$(DESTDIR)$(PREFIX)/bin/keyferry'
	install -d '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -m 644 build/man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -D -m 644 build/completions/keyferry.bash '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/keyferry'
	install -D -m 644 build/completions/_keyferry '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_keyferry'
	install -D -m 644 build/completions/keyferry.fish '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/keyferry.fish'

completions: release ## write shell completions to build/completions
	mkdir -p build/completions
	bin="$$($(release) --show-bin-path)/keyferry"; \
	"$$bin" --generate-completion-script bash > build/completions/keyferry.bash; \
	"$$bin" --generate-completion-script zsh > build/completions/_keyferry; \
	"$$bin" --generate-completion-script fish > build/completions/keyferry.fish

clean: ## remove what was built
	rm -rf .build build Benchmarks/.build

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

packages:
	@.ci/packages
