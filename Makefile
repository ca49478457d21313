# Everything runs in a private virtual environment; `make demo` and `make test` build it first.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$p; break; fi; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# under LC_ALL=C, Python 3.11 cannot read the path of a clone with letters outside ASCII
export LC_ALL := C.UTF-8

.PHONY: help demo test lint types dvc stub completions bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

demo: $(VENV)/.core ## run the main job on a real table
	$(BIN)/clfeval report fixtures/breast-cancer/scores.csv --positive malignant
	@printf '\nnext, for example:\n'
	@printf '  %s\n' \
		'$(BIN)/clfeval mars fixtures/breast-cancer/labels.csv --positive malignant --best 3' \
		'$(BIN)/clfeval phidelta fixtures/breast-cancer/labels.csv --positive malignant' \
		'$(BIN)/clfeval tune-jpt fixtures/breast-cancer/scores.csv --positive malignant --prevalence 0.01' \
		'$(BIN)/clfeval mlcps fixtures/metrics/test.csv'

test: $(VENV)/.dev ## run the tests of every change; FULL=1: everything, as each night
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(FULL),--full)

lint: $(VENV)/.dev ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev ## check types
	$(BIN)/mypy

dvc: $(VENV)/dvc/bin/dvc ## install dvc, of its own, for the tests that hand it our files

stub: $(VENV)/.dev ## rewrite the types of the public functions
	$(BIN)/python -m tests.stub

completions: $(VENV)/.dev ## rewrite the shell completions
	$(BIN)/python -m tests.cli.completion_scripts completions

bench: $(VENV)/.dev ## measure time and memory against named peers (builds its tables in .bench)
	-$(PIP) rapidstats
	$(BIN)/python -m tests.benchmarks

clean: ## remove the environment, caches and benchmark tables
	rm -rf $(VENV) .bench .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/dvc/bin/dvc: | $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/dvc
	$(VENV)/dvc/bin/python -m pip install --quiet --disable-pip-version-check 'dvc>=3.60'

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.core
