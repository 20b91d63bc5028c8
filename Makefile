# Everything from a fresh clone: each target sets up what it needs.
VENV   := .venv
PYTHON := $(VENV)/bin/python
READY  := $(VENV)/.ready
BENCH  := $(VENV)/.bench-ready

.PHONY: demo test check bench clean

demo: $(READY)  ## breed a heuristic and use it, with what it prints explained
	$(PYTHON) examples/demo.py

test: $(READY)  ## all tests, on two cores
	$(PYTHON) -c "from robustforge.engine import compilation; compilation.prepare_all()"
	$(PYTHON) -m pytest -n 2 --dist worksteal

check: $(READY)  ## format, lint, types, layers
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(BENCH)  ## how fast, against what it was promised and against others
	$(PYTHON) benchmarks/bench.py

clean:
	rm -rf $(VENV)

$(READY): pyproject.toml
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(BENCH): $(READY)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@
