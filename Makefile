.PHONY: help install test lint types ci bench

PYTHON ?= .venv/bin/python

help:  ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install:  ## A virtual environment with everything that the tests need
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]'

test:  ## All tests
	$(PYTHON) -m pytest

lint:  ## Lint and format check
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .

types:  ## Strict types of runner and plugins
	$(PYTHON) -m mypy

ci:  ## What continuous integration runs
	.ci/run

bench:  ## All benchmarks, one after the other
	for file in benchmarks/[a-z]*.py; do $(PYTHON) $$file || exit 1; done
