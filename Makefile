# Everything runs from .venv, which is installed from requirements.lock and nothing else.
PYTHON ?= python3
SYSTEM_PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PURE := $(addprefix tests/,catalog engines exporters fix formats memory plan render resolve source)
SYSTEM := $(addprefix tests/,engines fix formats golden plan render resolve source write catalog/test_symptoms.py \
  exporters/test_round_trip_keys.py importers/test_corpus.py)
FUZZ := $(addprefix tests/importers/,test_fuzz.py test_mutations.py test_recipes_fuzz.py) tests/source/test_properties.py
WORKERS := auto
MARKED := not deep

.DEFAULT_GOAL := help
.PHONY: help demo docs release quick test test-deep test-system lint collect unit lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("sparkiac needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot create a virtual environment: install its venv module (Debian, Ubuntu: sudo apt install python3-venv)"; exit 1; } >&2
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(INSTALLED) ## install, generate the lab inventory into .demo, show its plan and what to do next
	rm -rf .demo
	$(BIN)/sparkiac generate inventories/lab.yaml --output .demo/lab
	$(BIN)/sparkiac plan inventories/lab.yaml
	@printf '%s\n' '' 'What next:' \
	  '  less .demo/lab/PLAN.md' \
	  '      the plan as a review shows it; .demo/lab holds every file for the hosts' \
	  '  $(BIN)/sparkiac diff inventories/solo.yaml inventories/lab.yaml' \
	  '      what a change of an inventory does to the hosts' \
	  '  $(BIN)/sparkiac recipes list' \
	  '      the models to choose from' \
	  '  $(BIN)/sparkiac init my-fleet' \
	  '      a repository for your own hosts'

docs: $(INSTALLED) ## build the documentation as a site in site/; a broken link or anchor ends it
	$(BIN)/python tools/docs/rules.py
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -c tools/docs docs site

release: $(INSTALLED) ## build wheel, source distribution and SHA256SUMS of the last commit in dist/, always the same bytes
	$(BIN)/python tools/release.py dist

quick: lint ## lint, types, architecture contracts and the tests of the pure stages: a minute on two cores
	$(MAKE) unit WORKERS=$$(nproc) TESTS="$(PURE)"

test: lint unit ## lint, types, architecture contracts and all tests but the deep ones

test-system: $(INSTALLED) ## what another Python may do differently, with the system's Python, if that is another version
	@own=$$($(BIN)/python -V) system=$$($(SYSTEM_PYTHON) -V 2>&1); case $$system in \
	  "$$own") echo "skipped: $(SYSTEM_PYTHON) is $$own, which runs all tests" ;; \
	  "Python 3".[0-9].* | "Python 3.10".* | [!P]*) echo "skipped: needs Python 3.11 or newer, $(SYSTEM_PYTHON): $$system" ;; \
	  *) $(MAKE) unit PYTHON=$(SYSTEM_PYTHON) VENV=.venv/system TESTS="$(SYSTEM)" ;; \
	esac

test-deep: lint ## all tests, also the deep ones, long fuzzing, and the system's Python; again, it goes on where it ended
	$(MAKE) unit RESUME=.deep/own MARKED="deep or not deep"
	SPARKIAC_FUZZ=10000 $(MAKE) unit RESUME=.deep/fuzz TESTS="$(FUZZ)"
	$(MAKE) test-system SYSTEM=tests RESUME=.deep/system
	rm -r .deep

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 sparkiac/host # the oldest Python of a host (docs/adr/0024)
	$(BIN)/lint-imports

collect: $(INSTALLED) # compiles the tests and the package
	$(BIN)/python -m pytest --collect-only -qq >/dev/null

# Tests start `sparkiac` a thousand times, each of which would compile the package.
collect unit: export PYTHONDONTWRITEBYTECODE =
unit: $(INSTALLED)
	# File by file: some tests on real hosts go on where the one before them ended.
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "$(MARKED)" \
	  $(if $(RESUME),--resume $(RESUME)) $(TESTS)

lock: ## resolve requirements.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group dev pyproject.toml --output-file requirements.lock --quiet

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .demo .deep dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
