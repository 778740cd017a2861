# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
CORE := tests/commands/test_run.py tests/commands/test_mistakes.py tests/commands/test_report.py tests/commands/test_eval.py \
	tests/embedders/test_modules.py tests/methods tests/encoder/test_encoder.py tests/training/test_every_method.py \
	tests/training/test_loop.py tests/experiment/test_benchmark.py tests/records tests/analysis tests/statistics \
	tests/tasks/test_evaluate.py tests/tasks/test_own.py

# With MEASURE=yes: lines of the computing packages that the tests run; less than 90 % fails. In CI core is measured, with
# more tests of those packages: Python 3.12 and newer count lines at little cost, Python 3.11 takes a minute more for unit.
PACKAGES := parts training statistics tasks records
MEASURED := tests/tasks $(addprefix tests/parts/test_,finished_model.py flow.py matryoshka.py \
	mined_negatives.py poolers.py postprocessing.py token_prepending.py)
COVERAGE := $(if $(MEASURE),$(PACKAGES:%=--cov=cseb/%) --cov-report=term:skip-covered --cov-fail-under=90)
core: export COVERAGE_CORE ?= sysmon

# Task and corpus files, for `make check`: those beside the checkout, if they lie there. A benchmark without its data is
# skipped.
BENCHMARKS ?= $(notdir $(wildcard benchmarks/expected/*))
check: export CSEB_DATA_DIR ?= $(wildcard ../shared/data)

.PHONY: environment demo test unit core slow lint check docs oldest clean gpu

environment: $(READY)  ## what demo and test install, alone

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cseb needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -q cseb  # pip leaves this to the first start, which may not write here
	@touch $@

demo: $(READY)  ## the main job on the embedded default: no network, under three minutes on two cores
	$(BIN)/cseb run
	$(BIN)/cseb eval words:tf-idf --tasks banking77
	$(BIN)/cseb report

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)  ## style, types, import rules and all tests but the slow ones, side by side
	$(MAKE) --no-print-directory --jobs 2 lint unit

unit: $(READY)
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow and not gpu" --ignore=tests/simulated_gpu $(COVERAGE)
	$(BIN)/pytest -n 2 tests/simulated_gpu  # PyTorch takes one simulated device in a process, for good

gpu: $(READY)  ## what only a GPU can show: precisions, equal bits, memory; times are written to results/gpu/times.md
	CSEB_GPU_TABLE=results/gpu/times.md $(BIN)/pytest -m gpu tests/gpu

core: $(READY)  ## the core tests alone, such as on another Python: make core PYTHON=python3.13 VENV=.venv-newer
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow" $(CORE) $(if $(MEASURE),$(MEASURED)) $(COVERAGE)

slow: $(READY)  ## simulations of the statistics, three dozen kills, one grid through every launcher, a fuzz of the commands
	$(BIN)/pytest -n 2 --dist loadgroup -m slow --ignore=tests/simulated_gpu $(addprefix --ignore=,$(WITHOUT))
	CSEB_TEST_GPU=simulated $(BIN)/pytest -n 2 -m gpu tests/gpu -k "waits or untrained or time or speed"

$(VENV)/.docs: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## the site, in docs/_build/html: warnings are errors, nothing in it asks the network
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/pytest -q tests/test_site.py
	@echo open docs/_build/html/index.html

$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --constraint constraints.txt torch
	$(OLDEST)/bin/pip install --quiet --constraint constraints-oldest.txt --editable '.[dev]'
	@touch $@

# Warnings are no errors here: libraries of other ages warn of one another.
oldest: $(OLDEST)/.ready  ## core tests with the oldest dependencies that pyproject.toml allows
	$(OLDEST)/bin/pytest -n 2 --dist loadgroup -W default -m "not slow" $(CORE)

check: $(READY)  ## do the reproduced numbers of every benchmark with expected records still come back?
	$(foreach name,$(BENCHMARKS),$(BIN)/cseb check $(name) &&) true

clean:
	rm -rf $(VENV) .venv-newer $(OLDEST) docs/_build docs/api build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
