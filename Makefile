# What a person needs: `make tutor` opens the app, `make test` proves it works.
# Everything is installed into .venv beside this file; nothing outside is touched.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
JOBS ?= 2
CASES ?=
ARGS ?=

# The first interpreter that runs and is new enough; a name on PATH need not run.
# 3.11 comes first: it is what the tests are run on.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

.DEFAULT_GOAL := help
.PHONY: help tutor setup setup-dev test check bench bench-million cases picture clean

help:
	@echo "make tutor    set up and open the app"
	@echo "make test     set up and run all tests"
	@echo "make check    style, types and who imports whom"
	@echo "make bench    speed against bare torch and bare Textual, as ratios (ARGS=--long for more)"
	@echo "make bench-million  a chain of a million nodes, run and explained once (minutes)"
	@echo "make cases    explain each script of CASES=folder and compare with its .yaml"
	@echo "make picture  draw the pictures of the README from the running app"
	@echo "make clean    remove what was built (.venv too)"

tutor: $(VENV)/.ready
	@$(BIN)/autograd-tutor $(ARGS)

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

test: $(VENV)/.ready-dev
	$(PY) -m pytest -n $(JOBS) --dist worksteal $(ARGS)

# All of them run, so that one look shows all that is wrong.
check: $(VENV)/.ready-dev
	@failed=; \
	for check in "ruff check ." "ruff format --check ." mypy lint-imports; do \
		echo "$$check"; $(BIN)/$$check || failed="$$failed, $$check"; \
	done; \
	test -z "$$failed" || { echo "failed: $${failed#, }" >&2; exit 1; }

bench: $(VENV)/.ready-dev
	$(PY) -m bench $(ARGS)

bench-million: $(VENV)/.ready-dev
	$(PY) -m bench --million

cases: $(VENV)/.ready-dev
	$(PY) -m tests.score $(CASES) $(ARGS)

picture: $(VENV)/.ready-dev
	$(PY) -m tools.picture

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# An environment that is there and new enough is kept; anything else is made anew.
$(VENV)/.python:
	@if $(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then :; \
	elif [ -z "$(PYTHON)" ]; then \
		echo "autograd-tutor needs Python 3.11 or newer, and none was found on PATH." >&2; \
		echo "Install one, or name it: make tutor PYTHON=/path/to/python3.11" >&2; exit 1; \
	else echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); fi
	@touch $@

$(VENV)/.ready: $(VENV)/.python pyproject.toml constraints.txt
	@echo "installing autograd-tutor into $(VENV) (torch is large: the first time takes a while)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.python pyproject.toml constraints.txt
	@echo "installing autograd-tutor and what its tests need into $(VENV)"
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.ready
