# `make help` lists the targets: the text behind `##`.
SHELL := /bin/sh
PYTHON_FOLDERS := server analysis formulas accordo emulator tests benchmarks
# Node.js of the system, or the one that the set-up put beside Python.
export PATH := $(PATH):$(CURDIR)/.venv/bin
DEMO := examples/lds_column_read.hip
# A process per core; a file's tests stay together, in order, because they share what it compiles.
PYTEST := .venv/bin/pytest -n auto --dist loadfile --no-loadscope-reorder

.PHONY: docs demo test test-slow test-all test-exhaustive test-newest test-oldest lint format types test-editor test-wheel wheel extension setup setup-tests setup-llm lock bench doctor clean help

demo: setup ## set up everything, then find, rewrite, prove and time an example
	@.venv/bin/hipscope profile $(DEMO)
	@.venv/bin/hipscope optimize $(DEMO)

test: setup-tests ## set up everything, then the tests but the slow ones (PYTEST_ARGS goes to pytest)
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-slow: setup-tests ## the slow tests: whole rewrites, attacks on the proof, every row of the instruction table
	$(PYTEST) -m slow $(PYTEST_ARGS)

test-all: setup-tests ## both at once, which takes less time than one after the other
	$(PYTEST) $(PYTEST_ARGS)

test-exhaustive: setup-tests ## all tests, with every row of the long tables of which the others take a sample
	$(PYTEST) --exhaustive $(PYTEST_ARGS)

test-newest: setup-tests ## the tests with the newest versions of all dependencies, in an environment of their own
	@sh scripts/test-versions.sh newest $(PYTEST_ARGS)

test-oldest: setup-tests ## the same with the oldest versions that pyproject.toml allows
	@sh scripts/test-versions.sh oldest $(PYTEST_ARGS)

lint: setup types ## ruff, mypy, and types and lint of the extension
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	@sh scripts/check-extension.sh

types: setup ## mypy alone
	.venv/bin/mypy $(PYTHON_FOLDERS)

format: setup ## ruff's fixes and formatting
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

# About 0.8 GB: an editor and a browser, installed into .editor
test-editor: ## the extension in a real editor (installs about 0.8 GB under .editor)
	@sh scripts/setup.sh editor
	@sh scripts/test-editor.sh

extension: wheel ## the extension as a .vsix file, with the server inside
	@sh scripts/setup.sh editor
	@sh scripts/check-extension.sh
	@sh scripts/package-extension.sh

bench: setup ## the tables of docs/benchmarks.md
	.venv/bin/python benchmarks/run.py

doctor: setup ## what is installed on this machine and what works with it
	@.venv/bin/hipscope doctor

wheel: setup ## the source distribution and the wheel in dist
	@sh scripts/build-wheel.sh dist

test-wheel: wheel ## the wheel in a new environment: doctor, a proved rewrite, uninstalling
	@sh scripts/test-wheel.sh dist/hipscope-*.whl

setup-tests: ## the same with the native parts that only tests use
	@sh scripts/setup.sh tests

setup-llm: ## the same with the libraries for rewrites by a language model
	@sh scripts/setup.sh llm

docs: setup ## the pages of docs/ as a site in build/site; fails for a link that leads nowhere
	@sh scripts/build-docs.sh

lock: setup-llm ## renew scripts/constraints.txt with the versions that are installed now
	@sh scripts/lock.sh

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | sort | while IFS="$$(printf '\t')" read -r target text; do \
	    printf '  make %-12s %s\n' "$$target" "$$text"; done

setup: ## compiler, Python environment and native parts; only what is missing
	@sh scripts/setup.sh

clean: ## remove everything that was built or installed here
	rm -rf build .venv .editor .mypy_cache .pytest_cache .ruff_cache .hypothesis
