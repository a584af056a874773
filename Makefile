PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo check coverage test test-portable lint types style imports page docs site clean
.DEFAULT_GOAL := test

# torch goes in first, so that it can come from an index of its own. On Linux, pip's default index has a build with several
# GB of CUDA packages. `make demo TORCH_INDEX_URL=...` takes the build for CPUs; docs/index.md says where its address is.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check $(if $(TORCH_INDEX_URL),--index-url $(TORCH_INDEX_URL)) \
		$$(grep '^torch==' constraints.txt)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/newfound demo --out newfound-demo --force

# Two checks at a time: CI has two cores.
lint: $(VENV)/.installed
	$(MAKE) --jobs 2 --output-sync types style imports page

types:
	$(BIN)/mypy

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports:
	$(BIN)/lint-imports

# The scripts of the review page and the report: prettier, eslint and tsc. Without npm this says so and is skipped.
page:
	tools/page/check.sh

# For the edit-and-test loop: without what is slow by construction, as commands, servers, browsers, Ray, the real encoder.
check: lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow"

# The share of the package that the tests of `check` execute; below `fail_under` in pyproject.toml it fails. From Python
# 3.12 on, coverage can count through sys.monitoring, which costs little.
coverage: $(VENV)/.installed
	COVERAGE_CORE=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
	$(BIN)/pytest -n 2 --dist loadfile -m "not slow" --cov

# Two processes: CI has two cores. Tests of one file share what they set up, so files are not divided. One of them builds
# the site.
test: lint
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

# Everything five times, for about an hour: on processors with fewer instructions, with one thread and two, and busy.
test-portable: $(VENV)/.installed
	PYTEST=$(BIN)/pytest tools/test_portable.sh

docs: $(VENV)/.installed
	$(BIN)/typer newfound.cli utils docs --name newfound --title newfound --output docs/cli.md
	PYTHONPATH=. $(BIN)/python tools/fill_tables.py
	PYTHONPATH=. $(BIN)/python -m benchmarks.reproduction.page
	$(MAKE) site

# Strict: a broken link or a function that does not exist ends it.
site: $(VENV)/.installed
	PATH="$(abspath $(BIN)):$$PATH" NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) newfound-demo .coverage* .pytest_cache .mypy_cache .ruff_cache
