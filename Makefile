# On a machine with nothing but Python 3.11 and make: `make demo` and `make test` do everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that need real data find them here, or skip with a reason.
export DISCREET_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test lint types contracts unit bench install format clean

demo: install
	$(BIN)/discreet demo

test: lint types contracts unit

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

contracts: install
	$(BIN)/lint-imports

unit: install
	$(BIN)/pytest -n auto --dist loadgroup

bench: install
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/simd.py
	$(BIN)/python benchmarks/estimate.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/hotspots.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/audit.py

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group test
	touch $@

clean:
	rm -rf $(VENV) demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
