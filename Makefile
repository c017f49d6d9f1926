# floodmark: `make demo` and `make test` each work alone from a fresh clone.
# Needed: Python 3.11 or newer, make, and a package registry the first time. No Java: it comes as a wheel.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

export SPARK_LOCAL_IP ?= 127.0.0.1
# What is compiled to bytecode is kept: reading the sources of program and tests again costs every process seconds.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo docs test read-tests test-fast test-all test-evening test-spark goldens pages mutants lint lint-style lint-layout lint-types format bench compiled bench-compiled lock clean

help:
	@echo "make demo       two histories and a live crash, with their report (no set-up needed first)"
	@echo "make test       lint, types, architecture and every test"
	@echo "make test-fast  the everyday loop: what is not marked slow, and starts no JVM, terminal, browser or socket"
	@echo "make test-evening  as make test, with every seed, schedule and version of the wide sweeps"
	@echo "make goldens    write anew what the tests know of texts, screens and tables, and print what changed"
	@echo "make pages      write anew the pages of the manual and the schema of playbooks that are generated"
	@echo "make mutants    how many small changes of the model the tests notice (hours)"
	@echo "make bench      speed of the kernel and of the whole model"
	@echo "make compiled   the same model compiled to C, about twice as fast, in build/compiled (needs a C compiler)"
	@echo "make docs       the manual as a site, in build/site; fails on a link that leads nowhere"
	@echo "make setup      only build .venv from requirements.lock"

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "floodmark needs Python 3.11 or newer, found %d.%d; try: make PYTHON=python3.12 ..." % v[:2])'
	@echo "==> building $(VENV) from requirements.lock (a minute or two the first time; PySpark is large)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q cluster_model faults gateway playbooks spark_report tui
	@touch $@
	@echo "==> $(VENV) is ready"

demo: $(READY)
	@$(BIN)/floodmark demo

# All of them run, whatever becomes of one; the last line says which were red. While one core checks types, another reads
# the tests: what pytest compiles them to is kept, and in a fresh clone every process would compile them again.
test: $(READY)
	@$(MAKE) --no-print-directory read-tests & reading=$$!; \
	red=; for group in lint test-all; do $(MAKE) --no-print-directory --keep-going $$group || red="$$red $$group"; wait $$reading; done; \
	test -z "$$red" || { echo "==> red:$$red" >&2; exit 1; }
	@echo "==> lint and all tests are green"

read-tests: $(READY)
	@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true

test-fast: $(READY)
	$(BIN)/python -m pytest -m "not (slow or spark or tmux or browser or sockets)" -n auto

test-all: $(READY)
	$(BIN)/python -m pytest -n auto

# Wide sweeps take a part of their seeds, schedules and versions in make test; this takes all, for hours.
test-evening: export FLOODMARK_TESTS = evening
test-evening: test

# Whatever compares with a golden file writes it; what is in tests and is no Python is such a file.
goldens: $(READY)
	@$(BIN)/python -m pytest --snapshot-update -n auto -q
	@git --no-pager diff --unified=0 -- tests ':!*.py'
	@git status --short -- tests ':!*.py'

# What is made from the program: pages of the manual, and the schema of playbooks.
pages: $(READY)
	@$(BIN)/python -m docs.generate all

# A mutant is a small change of the model's source that some test should notice. An interrupted run goes on where it was.
MUTANTS := build/mutation
mutants: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[mutation]'
	@mkdir -p $(MUTANTS)
	@test -s $(MUTANTS)/sample.json || $(BIN)/python -m tests.mutation sample > $(MUTANTS)/sample.json
	@test -e $(MUTANTS)/reach/whole || { rm -rf $(MUTANTS)/reach; \
	  SAMPLE=$(MUTANTS)/sample.json $(BIN)/python -m pytest -q -n auto -p tests.mutation.reach && touch $(MUTANTS)/reach/whole; }
	@$(BIN)/python -m pytest -q -p tests.mutation.run --mutants $(MUTANTS)/sample.json --outcomes $(MUTANTS)/outcomes.jsonl
	@$(BIN)/python -m tests.mutation table $(MUTANTS)/outcomes.jsonl

# The manual as a site. Its builder has an environment of its own, so that what is tested stays what the lock says.
DOCS := build/docs
docs: $(DOCS)/requirements.txt
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "==> the manual is in build/site/index.html"

$(DOCS)/requirements.txt: pyproject.toml
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $@.new
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r $@.new
	@mv $@.new $@

test-spark: $(READY)
	$(BIN)/python -m pytest -m spark

lint: lint-style lint-layout lint-types

lint-style: $(READY)
	$(BIN)/ruff check .

lint-layout: $(READY)
	$(BIN)/ruff format --check .

lint-types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	@$(BIN)/python -m benchmarks

# The packages with the hot modules of the model as C. Use it by PYTHONPATH=build/compiled, with python -P.
compiled: $(READY)
	@rm -rf build/compiled
	@echo "==> compiling the model into build/compiled (a few minutes)"
	@FLOODMARK_COMPILE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --target build/compiled .

bench-compiled: compiled
	@PYTHONPATH=build/compiled:. $(BIN)/python -P -m benchmarks

# Needs uv; writes hashes for every platform and no registry's address.
lock:
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --group dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
