# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test slow lint check clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cseb needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(READY)  ## the main job on the embedded default: no network, under three minutes on two cores
	$(BIN)/cseb run
	$(BIN)/cseb report

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test: lint  ## style, types, import rules and all tests but the slow ones
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow"

slow: $(READY)  ## simulations of the statistics, three dozen kills, one grid through every launcher
	$(BIN)/pytest -n 2 --dist loadgroup -m slow

check: $(READY)  ## do the reproduced numbers still come back?
	$(BIN)/cseb check demo

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
