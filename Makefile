# The commands a person types. Each does its own set-up, and only what has changed is built again.
# Needed: Rust, Python 3.11 or later with pip and venv, Node 20 or later with npm, make and a C compiler;
# a C++ compiler for the tests of C++, which are skipped by name without one.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
CMAKEDIR ?= $(LIBDIR)/cmake/brimful
DOCDIR ?= $(PREFIX)/share/doc/brimful
DESTDIR ?=
VECTORS ?= tests/vectors
PYTHON ?= python3

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
TARGET := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(TARGET)/release
VENV := .venv/bin

INSTALL = PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" PKGCONFIGDIR="$(PKGCONFIGDIR)" \
  CMAKEDIR="$(CMAKEDIR)" DOCDIR="$(DOCDIR)" DESTDIR="$(DESTDIR)" VERSION="$(VERSION)" BUILT="$(RELEASE)" sh ffi/packaging/install.sh

# Every source file below the folders $(1).
files = $(shell find $(1) -type f -not -path '*/node_modules/*' -not -path '*/__pycache__/*' -not -name '*.node')
WORKSPACE := Cargo.toml $(wildcard Cargo.lock) $(wildcard */Cargo.toml) $(call files,core/src)

.PHONY: help demo test check sanitize fuzz abi docs guards vectors bench bench-quick bench-postgres bench-queue bench-curl bench-text bench-framed bench-workers overhead dist install uninstall clean rust library

help:  ## Say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: build/tools.done build/python.done build/node.done build/c.done  ## Read bodies from a real HTTP server through C, Python and Node
	$(VENV)/python examples/demo/demo.py

test: build/tools.done build/python.done build/node.done build/nodes.done build/c.done build/cpp.done rust  ## Run every test on every surface
	$(VENV)/python tests/suite.py test

vectors: build/tools.done build/python.done build/node.done build/c.done build/cpp.done rust  ## Run the conformance vectors on every surface; VECTORS=DIR for others
	$(VENV)/python tests/suite.py vectors "$(abspath $(VECTORS))"

check: build/tools.done build/python.done build/types.done guards  ## Formatting, lints, header and binary interface, reference, type stubs, guards
	cargo fmt --all -- --check
	cargo clippy --workspace -- -D warnings
	cargo clippy --workspace --tests --examples -- -D warnings
	cargo test -p brimful-ffi --test header --test library
	$(VENV)/python -m pytest -q -rs -p no:cacheprovider tests/gates
	$(VENV)/python -m mypy.stubtest brimful --allowlist bindings-python/stubtest-allowlist.txt
	$(VENV)/python -m mypy --strict bindings-python/tests/typed_sample.py
	cd bindings-node && node_modules/.bin/tsc -p .
	$(PYTHON) bench/readme.py --check
	$(PYTHON) tests/constants.py
	$(PYTHON) ffi/packaging/notices.py --check
	$(PYTHON) tests/text/generate.py --check

sanitize: build/c.done build/cpp.done  ## The C and C++ tests under sanitizers and valgrind, and against the static library
	@$(MAKE) --no-print-directory -C tests/sanitize test PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/sanitize" TARGET="$(abspath $(TARGET))" PYTHON="$(PYTHON)"

fuzz: build/c.done  ## Fuzz the C interface: the same 6000 inputs each time, or RUNS=-1 SECONDS=3600 SEED=0 for new ones
	@$(MAKE) --no-print-directory -C tests/fuzz test PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/fuzz" TARGET="$(abspath $(TARGET))"

abi: build/tools.done  ## Hold the binary interface against abi/brimful.abi; BLESS=1 writes it anew
	BLESS="$(BLESS)" $(VENV)/python -m pytest -q -rs -p no:cacheprovider tests/gates/test_abi.py

docs:  ## Make the reference of the C interface, build/docs/html/index.html
	@if command -v doxygen >/dev/null; then doxygen docs/Doxyfile && echo "build/docs/html/index.html"; \
	else echo "skipped - the reference (doxygen is not installed)"; fi

guards: build/c.done  ## Instructions of small bodies, memory of all: none worse than before; BLESS=1 makes them the new measure
	@$(MAKE) --no-print-directory -C tests/c guards PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/c" PYTHON="$(PYTHON)" BLESS="$(BLESS)"

bench: bench-workers  ## Measure it beside every other way, under an hour; writes bench/results/latest.md
	$(MEASURE)
	$(REPORT)

bench-quick: bench-workers  ## The headline rows of that, under 3 minutes
	$(MEASURE) --quick
	$(REPORT)

bench-postgres: build/c.done build/tools.done  ## Measure reading values from PostgreSQL beside libpq, about 3 minutes
	$(VENV)/python bench/postgres/run.py

bench-queue: build/c.done  ## Measure the queue beside libevent's and Rust's; writes bench/results/queue.md
	@$(MAKE) --no-print-directory -C bench packages
	@$(MAKE) --no-print-directory -C bench queue PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/bench"
	$(PYTHON) bench/queue/run.py --build build/bench

bench-curl: build/c.done  ## Measure libcurl's bodies beside its own example's way; writes bench/results/curl.md
	@$(MAKE) --no-print-directory -C bench packages
	@$(MAKE) --no-print-directory -C bench curl-transfers PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/bench"
	$(PYTHON) bench/curl/run.py --build build/bench

bench-text: build/python.done build/bench/text.done build/nodes.done  ## Measure text in Python and Node beside the usual ways, about 5 minutes; writes bench/results/text.md
	$(VENV)/python bench/text/run.py --python $(VENV)/python --node build/bench/text --nodes build/nodes

bench-framed: build/c.done build/python.done build/node.done build/bench/venv.done  ## Values over many packets beside replay; writes bench/results/framed.md
	@$(MAKE) --no-print-directory -C bench/framed workers PREFIX="$(CURDIR)/dist/prefix" NODE="$(CURDIR)/build/node" BUILD="$(CURDIR)/build/bench/framed"
	build/bench/venv/bin/python bench/framed/measure.py

overhead: build/c.done  ## What a small body costs in C, beside the usual ways
	@$(MAKE) --no-print-directory -C tests/c overhead PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/c"

dist: build/python.done build/node.done build/c.done  ## Lay the wheel, the npm package and the C tree under dist/
	@ls -1 dist/*.whl dist/*.tgz dist/prefix/lib/libbrimful.* dist/prefix/include/*.h dist/prefix/lib/pkgconfig/*.pc

install: library  ## Install the C library; PREFIX=/usr/local LIBDIR= INCLUDEDIR= DOCDIR= DESTDIR=
	@$(INSTALL) install

uninstall:  ## Remove what install laid; the same variables
	@$(INSTALL) uninstall

clean:  ## Remove everything that was built, the downloaded tools too
	rm -rf build dist .venv bindings-node/node_modules
	cargo clean

# ---- tools

build/tools.done: tests/requirements.txt
	@mkdir -p build
	test -x $(VENV)/python || $(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	@touch $@

# ---- Rust, C and C++: cargo itself sees what has changed

rust:
	cargo build --release -p brimful --examples

library:
	cargo rustc --release -p brimful-ffi --lib -- --print native-static-libs="$(abspath $(RELEASE))/native-static-libs.txt"
	@$(MAKE) --no-print-directory $(RELEASE)/packaged/libbrimful.a

$(RELEASE)/packaged/libbrimful.a: $(RELEASE)/libbrimful.a ffi/exports.txt ffi/packaging/archive.sh
	@mkdir -p $(@D)
	sh ffi/packaging/archive.sh $< ffi/exports.txt $@

build/c.done: $(WORKSPACE) Makefile $(wildcard include/*) $(call files,ffi tests/c tests/interposer examples/c)
	rm -rf dist/prefix
	$(MAKE) --no-print-directory install PREFIX="$(CURDIR)/dist/prefix" DESTDIR=
	$(MAKE) --no-print-directory -C tests/c all PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/c"
	@touch $@

build/cpp.done: build/c.done $(call files,tests/cpp examples/cpp)
	$(MAKE) --no-print-directory -C tests/cpp all PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/cpp"
	@touch $@

# ---- Python: the wheel, installed where the tests find it

build/python.done: build/tools.done $(WORKSPACE) $(wildcard LICENSE-*) $(call files,bindings-python)
	@mkdir -p dist
	rm -f dist/*.whl
	$(VENV)/maturin build --release --manifest-path bindings-python/Cargo.toml --out dist
	$(VENV)/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.whl
	@touch $@

# ---- Node: the packed package, installed where the tests find it, and the programs that import it beside it

build/node-package.done: $(WORKSPACE) $(wildcard LICENSE-* bindings-node/*.* bindings-node/THIRD-PARTY) $(call files,bindings-node/src bindings-node/lib)
	@mkdir -p dist build/node
	rm -f dist/*.tgz
	cargo build --release -p brimful-node
	cp $(RELEASE)/libbrimful_node.so bindings-node/brimful.node
	cp LICENSE-MIT LICENSE-APACHE bindings-node
	cd bindings-node && npm pack --silent --pack-destination ../dist
	rm -rf build/node/node_modules
	cd build/node && echo '{ "private": true }' > package.json && npm install --silent --no-package-lock --no-save ../../dist/*.tgz
	@touch $@

build/node.done: build/node-package.done $(call files,bindings-node/test examples/node)
	rm -rf build/node/test build/node/examples
	cp -r bindings-node/test build/node/test
	cp -r examples/node build/node/examples
	@touch $@

# Other versions of Node than the machine's. The package that has them is for one kind of machine.
build/nodes.done: tests/nodes.json
	@mkdir -p build/nodes
	rm -rf build/nodes/node_modules
	cp tests/nodes.json build/nodes/package.json
	test "$$(uname -m)" != x86_64 || { cd build/nodes && npm install --silent --no-package-lock --no-bin-links --ignore-scripts; }
	@touch $@

build/types.done: bindings-node/package.json
	@mkdir -p build
	cd bindings-node && npm install --silent --no-package-lock
	@touch $@

# ---- The benchmark: what it measures with, and what it draws with

MEASURE := build/bench/venv/bin/python bench/run.py --build build/bench
REPORT := build/bench/venv/bin/python bench/report.py

bench-workers: build/c.done build/python.done build/node.done build/bench/venv.done
	@$(MAKE) --no-print-directory -C bench packages
	@$(MAKE) --no-print-directory -C bench workers PREFIX="$(CURDIR)/dist/prefix" BUILD="$(CURDIR)/build/bench"

build/bench/text.done: build/node-package.done
	@mkdir -p build/bench/text
	rm -rf build/bench/text/node_modules
	cd build/bench/text && echo '{ "private": true }' > package.json && npm install --silent --no-package-lock --no-save ../../../dist/*.tgz get-stream
	@touch $@

build/bench/venv.done: bench/requirements.txt
	@mkdir -p build/bench
	test -x build/bench/venv/bin/python || $(PYTHON) -m venv build/bench/venv
	build/bench/venv/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	@touch $@
