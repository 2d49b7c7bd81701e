# make demo   sets up everything, then finds, rewrites, proves and times an example
# make test   the same set-up, then all tests
SHELL := /bin/sh
PYTHON_FOLDERS := server analysis formulas accordo emulator tests benchmarks
# Node.js of the system, or the one that the set-up put beside Python.
export PATH := $(PATH):$(CURDIR)/.venv/bin
DEMO := examples/lds_column_read.hip
# A process per core; a file's tests stay together, in order, because they share what it compiles.
PYTEST := .venv/bin/pytest -n auto --dist loadfile

.PHONY: demo test test-quick lint format types test-editor extension setup bench doctor clean

demo: setup
	@.venv/bin/hipscope profile $(DEMO)
	@.venv/bin/hipscope optimize $(DEMO)

test: setup
	$(PYTEST) $(PYTEST_ARGS)

test-quick: setup
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

lint: setup types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	@sh scripts/check-extension.sh

types: setup
	.venv/bin/mypy $(PYTHON_FOLDERS)

format: setup
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

# About 0.8 GB: an editor and a browser, installed into .editor
test-editor:
	@sh scripts/setup.sh editor
	@sh scripts/test-editor.sh

extension:
	@sh scripts/setup.sh editor
	@sh scripts/check-extension.sh
	cd vscode-extension && npm run --silent package

bench: setup
	.venv/bin/python benchmarks/run.py

doctor: setup
	@.venv/bin/hipscope doctor

setup:
	@sh scripts/setup.sh

clean:
	rm -rf build .venv .editor .mypy_cache .pytest_cache .ruff_cache .hypothesis
