# `make test` and `make demo` set up what they need in a fresh clone, without root; the second time is quick.
# Everything lives in .venv; a stamp in it remembers what was installed from which pyproject.toml and constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
MADE_FROM := $(VENV)/.created pyproject.toml constraints.txt

# One BLAS thread for each process: two on a busy machine are 5 to 50 times slower.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# pip builds the package in an environment of its own: these pin what goes into that one (older pip, newer pip).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
# Compiled modules are kept: else every program that a test starts compiles them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check bench papers spottune arena crash clean
.NOTPARALLEL:

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s  %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo ## tune a classifier of real images within dollars and seconds, verify it, report (two minutes)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/02_job_file/demo.sh

test: check ## check, then every test
	$(BIN)/python -m pytest -n 3 --dist worksteal # one more than cores: many tests wait for programs

check: $(VENV)/.dev ## lint, format, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench ## time one recommendation of every recipe, as JSON
	@$(BIN)/python -m benchmarks.recommend --json

papers: $(VENV)/.bench ## replay the experiments of the papers and write docs/results.md (hours; goes on where it was)
	$(BIN)/python -m benchmarks.papers

spottune: $(VENV)/.bench ## simulate SpotTune on real prices and write docs/spot-results.md (20 minutes; goes on where it was)
	$(BIN)/python -m benchmarks.spottune

arena: $(VENV)/.bench ## play lean against everybody under many budgets and write docs/arena.md (four hours, then with the seeds it has; goes on where it was)
	$(BIN)/python -m benchmarks.arena.peers install
	$(BIN)/python -m benchmarks.arena --hours 4

crash: $(VENV)/.dev ## kill studies of a real strategy at 200 random moments (some minutes)
	$(BIN)/python -m tests.crash --trials 44 --strategy trimtuner-gp --kills 200

clean: ## remove the environment, caches and output
	rm -rf $(VENV) .venv-peers .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo-out build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "LeanTune needs Python 3.11 or later, and $(PYTHON) is not one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) -m venv failed: Debian and Ubuntu keep it in the package python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/.demo: $(MADE_FROM)
	@echo "installing LeanTune and what the demo needs"
	@$(PIP) install -c constraints.txt -e '.[demo]'
	@touch $@

$(VENV)/.dev: $(MADE_FROM)
	@echo "installing LeanTune and what tests and checks need"
	@$(PIP) install -c constraints.txt -e '.[demo,dev]'
	@touch $@

$(VENV)/.bench: $(MADE_FROM)
	@echo "installing LeanTune and what the bench compares it with (PyTorch among them: some minutes)"
	@$(PIP) install -c constraints.txt -e '.[bench,revpred,papers]'
	@touch $@
