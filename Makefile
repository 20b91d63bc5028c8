# Everything from a fresh clone: each target sets up what it needs.
# `make test PYTHON=python3.13` does it with another Python, in an environment of its own.
PYTHON := python3
VENV   := .venv$(patsubst python%,-%,$(filter-out python3 python,$(notdir $(PYTHON))))
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench-ready

# Where another version of Python is most likely to matter; two minutes instead of ten.
QUICK  := tests/core tests/problem tests/engine tests/heuristic tests/model tests/store tests/search tests/golden \
          tests/execution/test_pool.py tests/cli/test_cli.py tests/test_documents.py tests/test_tables.py

.PHONY: demo test quick check bench clean

demo: $(READY)  ## evolve a heuristic and use it, with what it prints explained
	$(BIN)/python examples/demo.py

test: $(READY)  ## all tests, on two cores
	$(BIN)/python -c "from robustforge.engine import compilation; compilation.prepare_all()"
	$(BIN)/python -m pytest -n 2 --dist worksteal

quick: $(READY)  ## the tests that another version of Python is most likely to break
	$(BIN)/python -c "from robustforge.engine import compilation; compilation.prepare_all()"
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow" $(QUICK)

check: $(READY)  ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH)  ## how fast, against what it was promised and against others
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
