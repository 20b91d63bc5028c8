# Everything from a fresh clone: each target sets up what it needs.
# `make test PYTHON=python3.13` does it with another Python, in an environment of its own.
PYTHON := python3
VENV   := .venv$(patsubst python%,-%,$(filter-out python3 python,$(notdir $(PYTHON))))
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench-ready
DOCS   := $(VENV)/.docs-ready

# Where another version of Python, NumPy or Numba is most likely to matter.
QUICK  := tests/core tests/robust_problem tests/representation tests/execution tests/store tests/evolution tests/assessment \
          tests/engine/test_minimize.py tests/cli/test_solve_file.py tests/test_tables.py

.PHONY: demo test test-long quick check docs bench clean

demo: $(READY)  ## evolve a heuristic and use it, with what it prints explained
	$(BIN)/python examples/demo.py

test: $(READY)  ## the tests, on two cores
	$(BIN)/python -c "from robustforge.engine import kernels; kernels.prepare_all()"
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-long: $(READY)  ## the tests that take minutes each, more kills and more damaged stores
	$(BIN)/python -m pytest -n 2 -m long
	ROBUSTFORGE_TEST_KILLS=20 $(BIN)/python -m pytest -n 2 tests/faults
	ROBUSTFORGE_FUZZ=20000 $(BIN)/python -m pytest -n 2 tests/store/test_damaged_stores.py

quick: $(READY)  ## the tests that another version of Python is most likely to break
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not long" $(QUICK)

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DOCS)  ## the documentation as a site, in build/docs; warnings are errors
	$(BIN)/python -m sphinx -b html -E -W --keep-going -q docs build/docs

bench: $(BENCH)  ## speed, against its limits and against other packages
	$(BIN)/python benchmarks/bench.py

clean:
	rm -rf .venv .venv-*

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(BENCH): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
