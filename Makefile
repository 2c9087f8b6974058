# On a machine with nothing but Python 3.11 and make: `make demo` and `make test` do everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that need real data find them here, or skip with a reason.
export DISCREET_DATA ?= $(wildcard $(abspath ../shared/data))

.PHONY: demo test lint types contracts unit docs docs-links lowest pythons constraints package bench install format clean

demo: $(VENV)/demo
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

# Tutorials run, references are written from the program, and any warning or dead link is an error.
docs: install
	$(BIN)/sphinx-build -E -q -W --keep-going -b html docs build/site
	@echo "The site is in build/site/index.html"

# Asks every address outside: needs a network, so no test does it.
docs-links: install
	$(BIN)/sphinx-build -E -q -D nb_execution_mode=off -b linkcheck docs build/links

bench: install
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/simd.py
	$(BIN)/python benchmarks/limits.py
	$(BIN)/python benchmarks/estimate.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/foldin.py
	$(BIN)/python benchmarks/hotspots.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/service.py cost
	$(BIN)/python benchmarks/spark.py cost 1 10
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/years.py ml-1m
	$(BIN)/python benchmarks/report.py

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The rooms that touch most of what is not ours: tables, arrays, options, figures.
SMOKE := tests/data tests/readers tests/release tests/publishing tests/cli/test_first_hour.py \
  tests/test_packaging.py

# With the oldest of everything that pyproject.toml allows, in an environment of its own.
lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/pytest -q -n auto $(SMOKE)

$(VENV)-lowest/installed: pyproject.toml lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint lowest.txt \
	  --editable ".[all]" --group test
	touch $@

# On every Python that is supported and here, pyenv's or in the path, each in an environment of its
# own: make pythons, or one of them, make python-3.12.
python3 = $(firstword $(wildcard $(HOME)/.pyenv/versions/3.$(1).*/bin/python3.$(1)) \
  $(shell python3.$(1) -c "import sys; print(sys.executable)" 2>/dev/null))

pythons: $(foreach minor,11 12 13 14,$(if $(call python3,$(minor)),python-3.$(minor)))

python-%: $(VENV)-%/installed
	$(VENV)-$*/bin/pytest -q -n auto $(SMOKE)

# Only a pattern asks for these: make would remove them, and install again the next time.
.PRECIOUS: $(VENV)-3.%/installed
$(VENV)-3.%/installed: pyproject.toml constraints.txt
	$(call python3,$*) -m venv $(VENV)-3.$*
	$(VENV)-3.$*/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-3.$*/bin/python -m pip install --quiet --constraint constraints.txt \
	  --editable ".[all]" --group test
	touch $@

# What was just tested becomes what everybody develops with.
constraints: install
	echo "# The versions that development and continuous integration use: make constraints" > constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable >> constraints.txt

# What is uploaded, looked at as an index would: docs/releasing.md has the rest.
package:
	$(PYTHON) -m venv $(VENV)-package
	$(VENV)-package/bin/python -m pip install --quiet build twine
	rm -rf dist
	$(VENV)-package/bin/python -m build
	$(VENV)-package/bin/twine check --strict dist/*

install: $(VENV)/installed

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

# The demo needs no Spark, no browser and no tests.
$(VENV)/demo: pyproject.toml constraints.txt | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[plots]"
	touch $@

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" \
	  --group test --group docs
	touch $@ $(VENV)/demo

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-3.* $(VENV)-package demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
