# Two commands do all the set-up: `make debate` and `make test`. Both fill .venv through `make setup`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: pictures setup debate test collected test-tools test-web test-postgres test-workflows tools weights quick lint docs bench bench-peers fuzz fuzz-fixed clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("rebut needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

# The embedded model: its runner from the extra `local`, its file (98 MB) into the user's data folder, once.
weights: .venv/.local
	$(BIN)/rebut models get

.venv/.local: .venv/.ready
	$(BIN)/python -m pip install --quiet --editable ".[local]"
	touch $@

# No key and no account: a real debate on the embedded model, a citation check, a review, the scripted demo.
debate: weights
	@$(BIN)/python examples/debate.py

# Python's compiled files are kept, whatever the environment says: compiling the tests anew takes 10 s per worker.
test quick collected: export PYTHONDONTWRITEBYTECODE =

test: setup
	$(MAKE) --jobs 2 lint collected
	$(BIN)/python -m pytest -n auto --dist worksteal

# Compiles the tests once, where each worker would do it for itself.
collected: setup
	$(BIN)/python -m pytest --collect-only -qq > .venv/collected

# The six real tools, from npm into a cache outside of the repository, against a server on the loopback address.
test-tools: setup
	$(BIN)/python -m tests_tools

# The page in a real browser: chromium, which the system has, and axe from npm into a cache outside of the repository.
test-web: .venv/.web
	$(BIN)/python -m tests_web

# A real PostgreSQL, which the system has or Debian's packages bring: a cluster of its own in a temporary folder.
test-postgres: .venv/.postgres
	$(BIN)/python -m tests_postgres

.venv/.postgres: .venv/.ready
	$(BIN)/python -m pip install --quiet --editable ".[postgres]"
	touch $@

# The workflows for pull requests, by act, and the hooks, by pre-commit. Their steps install rebut with pip.
test-workflows: .venv/.workflows
	$(BIN)/python -m pytest tests_workflows -p no:cacheprovider

.venv/.workflows: .venv/.ready
	$(BIN)/python -m pip install --quiet --group workflows
	touch $@

# The pictures of the page in the docs, from shipped scripted debates.
pictures: .venv/.web
	$(BIN)/python tools/screenshots.py

.venv/.web: .venv/.ready
	$(BIN)/python -m pip install --quiet --group web
	touch $@

# Only get them: mostly the network's work, which can go on beside something else.
tools: setup
	$(BIN)/python -m tests_tools --install

quick: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -x

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: setup
	$(BIN)/python tools/docs.py

bench: .venv/.web .venv/.postgres
	$(BIN)/python -m bench

# Beside the strongest peer, which is installed from the package registry into an environment of its own.
bench-peers: setup
	$(BIN)/python -m bench.peers

# Random input for each parser of text from outside. SECONDS is for all of them together.
SECONDS ?= 60
fuzz: setup
	$(BIN)/python -m fuzz --seconds $(SECONDS)

# About a minute of it, the same inputs each time: for CI, which must not fail by chance.
fuzz-fixed: setup
	$(BIN)/python -m fuzz --fixed

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
