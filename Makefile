# `make` alone says what there is to make.

PYTHON ?= python3
ARGS ?=
ONLY ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
IPOPT := $(VENV)/ipopt-tried

.PHONY: help demo test slow environments dist newest mutants lint docs lock keys pictures bench clean

help: ## say what each target does (this)
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

demo: $(IPOPT) ## mask a real table and show the release with its certificates
	@$(BIN)/aggopt demo --overwrite

test: export PYTHONDONTWRITEBYTECODE = # bytecode is kept: processes that tests start import sooner
test: $(IPOPT) ## run the whole suite; ARGS="-k mdav" runs a part of it
	@$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)

slow: export PYTHONDONTWRITEBYTECODE =
slow: $(IPOPT) ## run the tests marked slow, which take minutes and are none of make test
	@$(BIN)/python -m pytest -m "slow and not alone" --numprocesses 2 --dist loadfile
	@$(BIN)/python -m pytest -m "slow and alone"

environments: $(READY) ## try a wheel with the oldest versions, and with the newest Python of this machine
	@$(BIN)/python .ci/environments.py oldest python

dist: $(READY) ## build wheel and source archive in dist/, and try each in an empty environment
	@$(BIN)/python .ci/environments.py dist

newest: $(READY) ## try a wheel with the newest version of every package, before make lock
	@$(BIN)/python .ci/environments.py newest

mutants: $(IPOPT) ## list small changes of the code that no test notices; ONLY="aggopt.privacy*" tries some
	@$(BIN)/python .ci/mutants.py $(ONLY)

lint: $(READY) ## check style and types, change nothing
	@$(BIN)/python -m ruff check
	@$(BIN)/python -m ruff format --check
	@$(BIN)/python -m mypy --strict

docs: $(READY) ## build the site in docs/_build/html; a warning fails it
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

lock: $(READY) ## renew .ci/lock: the newest versions that fit together, with their hashes
	@$(BIN)/python .ci/lock.py

keys: $(READY) ## write aggopt/job/keys.py, what type checkers know of a job, from its sections
	@$(BIN)/python .ci/job_keys.py

pictures: $(READY) ## draw those of README, in docs/pictures (needs Chromium)
	@$(BIN)/python docs/pictures/draw.py

bench: $(IPOPT) ## run every benchmark in turn, or ONLY="units p3m", and write docs/benchmarks
	@$(BIN)/python -m pip install --quiet --group bench || \
		echo "A rival cannot be installed: going on without it."
	@$(BIN)/python benchmarks/_pages.py $(ONLY)

clean: ## remove all that make, pip and the tools have written here
	rm -rf $(VENV) build dist docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml .ci/install $(wildcard .ci/lock/*.txt)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is missing or older than 3.11." \
			"To fix: make PYTHON=/path/to/a/newer/python" >&2; exit 1; }
	@echo "Building $(VENV): a few minutes the first time."
	@$(PYTHON) -m venv $(VENV)
	@.ci/install $(BIN)/python
	@touch $@

$(IPOPT): $(READY) .ci/install-ipopt
	@.ci/install-ipopt $(BIN)/python
	@touch $@
